//! Route: from a request to the cluster that takes it.

pub mod fraction;
pub mod hash_policy;
pub mod header;
pub mod path;
pub mod weighted;
pub mod xx_hash;
