//! The procedures of an AMF, one file each. They read no clock, open no socket and start no task: what
//! they need of the world is in [`ports`](super::ports).
//!
//! ```text
//!   n2, namf ──▶ events ──▶ dispatch ──▶ registration, service_request, deregistration, ...
//!                                          └──▶ authentication, security_mode, an_release, ...
//!                                                 └──▶ exchange: send, wait for the answer, repeat
//! ```

pub(in crate::amf) mod an_release;
pub(in crate::amf) mod authentication;
pub(in crate::amf) mod deregistration;
pub(in crate::amf) mod dispatch;
pub(in crate::amf) mod exchange;
pub(in crate::amf) mod guti_reallocation;
pub(in crate::amf) mod identity;
pub(in crate::amf) mod n2;
pub(in crate::amf) mod namf;
pub(in crate::amf) mod ng_reset;
pub(in crate::amf) mod ng_setup;
pub(in crate::amf) mod paging;
pub(in crate::amf) mod ran_configuration_update;
pub(in crate::amf) mod refusal;
pub(in crate::amf) mod registration;
pub(in crate::amf) mod restoration;
pub(in crate::amf) mod security_mode;
pub(in crate::amf) mod service_request;
pub(in crate::amf) mod session_transport;
