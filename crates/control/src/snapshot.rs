//! What is served at one moment: immutable, shared by all streams.

use crate::config::{Limits, Sidecar};
use crate::resources::{TypeSet, View, ViewSet};
use corewire_xds::ResourceType;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

static NOTHING: LazyLock<Arc<TypeSet>> = LazyLock::new(Arc::default);

/// What is served at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    /// Counts snapshots, also over restarts.
    pub(crate) generation: u64,
    pub(crate) endpoints: Arc<TypeSet>,
    pub(crate) views: HashMap<View, Arc<ViewSet>>,
    pub(crate) sidecars: Arc<[Arc<Sidecar>]>,
    pub(crate) limits: Limits,
}

impl Snapshot {
    /// The resources of a type as a client of this kind sees them.
    pub(crate) fn set(&self, view: &View, kind: ResourceType) -> &Arc<TypeSet> {
        if kind == ResourceType::Endpoints {
            return &self.endpoints;
        }
        let view = self.views.get(view);
        view.and_then(|view| view.of_type(kind)).unwrap_or(&NOTHING)
    }
}
