//! 5G NAS (TS 24.501): the messages of N1 as this crate's types, and their protection (TS 33.501, 6.4).
//!
//! ```text
//!  octets ──▶ NasSecurityContext::unprotect ──▶ NasMessage ──▶ a procedure
//!         ◀── NasSecurityContext::protect   ◀──            ◀──
//! ```
//!
//! A message is a plain struct of what a procedure reads and writes; an element that no procedure
//! here uses is skipped, as TS 24.501 clause 7 asks of a receiver. The codec underneath is
//! `oxirush-nas`, which only this crate names. No procedure, timer or socket is here.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]

mod area;
mod capability;
mod cause;
mod codec;
mod error;
mod identity;
mod message;
mod mobility;
mod protocol_options;
mod qos;
mod security;
mod session;

pub use area::{ParseSnssaiError, Snssai, Tac, Tai};
pub use capability::{Ciphering, Integrity, Ksi, NasAlgorithms, UeSecurityCapability};
pub use cause::{MmCause, SmCause};
pub use codec::can_be_said;
pub use error::{NasError, NasErrorKind};
pub use identity::{IdentityKind, MobileIdentity, STmsi};
pub use message::NasMessage;
pub use mobility::*;
pub use protocol_options::{OptionsRequest, SessionOptions};
pub use qos::{PduAddress, QosFlowDescriptions, QosRules, SessionAmbr, SessionType, SscMode};
pub use security::{Envelope, NasSecurityContext, Received, SavedNasContext, Side};
pub use session::*;
