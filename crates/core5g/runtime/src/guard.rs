//! The producer's side of access tokens (TS 33.501, 13.4.1.1.2 step 4; TS 29.500, 6.7.3): who calls
//! must show a token of the NRF for this network function and this service.
//!
//! ```text
//!   request ── known token? ── yes ──▶ still valid, scope ──▶ the service
//!                  │ no
//!                  └─▶ signature, audience ─▶ known from now on
//!                         │ key not known: the NRF is asked for its keys, now and then
//! ```
//!
//! A signature is verified once a token, not once a call.
#![expect(
    clippy::disallowed_methods,
    reason = "a driver: tokens expire by the clock"
)]

use super::profile::Profile;
use super::{Runtime, SbiRequest};
use corewire::Request;
use corewire_core5g_sbi::Problem;
use corewire_core5g_sbi::token::{Claims, KeySet, TokenFault};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

/// Where the NRF tells its keys.
const KEYS: &str = "/oauth2/jwks";
/// Tokens that are known at a time: a consumer has one for each of our services.
const MAX_KNOWN: usize = 4096;
/// Between two questions for keys: an unknown key is no reason to ask the NRF as often as a stranger
/// likes.
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// How long a call waits for the keys of a process that has just started.
const KEYS_PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks at whether they are there.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Between two questions at the start.
const START_AGAIN: Duration = Duration::from_millis(50);
const TIMEOUT: Duration = Duration::from_secs(1);

/// What stands between callers and a service.
pub(super) struct Guard {
    myself: Weak<Self>,
    runtime: Runtime,
    nrf: String,
    profile: Profile,
    keys: Mutex<Keys>,
    known: RwLock<HashMap<Box<str>, Arc<Known>>>,
}

#[derive(Default)]
struct Keys {
    set: Option<KeySet>,
    asked: Option<Instant>,
    /// Somebody waits for the NRF's answer.
    is_asked: bool,
}

impl Keys {
    /// Whether the NRF is to be asked now; then it is.
    fn may_ask(&mut self, now: Instant) -> bool {
        let lately = self.asked.is_some_and(|asked| now < asked + ASK_AGAIN);
        if self.is_asked || lately {
            return false;
        }
        (self.asked, self.is_asked) = (Some(now), true);
        true
    }
}

/// A token that was verified.
struct Known {
    claims: Claims,
    until: Instant,
}

impl Guard {
    pub(super) fn new(runtime: &Runtime, nrf: &str, profile: Profile) -> Arc<Self> {
        Arc::new_cyclic(|myself| Self {
            myself: Weak::clone(myself),
            runtime: runtime.clone(),
            nrf: nrf.to_owned(),
            profile,
            keys: Mutex::default(),
            known: RwLock::default(),
        })
    }

    /// Fetches the keys before somebody needs them.
    pub(super) fn start(self: &Arc<Self>) {
        let guard = Arc::clone(self);
        self.runtime.spawn(0, async move {
            while !guard.has_keys() && !guard.runtime.loops()[0].has_ended() {
                guard.fetch().await;
                guard.runtime.sleep(START_AGAIN).await;
            }
        });
    }

