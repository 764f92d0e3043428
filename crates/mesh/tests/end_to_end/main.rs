//! A mesh between callers and real servers in this process: each policy as a network function
//! meets it.

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
