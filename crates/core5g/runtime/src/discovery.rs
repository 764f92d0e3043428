//! Discovery at the NRF (TS 29.510, 5.3.2.2) of each service that this NF calls.
//!
//! ```text
//!   registered ─▶ subscribe ─▶ discover ─▶ wait ── a notification, or validityPeriod is over ──┐
//!                     ▲            ▲                                                           │
//!                     │            └───────────────────────────────────────────────────────────┤
//!                     └── registered anew, or the subscription is to be renewed ───────────────┘
//! ```
//!
//! The NRF says when something changes (TS 29.510, 5.2.2.5 and 5.2.2.7), so an idle NF asks once a
//! `validityPeriod`. An NRF that takes no subscription is asked every second. What is found goes to
//! the mesh, which goes on with the last good state while the NRF is away.
#![expect(
    clippy::disallowed_methods,
    reason = "a driver: asks the NRF again by the clock"
)]

use super::directory::{Known, Place};
use super::notices::PACE;
use super::profile::{Profile, type_of};
use super::{Runtime, SbiFailure, SbiRequest};
use crate::selection;
use corewire_core5g_sbi::HttpDate;
use corewire_core5g_sbi::model::nrf::NfProfile;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::{Duration, Instant, SystemTime};

const SUBSCRIPTIONS: &str = "/nnrf-nfm/v1/subscriptions";

/// Between two questions while the NRF does not answer, or while an instance that was found is
/// believed to be still there.
const AGAIN: Duration = Duration::from_millis(100);
/// Between two questions for a service that no instance offers, and for any service at an NRF that
/// takes no subscription.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Between two questions where the NRF tells of changes and states no `validityPeriod`.
const VALIDITY: Duration = Duration::from_secs(30);
/// The longest time that an answer is relied on, whatever its `validityPeriod`.
const LONGEST_VALIDITY: Duration = Duration::from_secs(3600);
/// How long a subscription is asked for; it is renewed at half of what was granted.
const SUBSCRIBED: Duration = Duration::from_secs(3600);
/// Between two attempts to subscribe at an NRF that refuses.
const SUBSCRIBE_AGAIN: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(2);
/// How long an empty answer is taken for that of an NRF that was started again and knows no NF until
/// all have registered anew. As long as a lease, after which an instance that is gone is gone.
const MISSED: Duration = Duration::from_secs(15);
/// How long the first discovery waits for the registration of this NF: before it the NRF grants no
/// access token.
const REGISTERED: Duration = Duration::from_secs(1);
/// Profiles of one answer that are taken in.
const MAX_PROFILES: usize = 4096;

/// Begins to discover what this NF calls, and goes on until the process ends.
pub(super) fn start(runtime: &Runtime, nrf: &str, profile: &Profile) {
    for service in runtime.directory().to_discover() {
        let look = Look {
            runtime: runtime.clone(),
            nrf: nrf.to_owned(),
            requester: profile.nf_type(),
            service,
            subscription: None,
            subscribe_at: Instant::now(),
            registrations: 0,
            tag: None,
            last_found: None,
        };
        runtime.spawn(0, look.run());
    }
}

/// Ends the subscriptions: the NRF need not tell a process that is gone. No answer is waited for.
pub(super) fn end(runtime: &Runtime, nrf: &str) {
    for id in runtime.notices().take_subscriptions() {
        let (task, nrf) = (runtime.clone(), nrf.to_owned());
        runtime.spawn(0, async move {
            let request = SbiRequest::delete(format!("{SUBSCRIPTIONS}/{id}")).within(TIMEOUT);
            let request = task.grants().credited(request);
            // It ends by itself at its validity time.
            let _unanswered = task.sbi(0).at_nrf(&nrf, request).await;
        });
    }
}

/// The discovery of one service.
struct Look {
    runtime: Runtime,
    nrf: String,
    requester: &'static str,
    service: String,
    /// Its id at the NRF; `None`: not subscribed.
    subscription: Option<String>,
    /// When to subscribe, or to renew the subscription.
    subscribe_at: Instant,
    /// How often this NF had registered when it subscribed.
    registrations: u64,
    tag: Option<String>,
    last_found: Option<Instant>,
}

impl Look {
    async fn run(mut self) {
        self.until_registered().await;
        while !self.runtime.loops()[0].has_ended() {
            self.keep_subscription().await;
            let began = Instant::now();
            let wait = self.discover().await;
            let renewal = self.subscribe_at.saturating_duration_since(Instant::now());
            let sleep = self.runtime.sleep(wait.min(renewal.max(PACE)));
            self.runtime.notices().wait(&self.service, sleep).await;
            let left = PACE.saturating_sub(began.elapsed());
            if !left.is_zero() {
                self.runtime.sleep(left).await;
            }
        }
    }

    async fn until_registered(&self) {
        let until = Instant::now() + REGISTERED;
        while self.runtime.notices().registrations() == 0 && Instant::now() < until {
            let sleep = self.runtime.sleep(REGISTERED);
            self.runtime.notices().wait(&self.service, sleep).await;
        }
    }

    /// Subscribes, or renews the subscription, when it is time to (TS 29.510, 5.2.2.5).
    async fn keep_subscription(&mut self) {
        let registrations = self.runtime.notices().registrations();
        if registrations != self.registrations {
            // The NRF did not know this NF: it has no subscription of it either.
            self.registrations = registrations;
            self.subscription = None;
            self.subscribe_at = Instant::now();
        }
        if Instant::now() < self.subscribe_at {
            return;
        }
        let granted = match self.subscription.take() {
            Some(id) => match self.renew(&id).await {
                Ok(granted) => Ok((id, granted)),
                Err(_) => self.subscribe().await,
            },
            None => self.subscribe().await,
        };
        match granted {
            Ok((id, granted)) => {
                self.subscription = Some(id);
                self.subscribe_at = Instant::now() + granted / 2;
            }
            Err(failure) => {
                // While the NRF is away, discovery asks it again and again anyway.
                let refused = failure.status().is_some();
                self.subscribe_at = Instant::now() + if refused { SUBSCRIBE_AGAIN } else { AGAIN };
                if refused {
                    tracing::warn!(
                        name: "nrf-subscription-refused",
                        "the NRF takes no subscription for {}, it is asked every second: {failure}",
                        self.service
                    );
                }
            }
        }
        let id = self.subscription.clone();
        self.runtime.notices().set_subscription(&self.service, id);
    }

