//! UPF: gives tunnels to sessions, and addresses to tunnels. There is no user plane yet.
//!
//! What the SMF asks is what N4 would say (TS 29.244: session establishment, modification, deletion),
//! as messages: who brings PFCP and GTP-U puts them behind `smf::peers::upf::UserPlane` and leaves
//! the procedures as they are.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests begin at the time of the clock"
    )
)]

mod service;
mod tunnels;
mod user_plane;

pub use service::UpfArgs;
pub use user_plane::{Established, Modification, SERVICE, Tunnel};
