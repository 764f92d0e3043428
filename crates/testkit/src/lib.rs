//! Simulated clock and network, and the conformance suite that every transport runs.
//!
//! | module | what |
//! |---|---|
//! | [`sim`] | a third driver of the sans-IO cores: one thread, a settable clock, a network that delays, loses, cuts and cuts to pieces, all from one seed |
//! | [`conformance`] | what every transport promises, one small test each, and the service they call |
//! | [`certificates`] | certificates and keys, good ones and others |
//! | [`corpus`] | the replay of a fuzz target's committed inputs |
//! | [`clock`] | time as tests see it: real or simulated |
//!
//! For tests only: no other crate depends on this one outside of them.

#![forbid(unsafe_code)]

pub mod certificates;
pub mod clock;
pub mod conformance;
pub mod corpus;
pub mod sim;
