//! What an AMF asks of other NFs: one file a service.

pub(in crate::amf) mod gutis;
pub(in crate::amf) mod nausf;
pub(in crate::amf) mod nsmf;
pub(in crate::amf) mod nudm;
pub(in crate::amf) mod nudsf;
pub(in crate::amf) mod source3;
pub(in crate::amf) mod transfer_failure;
