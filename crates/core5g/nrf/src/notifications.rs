//! Tells subscribers what has happened (TS 29.510, 5.2.2.7): in order, some times, never without end.

use super::profile_store::Event;
use super::subscribed::Subscriptions;
use bytes::Bytes;
use corewire_core5g_runtime::{Runtime, SbiRequest, path_of};
use corewire_core5g_sbi::header;
use serde_json::json;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Notifications that wait for one subscriber; the oldest gives way.
const MAX_WAITING: usize = 64;
/// How long a subscriber has to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Waits between tries; after the last the notification is given up.
const RETRIES: [Duration; 3] = [
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(2),
];

/// Sends notifications, one at a time for each subscriber.
pub(super) struct Notifier {
    runtime: Option<Runtime>,
    waiting: Arc<Mutex<Waiting>>,
}

/// By subscription. One with an entry has a task that sends it.
type Waiting = HashMap<String, VecDeque<Notification>>;

#[derive(Clone)]
struct Notification {
    uri: String,
    body: Bytes,
}

impl Notifier {
    /// Through this runtime; none in tests of one function.
    pub(super) fn through(runtime: Option<Runtime>) -> Self {
        Self {
            runtime,
            waiting: Arc::default(),
        }
    }

    /// Tells an event to all that it is for.
    pub(super) fn tell(&self, subscriptions: &Subscriptions, api_root: &str, event: &Event) {
        let to = subscriptions.of(event);
        if to.is_empty() {
            return;
        }
        let body = body(api_root, event);
        for (id, data) in to {
            let notification = Notification {
                uri: data.nf_status_notification_uri.clone(),
                body: body.clone(),
            };
            self.send(id, notification, subscriptions);
        }
    }

    fn send(&self, id: String, notification: Notification, subscriptions: &Subscriptions) {
        let Some(runtime) = &self.runtime else {
            return;
        };
        let mut waiting = lock(&self.waiting);
        if let Some(queue) = waiting.get_mut(&id) {
            if queue.len() >= MAX_WAITING {
                queue.pop_front();
            }
            queue.push_back(notification);
            return;
        }
        waiting.insert(id.clone(), VecDeque::from([notification]));
        drop(waiting);
        let (task, waiting) = (runtime.clone(), Arc::clone(&self.waiting));
        let subscriptions = subscriptions.clone();
        runtime.spawn(0, async move {
            loop {
                let next = {
                    let mut waiting = lock(&waiting);
                    let next = waiting.get_mut(&id).and_then(VecDeque::pop_front);
                    if next.is_none() {
                        waiting.remove(&id);
                    }
                    next
                };
                let Some(notification) = next else {
                    return;
                };
                if deliver(&task, &notification).await == Delivered::NoCallback {
                    subscriptions.end(&id);
                }
            }
        });
    }
}

/// What has become of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivered {
    /// It was taken, or given up.
    Done,
    /// The callback is not there: that of a process that has ended, for example.
    NoCallback,
}

async fn deliver(runtime: &Runtime, notification: &Notification) -> Delivered {
    for wait in RETRIES.iter().map(Some).chain([None]) {
        let request = SbiRequest::post(path_of(&notification.uri))
            .octets("application/json", notification.body.clone())
            .header(header::CALLBACK, "Nnrf_NFManagement_NFStatusNotify")
            .within(PATIENCE);
        let Err(failure) = runtime.sbi(0).at(&notification.uri, request).await else {
            return Delivered::Done;
        };
        if matches!(failure.status(), Some(404 | 410)) {
            return Delivered::NoCallback;
        }
        // Who answers that it does not want it is not asked again.
        let refused = failure
            .status()
            .is_some_and(|status| (300..500).contains(&status));
        match wait {
            Some(wait) if !refused => runtime.sleep(*wait).await,
            _ => {
                tracing::warn!(name: "notification-failed", "{} was not notified: {failure}", notification.uri);
                return Delivered::Done;
            }
        }
    }
    Delivered::Done
}

fn body(api_root: &str, event: &Event) -> Bytes {
    let (name, profile, with_profile) = match event {
        Event::Registered(profile) => ("NF_REGISTERED", profile, true),
        Event::Changed { now, .. } => ("NF_PROFILE_CHANGED", now, true),
        Event::Gone(profile) => ("NF_DEREGISTERED", profile, false),
        Event::Heard(_) => return Bytes::new(),
    };
    let id = &profile.view.nf_instance_id;
    let mut document = json!({
        "event": name,
        "nfInstanceUri": format!("{api_root}/nnrf-nfm/v1/nf-instances/{id}"),
    });
    if with_profile {
        document["nfProfile"] = profile.document.clone();
    }
    serde_json::to_vec(&document).unwrap_or_default().into()
}

fn lock(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}
