//! A mesh between callers and real servers in this process: each policy as a network function
//! meets it.
#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own: it reads its clock"
)]

mod balanced;
mod bench;
mod blocking;
mod bridges;
mod foreign;
mod lifecycle;
mod outliers;
mod protection;
mod routing;
mod snapshots;
mod streams;
mod transports;
