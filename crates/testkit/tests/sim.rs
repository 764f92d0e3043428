//! The native protocol under the simulator: every promise that needs a clock or a bad network.

#[path = "sim/common.rs"]
mod common;
#[path = "sim/keeping_time.rs"]
mod keeping_time;
#[path = "sim/memory.rs"]
mod memory;
#[path = "sim/rough_links.rs"]
mod rough_links;
#[path = "sim/simulator.rs"]
mod simulator;
