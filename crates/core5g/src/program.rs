//! The core as a whole: up, status, down.
//!
//! ```text
//!   up ──▶ NRF ─▶ UDSF, UDM, AUSF, UPF, SMF ... ─▶ AMF      each a process, each "ready" or the reason
//!    │
//!    └──▶ state folder: core.json (who runs where), one log a process ◀── status, down
//! ```

mod args;
mod certificates;
mod command;
mod config;
mod down;
mod plan;
mod process;
mod repair;
mod secrets;
mod state;
mod status;
mod up;

pub use command::CoreArgs;

/// The file of subscribers of a core that was given none.
fn test_subscribers(_plmn: &str) -> String {
    corewire_core5g_subscribers::SubscriberFile::example()
}
