//! What an SMF knows: data, and what keeps it in order. Nothing here waits for a peer.

pub(in crate::smf) mod commands;
pub(in crate::smf) mod gateway;
pub(in crate::smf) mod job;
pub(in crate::smf) mod models;
pub(in crate::smf) mod n1;
pub(in crate::smf) mod pool;
pub(in crate::smf) mod reference;
pub(in crate::smf) mod replica;
pub(in crate::smf) mod session;
pub(in crate::smf) mod sessions;
pub(in crate::smf) mod subscription;
