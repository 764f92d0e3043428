//! The native protocol's connection, driven through its public verbs only.
#![expect(
    clippy::disallowed_methods,
    reason = "an instant to count from; the clock is set by the tests"
)]

mod pair;
mod unary;
