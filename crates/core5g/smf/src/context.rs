//! What an SMF knows: data, and what keeps it in order. Nothing here waits for a peer.

pub(crate) mod commands;
pub(crate) mod gateway;
pub(crate) mod job;
pub(crate) mod n1;
pub(crate) mod pool;
pub(crate) mod reference;
pub(crate) mod replica;
pub(crate) mod services;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod subscription;
