//! Observe: what is counted of calls, cheaply enough to be counted always.

pub(crate) mod counters;

pub use counters::{ClusterCounts, Counter, Counters, Counts};
