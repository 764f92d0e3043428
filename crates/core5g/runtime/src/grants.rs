//! The consumer's side of access tokens (TS 29.510, 5.4.2.2): one for each service, asked for before
//! the first call, renewed long before it ends.
//!
//! The header is made once a token. While the NRF is away, what was granted is shown until it ends.

use super::profile::type_of;
use super::{SbiAnswer, SbiFailure, SbiRequest};
use corewire::{Headers, Request};
use serde::Deserialize;
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

const TOKENS: &str = "/oauth2/token";
const AUTHORIZATION: &str = "authorization";
/// Between two looks at what is to be renewed, at least, and at most: what was asked for meanwhile may
/// end soon.
const LOOK_AGAIN: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(1));
/// How long a call waits for the NRF. It is near, and calls have timeouts of their own.
const TIMEOUT: Duration = Duration::from_secs(1);
/// How long it is not asked again for what it refused: calls go without, and are refused with a reason.
const REFUSED: Duration = Duration::from_millis(200);
/// Services that tokens are held for.
const MAX_HELD: usize = 256;

/// What asking for tokens needs of the world.
pub(super) trait Nrf: Sync {
    /// The time.
    fn now(&self) -> Instant;

    /// Waits.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send;

    /// Whether the process ends.
    fn has_ended(&self) -> bool;

    /// The id of the NF instance that asks.
    fn instance(&self) -> &str;

    /// Waits until the NRF can grant a token for a service: this NF is registered, and discovery knows
    /// the service. At most this long; false when no instance offers it.
    fn until_offered(&self, service: &str, patience: Duration)
    -> impl Future<Output = bool> + Send;

    /// Calls the NRF at this root.
    fn ask(
        &self,
        root: &str,
        request: SbiRequest,
    ) -> impl Future<Output = Result<SbiAnswer, SbiFailure>> + Send;
}

/// The tokens of an NF.
pub(super) struct Grants {
    nrf: Option<String>,
    nf_type: &'static str,
    secret: Option<String>,
    held: RwLock<HashMap<String, Held>>,
}

#[derive(Clone)]
enum Held {
    Token(Arc<Token>),
    /// There was none; not asked again before.
    Refused(Instant),
}

/// A token as it is shown.
struct Token {
    /// `Bearer ...`
    header: Box<str>,
    renew: Instant,
    until: Instant,
}

impl Grants {
    /// Tokens of this NRF; `None`: calls go without.
    pub(super) fn new(nrf: Option<String>, nf_type: &'static str, secret: Option<String>) -> Self {
        Self {
            nrf,
            nf_type,
            secret,
            held: RwLock::default(),
        }
    }

    /// What shows the NRF that this NF may register; none where everybody may.
    fn credential(&self) -> Option<String> {
        self.secret
            .as_ref()
            .map(|secret| format!("Bearer {secret}"))
    }

    /// Puts the token for `service` into a request; says whether there is one.
    ///
    /// # Cancel safety
    /// The request is as it was.
    pub(super) async fn show(&self, nrf: &impl Nrf, service: &str, request: &mut Request) -> bool {
        if self.nrf.is_none() || needs_none(service) {
            return false;
        }
        let now = nrf.now();
        let token = match self.held(service) {
            Some(Held::Token(token)) if now < token.until => Some(token),
            Some(Held::Refused(until)) if now < until => None,
            _ => self.ask(nrf, service).await,
        };
        let Some(token) = token else {
            return false;
        };
        // Letters, digits and three other characters: a header's value.
        request
            .headers
            .append(AUTHORIZATION, &*token.header)
            .is_ok()
    }

    /// Forgets the token that a request has shown: it was not taken.
    pub(super) fn refused(&self, service: &str, request: &mut Request) {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(Held::Token(token)) = held.get(service)
            && shown(&request.headers) == Some(&*token.header)
        {
            held.remove(service);
        }
        request.headers.remove(AUTHORIZATION);
    }

    /// Renews what is more than half over, until the process ends.
    pub(super) async fn keep(&self, nrf: &impl Nrf) {
        while !nrf.has_ended() {
            nrf.sleep(self.next_look(nrf.now())).await;
            let now = nrf.now();
            let due: Vec<String> = {
                let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
                let due = held.iter().filter(|(_, held)| match held {
                    Held::Token(token) => token.renew <= now,
                    Held::Refused(_) => false,
                });
                due.map(|(service, _)| service.clone()).collect()
            };
            for service in due {
                self.ask(nrf, &service).await;
            }
        }
    }

