//! What is decided for a call, one policy a file.
//!
//! Every stage is sans-IO: the time and random numbers are arguments, nothing here waits, reads a
//! clock or knows a transport. What threads share is atomic; nothing here locks.

pub mod balance;
pub mod outcome;
pub mod protect;
pub mod random;
pub mod resolve;
pub mod route;
pub mod timeline;
