//! One suite of promises that every transport keeps.

mod gate;
pub mod operations;
mod service;

pub use gate::Gate;
pub use service::{FLOOD_MESSAGE, Probe, SuiteService, Taken};
