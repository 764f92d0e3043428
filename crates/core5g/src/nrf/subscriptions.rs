//! Nnrf_NFManagement, subscriptions (TS 29.510, 5.2.2.5, 5.2.2.6 and 6.1.3.4).

use super::Nrf;
use super::book::{Event, Profile};
use crate::runtime::wall_clock;
use crate::sbi::model::nrf::{SubscrCond, SubscriptionData};
use crate::sbi::patch::PatchItem;
use crate::sbi::{Exchange, HttpDate, Problem, Reply, Router, media};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Subscriptions that are kept.
pub(super) const MAX_SUBSCRIPTIONS: usize = 10_000;
/// How long one lasts at most; who wants more renews it.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Octets of a notification's URI.
const MAX_URI: usize = 512;
const SUBSCRIPTIONS: &str = "/nnrf-nfm/v1/subscriptions";
const SUBSCRIPTION: &str = "/nnrf-nfm/v1/subscriptions/{subscriptionID}";

/// By id: until when, and what.
type ById = BTreeMap<String, (Instant, Arc<SubscriptionData>)>;

/// Who wants to be told of what.
#[derive(Clone, Default)]
pub(super) struct Subscriptions {
    by_id: Arc<Mutex<ById>>,
    last: Arc<AtomicU64>,
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
            // Who registers is not told of itself.
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

    fn lock(&self) -> MutexGuard<'_, ById> {
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

impl Nrf {
    pub(super) fn subscription_resources(router: Router<Self>) -> Router<Self> {
        router
            .post(SUBSCRIPTIONS, Self::subscribe)
            .patch(SUBSCRIPTION, Self::renew)
            .delete(SUBSCRIPTION, Self::unsubscribe)
    }

    async fn subscribe(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let mut data: SubscriptionData = exchange.json()?;
        let uri = &data.nf_status_notification_uri;
        if !uri.starts_with("http") || uri.len() > MAX_URI {
            let reason = format!("a URI of http of at most {MAX_URI} octets");
            return Err(Problem::mandatory_incorrect(
                "/nfStatusNotificationUri",
                reason,
            ));
        }
        let others = data.subscr_cond.as_ref().map(|cond| &cond.others);
        if let Some(unknown) = others.and_then(|others| others.keys().next()) {
            // Without it the subscriber would be told of NFs that it did not ask for.
            return Err(
                Problem::new(501, "UNSUPPORTED_SUBSCRIPTION_CONDITION").detail(format!(
                    "/subscrCond/{unknown} is no condition that is known here"
                )),
            );
        }
        let span = validity(data.validity_time.as_deref());
        let number = self.subscriptions.last.fetch_add(1, Ordering::Relaxed) + 1;
        let id = number.to_string();
        data.subscription_id = Some(id.clone());
        data.validity_time = Some(wall_clock().after(span).to_json_text());
        let mut all = self.subscriptions.lock();
        if all.len() >= MAX_SUBSCRIPTIONS {
            return Err(Problem::new(507, "INSUFFICIENT_RESOURCES"));
        }
        let reply = Reply::created(&format!("{}{SUBSCRIPTIONS}/{id}", self.api_root), &data);
        all.insert(id, (Instant::now() + span, Arc::new(data)));
        Ok(reply)
    }

    async fn renew(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let items: Vec<PatchItem> = exchange.json_of(media::JSON_PATCH)?;
        let asked = items.iter().find(|item| item.path == "/validityTime");
        let asked = asked.and_then(|item| item.value.as_ref()?.as_str());
        let span = validity(asked);
        let mut all = self.subscriptions.lock();
        let found = all.get_mut(exchange.param("subscriptionID"));
        let (until, data) = found.ok_or_else(not_found)?;
        let mut renewed = SubscriptionData::clone(data);
        renewed.validity_time = Some(wall_clock().after(span).to_json_text());
        *until = Instant::now() + span;
        *data = Arc::new(renewed.clone());
        Ok(Reply::ok(&renewed))
    }

    async fn unsubscribe(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let was = self
            .subscriptions
            .lock()
            .remove(exchange.param("subscriptionID"));
        was.map(|_| Reply::no_content()).ok_or_else(not_found)
    }
}

/// How long one lasts that asked for this time.
fn validity(asked: Option<&str>) -> Duration {
    let asked = asked.and_then(HttpDate::from_json_text);
    let left = asked.and_then(|until| until.time().duration_since(SystemTime::now()).ok());
    left.unwrap_or(LONGEST).min(LONGEST)
}

fn not_found() -> Problem {
    Problem::new(404, "SUBSCRIPTION_NOT_FOUND")
}
