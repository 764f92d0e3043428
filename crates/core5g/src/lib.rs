//! A small, real 5G core on the message API.
//!
//! Network functions (NFs) see only messages: what carries them (REST, gRPC, native, shared memory)
//! is a setting of the process, and no file here knows which. A 3GPP procedure is one file that reads
//! from top to bottom.
//!
//! ```text
//!   gNB, UE ── N2: NGAP, N1: NAS ──▶ amf ── namf, nausf, nudm, nsmf ... ──▶ other NFs
//!   (ran)                             │
//!                                  runtime: event loops, the way to peers, registration, drain
//! ```
//!
//! | module, or crate of its own | holds |
//! |---|---|
//! | `runtime` | how an NF process starts, finds its peers, calls them, and ends |
//! | `selection` | which instance of a service a request goes to: priority, capacity, load, DNN, slice |
//! | [`sbi`] | service interfaces: resource router, models, problem documents, headers, access tokens |
//! | [`ngap`], [`nas`], [`aka`] | the only places that know the codecs and the cryptography |
//! | `amf`, `smf`, `upf` | access and mobility, sessions, user plane addresses |
//! | `ports`, `event_loops`, `due` | what procedures need of the world; what gives it to them; timers as data |
//! | `subscribers`, `durable` | who may use the network; what outlives a process (`corewire-store`) |
//! | `nrf`, `udm`, `ausf`, `udsf` | registry, subscribers, authentication, stored contexts |
//! | `ran` | gNBs and UEs that attach and check what they get |
//! | `source3` | the other flow: operations of the REST-based core of 2019 |
//! | `trace` | begin and end of every hop, when asked for |
//! | `program` | the core as a whole: up, status, down |
//!
//! Not here: bytes on a wire between NFs, where a call goes, how often it is tried
//! (`corewire-transport`, `corewire-mesh`).

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod amf;
mod ausf;
mod due;
mod durable;
mod event_loops;
mod nrf;
mod ports;
mod program;
mod ran;
mod runtime;
mod selection;
mod smf;
mod source3;
pub mod subscribers;
mod tls;
mod trace;
#[cfg(test)]
mod transcripts;
mod udm;
mod udsf;
mod upf;

pub use corewire_core5g_aka as aka;
pub use corewire_core5g_nas as nas;
pub use corewire_core5g_ngap as ngap;
pub use corewire_core5g_sbi as sbi;
use corewire_core5g_sbi::{holder, token};

pub use amf::AmfArgs;
pub use ausf::AusfArgs;
pub use nrf::NrfArgs;
pub use program::CoreArgs;
pub use ran::RanArgs;
pub use smf::SmfArgs;
pub use udm::UdmArgs;
pub use udsf::UdsfArgs;
pub use upf::UpfArgs;
