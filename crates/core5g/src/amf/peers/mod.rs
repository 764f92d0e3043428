//! What an AMF asks of other NFs: one file a service.

pub(super) mod nausf;
pub(super) mod nsmf;
pub(super) mod nudm;
