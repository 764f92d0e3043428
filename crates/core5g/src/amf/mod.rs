//! AMF (TS 23.501, 6.2.1): N1 and N2, registration, mobility; one file a procedure.
//!
//! ```text
//!   gNB ══ association ══▶ gnb ──▶ ues: a slot a UE ──▶ task: procedures over a Ue
//!                          (NG Setup, Reset)  mailbox      │  await the next NAS message, or a timer
//!   SMF, UDM ── namf ─────────────────────────▶            └─▶ other NFs by the Sbi
//! ```
//!
//! A UE belongs to one event loop. Its context is parked as data while nothing happens and is moved into
//! a task when a message comes; the task runs procedures one after the other, in the order in which
//! messages came. What must outlive this process is in the UDSF ([`store`]).

mod admission;
mod an_release;
mod args;
mod authentication;
mod deregistration;
mod gnb;
mod gutis;
mod identity;
mod initial;
mod namf;
mod network;
mod ng_reset;
mod ng_setup;
mod paging;
mod peers;
mod registration;
mod releases;
mod security_mode;
mod service_request;
mod session_transport;
mod silence;
mod store;
mod ue;
mod ues;
mod work_list;

pub use args::AmfArgs;

use crate::runtime::{Gauge, Runtime};
use gnb::Gnbs;
use gutis::Gutis;
use network::Network;
use releases::Releases;
use silence::Silence;
use ues::Ues;

/// What all of an AMF's tasks share.
struct Amf {
    runtime: Runtime,
    network: Network,
    gutis: Gutis,
    ues: Ues,
    silence: Silence,
    releases: Releases,
    gnbs: Gnbs,
    numbers: Numbers,
}

/// What `corewire core status` shows of an AMF.
struct Numbers {
    /// Registered UEs.
    registered: Gauge,
    /// Of them, those with a connection.
    connected: Gauge,
    gnbs: Gauge,
}
