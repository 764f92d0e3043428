//! What a client has, of one type, and what it lacks.

use super::subscription::Subscription;
use crate::resources::{Digest, Resource, TypeSet};
use std::collections::HashMap;
use std::sync::Arc;

/// What a client has been sent, name by name.
#[derive(Debug, Default)]
pub(super) struct Held {
    resources: HashMap<Arc<str>, Digest>,
    sum: Digest,
    /// What it refused last under each name; not sent again while it is the same.
    refused: HashMap<Arc<str>, Digest>,
}

/// What differs between what a client has and what it should have.
#[derive(Debug, Default)]
pub(super) struct Diff {
    pub(super) changed: Vec<Arc<Resource>>,
    pub(super) removed: Vec<Arc<str>>,
}

impl Diff {
    pub(super) const fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }
}

impl Held {
    /// The version of what the client has, all together.
    pub(super) const fn digest(&self) -> Digest {
        self.sum
    }

    pub(super) fn set(&mut self, name: &Arc<str>, digest: Digest) {
        self.sum = self.sum.add(digest);
        if let Some(before) = self.resources.insert(Arc::clone(name), digest) {
            self.sum = self.sum.subtract(before);
        }
    }

    /// It has this name no more, or wants it again.
    pub(super) fn forget(&mut self, name: &str) {
        if let Some(before) = self.resources.remove(name) {
            self.sum = self.sum.subtract(before);
        }
    }

    /// What it has under this name.
    pub(super) fn get(&self, name: &str) -> Option<Digest> {
        self.resources.get(name).copied()
    }

    /// Notes what was refused, at most `limit` names.
    pub(super) fn refuse(&mut self, refused: &[(Arc<str>, Digest)], limit: usize) {
        for (name, digest) in refused {
            if self.refused.len() >= limit && !self.refused.contains_key(name) {
                continue;
            }
            self.refused.insert(Arc::clone(name), *digest);
        }
    }

    /// It took this after all.
    pub(super) fn accept(&mut self, names: &[Arc<str>]) {
        if self.refused.is_empty() {
            return;
        }
        for name in names {
            self.refused.remove(name);
        }
    }

    fn is_refused(&self, resource: &Resource) -> bool {
        self.refused.get(&resource.name) == Some(&resource.digest)
    }

    /// What the client lacks. `tells_absence`: that a name has no resource is told, too.
    pub(super) fn diff(&self, wanted: &Subscription, set: &TypeSet, tells_absence: bool) -> Diff {
        let mut diff = Diff::default();
        let lacks = |resource: &Resource| {
            self.resources.get(&resource.name) != Some(&resource.digest)
                && !self.is_refused(resource)
        };
        if wanted.wildcard {
            let changed = set.iter().filter(|resource| lacks(resource));
            diff.changed.extend(changed.cloned());
            if tells_absence {
                let held = self.resources.iter();
                let gone = held.filter(|(name, digest)| {
                    set.get(name).is_none() && **digest != Resource::absent(name)
                });
                diff.removed.extend(gone.map(|(name, _)| Arc::clone(name)));
            }
        }
        for name in &wanted.names {
            match set.get(name) {
                Some(resource) if !wanted.wildcard && lacks(resource) => {
                    diff.changed.push(Arc::clone(resource));
                }
                // With a wildcard, those that were held stand in the list already.
                None if tells_absence
                    && !(wanted.wildcard && self.resources.contains_key(name)) =>
                {
                    let told = self.resources.get(name) == Some(&Resource::absent(name));
                    if !told {
                        diff.removed.push(Arc::clone(name));
                    }
                }
                _ => {}
            }
        }
        diff
    }

    /// Notes that the client has just what it should have.
    pub(super) fn settle(&mut self, wanted: &Subscription, set: &TypeSet, tells_absence: bool) {
        *self = Self {
            refused: std::mem::take(&mut self.refused),
            ..Self::wanted(wanted, set, tells_absence)
        };
    }

    /// What a client that asks for this should have.
    pub(super) fn wanted(wanted: &Subscription, set: &TypeSet, tells_absence: bool) -> Self {
        let mut held = Self::default();
        if wanted.wildcard {
            for resource in set.iter() {
                held.set(&resource.name, resource.digest);
            }
        }
        for name in &wanted.names {
            match set.get(name) {
                Some(resource) => held.set(name, resource.digest),
                None if tells_absence => held.set(name, Resource::absent(name)),
                None => {}
            }
        }
        held
    }
}
