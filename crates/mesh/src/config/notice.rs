//! What is wrong with a resource, and what of it is not carried out.

use std::fmt;
use std::sync::Arc;

/// Which resource is meant: its kind, in the words of xDS, and its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceId {
    /// `Listener`, `RouteConfiguration`, `Cluster` or `ClusterLoadAssignment`; `Snapshot` for one
    /// that was made in code.
    pub kind: &'static str,
    /// Its name.
    pub name: Arc<str>,
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.kind, self.name)
    }
}

/// A field that was asked for and is not carried out. Traffic goes on without it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Notice {
    /// Where it was asked for.
    pub resource: ResourceId,
    /// The field, as a path from the resource: `virtual_hosts[0].routes[2].route.cors`.
    pub path: String,
    /// What is not done, and what happens instead.
    pub reason: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.resource, self.path, self.reason)
    }
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldFault {
    /// The field, as a path from the resource; empty when the resource as a whole is meant.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for FieldFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.reason)
        } else {
            write!(f, "{}: {}", self.path, self.reason)
        }
    }
}

/// Why a resource cannot be used: all that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which one.
    pub resource: ResourceId,
    /// Everything that is wrong; never empty.
    pub faults: Vec<FieldFault>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.resource)?;
        for (at, fault) in self.faults.iter().enumerate() {
            f.write_str(if at == 0 { ": " } else { "; " })?;
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}
