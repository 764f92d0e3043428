//! The event loop, the blocking driver and the one-port listener over the sans-IO cores.
