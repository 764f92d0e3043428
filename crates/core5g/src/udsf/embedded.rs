//! Records in this process: a map in memory, and a log behind it.

use super::store::MAX_LISTED;
use crate::journal::{Contents, Journal};
use crate::sbi::Problem;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Parts of the map, each with a lock of its own.
const SHARDS: usize = 16;

/// The map and its log.
#[derive(Debug)]
pub(super) struct Embedded {
    records: Arc<Records>,
    journal: Option<Journal>,
    max_octets: usize,
}

#[derive(Debug)]
struct Records {
    shards: Vec<Mutex<BTreeMap<Bytes, Bytes>>>,
    octets: AtomicUsize,
    count: AtomicUsize,
}

impl Records {
    fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            octets: AtomicUsize::new(0),
            count: AtomicUsize::new(0),
        }
    }

    fn shard(&self, name: &[u8]) -> MutexGuard<'_, BTreeMap<Bytes, Bytes>> {
        let mixed = name.iter().fold(0_usize, |mixed, octet| {
            mixed.wrapping_mul(31).wrapping_add(usize::from(*octet))
        });
        lock(&self.shards[mixed % SHARDS])
    }

    /// Puts a value; gives the one before. Of two at a time the later is the later in the log, too:
    /// what is read from there is what was held.
    fn put(&self, name: Bytes, value: Bytes, journal: Option<&Journal>) -> Option<Bytes> {
        let mut shard = self.shard(&name);
        let more = name.len() + value.len();
        let key = name.len();
        let before = shard.insert(name.clone(), value.clone());
        if let Some(journal) = journal {
            journal.put(name, value);
        }
        // Before anybody can remove it: what is counted is never less than none.
        self.octets.fetch_add(more, Ordering::Relaxed);
        match &before {
            Some(before) => {
                self.octets.fetch_sub(key + before.len(), Ordering::Relaxed);
            }
            None => {
                self.count.fetch_add(1, Ordering::Relaxed);
            }
        }
        drop(shard);
        before
    }

    /// Removes a value, from the log as from here; gives whether there was one.
    fn remove(&self, name: &[u8], journal: Option<&Journal>) -> bool {
        let mut shard = self.shard(name);
        let Some(before) = shard.remove(name) else {
            return false;
        };
        if let Some(journal) = journal {
            journal.remove(Bytes::copy_from_slice(name));
        }
        self.octets
            .fetch_sub(name.len() + before.len(), Ordering::Relaxed);
        self.count.fetch_sub(1, Ordering::Relaxed);
        drop(shard);
        true
    }
}

impl Embedded {
    /// Opens the log in a folder and takes what is in it; without a folder nothing is kept.
    ///
    /// # Errors
    /// When the log cannot be used.
    pub(super) fn open(folder: Option<&Path>, max_octets: usize) -> std::io::Result<Self> {
        let records = Arc::new(Records::new());
        let journal = match folder {
            None => None,
            Some(folder) => {
                let whole = Arc::clone(&records);
                let contents: Contents = Box::new(move |tell| {
                    for shard in &whole.shards {
                        // Shared, not copied: a lock is held for as long as it takes to count them.
                        let entries: Vec<_> = lock(shard)
                            .iter()
                            .map(|(name, value)| (name.clone(), value.clone()))
                            .collect();
                        entries.iter().for_each(|(name, value)| tell(name, value));
                    }
                });
                let apply = |name: &[u8], value: Option<&[u8]>| match value {
                    Some(value) => {
                        let name = Bytes::copy_from_slice(name);
                        records.put(name, Bytes::copy_from_slice(value), None);
                    }
                    None => {
                        records.remove(name, None);
                    }
                };
                let (journal, recovered) = Journal::open(folder, "udsf", apply, contents)?;
                if recovered.cut > 0 {
                    tracing::warn!(
                        name: "log-cut",
                        "{} octets at the end of the log were not whole and are left out",
                        recovered.cut
                    );
                }
                Some(journal)
            }
        };
        Ok(Self {
            records,
            journal,
            max_octets,
        })
    }

    pub(super) fn put(&self, name: &str, value: Bytes) -> Result<bool, Problem> {
        let held = self.records.octets.load(Ordering::Relaxed);
        if held + name.len() + value.len() > self.max_octets {
            return Err(Problem::new(507, "INSUFFICIENT_RESOURCES")
                .detail("the store is full: raise --max-octets"));
        }
        let name = Bytes::copy_from_slice(name.as_bytes());
        let before = self.records.put(name, value, self.journal.as_ref());
        Ok(before.is_none())
    }

    pub(super) fn get(&self, name: &str) -> Option<Bytes> {
        self.records
            .shard(name.as_bytes())
            .get(name.as_bytes())
            .cloned()
    }

    pub(super) fn remove(&self, name: &str) -> bool {
        self.records.remove(name.as_bytes(), self.journal.as_ref())
    }

    pub(super) fn list(&self, prefix: &str, after: &str) -> Vec<(String, Bytes)> {
        let from = Bytes::copy_from_slice(prefix.max(after).as_bytes());
        let mut all = Vec::new();
        for shard in &self.records.shards {
            let shard = lock(shard);
            let found = shard
                .range(from.clone()..)
                .take_while(|(name, _)| name.starts_with(prefix.as_bytes()))
                .filter(|(name, _)| name[..] > *after.as_bytes())
                .take(MAX_LISTED);
            all.extend(
                found.map(|(name, value)| {
                    (String::from_utf8_lossy(name).into_owned(), value.clone())
                }),
            );
        }
        all.sort_by(|one, two| one.0.cmp(&two.0));
        all.truncate(MAX_LISTED);
        all
    }

    /// Records that are held.
    pub(super) fn len(&self) -> usize {
        self.records.count.load(Ordering::Relaxed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
