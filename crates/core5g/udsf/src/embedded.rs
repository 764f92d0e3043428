//! Records in this process: a map in memory, and a log that has each change before it is acknowledged.

use super::record::MAX_LISTED;
use bytes::Bytes;
use corewire_core5g_runtime::durable::{self, Watch};
use corewire_core5g_sbi::Problem;
use corewire_store::file_system::FileSystem;
use corewire_store::{Contents, Journal, OpenError, Options, WriteError};
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
    journal: Option<Arc<Journal>>,
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

    /// Puts a value; gives whether there was none, and the change of the log. The log takes it first:
    /// what is refused there is not held. Of two at a time the later is the later in the log, too.
    fn put(
        &self,
        name: Bytes,
        value: Bytes,
        journal: Option<&Journal>,
    ) -> Result<(bool, u64), WriteError> {
        let mut shard = self.shard(&name);
        let change = match journal {
            Some(journal) => journal.put(name.clone(), value.clone())?,
            None => 0,
        };
        let more = name.len() + value.len();
        let key = name.len();
        let before = shard.insert(name, value);
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
        Ok((before.is_none(), change))
    }

    /// Removes a value, from the log first; gives the change of the log if there was one.
    fn remove(&self, name: &[u8], journal: Option<&Journal>) -> Result<Option<u64>, WriteError> {
        let mut shard = self.shard(name);
        if !shard.contains_key(name) {
            return Ok(None);
        }
        let change = match journal {
            Some(journal) => journal.remove(Bytes::copy_from_slice(name))?,
            None => 0,
        };
        if let Some(before) = shard.remove(name) {
            self.octets
                .fetch_sub(name.len() + before.len(), Ordering::Relaxed);
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
        drop(shard);
        Ok(Some(change))
    }
}

impl Embedded {
    /// Without a log: nothing outlives the process.
    pub(super) fn in_memory(max_octets: usize) -> Self {
        Self {
            records: Arc::new(Records::new()),
            journal: None,
            max_octets,
        }
    }

    /// Opens the log in a folder and takes what is in it.
    ///
    /// # Errors
    /// When the log cannot be used.
    pub(super) fn open(
        file_system: Arc<dyn FileSystem>,
        folder: &Path,
        max_octets: usize,
        options: Options,
        watch: Watch,
    ) -> Result<Self, OpenError> {
        let records = Arc::new(Records::new());
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
        // Without a log none of them is refused.
        let apply = |name: &[u8], value: Option<&[u8]>| match value {
            Some(value) => {
                let name = Bytes::copy_from_slice(name);
                let value = Bytes::copy_from_slice(value);
                records.put(name, value, None).is_ok()
            }
            None => records.remove(name, None).is_ok(),
        };
        let teller = watch.clone();
        let tell = move |status: &_| teller.tell(status);
        let (journal, recovered) =
            Journal::open_on(file_system, folder, "udsf", options, apply, contents, tell)?;
        watch.opened(&recovered, &journal.status());
        Ok(Self {
            records,
            journal: Some(Arc::new(journal)),
            max_octets,
        })
    }

    /// The log, if there is one.
    pub(super) const fn journal(&self) -> Option<&Arc<Journal>> {
        self.journal.as_ref()
    }

    /// Puts a value; gives whether there was none, once the change may be acknowledged.
    ///
    /// # Errors
    /// 507 or 503; nothing was changed then.
    pub(super) async fn put(&self, name: &str, value: Bytes) -> Result<bool, Problem> {
        let held = self.records.octets.load(Ordering::Relaxed);
        if held + name.len() + value.len() > self.max_octets {
            return Err(Problem::new(507, "INSUFFICIENT_RESOURCES")
                .detail("the store is full: raise --max-octets"));
        }
        let name = Bytes::copy_from_slice(name.as_bytes());
        let put = self.records.put(name, value, self.journal.as_deref());
        let (is_new, change) = put.map_err(durable::problem)?;
        self.settled(change).await?;
        Ok(is_new)
    }

    async fn settled(&self, change: u64) -> Result<(), Problem> {
        match &self.journal {
            Some(journal) => journal.settled(change).await.map_err(durable::problem),
            None => Ok(()),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<Bytes> {
        self.records
            .shard(name.as_bytes())
            .get(name.as_bytes())
            .cloned()
    }

    /// Removes a value; gives whether there was one, once the change may be acknowledged.
    ///
    /// # Errors
    /// 507 or 503; nothing was changed then.
    pub(super) async fn remove(&self, name: &str) -> Result<bool, Problem> {
        let removed = self
            .records
            .remove(name.as_bytes(), self.journal.as_deref());
        match removed.map_err(durable::problem)? {
            Some(change) => self.settled(change).await.map(|()| true),
            None => Ok(false),
        }
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
