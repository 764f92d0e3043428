//! What an AMF knows: data, and what keeps it in order. Nothing here waits for a peer.

pub(crate) mod admission;
pub(crate) mod gnbs;
pub(crate) mod link;
pub(crate) mod mailbox;
pub(crate) mod nas;
pub(crate) mod network;
pub(crate) mod releases;
pub(crate) mod session;
pub(crate) mod silence;
pub(crate) mod ue;
pub(crate) mod ues;
pub(crate) mod work_list;
