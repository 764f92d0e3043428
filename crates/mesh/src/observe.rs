//! Observe: what is counted of calls, cheaply enough to be counted always.

pub(crate) mod counters;

pub use counters::{ClusterCounts, Counter, Counters, Counts};

use std::error::Error;

/// An error with its causes, in one line.
pub(crate) fn story(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
