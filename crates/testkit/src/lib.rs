//! Simulated clock and network, and the conformance suite that every transport runs.