    async fn subscribe(&self) -> Result<(String, Duration), SbiFailure> {
        let callback = self.runtime.notices().path(&self.service);
        let data = json!({
            "nfStatusNotificationUri": format!("{}{callback}", self.runtime.api_root()),
            "reqNfInstanceId": self.runtime.instance(),
            "reqNfType": self.requester,
            "subscrCond": {"serviceName": self.service},
            "reqNotifEvents": ["NF_REGISTERED", "NF_DEREGISTERED", "NF_PROFILE_CHANGED"],
            "validityTime": super::wall_clock().after(SUBSCRIBED).to_json_text(),
        });
        let request = SbiRequest::post(SUBSCRIPTIONS).json(&data)?.within(TIMEOUT);
        let request = self.runtime.grants().credited(request);
        let answer = self.runtime.sbi(0).at_nrf(&self.nrf, request).await?;
        let document: Value = answer.json()?;
        let id = document["subscriptionId"].as_str();
        let id = id.ok_or_else(|| SbiFailure::local("a subscription without an id"))?;
        Ok((id.to_owned(), granted(&document)))
    }

    async fn renew(&self, id: &str) -> Result<Duration, SbiFailure> {
        let until = super::wall_clock().after(SUBSCRIBED).to_json_text();
        let patch = json!([{"op": "replace", "path": "/validityTime", "value": until}]);
        let request = SbiRequest::patch(format!("{SUBSCRIPTIONS}/{id}"))
            .octets("application/json-patch+json", patch.to_string())
            .within(TIMEOUT);
        let request = self.runtime.grants().credited(request);
        let answer = self.runtime.sbi(0).at_nrf(&self.nrf, request).await?;
        // 204: as it was asked for (TS 29.510, 5.2.2.5.6).
        let document: Value = answer.json().unwrap_or_default();
        Ok(granted(&document))
    }

    /// Asks once; says how long its answer is good for.
    async fn discover(&mut self) -> Duration {
        let path = format!(
            "/nnrf-disc/v1/nf-instances?target-nf-type={}&requester-nf-type={}&service-names={}",
            type_of(&self.service),
            self.requester,
            self.service
        );
        let mut request = SbiRequest::get(path).within(TIMEOUT);
        if let Some(tag) = &self.tag {
            request = request.header("if-none-match", tag.clone());
        }
        let is_told = self.subscription.is_some();
        match self.runtime.sbi(0).at_nrf(&self.nrf, request).await {
            Ok(answer) => match answer.json::<SearchResult>() {
                Ok(found) => {
                    self.tag = answer.header("etag").map(str::to_owned);
                    self.learn(&found).await
                }
                Err(_) => LOOK_AGAIN,
            },
            // As before.
            Err(failure) if failure.status() == Some(304) => {
                self.last_found = self.last_found.map(|_| Instant::now());
                if !self.prepare().await {
                    return AGAIN;
                }
                match self.last_found {
                    Some(_) if is_told => VALIDITY,
                    _ => LOOK_AGAIN,
                }
            }
            // What is known stays.
            Err(_) => AGAIN,
        }
    }

    /// Takes in an answer; says how long it is good for.
    async fn learn(&mut self, found: &SearchResult) -> Duration {
        let profiles = found.nf_instances.iter().take(MAX_PROFILES);
        let offers = selection::offers(profiles, &self.service);
        if !offers.is_empty() {
            self.last_found = Some(Instant::now());
            let places = Place::resolve(offers).await;
            self.runtime
                .directory()
                .learn(&self.service, Known::At(places));
            if !self.prepare().await {
                return AGAIN;
            }
            return match self.subscription {
                Some(_) => found.validity(),
                None => LOOK_AGAIN,
            };
        }
        if self.last_found.is_some_and(|at| at.elapsed() < MISSED) {
            // With no tag the NRF answers in full.
            self.tag = None;
            return AGAIN;
        }
        self.runtime
            .directory()
            .learn(&self.service, Known::Nowhere);
        match self.subscription {
            Some(_) => LOOK_AGAIN,
            None => AGAIN,
        }
    }

    /// Asks for an access token before the first call; false when none was granted.
    async fn prepare(&self) -> bool {
        let sbi = self.runtime.sbi(0);
        self.runtime.grants().prepare(&sbi, &self.service).await
    }
}

/// How long a subscription was granted for.
fn granted(document: &Value) -> Duration {
    let until = document["validityTime"].as_str();
    let until = until.and_then(HttpDate::from_json_text);
    let left = until.and_then(|until| until.time().duration_since(SystemTime::now()).ok());
    left.unwrap_or(SUBSCRIBED).max(2 * LOOK_AGAIN)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SearchResult {
    #[serde(default)]
    validity_period: Option<u32>,
    #[serde(default)]
    nf_instances: Vec<NfProfile>,
}

impl SearchResult {
    fn validity(&self) -> Duration {
        let period = self
            .validity_period
            .map(|seconds| Duration::from_secs(seconds.into()));
        period
            .unwrap_or(VALIDITY)
            .clamp(LOOK_AGAIN, LONGEST_VALIDITY)
    }
}
