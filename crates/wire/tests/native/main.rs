//! The native protocol's connection, driven through its public verbs only.

#![expect(
    clippy::disallowed_methods,
    reason = "an instant to count from; the clock is set by the tests"
)]

mod accounts;
mod cancellation;
mod closing;
mod conversation;
mod deadlines;
mod fragments;
mod keep_alive;
mod limits;
mod memory;
mod negotiation;
mod pair;
mod raw;
mod robustness;
mod sequences;
mod streams;
mod unary;
mod vectors;
