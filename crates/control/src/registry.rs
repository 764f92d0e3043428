//! Who offers which service, and for how long: a sans-IO core.
//!
//! Instances register, send heartbeats, leave, or lapse when they stay silent. The core owns no
//! clock and no store: `now` is an argument, and what it did comes out of [`Registry::poll`] as
//! [`Change`]s, for the store and for xDS. The verbs are those of every core here; there is no
//! `poll_transmit` because it has no peer of its own.
//!
//! ```text
//!   register ──▶ present ──heartbeat──▶ present (later deadline)
//!                   │ leave: Change::Gone(Left)
//!                   │ handle_timeout after its deadline: Change::Gone(Lapsed)
//!                   ▼
//!                 gone ──heartbeat──▶ NotRegistered: register again
//! ```

mod face;
mod instance;
mod refusal;
#[cfg(test)]
mod tests;

pub use face::{HEARTBEAT, LEAVE, LIST, REGISTER};
pub(crate) use face::{RegistryAnswer, answer};
pub use instance::Instance;
pub use refusal::{FieldFault, Refusal};

use crate::config::RegistryConfig;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What happened to an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// It is there, new or with other properties.
    Present(Arc<Instance>),
    /// It is there again with all it had: nothing to tell clients.
    Renewed(Arc<Instance>),
    /// It is gone.
    Gone(Arc<Instance>, Departure),
}

/// Why an instance is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Departure {
    /// It said so.
    Left,
    /// It was silent for longer than its lease.
    Lapsed,
    /// Another instance registered under its name for another service.
    Replaced,
}

fn is_lease_of(lease: &str, instance: &Instance) -> bool {
    lease.is_empty() || lease == instance.lease()
}

struct Entry {
    instance: Arc<Instance>,
    deadline: Instant,
    /// Where it stands in `due`; at most `deadline`. A heartbeat moves the deadline only, so that
    /// it costs no search: the timer looks again when it fires.
    looked_at: Instant,
}

/// The instances that are registered.
pub struct Registry {
    config: RegistryConfig,
    max_instances: usize,
    instances: HashMap<Arc<str>, Entry>,
    by_service: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Arc<Instance>>>,
    due: BTreeSet<(Instant, Arc<str>)>,
    changes: VecDeque<Change>,
}

impl Registry {
    /// An empty registry.
    #[must_use]
    pub fn new(config: RegistryConfig, max_instances: usize) -> Self {
        Self {
            config,
            max_instances,
            instances: HashMap::new(),
            by_service: BTreeMap::new(),
            due: BTreeSet::new(),
            changes: VecDeque::new(),
        }
    }

    /// Takes other settings; leases that were granted stay.
    pub fn set_config(&mut self, config: RegistryConfig, max_instances: usize) {
        self.config = config;
        self.max_instances = max_instances;
    }

    /// What was granted before a restart. Instances could not send heartbeats meanwhile, so each
    /// gets its whole lease again, and at least the configured grace.
    pub fn restore(&mut self, now: Instant, instances: impl IntoIterator<Item = Instance>) {
        for instance in instances {
            let asked = instance.ttl.min(self.config.max_ttl);
            let lease = asked.max(self.config.restart_grace);
            self.insert(Arc::new(instance), now + lease);
        }
    }

    /// Adds an instance or replaces the one of the same name; gives the lease that was granted.
    ///
    /// # Errors
    /// When it is not valid (all of its faults) or there is no room.
    pub fn register(&mut self, now: Instant, mut instance: Instance) -> Result<Duration, Refusal> {
        instance.check()?;
        let ttl = match instance.ttl {
            Duration::ZERO => self.config.default_ttl,
            asked => asked.clamp(self.config.min_ttl, self.config.max_ttl),
        };
        instance.ttl = ttl;
        let instance = Arc::new(instance);
        match self.instances.get(&instance.id).map(|e| &e.instance) {
            None if self.instances.len() >= self.max_instances => {
                return Err(Refusal::Full {
                    limit: self.max_instances,
                });
            }
            None => self
                .changes
                .push_back(Change::Present(Arc::clone(&instance))),
            Some(before) if **before == *instance => {
                self.changes
                    .push_back(Change::Renewed(Arc::clone(&instance)));
            }
            Some(before) => {
                if before.service != instance.service {
                    let gone = Change::Gone(Arc::clone(before), Departure::Replaced);
                    self.changes.push_back(gone);
                }
                self.changes
                    .push_back(Change::Present(Arc::clone(&instance)));
            }
        }
        self.insert(instance, now + ttl);
        Ok(ttl)
    }

