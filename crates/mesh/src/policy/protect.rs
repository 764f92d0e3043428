//! Protect: whether a request may go, how long it may take, how often it is tried.

pub mod admission;
pub mod backoff;
pub mod circuit_breaker;
pub mod deadline;
pub mod fault_injection;
pub mod health_check;
pub mod outlier;
pub mod rate_limit;
pub mod retry;
pub mod retry_budget;
pub mod silence;
