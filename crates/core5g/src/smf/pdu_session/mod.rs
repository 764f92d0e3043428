//! A replica that holds PDU sessions: one procedure a file.
//!
//! ```text
//!   create ─▶ Establishing ── N2 set up ─▶ Active ◀── activation ──▶ Inactive
//!                                            │ modification            (no downlink tunnel)
//!                                            └─▶ Releasing ── N1 complete ─▶ gone
//! ```

mod activation;
mod context;
mod establishment;
mod modification;
mod n1;
mod n1n2;
mod pool;
mod release;
mod service;
mod store;
mod subscription;
mod update;

pub(super) use service::PduSessionArgs;
pub(crate) use subscription::bit_rate;
