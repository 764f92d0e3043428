//! The procedures of an SMF, one file each. They read no clock, open no socket and start no task: what they
//! need of the world is in [`ports`](super::ports).
//!
//! ```text
//!   create ─▶ Establishing ── N2 set up ─▶ Active ◀── activation ──▶ Inactive
//!                                            │ modification            (no downlink tunnel)
//!                                            └─▶ Releasing ── N1 complete ─▶ gone
//!
//!   nsmf ──▶ establishment, update, release          update ──▶ activation, modification, release
//! ```

pub(in crate::smf) mod activation;
pub(in crate::smf) mod command;
pub(in crate::smf) mod establishment;
pub(in crate::smf) mod gateway;
pub(in crate::smf) mod lookup;
pub(in crate::smf) mod modification;
pub(in crate::smf) mod n2_transfer;
pub(in crate::smf) mod nsmf;
pub(in crate::smf) mod recovery;
pub(in crate::smf) mod release;
pub(in crate::smf) mod reply;
pub(in crate::smf) mod update;
