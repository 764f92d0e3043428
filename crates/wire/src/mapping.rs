//! How one protocol's words become another's: tables, kept here alone and tested both ways.

pub mod deadline;
pub mod decimal;
pub mod method;
pub mod priority;
pub mod problem;
pub mod status;
