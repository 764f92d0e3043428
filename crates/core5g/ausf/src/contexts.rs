//! Authentications that have begun: bounded in number and in time.

use corewire_core5g_aka::{Kausf, ServingNetwork, Supi, XresStar};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Authentications that are under way at once; the oldest gives way.
pub(super) const MAX_CONTEXTS: usize = 200_000;
/// How long a UE has to answer: TS 24.501's T3560 four times over, and some.
pub(super) const LIFETIME: Duration = Duration::from_secs(60);

/// One authentication. Holds keys: no `Debug`.
#[derive(Clone)]
pub(super) struct Authentication {
    pub(super) supi: Supi,
    pub(super) expected: XresStar,
    pub(super) kausf: Kausf,
    pub(super) network: ServingNetwork,
}

/// Those under way, by their id.
#[derive(Default)]
pub(super) struct Contexts(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    by_id: HashMap<String, Authentication>,
    /// In the order in which they began; those that ended are passed over.
    began: VecDeque<(Instant, String)>,
}

impl Contexts {
    /// Keeps one until it is taken or [`LIFETIME`] is over.
    pub(super) fn begin(&self, now: Instant, id: String, authentication: Authentication) {
        let mut inner = self.lock();
        while let Some((when, _)) = inner.began.front() {
            // Ended ones stay in the row until their time: no more than all of a lifetime.
            let full = inner.began.len() >= MAX_CONTEXTS;
            if !full && now.saturating_duration_since(*when) < LIFETIME {
                break;
            }
            if let Some((_, old)) = inner.began.pop_front() {
                inner.by_id.remove(&old);
            }
        }
        inner.began.push_back((now, id.clone()));
        inner.by_id.insert(id, authentication);
    }

    /// Whether this one is under way.
    pub(super) fn has(&self, id: &str) -> bool {
        self.lock().by_id.contains_key(id)
    }

    /// Takes one out: an answer counts once.
    pub(super) fn take(&self, id: &str) -> Option<Authentication> {
        self.lock().by_id.remove(id)
    }

    /// How many are under way.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().by_id.len()
    }

    /// Forgets those of a subscriber.
    pub(super) fn forget(&self, supi: &Supi) {
        self.lock().by_id.retain(|_, one| one.supi != *supi);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
