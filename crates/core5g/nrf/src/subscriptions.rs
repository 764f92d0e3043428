//! Nnrf_NFManagement, subscriptions (TS 29.510, 5.2.2.5, 5.2.2.6 and 6.1.3.4).

use super::Nrf;
use super::subscribed::MAX_SUBSCRIPTIONS;
use corewire_core5g_runtime::wall_clock;
use corewire_core5g_sbi::model::nrf::SubscriptionData;
use corewire_core5g_sbi::patch::PatchItem;
use corewire_core5g_sbi::{Exchange, HttpDate, Problem, Reply, Router, media};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long one lasts at most; who wants more renews it.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Octets of a notification's URI.
const MAX_URI: usize = 512;
const SUBSCRIPTIONS: &str = "/nnrf-nfm/v1/subscriptions";
const SUBSCRIPTION: &str = "/nnrf-nfm/v1/subscriptions/{subscriptionID}";

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
        all.insert(id, (self.now() + span, Arc::new(data)));
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
        *until = self.now() + span;
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
    let left = asked.and_then(|until| until.time().duration_since(wall_clock().time()).ok());
    left.unwrap_or(LONGEST).min(LONGEST)
}

fn not_found() -> Problem {
    Problem::new(404, "SUBSCRIPTION_NOT_FOUND")
}
