//! Answers to discovery that are kept: each for its query, until somebody comes, changes or goes.

use bytes::Bytes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Queries whose answers are kept.
const MAX_CACHED: usize = 1024;
/// Octets of a query whose answer is kept.
const MAX_CACHED_QUERY: usize = 1024;
/// Octets of all kept answers: a query may be asked in more ways than there are answers to it.
pub(super) const MAX_CACHED_OCTETS: usize = 16 << 20;

/// Answers by their query.
#[derive(Default)]
pub(super) struct Cache(pub(super) Mutex<Kept>);

/// What is kept.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) by_query: HashMap<String, Arc<Found>>,
    /// Octets of the answers.
    octets: usize,
}

impl Kept {
    /// Keeps an answer in place of those that are over; of all others, when there is no room.
    pub(super) fn insert(&mut self, query: &str, found: &Arc<Found>) {
        if query.len() > MAX_CACHED_QUERY || found.body.len() > MAX_CACHED_OCTETS {
            return;
        }
        self.retain(|name, _| name != query);
        if self.is_full(found) {
            self.retain(|_, one| one.generation == found.generation);
        }
        if self.is_full(found) {
            self.retain(|_, _| false);
        }
        self.octets += found.body.len();
        self.by_query.insert(query.to_owned(), Arc::clone(found));
    }

    fn is_full(&self, more: &Found) -> bool {
        self.by_query.len() >= MAX_CACHED || self.octets + more.body.len() > MAX_CACHED_OCTETS
    }

    fn retain(&mut self, stays: impl Fn(&str, &Found) -> bool) {
        self.by_query.retain(|query, found| {
            let stays = stays(query, found);
            self.octets -= if stays { 0 } else { found.body.len() };
            stays
        });
    }
}

#[cfg(test)]
impl Cache {
    /// Octets that are kept.
    pub(super) fn octets(&self) -> usize {
        let kept = self.0.lock().unwrap();
        let bodies = kept.by_query.values().map(|found| found.body.len());
        assert_eq!(bodies.sum::<usize>(), kept.octets);
        kept.octets
    }
}

/// An answer.
pub(super) struct Found {
    pub(super) generation: u64,
    pub(super) body: Bytes,
    /// In quotes, as the header has it.
    pub(super) tag: String,
}
