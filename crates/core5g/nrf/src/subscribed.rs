//! Subscriptions to changes of instances: each subscriber and what it asked for.

use super::profile_store::{Event, Profile};
use corewire_core5g_sbi::model::nrf::{SubscrCond, SubscriptionData};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Subscriptions that are kept.
pub(super) const MAX_SUBSCRIPTIONS: usize = 10_000;

/// By id: until when, and what.
pub(super) type ById = BTreeMap<String, (Instant, Arc<SubscriptionData>)>;

/// The subscriptions, each with what it asked for.
#[derive(Clone, Default)]
pub(super) struct Subscriptions {
    by_id: Arc<Mutex<ById>>,
    pub(super) last: Arc<AtomicU64>,
}

impl Subscriptions {
    /// Those that an event is for, by their id.
    pub(super) fn of(&self, event: &Event) -> Vec<(String, Arc<SubscriptionData>)> {
        let (name, profile) = match event {
            Event::Registered(profile) => ("NF_REGISTERED", profile),
            Event::Changed { now, matters: true } => ("NF_PROFILE_CHANGED", now),
            Event::Gone(profile) => ("NF_DEREGISTERED", profile),
            Event::Heard(_) | Event::Changed { .. } => return Vec::new(),
        };
        let wants = |data: &SubscriptionData| {
            let events = data.req_notif_events.as_ref();
            // A network function gets no notification of its own registration.
            data.req_nf_instance_id.as_deref() != Some(&profile.view.nf_instance_id)
                && events.is_none_or(|events| events.iter().any(|one| one == name))
                && data
                    .subscr_cond
                    .as_ref()
                    .is_none_or(|cond| fits(cond, profile))
        };
        let all = self.lock();
        let found = all.iter().filter(|(_, (_, data))| wants(data));
        found
            .map(|(id, (_, data))| (id.clone(), Arc::clone(data)))
            .collect()
    }

    /// Ends one: its callback is not there any more.
    pub(super) fn end(&self, id: &str) {
        self.lock().remove(id);
    }

    /// Ends those whose time is over.
    pub(super) fn handle_timeout(&self, now: Instant) {
        self.lock().retain(|_, (until, _)| *until > now);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ById> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn fits(cond: &SubscrCond, profile: &Profile) -> bool {
    let view = &profile.view;
    let instance = cond.nf_instance_id.as_ref();
    let nf_type = cond.nf_type.as_ref();
    let service = cond.service_name.as_ref();
    let set = cond.nf_set_id.as_ref();
    instance.is_none_or(|id| *id == view.nf_instance_id)
        && nf_type.is_none_or(|nf_type| *nf_type == view.nf_type)
        && service.is_none_or(|name| view.services().any(|one| one.service_name == *name))
        && set.is_none_or(|set| view.nf_set_id_list.contains(set))
}
