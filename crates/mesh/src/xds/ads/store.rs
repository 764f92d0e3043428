//! The resources that are asked for, and the last good state of each.

use crate::config::{FieldFault, ResourceId};
use crate::xds::validate::{Decoded, Value};
use bytes::Bytes;
use corewire_xds::ResourceType;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

/// Every resource that is asked for, by kind and name.
#[derive(Debug, Default)]
pub(super) struct Store {
    entries: [BTreeMap<Arc<str>, Entry>; 4],
    /// Grows whenever other names are asked for.
    generations: [u64; 4],
    /// Names that were too many to be asked for.
    too_many: [BTreeSet<Arc<str>>; 4],
    /// Of all resources together.
    octets: usize,
    /// A resource of which something was noticed or refused is no longer asked for.
    pub(super) dropped_remarks: bool,
}

/// What is known of a resource.
#[derive(Debug)]
pub(super) struct Entry {
    /// The last good one.
    pub(super) value: Option<Value>,
    /// Its octets, to know it again when it is sent again.
    raw: Bytes,
    /// Its version, when the server gives each resource one, and who sent it.
    pub(super) version: String,
    pub(super) server: usize,
    /// What it asks for that is not carried out.
    pub(super) notices: Vec<FieldFault>,
    /// What is wrong with a newer one that was refused.
    pub(super) refused: Vec<FieldFault>,
    /// Why it counts as missing, when there is no value.
    pub(super) missing: Option<Arc<str>>,
    /// It counts as missing only because nobody could be asked.
    pub(super) unasked: bool,
    /// Since when it is asked for.
    pub(super) since: Instant,
    /// When it counts as missing, unless it comes before.
    pub(super) timer: Option<Instant>,
}

/// What a resource that came led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// There is another value, none any more, or for the first time a reason why there is none.
    pub(super) value: bool,
    /// What is noticed or refused of it changed.
    pub(super) remarks: bool,
}

impl Entry {
    const fn new(now: Instant) -> Self {
        Self {
            value: None,
            raw: Bytes::new(),
            version: String::new(),
            server: 0,
            notices: Vec::new(),
            refused: Vec::new(),
            missing: None,
            unasked: false,
            since: now,
            timer: None,
        }
    }

    /// Whether it is known to be there or known to be missing.
    pub(super) const fn is_settled(&self) -> bool {
        self.value.is_some() || self.missing.is_some()
    }

    /// Whether these are the octets of the last good one.
    pub(super) fn is_same(&self, octets: &[u8]) -> bool {
        self.value.is_some() && *self.raw == *octets
    }

    /// The last good one came again, in the very same octets.
    pub(super) fn confirm(&mut self, version: String, server: usize) -> Change {
        self.version = version;
        self.server = server;
        self.timer = None;
        let remarks = !self.refused.is_empty();
        self.refused.clear();
        Change {
            value: false,
            remarks,
        }
    }

    /// Another one came.
    pub(super) fn accept(
        &mut self,
        decoded: Decoded,
        octets: &Bytes,
        version: String,
        server: usize,
    ) -> Change {
        self.timer = None;
        self.unasked = false;
        match decoded.value {
            Ok(value) => {
                let remarks = !self.refused.is_empty() || self.notices != decoded.notices;
                self.refused.clear();
                self.notices = decoded.notices;
                self.version = version;
                self.server = server;
                // A copy: a slice would keep the whole response.
                self.raw = Bytes::copy_from_slice(octets);
                self.missing = None;
                let other = self.value.as_ref() != Some(&value);
                if other {
                    self.value = Some(value);
                }
                Change {
                    value: other,
                    remarks,
                }
            }
            Err(faults) => {
                let remarks = self.refused != faults;
                self.refused = faults;
                if self.value.is_none() {
                    self.missing = Some("the control plane's version of it is refused".into());
                }
                Change {
                    value: self.value.is_none() && remarks,
                    remarks,
                }
            }
        }
    }

