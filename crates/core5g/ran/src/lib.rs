//! A simulated RAN: gNBs and UEs that attach to a core and check everything that they get.
//!
//! ```text
//!   Ue      NAS, keys, sessions; one step of its script at a time       no socket, no clock
//!    │ ▲
//!   Gnb     NGAP, the UEs' contexts; answers what a gNB answers          no socket, no clock
//!    │ ▲
//!   driver  one thread a gNB: association, time, pace
//! ```
//!
//! A UE fails when anything is not as the specifications have it: a MAC that is wrong, a message that
//! was sent before, a capability that was changed on the way, a key at the gNB that is not the UE's,
//! an element that is missing, an answer that does not come. A failure has a reason; nothing is
//! passed over.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests begin at the time of the clock"
    )
)]

mod driver;
mod gnb;
mod program;
mod report;
mod step;
mod ue;

pub use program::RanArgs;
