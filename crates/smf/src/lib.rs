//! The two halves of a session management function, as the inline mesh's paper cuts it: an SMF
//! gateway that sends SM-Context-Create requests (TS 29.502, 5.2.2.2) to many SMF-PDU-Session
//! replicas. `corewire nf smf-gateway` and `corewire nf smf-pdu-session` run them; the lab's `mesh`
//! scenario measures what lies between.
//!
//! Both see only messages. Where a request goes and what carries it is a [`Target`]: a list of
//! replicas, the one port of a sidecar, or a name that a mesh resolves. The code that sends is the
//! same for all (`gateway`).
//!
//! ```text
//!   gateway                                              replica
//!   due ──▶ sent ── x-sent-ns ───────────────────────▶ received
//!    │                                                    │ one way = received - x-sent-ns
//!    └──────────── round trip ◀────── x-one-way-ns ───────┘
//! ```
//!
//! This crate holds no procedure of the 5G core: a replica answers with a fixed document, because
//! it is the way there and back that is measured.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod clock;
mod gateway;
mod inline;
mod pdu_session;
mod report;
mod sm_context;
mod target;
mod tls;

pub use gateway::GatewayArgs;
pub use pdu_session::PduSessionArgs;
pub use target::Target;
