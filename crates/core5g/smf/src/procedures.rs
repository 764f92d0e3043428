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

pub(crate) mod activation;
pub(crate) mod command;
pub(crate) mod establishment;
pub(crate) mod gateway;
pub(crate) mod lookup;
pub(crate) mod modification;
pub(crate) mod n2_transfer;
pub(crate) mod nsmf;
pub(crate) mod recovery;
pub(crate) mod release;
pub(crate) mod reply;
pub(crate) mod update;
