//! NGAP (TS 38.413): the messages of N2 as this crate's types.
//!
//! A message is a plain struct of what a procedure reads and writes; what no procedure here uses is
//! skipped on receipt. The codec underneath is `oxirush-ngap`, which only this crate names. What a
//! message carries for others goes through as octets: NAS for the UE, transfers for the SMF
//! ([`transfer`]).
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]

mod cause;
mod codec;
mod error;
mod identity;
mod message;
mod node;
pub mod transfer;
mod ue;

pub use cause::Cause;
pub use error::{NgapError, NgapErrorKind};
pub use identity::{AmfUeNgapId, GnbId, NrCell, RanUeNgapId, UeIds, UePair};
pub use message::NgapMessage;
pub use node::*;
pub use ue::*;

/// SCTP port of the AMF (TS 38.412 clause 7).
pub const PORT: u16 = 38412;
/// SCTP payload protocol identifier of NGAP (TS 38.412 clause 7).
pub const PPID: u32 = 60;
