//! Registration at the NRF and its heartbeat (TS 29.510, 5.2.2.2 and 5.2.2.3).
//!
//! ```text
//!   PUT ──▶ registered ── PATCH every half of heartBeatTimer ──┐
//!    ▲                         │ 404: the NRF does not know us │
//!    └───── again, later ──────┴───────────────────────────────┘       DELETE at the end
//! ```
#![expect(clippy::disallowed_methods, reason = "a driver: waits with a deadline")]

use super::load::Meter;
use super::profile::Profile;
use super::{Runtime, SbiRequest};
use serde_json::{Value, json};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often it is tried while the NRF does not answer.
const AGAIN: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// When the NRF names no time between heartbeats.
const HEART_BEAT: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(2);

/// How far registration has come; the process that is told to end waits for what it says.
#[derive(Clone)]
pub(super) struct Registration {
    shared: Arc<(Mutex<Stage>, Condvar)>,
    runtime: Runtime,
    nrf: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Asking,
    Registered,
    Gone,
}

/// Begins to register, and goes on until the process ends.
pub(super) fn start(runtime: &Runtime, nrf: &str, profile: Profile) -> Registration {
    let registration = Registration {
        shared: Arc::new((Mutex::new(Stage::Asking), Condvar::new())),
        runtime: runtime.clone(),
        nrf: nrf.to_owned(),
    };
    let task = registration.clone();
    runtime.spawn(0, async move { task.keep(&profile).await });
    registration
}

impl Registration {
    /// Waits until the NRF has taken it; says whether it has within that time.
    pub(super) fn wait(&self, patience: Duration) -> bool {
        self.wait_for(Stage::Registered, patience)
    }

    /// Tells the NRF that this instance ends, and waits so long for its answer.
    pub(super) fn end(&self, patience: Duration) {
        let registration = self.clone();
        self.runtime.spawn(0, async move {
            let request = SbiRequest::delete(registration.path()).within(patience);
            let request = registration.runtime.grants().credited(request);
            // The NRF will notice when the heartbeat is missing.
            let _unanswered = registration
                .runtime
                .sbi(0)
                .at_nrf(&registration.nrf, request)
                .await;
            registration.set(Stage::Gone);
        });
        self.wait_for(Stage::Gone, patience);
    }

    async fn keep(&self, profile: &Profile) {
        let mut wait = AGAIN;
        loop {
            let request = match SbiRequest::put(self.path()).json(&profile.document()) {
                Ok(request) => self.runtime.grants().credited(request.within(TIMEOUT)),
                Err(_) => return,
            };
            match self.runtime.sbi(0).at_nrf(&self.nrf, request).await {
                Ok(answer) => {
                    wait = AGAIN;
                    self.set(Stage::Registered);
                    self.runtime.notices().registered();
                    let document: Value = answer.json().unwrap_or_default();
                    let every = document["heartBeatTimer"]
                        .as_u64()
                        .map_or(HEART_BEAT, Duration::from_secs);
                    self.beat(every / 2).await;
                }
                Err(failure) => {
                    if failure.status() == Some(401) {
                        tracing::error!(
                            name: "registration-refused",
                            "the NRF refuses to register this instance: {failure} (--client-secret)"
                        );
                    }
                    self.runtime.sleep(wait).await;
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
            }
            if self.has_ended() {
                return;
            }
        }
    }

    /// Says every now and then that it is alive, until the NRF does not know it any more.
    async fn beat(&self, every: Duration) {
        let every = every.clamp(Duration::from_millis(500), Duration::from_secs(60));
        let mut meter = Meter::new(self.runtime.loops().len());
        // As it was registered.
        let mut told = 0;
        let mut wait = every;
        loop {
            self.runtime.sleep(wait).await;
            if self.has_ended() {
                return;
            }
            let load = meter.read();
            let mut patch =
                vec![json!({"op": "replace", "path": "/nfStatus", "value": "REGISTERED"})];
            if load != told {
                patch.push(json!({"op": "replace", "path": "/load", "value": load}));
            }
            let request = SbiRequest::patch(self.path())
                .octets(
                    "application/json-patch+json",
                    Value::from(patch).to_string(),
                )
                .within(TIMEOUT);
            let request = self.runtime.grants().credited(request);
            match self.runtime.sbi(0).at_nrf(&self.nrf, request).await {
                Ok(_) => {
                    told = load;
                    wait = every;
                }
                Err(failure) if failure.status() == Some(404) => return,
                // It may be another process when it is there again, which knows nobody: until all have
                // registered anew it finds nobody for others.
                Err(_) => wait = AGAIN,
            }
        }
    }

    fn has_ended(&self) -> bool {
        let stage = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        *stage == Stage::Gone || self.runtime.loops()[0].has_ended()
    }

    fn path(&self) -> String {
        format!("/nnrf-nfm/v1/nf-instances/{}", self.runtime.instance())
    }

    fn set(&self, stage: Stage) {
        let (lock, changed) = &*self.shared;
        *lock.lock().unwrap_or_else(PoisonError::into_inner) = stage;
        changed.notify_all();
    }

    fn wait_for(&self, wanted: Stage, patience: Duration) -> bool {
        let (lock, changed) = &*self.shared;
        let until = Instant::now() + patience;
        let mut stage = lock.lock().unwrap_or_else(PoisonError::into_inner);
        while *stage != wanted {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            stage = changed
                .wait_timeout(stage, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }
}
