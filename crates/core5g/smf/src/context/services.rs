//! The services of the two halves of an SMF.

/// The service of the replicas; the gateway alone calls it.
pub(crate) const REPLICA_SERVICE: &str = "corewire-pdu-session";
/// The service that AMFs call.
pub(crate) const SERVICE: &str = "nsmf-pdusession";