    /// How long nothing is to be renewed, as far as known.
    fn next_look(&self, now: Instant) -> Duration {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        let renewals = held.values().filter_map(|held| match held {
            Held::Token(token) => Some(token.renew.saturating_duration_since(now)),
            Held::Refused(_) => None,
        });
        let (least, most) = LOOK_AGAIN;
        renewals.min().map_or(most, |next| next.clamp(least, most))
    }

    /// Asks for a token before the first call, unless there is one; says whether calls can be made
    /// with one, or need none.
    pub(super) async fn prepare(&self, nrf: &impl Nrf, service: &str) -> bool {
        self.is_ready_for(service) || self.ask(nrf, service).await.is_some()
    }

    /// Whether a call to this service has a token, or needs none.
    pub(super) fn is_ready_for(&self, service: &str) -> bool {
        self.nrf.is_none()
            || needs_none(service)
            || matches!(self.held(service), Some(Held::Token(_)))
    }

    /// With what shows the NRF that this NF may register and subscribe.
    pub(super) fn credited(&self, request: SbiRequest) -> SbiRequest {
        match self.credential() {
            Some(credential) => request.header("authorization", credential),
            None => request,
        }
    }

    fn held(&self, service: &str) -> Option<Held> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        held.get(service).cloned()
    }

    async fn ask(&self, nrf: &impl Nrf, service: &str) -> Option<Arc<Token>> {
        let root = self.nrf.as_deref()?;
        if !nrf.until_offered(service, TIMEOUT).await {
            return None;
        }
        let mut form = format!(
            "grant_type=client_credentials&nfInstanceId={}&nfType={}&targetNfType={}&scope={service}",
            nrf.instance(),
            self.nf_type,
            type_of(service),
        );
        if let Some(secret) = &self.secret {
            form.push_str("&client_secret=");
            form.push_str(secret);
        }
        let request = SbiRequest::post(TOKENS)
            .octets("application/x-www-form-urlencoded", form)
            .within(TIMEOUT);
        let asked = nrf.now();
        let granted = match nrf.ask(root, request).await {
            Ok(answer) => answer.json::<Granted>(),
            Err(failure) => Err(failure),
        };
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        match granted {
            Ok(granted) => {
                let lifetime = Duration::from_secs(granted.expires_in.into());
                let token = Arc::new(Token {
                    header: format!("Bearer {}", granted.access_token).into(),
                    renew: asked + lifetime / 2,
                    until: asked + lifetime,
                });
                if held.len() < MAX_HELD || held.contains_key(service) {
                    held.insert(service.to_owned(), Held::Token(Arc::clone(&token)));
                }
                Some(token)
            }
            Err(failure) => {
                // One that is still good stays.
                if !matches!(held.get(service), Some(Held::Token(_))) {
                    tell(service, &failure);
                    let until = nrf.now() + REFUSED;
                    held.insert(service.to_owned(), Held::Refused(until));
                }
                match held.get(service) {
                    Some(Held::Token(token)) if nrf.now() < token.until => Some(Arc::clone(token)),
                    _ => None,
                }
            }
        }
    }
}

/// Whether calls to this service show no token.
fn needs_none(service: &str) -> bool {
    matches!(type_of(service), "CUSTOM" | "NRF")
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    expires_in: u32,
}

fn shown(headers: &Headers) -> Option<&str> {
    headers.get_str(AUTHORIZATION)
}