    /// Notes that an instance is still there; an empty lease is whichever holds.
    ///
    /// # Errors
    /// When it is not registered, or another registration took its place: it shall register again.
    pub fn heartbeat(&mut self, now: Instant, id: &str, lease: &str) -> Result<(), Refusal> {
        let entry = self.instances.get_mut(id).ok_or(Refusal::NotRegistered)?;
        if !is_lease_of(lease, &entry.instance) {
            return Err(Refusal::NotRegistered);
        }
        // After a restart the grace may reach further than one lease from now.
        entry.deadline = entry.deadline.max(now + entry.instance.ttl);
        Ok(())
    }

    /// Takes an instance away; an empty lease is whichever holds.
    ///
    /// # Errors
    /// When it is not registered, or another registration took its place.
    pub fn leave(&mut self, id: &str, lease: &str) -> Result<(), Refusal> {
        let is_its = |instance: &Arc<Instance>| is_lease_of(lease, instance);
        if self.find(id).is_some_and(is_its) && self.remove(id, Departure::Left) {
            Ok(())
        } else {
            Err(Refusal::NotRegistered)
        }
    }

    /// Takes away whose lease has ended; call it at [`poll_timeout`](Self::poll_timeout).
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((when, _)) = self.due.first()
            && *when <= now
        {
            let Some((_, id)) = self.due.pop_first() else {
                return;
            };
            let Some(entry) = self.instances.get_mut(&id) else {
                continue;
            };
            if entry.deadline > now {
                entry.looked_at = entry.deadline;
                self.due.insert((entry.deadline, id));
            } else {
                self.remove(&id, Departure::Lapsed);
            }
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due.first().map(|(when, _)| *when)
    }

    /// What has changed, in order; call it after each of the above.
    pub fn poll(&mut self) -> Option<Change> {
        self.changes.pop_front()
    }

    /// How many are registered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// Whether none is registered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty()
    }

    /// The instances of a service, by name.
    pub fn of_service(&self, service: &str) -> impl Iterator<Item = &Arc<Instance>> {
        self.by_service
            .get(service)
            .into_iter()
            .flat_map(BTreeMap::values)
    }

    /// The instance of this name.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Arc<Instance>> {
        self.instances.get(id).map(|entry| &entry.instance)
    }

    /// Every service somebody is registered for.
    pub fn services(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.by_service.keys()
    }

    fn insert(&mut self, instance: Arc<Instance>, deadline: Instant) {
        let id = Arc::clone(&instance.id);
        if let Some(before) = self.instances.get(&id) {
            self.due.remove(&(before.looked_at, Arc::clone(&id)));
            let service = Arc::clone(&before.instance.service);
            if service != instance.service {
                self.forget(&service, &id);
            }
        }
        self.by_service
            .entry(Arc::clone(&instance.service))
            .or_default()
            .insert(Arc::clone(&id), Arc::clone(&instance));
        self.due.insert((deadline, Arc::clone(&id)));
        let entry = Entry {
            instance,
            deadline,
            looked_at: deadline,
        };
        self.instances.insert(id, entry);
    }

    fn remove(&mut self, id: &str, departure: Departure) -> bool {
        let Some((id, entry)) = self.instances.remove_entry(id) else {
            return false;
        };
        self.due.remove(&(entry.looked_at, Arc::clone(&id)));
        self.forget(&entry.instance.service, &id);
        self.changes
            .push_back(Change::Gone(entry.instance, departure));
        true
    }

    fn forget(&mut self, service: &str, id: &str) {
        if let Some(instances) = self.by_service.get_mut(service) {
            instances.remove(id);
            if instances.is_empty() {
                self.by_service.remove(service);
            }
        }
    }
}
