//! What an SMF asks of other network functions, one service a file.

pub(crate) mod flow;
pub(crate) mod namf;
pub(crate) mod nudm;
pub(crate) mod nudsf;
pub(crate) mod source3;
pub(crate) mod upf;
