//! The procedures of an AMF, one file each. They read no clock, open no socket and start no task: what
//! they need of the world is in [`ports`](super::ports).
//!
//! ```text
//!   n2, namf ──▶ events ──▶ dispatch ──▶ registration, service_request, deregistration, ...
//!                                          └──▶ authentication, security_mode, an_release, ...
//!                                                 └──▶ exchange: send, wait for the answer, repeat
//! ```

pub(crate) mod an_release;
pub(crate) mod authentication;
pub(crate) mod deregistration;
pub(crate) mod dispatch;
pub(crate) mod exchange;
pub(crate) mod guti_reallocation;
pub(crate) mod identity;
pub(crate) mod n2;
pub(crate) mod namf;
pub(crate) mod ng_reset;
pub(crate) mod ng_setup;
pub(crate) mod paging;
pub(crate) mod ran_configuration_update;
pub(crate) mod refusal;
pub(crate) mod registration;
pub(crate) mod restoration;
pub(crate) mod security_mode;
pub(crate) mod service_request;
pub(crate) mod session_transport;
