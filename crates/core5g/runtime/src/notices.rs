//! Notifications of the NRF as a consumer takes them (TS 29.510, 5.2.2.7): hints that what was
//! discovered has changed.
//!
//! A notification says only *which* service to discover again; its content is not believed. The
//! callback URI holds a random key, so a stranger cannot cause discoveries. A peer that knows the key
//! causes one discovery a [`PACE`] at most.

use corewire::{Code, Request, Response, Status};
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

/// What the path of the callback begins with.
const PATH: &str = "nnrf-nfm-callback/v1/nf-status-notify/";
/// The shortest time between two discoveries of a service that notifications cause.
pub(super) const PACE: Duration = Duration::from_millis(50);

/// The notifications that came, by service.
pub(super) struct Notices {
    /// Known to the NRF alone.
    key: String,
    services: Mutex<HashMap<String, Service>>,
    /// Grows when this NF registers: an NRF that did not know it has no subscription of it either.
    registrations: AtomicU64,
}

#[derive(Default)]
struct Service {
    is_changed: bool,
    waiting: Option<Waker>,
    /// The subscription's id at the NRF.
    subscription: Option<String>,
}

impl Notices {
    /// Of these services; `key` is part of the callback's path.
    pub(super) fn of<'a>(key: String, services: impl IntoIterator<Item = &'a str>) -> Self {
        let services = services.into_iter();
        let services = services.map(|service| (service.to_owned(), Service::default()));
        Self {
            key,
            services: Mutex::new(services.collect()),
            registrations: AtomicU64::new(0),
        }
    }

    /// The path of the callback for a service, with a slash in front.
    pub(super) fn path(&self, service: &str) -> String {
        format!("/{PATH}{}/{service}", self.key)
    }

    /// Whether a request to this path is a notification.
    pub(super) fn is_one(path: &str) -> bool {
        path.starts_with(PATH)
    }

    /// Takes a notification.
    pub(super) fn answer(&self, request: &Request) -> Response {
        let path = request.operation.as_str();
        let rest = path.strip_prefix(PATH).unwrap_or_default();
        let is_ours = rest
            .split_once('/')
            .is_some_and(|(key, service)| key == self.key && self.ring(service));
        if is_ours {
            // No content (TS 29.510, 6.1.5.2.3.1).
            Response::ok(corewire::Body::default())
        } else {
            // The NRF ends a subscription whose callback is not found.
            Response::failed(Status::new(Code::NotFound, "no such subscription"))
        }
    }

    /// What is known of this service may have changed; false when it is none of ours.
    pub(super) fn ring(&self, service: &str) -> bool {
        let mut services = self.services();
        let Some(entry) = services.get_mut(service) else {
            return false;
        };
        entry.is_changed = true;
        let waiting = entry.waiting.take();
        drop(services);
        if let Some(waker) = waiting {
            waker.wake();
        }
        true
    }

    /// This NF has registered: all services are to be subscribed to and discovered.
    pub(super) fn registered(&self) {
        self.registrations.fetch_add(1, Ordering::AcqRel);
        let all: Vec<String> = self.services().keys().cloned().collect();
        for service in all {
            self.ring(&service);
        }
    }

    /// How often this NF has registered.
    pub(super) fn registrations(&self) -> u64 {
        self.registrations.load(Ordering::Acquire)
    }

    /// Notes the id of the subscription for a service; `None`: there is none any more.
    pub(super) fn set_subscription(&self, service: &str, id: Option<String>) {
        if let Some(entry) = self.services().get_mut(service) {
            entry.subscription = id;
        }
    }

    /// Takes the ids of all subscriptions.
    pub(super) fn take_subscriptions(&self) -> Vec<String> {
        let mut services = self.services();
        let all = services.values_mut();
        all.filter_map(|entry| entry.subscription.take()).collect()
    }

    /// Waits for a notification about this service, or until `sleep` is over.
    ///
    /// # Cancel safety
    /// A notification that was not waited for is kept.
    pub(super) async fn wait(&self, service: &str, sleep: impl Future<Output = ()>) {
        let mut sleep = pin!(sleep);
        poll_fn(|cx| {
            let mut services = self.services();
            if let Some(entry) = services.get_mut(service) {
                if std::mem::take(&mut entry.is_changed) {
                    return Poll::Ready(());
                }
                entry.waiting = Some(cx.waker().clone());
            }
            drop(services);
            sleep.as_mut().poll(cx)
        })
        .await;
    }

    fn services(&self) -> MutexGuard<'_, HashMap<String, Service>> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire::Operation;
    use std::future::pending;
    use std::task::Context;

    fn is_woken(notices: &Notices, service: &str) -> bool {
        let mut wait = pin!(notices.wait(service, pending()));
        let mut cx = Context::from_waker(Waker::noop());
        wait.as_mut().poll(&mut cx).is_ready()
    }

    fn notify(notices: &Notices, path: &str) -> bool {
        let operation = Operation::parse(path.trim_start_matches('/')).expect("a path");
        notices.answer(&Request::new(operation)).status.is_ok()
    }

    #[test]
    fn a_notification_ends_the_wait_for_its_service_once() {
        let notices = Notices::of("key".into(), ["nudm-ueau", "nudm-sdm"]);
        assert!(!is_woken(&notices, "nudm-ueau"));
        assert!(notify(&notices, &notices.path("nudm-ueau")));
        assert!(!is_woken(&notices, "nudm-sdm"));
        assert!(is_woken(&notices, "nudm-ueau"));
        assert!(!is_woken(&notices, "nudm-ueau"));
    }

    #[test]
    fn a_notification_with_a_wrong_key_or_service_is_refused() {
        let notices = Notices::of("key".into(), ["nudm-ueau"]);
        let wrong_key = notices.path("nudm-ueau").replace("key", "kex");
        assert!(!notify(&notices, &wrong_key));
        assert!(!notify(&notices, &notices.path("nudr-dr")));
        assert!(!is_woken(&notices, "nudm-ueau"));
    }

    #[test]
    fn a_registration_causes_a_discovery_of_every_service() {
        let notices = Notices::of("key".into(), ["nudm-ueau", "nudm-sdm"]);
        notices.registered();
        assert_eq!(notices.registrations(), 1);
        assert!(is_woken(&notices, "nudm-ueau") && is_woken(&notices, "nudm-sdm"));
    }
}
