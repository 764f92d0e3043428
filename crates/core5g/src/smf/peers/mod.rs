//! What an SMF asks of other network functions, one service a file.

pub(in crate::smf) mod flow;
pub(in crate::smf) mod namf;
pub(in crate::smf) mod nudm;
pub(in crate::smf) mod nudsf;
pub(in crate::smf) mod source3;
pub(in crate::smf) mod upf;
