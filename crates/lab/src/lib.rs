//! The measuring lab: scenarios, load, recording, statistics, report.
#![forbid(unsafe_code)]

pub mod record;
pub mod results;
pub mod statistics;
