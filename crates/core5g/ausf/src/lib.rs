//! The authentication server function (TS 29.509; TS 33.501, 6.1.3.2).
//!
//! ```text
//!   AMF ── ue-authentications ──▶ vector from the UDM; XRES* and K_AUSF stay here, HXRES* goes out
//!   AMF ── 5g-aka-confirmation ─▶ RES* = XRES*? K_SEAF goes out, the UDM is told
//! ```
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests begin at the time of the clock"
    )
)]

mod authentications;
mod contexts;
mod home;
mod program;
#[cfg(test)]
mod tests;

pub use program::AusfArgs;
