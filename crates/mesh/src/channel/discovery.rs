//! Where a mesh gets its configuration from.

use crate::config::{Resolution, SnapshotSource};
use corewire_transport::tls::Files;
use std::any::Any;

/// A source of configuration for a mesh: snapshots made in code, or a client of a control plane.
pub trait Discovery: Send + Sync + 'static {
    /// The snapshots.
    fn source(&self) -> &SnapshotSource;

    /// Subscribes to a target until the returned value is dropped.
    ///
    /// # Errors
    /// When the target can never be resolved, with the reason; its calls fail with it.
    fn watch(&self, target: &str) -> Result<Box<dyn Any + Send + Sync>, String>;

    /// The standing of a target that is in no snapshot.
    fn unknown(&self) -> Resolution<()> {
        Resolution::Pending
    }

    /// The files of the certificate provider with this name; `None` when there is none (yet).
    fn certificate_files(&self, _provider: &str) -> Option<Files> {
        None
    }
}

/// Snapshots made in code: a target is in them or missing.
impl Discovery for SnapshotSource {
    fn source(&self) -> &SnapshotSource {
        self
    }

    fn watch(&self, _target: &str) -> Result<Box<dyn Any + Send + Sync>, String> {
        Ok(Box::new(()))
    }

    fn unknown(&self) -> Resolution<()> {
        Resolution::Missing("it is not in the configuration".into())
    }
}