    /// It is not there, says the server or the clock.
    pub(super) fn remove(&mut self, why: &str) -> Change {
        self.timer = None;
        self.unasked = false;
        if self.value.is_none() && self.missing.is_some() {
            return Change::default();
        }
        let remarks = !self.notices.is_empty() || !self.refused.is_empty();
        self.value = None;
        self.raw = Bytes::new();
        self.version = String::new();
        self.notices.clear();
        self.refused.clear();
        self.missing = Some(why.into());
        Change {
            value: true,
            remarks,
        }
    }
}

const fn at(kind: ResourceType) -> usize {
    match kind {
        ResourceType::Listener => 0,
        ResourceType::Route => 1,
        ResourceType::Cluster => 2,
        ResourceType::Endpoints => 3,
    }
}

impl Store {
    pub(super) const fn of(&self, kind: ResourceType) -> &BTreeMap<Arc<str>, Entry> {
        &self.entries[at(kind)]
    }

    /// Which names are asked for: the same number, the same names.
    pub(super) const fn generation(&self, kind: ResourceType) -> u64 {
        self.generations[at(kind)]
    }

    pub(super) fn get_mut(&mut self, kind: ResourceType, name: &str) -> Option<&mut Entry> {
        self.entries[at(kind)].get_mut(name)
    }

    /// Changes a resource, and knows how much is kept then.
    pub(super) fn change<R>(
        &mut self,
        kind: ResourceType,
        name: &str,
        change: impl FnOnce(&mut Entry) -> R,
    ) -> Option<R> {
        let entry = self.entries[at(kind)].get_mut(name)?;
        let before = entry.raw.len();
        let result = change(entry);
        self.octets = self.octets - before + entry.raw.len();
        Some(result)
    }

    /// What is kept when this resource has so many octets.
    pub(super) fn octets_with(&self, kind: ResourceType, name: &str, octets: usize) -> usize {
        let before = self.get(kind, name).map_or(0, |entry| entry.raw.len());
        self.octets - before + octets
    }

    pub(super) fn get(&self, kind: ResourceType, name: &str) -> Option<&Entry> {
        self.of(kind).get(name)
    }

    /// Asks for exactly these, and keeps what is known of those that were asked for before; at most
    /// so many, the first that came.
    pub(super) fn want_exactly(
        &mut self,
        kind: ResourceType,
        names: &BTreeSet<Arc<str>>,
        most: usize,
        now: Instant,
    ) {
        let entries = &mut self.entries[at(kind)];
        let too_many = &mut self.too_many[at(kind)];
        let before = entries.len();
        let (dropped_remarks, octets) = (&mut self.dropped_remarks, &mut self.octets);
        entries.retain(|name, entry| {
            let wanted = names.contains(name);
            let remarks = !entry.notices.is_empty() || !entry.refused.is_empty();
            *dropped_remarks |= !wanted && remarks;
            if !wanted {
                *octets -= entry.raw.len();
            }
            wanted
        });
        let mut changed = entries.len() != before;
        too_many.clear();
        for name in names {
            if entries.contains_key(name) {
                continue;
            }
            if entries.len() >= most {
                too_many.insert(Arc::clone(name));
                continue;
            }
            entries.insert(Arc::clone(name), Entry::new(now));
            changed = true;
        }
        if changed {
            self.generations[at(kind)] += 1;
        }
    }

    /// Whether this resource was one too many.
    pub(super) fn is_one_too_many(&self, kind: ResourceType, name: &str) -> bool {
        self.too_many[at(kind)].contains(name)
    }

    /// Every resource.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ResourceType, &Arc<str>, &Entry)> {
        ResourceType::ALL.into_iter().flat_map(|kind| {
            let entries = self.of(kind).iter();
            entries.map(move |(name, entry)| (kind, name, entry))
        })
    }

    /// Every resource, to be changed.
    pub(super) fn iter_mut(
        &mut self,
    ) -> impl Iterator<Item = (ResourceType, &Arc<str>, &mut Entry)> {
        let kinds = ResourceType::ALL.into_iter().zip(&mut self.entries);
        kinds.flat_map(|(kind, entries)| {
            let entries = entries.iter_mut();
            entries.map(move |(name, entry)| (kind, name, entry))
        })
    }
}

/// How a resource is called in notices and faults.
pub(super) fn resource_id(kind: ResourceType, name: &str) -> ResourceId {
    ResourceId {
        kind: kind.message_name(),
        name: name.into(),
    }
}