/// Says what the NRF refused; that it is away is said by others.
fn tell(service: &str, failure: &SbiFailure) {
    if failure.status().is_some() {
        let answer = String::from_utf8_lossy(failure.answer());
        tracing::warn!(
            name: "no-access-token",
            "no access token for {service}: {failure}: {answer:.200}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire_core5g_sbi::asking::now;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const SERVICE: &str = "nudm-sdm";

    /// An NRF and its clock: answers in turn, and nothing when they are used up.
    struct Scripted {
        began: Instant,
        passed: Mutex<Duration>,
        answers: Mutex<Vec<u32>>,
        asked: AtomicUsize,
        rounds: AtomicUsize,
    }

    impl Scripted {
        /// One that grants tokens of these lifetimes, the last one first.
        fn granting(lifetimes: &[u32]) -> Self {
            Self {
                began: Instant::now(),
                passed: Mutex::default(),
                answers: Mutex::new(lifetimes.to_vec()),
                asked: AtomicUsize::new(0),
                rounds: AtomicUsize::new(usize::MAX),
            }
        }

        fn pass(&self, duration: Duration) {
            *self.passed.lock().unwrap() += duration;
        }

        fn asked(&self) -> usize {
            self.asked.load(Ordering::Relaxed)
        }
    }

    impl Nrf for Scripted {
        fn now(&self) -> Instant {
            self.began + *self.passed.lock().unwrap()
        }

        async fn sleep(&self, duration: Duration) {
            self.rounds.fetch_sub(1, Ordering::Relaxed);
            self.pass(duration);
        }

        fn has_ended(&self) -> bool {
            self.rounds.load(Ordering::Relaxed) == 0
        }

        fn instance(&self) -> &'static str {
            "a"
        }

        async fn until_offered(&self, _: &str, _: Duration) -> bool {
            true
        }

        async fn ask(&self, _: &str, _: SbiRequest) -> Result<SbiAnswer, SbiFailure> {
            let count = self.asked.fetch_add(1, Ordering::Relaxed);
            let Some(lifetime) = self.answers.lock().unwrap().pop() else {
                return Err(SbiFailure::local("nothing came"));
            };
            let document = serde_json::json!({
                "access_token": format!("token-{count}"), "expires_in": lifetime,
            });
            Ok(SbiAnswer {
                status: 200,
                headers: Headers::new(),
                body: document.to_string().into(),
            })
        }
    }

    fn grants() -> Grants {
        Grants::new(Some("nrf:1".to_owned()), "AMF", None)
    }

    /// What a call bears.
    fn token(grants: &Grants, nrf: &Scripted) -> Option<String> {
        let mut request = Request::new(corewire::Operation::from_static("nudm-sdm/v2/x"));
        now(grants.show(nrf, SERVICE, &mut request));
        shown(&request.headers).map(str::to_owned)
    }

    #[test]
    fn one_token_serves_every_call_until_it_ends() {
        let (grants, nrf) = (grants(), Scripted::granting(&[60, 60]));
        for _ in 0..3 {
            assert_eq!(token(&grants, &nrf).as_deref(), Some("Bearer token-0"));
        }
        nrf.pass(Duration::from_secs(59));
        assert_eq!(token(&grants, &nrf).as_deref(), Some("Bearer token-0"));
        nrf.pass(Duration::from_secs(1));
        assert_eq!(token(&grants, &nrf).as_deref(), Some("Bearer token-1"));
        assert_eq!(nrf.asked(), 2);
    }

    #[test]
    fn a_token_is_renewed_at_half_its_lifetime() {
        let (grants, nrf) = (grants(), Scripted::granting(&[60, 60]));
        token(&grants, &nrf);
        // Looks every second: 29 find nothing to do.
        nrf.rounds.store(29, Ordering::Relaxed);
        now(grants.keep(&nrf));
        assert_eq!(nrf.asked(), 1);
        nrf.rounds.store(1, Ordering::Relaxed);
        now(grants.keep(&nrf));
        assert_eq!(nrf.asked(), 2);
        assert_eq!(token(&grants, &nrf).as_deref(), Some("Bearer token-1"));
    }

    #[test]
    fn an_nrf_that_refuses_is_left_alone_for_a_while() {
        let (grants, nrf) = (grants(), Scripted::granting(&[]));
        assert_eq!(token(&grants, &nrf), None);
        assert_eq!(token(&grants, &nrf), None);
        assert_eq!(nrf.asked(), 1);
        nrf.pass(REFUSED);
        assert_eq!(token(&grants, &nrf), None);
        assert_eq!(nrf.asked(), 2);
    }

    #[test]
    fn a_token_outlives_an_nrf_that_is_away() {
        let (grants, nrf) = (grants(), Scripted::granting(&[60]));
        token(&grants, &nrf);
        nrf.rounds.store(40, Ordering::Relaxed);
        now(grants.keep(&nrf));
        assert!(nrf.asked() > 1);
        assert_eq!(token(&grants, &nrf).as_deref(), Some("Bearer token-0"));
    }
}
