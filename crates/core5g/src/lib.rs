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
//! | `runtime` | how an NF process starts, finds its peers, calls them, keeps its records, and ends |
//! | [`sbi`] | service interfaces: resource router, models, problem documents, headers, access tokens |
//! | [`ngap`], [`nas`], [`aka`] | the only places that know the codecs and the cryptography |
//! | `amf`, `smf`, `upf` | access and mobility, sessions, user plane addresses |
//! | `subscribers` | who may use the network |
//! | `nrf`, `udm`, `ausf`, `udsf` | registry, subscribers, authentication, stored contexts |
//! | `ran` | gNBs and UEs that attach and check what they get |
//! | `program` | the core as a whole: up, status, down |
//!
//! Not here: bytes on a wire between NFs, where a call goes, how often it is tried
//! (`corewire-transport`, `corewire-mesh`).

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod program;
#[allow(
    unused_imports,
    dead_code,
    reason = "its documents are those of the service interfaces, and go when it moves"
)]
mod smf;

pub use corewire_core5g_aka as aka;
pub use corewire_core5g_nas as nas;
pub use corewire_core5g_ngap as ngap;
use corewire_core5g_runtime::{self as runtime, due, event_loops, ports, source3, tls};
pub use corewire_core5g_sbi as sbi;
use corewire_core5g_sbi::token;
pub use corewire_core5g_subscribers as subscribers;
#[cfg(test)]
use corewire_core5g_transcripts as transcripts;
use corewire_core5g_upf as upf;

pub use corewire_core5g_amf::AmfArgs;
pub use corewire_core5g_ausf::AusfArgs;
pub use corewire_core5g_nrf::NrfArgs;
pub use corewire_core5g_ran::RanArgs;
pub use corewire_core5g_udm::UdmArgs;
pub use corewire_core5g_udsf::UdsfArgs;
pub use corewire_core5g_upf::UpfArgs;
pub use program::CoreArgs;
pub use smf::SmfArgs;
