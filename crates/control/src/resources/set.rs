//! Encoded resources of one type, and what they are together.

use super::digest::Digest;
use bytes::Bytes;
use corewire_xds::{Any, Message, Name};
use std::collections::HashMap;
use std::sync::Arc;

/// One resource, encoded once for all clients.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) name: Arc<str>,
    /// An encoded `google.protobuf.Any`.
    pub(crate) any: Bytes,
    /// Of name and octets.
    pub(crate) digest: Digest,
}

impl Resource {
    pub(crate) fn new<M: Name>(name: &str, message: &M) -> Self {
        let any = Bytes::from(Any::pack(message).encode_to_vec());
        Self {
            name: name.into(),
            digest: Digest::of(&[name.as_bytes(), &any]),
            any,
        }
    }

    /// What stands for a name without a resource.
    pub(crate) fn absent(name: &str) -> Digest {
        Digest::of(&[name.as_bytes()])
    }
}

/// The resources of one type.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypeSet {
    resources: HashMap<Arc<str>, Arc<Resource>>,
    sum: Digest,
}

impl TypeSet {
    pub(crate) fn put(&mut self, resource: Arc<Resource>) {
        self.sum = self.sum.add(resource.digest);
        let before = self.resources.insert(Arc::clone(&resource.name), resource);
        if let Some(before) = before {
            self.sum = self.sum.subtract(before.digest);
        }
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<Arc<Resource>> {
        let resource = self.resources.remove(name)?;
        self.sum = self.sum.subtract(resource.digest);
        Some(resource)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Resource>> {
        self.resources.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.resources.len()
    }

    /// What all of them are together.
    pub(crate) const fn digest(&self) -> Digest {
        self.sum
    }
}
