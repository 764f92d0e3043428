//! A small, real 5G core on the message API: the program that runs it, and what the command line takes from
//! its network functions.
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
//! Each is a crate of its own in a folder beside this one (`corewire-core5g-amf` and so on):
//!
//! | crate | holds |
//! |---|---|
//! | `amf`, `smf`, `upf` | access and mobility, sessions, user plane addresses |
//! | `nrf`, `udm`, `ausf`, `udsf` | registry, subscribers, authentication, stored contexts |
//! | `ran` | gNBs and UEs that attach and check what they get |
//! | `runtime` | how an NF process starts, finds its peers, calls them, keeps its records, and ends |
//! | `subscribers` | who may use the network |
//! | `sbi` | service interfaces: resource router, models, problem documents, headers, access tokens |
//! | `ngap`, `nas`, `aka` | the only places that know the codecs and the cryptography |
//! | `transcripts` | for tests: plays what happens to an NF, in virtual time |
//!
//! Here is only `program`, the core as a whole: up, status, repair, down.
//!
//! Not here: bytes on a wire between NFs, where a call goes, how often it is tried
//! (`corewire-transport`, `corewire-mesh`).
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests begin at the time of the clock"
    )
)]
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod program;

pub use corewire_core5g_amf::AmfArgs;
pub use corewire_core5g_ausf::AusfArgs;
pub use corewire_core5g_nrf::NrfArgs;
pub use corewire_core5g_ran::RanArgs;
pub use corewire_core5g_smf::SmfArgs;
pub use corewire_core5g_udm::UdmArgs;
pub use corewire_core5g_udsf::UdsfArgs;
pub use corewire_core5g_upf::UpfArgs;
pub use program::CoreArgs;