    /// Whether this request may be answered.
    ///
    /// # Errors
    /// 401 without a token that is valid here, 403 with one for another service.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    pub(super) async fn admit(&self, request: &Request) -> Result<(), Problem> {
        let service = self.profile.offered_at(request.operation.as_str());
        let shown = request.headers.get_str("authorization");
        let token = shown.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token)
        });
        let Some(token) = token else {
            return Err(self.unauthorized(None));
        };
        // Looked up by a keyed hash, so that the time it takes says nothing of other tokens.
        let known = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            known.get(token).cloned()
        };
        let known = match known {
            Some(known) => known,
            None => self.verify(token).await?,
        };
        if known.until <= Instant::now() {
            return Err(self.unauthorized(Some("it has expired")));
        }
        match service {
            Some(service) if !known.claims.allows(service) => Err(self.forbidden(service)),
            // Whatever it is, it is not here: the router says so, to who may know.
            _ => Ok(()),
        }
    }

    async fn verify(&self, token: &str) -> Result<Arc<Known>, Problem> {
        self.until_keys().await;
        let mut found = self.verified(token);
        if found == Err(TokenFault::UnknownKey) {
            // The NRF may have started anew, with another key.
            self.fetch().await;
            found = self.verified(token);
        }
        let claims = found.map_err(|fault| self.unauthorized(Some(fault.name())))?;
        if !claims.is_for(self.profile.nf_type(), self.runtime.instance()) {
            return Err(self.unauthorized(Some("it is for another network function")));
        }
        let left = claims.exp.saturating_sub(super::wall_clock().seconds());
        if left == 0 {
            return Err(self.unauthorized(Some("it has expired")));
        }
        // A year is far beyond what an NRF grants, and within what an instant can be.
        let left = Duration::from_secs(left.min(365 * 86_400));
        let known = Arc::new(Known {
            claims,
            until: Instant::now() + left,
        });
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_KNOWN {
            let now = Instant::now();
            all.retain(|_, known| known.until > now);
            if all.len() >= MAX_KNOWN {
                // They are verified again.
                all.clear();
            }
        }
        all.insert(token.into(), Arc::clone(&known));
        Ok(known)
    }

    fn verified(&self, token: &str) -> Result<Claims, TokenFault> {
        let keys = self.keys().set.clone();
        keys.unwrap_or_default().verify(token)
    }

    async fn until_keys(&self) {
        let until = Instant::now() + KEYS_PATIENCE;
        while !self.has_keys() && Instant::now() < until {
            self.runtime.sleep(LOOK_AGAIN).await;
        }
    }

    /// Asks the NRF for its keys, unless that was done just now; waits for who does.
    async fn fetch(&self) {
        let until = Instant::now() + TIMEOUT;
        while !self.keys().may_ask(Instant::now()) {
            if !self.keys().is_asked || Instant::now() >= until {
                return;
            }
            self.runtime.sleep(LOOK_AGAIN).await;
        }
        // In a task: a caller who gives up must not leave the others waiting.
        self.ask();
        while self.keys().is_asked && Instant::now() < until + TIMEOUT {
            self.runtime.sleep(LOOK_AGAIN).await;
        }
    }

    fn ask(&self) {
        let Some(guard) = self.myself.upgrade() else {
            return;
        };
        self.runtime.spawn(0, async move {
            let request = SbiRequest::get(KEYS).within(TIMEOUT);
            let answer = guard.runtime.sbi(0).at_nrf(&guard.nrf, request).await;
            let set = answer.ok().and_then(|answer| KeySet::read(&answer.body));
            let mut keys = guard.keys();
            keys.is_asked = false;
            if set.is_some() {
                keys.set = set;
                drop(keys);
                // What the former key has signed is not verified by this one.
                let mut known = guard.known.write().unwrap_or_else(PoisonError::into_inner);
                known.clear();
            }
        });
    }

    fn has_keys(&self) -> bool {
        self.keys().set.is_some()
    }

    fn keys(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// TS 29.500, 6.7.3 and RFC 6750, 3: without a token nothing is said but that one is needed.
    fn unauthorized(&self, why: Option<&'static str>) -> Problem {
        let realm = self.runtime.api_root();
        let problem = Problem::new(401, "UNAUTHORIZED");
        match why {
            None => problem
                .detail("an access token of the NRF is needed (TS 29.510, 5.4.2.2)")
                .header("www-authenticate", format!("Bearer realm=\"{realm}\"")),
            Some(why) => problem
                .detail(format!("the access token is not taken: {why}"))
                .header(
                    "www-authenticate",
                    format!("Bearer realm=\"{realm}\", error=\"invalid_token\""),
                ),
        }
    }

    fn forbidden(&self, service: &str) -> Problem {
        let realm = self.runtime.api_root();
        Problem::new(403, "UNAUTHORIZED")
            .detail(format!("the access token is not for {service}"))
            .header(
                "www-authenticate",
                format!(
                    "Bearer realm=\"{realm}\", error=\"insufficient_scope\", scope=\"{service}\""
                ),
            )
    }
}
