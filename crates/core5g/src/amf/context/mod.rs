//! What an AMF knows: data, and what keeps it in order. Nothing here waits for a peer.

pub(in crate::amf) mod admission;
pub(in crate::amf) mod gnbs;
pub(in crate::amf) mod link;
pub(in crate::amf) mod mailbox;
pub(in crate::amf) mod nas;
pub(in crate::amf) mod network;
pub(in crate::amf) mod releases;
pub(in crate::amf) mod session;
pub(in crate::amf) mod silence;
pub(in crate::amf) mod ue;
pub(in crate::amf) mod ues;
pub(in crate::amf) mod work_list;
