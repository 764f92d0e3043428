//! Subscribers: provisioned ranges, and the state of those who came.

use super::sequence::{STARTS, Sequence};
use corewire_core5g_aka::{Sqn, Supi};
use corewire_core5g_runtime::durable::{self, Watch};
use corewire_core5g_sbi::Problem;
use corewire_core5g_sbi::model::udm::{
    Amf3GppAccessRegistration, AuthEvent, SdmSubscription, SmfRegistration,
};
use corewire_core5g_subscribers::{Entries, Entry, SubscriberFile};
use corewire_store::file_system::FileSystem;
use corewire_store::{Contents, Journal, Options, WriteError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Parts of the map of states, each with a lock of its own.
const SHARDS: usize = 16;
/// Ranges that a command may add.
pub(super) const MAX_ADDED: usize = 100_000;
/// Subscriptions of one UE.
pub(super) const MAX_SUBSCRIPTIONS: usize = 16;
const STATE: &str = "state/";
const ADDED: &str = "added/";

/// What is known of a UE that came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct UeState {
    /// Its sequence numbers.
    pub(super) sequence: Sequence,
    /// Which AMF serves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) amf: Option<Amf3GppAccessRegistration>,
    /// Which SMF serves each session. Boxed: a node of the map has room for eleven, and most UEs have one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) sessions: BTreeMap<u8, Box<SmfRegistration>>,
    /// How its last authentication ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) authentication: Option<AuthEvent>,
    /// Who is told of changes of its data.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) subscriptions: BTreeMap<String, SdmSubscription>,
    /// What source 3's operations keep of it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) source3: Map<String, Value>,
}

/// Boxed: a map keeps room for as many again.
type States = Vec<Mutex<HashMap<Supi, Box<UeState>>>>;

/// The store. Holds keys: no `Debug`.
pub(super) struct Store {
    provisioned: Entries,
    added: Arc<RwLock<Entries>>,
    states: Arc<States>,
    /// How often the store was opened, this time included.
    starts: u64,
    journal: Option<Arc<Journal>>,
}

/// Where a store is kept, and how.
pub(super) struct Keeping<'a> {
    pub(super) file_system: Arc<dyn FileSystem>,
    pub(super) folder: &'a Path,
    pub(super) options: Options,
    pub(super) watch: Watch,
}

impl Store {
    /// Takes the subscribers of a file, and what the log in the folder has kept.
    ///
    /// # Errors
    /// When the log cannot be used, or takes nothing.
    pub(super) fn open(file: SubscriberFile, keeping: Option<Keeping<'_>>) -> anyhow::Result<Self> {
        let states: Arc<States> = Arc::new((0..SHARDS).map(|_| Mutex::default()).collect());
        let added: Arc<RwLock<Entries>> = Arc::default();
        let mut starts = 0;
        let counted = Arc::new(AtomicU64::new(0));
        let journal = match keeping {
            None => None,
            Some(keeping) => {
                let contents = contents(
                    Arc::clone(&states),
                    Arc::clone(&added),
                    Arc::clone(&counted),
                );
                let apply = |name: &[u8], value: Option<&[u8]>| {
                    let is_usable = recover(&states, &added, &mut starts, name, value);
                    // The log may be written anew at once.
                    counted.store(starts, Ordering::SeqCst);
                    is_usable
                };
                let (folder, watch) = (keeping.folder, keeping.watch);
                let teller = watch.clone();
                let tell = move |status: &_| teller.tell(status);
                let (disk, options) = (keeping.file_system, keeping.options);
                let (journal, recovered) =
                    Journal::open_on(disk, folder, "udm", options, apply, contents, tell)?;
                watch.opened(&recovered, &journal.status());
                Some(Arc::new(journal))
            }
        };
        starts += 1;
        counted.store(starts, Ordering::SeqCst);
        if let Some(journal) = &journal {
            // Before any number is given.
            journal.wait(journal.put(STARTS, starts.to_le_bytes().to_vec())?)?;
        }
        let mut provisioned = Entries::default();
        for entry in file.into_entries() {
            // The file was checked for their number.
            provisioned.insert(entry);
        }
        Ok(Self {
            provisioned,
            added,
            states,
            starts,
            journal,
        })
    }

    /// The log, if there is one.
    pub(super) const fn journal(&self) -> Option<&Arc<Journal>> {
        self.journal.as_ref()
    }

    /// Whether there is such a subscriber.
    pub(super) fn holds(&self, supi: &Supi) -> bool {
        self.with_entry(supi, |_| ()).is_some()
    }

    /// Looks at the range of a subscriber. What was added by command comes first.
    pub(super) fn with_entry<T>(&self, supi: &Supi, look: impl FnOnce(&Entry) -> T) -> Option<T> {
        let added = self.added.read().unwrap_or_else(PoisonError::into_inner);
        let found = added.find(supi).or_else(|| self.provisioned.find(supi));
        found.map(look)
    }

    /// All ranges, provisioned first.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let added = self.added.read().unwrap_or_else(PoisonError::into_inner);
        let all = self.provisioned.iter().chain(added.iter());
        all.map(|(_, entry)| entry.clone()).collect()
    }

    /// How many subscribers there are.
    pub(super) fn count(&self) -> u64 {
        self.entries().iter().map(|entry| entry.count).sum()
    }

    /// Adds a range, in place of one of the same first SUPI.
    ///
    /// # Errors
    /// 507 when there are [`MAX_ADDED`]; 507 or 503 when the log refuses. Nothing is added then.
    pub(super) async fn add(&self, entry: Entry) -> Result<(), Problem> {
        let change = self.add_to_log(entry)?;
        self.settled(change).await
    }

    fn add_to_log(&self, entry: Entry) -> Result<u64, Problem> {
        let supi = entry.supi.to_string();
        let octets =
            serde_json::to_vec(&entry).map_err(|error| Problem::failure(error.to_string()))?;
        let mut added = self.added.write().unwrap_or_else(PoisonError::into_inner);
        let full = || Problem::new(507, "INSUFFICIENT_RESOURCES").detail("add ranges: --count");
        if added.count() >= MAX_ADDED {
            return Err(full());
        }
        let before = added.iter().find(|(name, _)| **name == supi);
        let before = before.map(|(_, entry)| entry.clone());
        if !added.insert(entry) {
            return Err(full());
        }
        let put = match &self.journal {
            Some(journal) => journal.put(format!("{ADDED}{supi}"), octets),
            None => Ok(0),
        };
        if put.is_err() {
            // It was there before, so there is room for it.
            let _undone = match before {
                Some(before) => added.insert(before),
                None => added.remove(&supi),
            };
        }
        put.map_err(durable::problem)
    }

    /// Removes what was added under this SUPI; gives whether there was something.
    ///
    /// # Errors
    /// 507 or 503 when the log refuses. Nothing is removed then.
    pub(super) async fn remove(&self, supi: &str) -> Result<bool, Problem> {
        let change = {
            let mut added = self.added.write().unwrap_or_else(PoisonError::into_inner);
            if !added.iter().any(|(name, _)| name == supi) {
                return Ok(false);
            }
            let change = match &self.journal {
                Some(journal) => journal.remove(format!("{ADDED}{supi}")),
                None => Ok(0),
            };
            let change = change.map_err(durable::problem)?;
            added.remove(supi);
            change
        };
        self.settled(change).await.map(|()| true)
    }

    /// A sequence number that was never used for this subscriber; `floor` is what it was provisioned
    /// with.
    ///
    /// # Errors
    /// 503 or 507 when the disk does not keep up, or refuses.
    pub(super) fn next_sqn(&self, supi: &Supi, floor: Sqn) -> Result<Sqn, Problem> {
        let mut states = shard(&self.states, supi);
        let state = states.entry(*supi).or_default();
        let synced = self.journal.as_ref().map_or(u64::MAX, |log| log.synced());
        let before = state.sequence.clone();
        let given = state.sequence.next(self.starts, floor, synced);
        let given = given.ok_or_else(|| {
            Problem::new(503, "NF_CONGESTION").detail("the log of the store does not keep up")
        })?;
        if given.reserves {
            self.write_sequence(supi, state, before)?;
        }
        Ok(given.sqn)
    }

    /// Goes on from the number that a USIM is at, where it would not take the next.
    ///
    /// # Errors
    /// 503 or 507 when the disk refuses.
    pub(super) fn resynchronise(&self, supi: &Supi, floor: Sqn, at: Sqn) -> Result<(), Problem> {
        let mut states = shard(&self.states, supi);
        let state = states.entry(*supi).or_default();
        let before = state.sequence.clone();
        if state.sequence.resynchronise(self.starts, floor, at) {
            self.write_sequence(supi, state, before)?;
        }
        Ok(())
    }

    /// Writes a block of sequence numbers that was reserved. When that is refused, it is not reserved.
    fn write_sequence(
        &self,
        supi: &Supi,
        state: &mut UeState,
        before: Sequence,
    ) -> Result<(), Problem> {
        match self.write(supi, state) {
            Ok(change) => {
                state.sequence.written_by(change);
                Ok(())
            }
            Err(error) => {
                state.sequence = before;
                Err(durable::problem(error))
            }
        }
    }

    /// Writes a state to the log; gives the change.
    fn write(&self, supi: &Supi, state: &UeState) -> Result<u64, WriteError> {
        let Some(journal) = &self.journal else {
            return Ok(0);
        };
        // Texts, numbers and maps of texts: writing them to memory does not fail.
        let octets = serde_json::to_vec(state).unwrap_or_default();
        journal.put(format!("{STATE}{supi}"), octets)
    }

    async fn settled(&self, change: u64) -> Result<(), Problem> {
        match &self.journal {
            Some(journal) => journal.settled(change).await.map_err(durable::problem),
            None => Ok(()),
        }
    }

    /// Looks at the state of a UE.
    pub(super) fn read<T>(&self, supi: &Supi, look: impl FnOnce(Option<&UeState>) -> T) -> T {
        look(shard(&self.states, supi).get(supi).map(|state| &**state))
    }

    /// Changes the state of a UE. The log has the change before this completes.
    ///
    /// # Errors
    /// 507 or 503 when the log refuses. Nothing is changed then.
    pub(super) async fn change<T>(
        &self,
        supi: &Supi,
        change: impl FnOnce(&mut UeState) -> T,
    ) -> Result<T, Problem> {
        let (result, number) = self.change_log(supi, change)?;
        self.settled(number).await?;
        Ok(result)
    }

    fn change_log<T>(
        &self,
        supi: &Supi,
        change: impl FnOnce(&mut UeState) -> T,
    ) -> Result<(T, u64), Problem> {
        let mut states = shard(&self.states, supi);
        let state = states.entry(*supi).or_default();
        if self.journal.is_none() {
            return Ok((change(state), 0));
        }
        let mut changed = state.clone();
        let result = change(&mut changed);
        if changed == *state {
            return Ok((result, 0));
        }
        let number = self.write(supi, &changed).map_err(durable::problem)?;
        *state = changed;
        Ok((result, number))
    }
}

fn shard<'a>(states: &'a States, supi: &Supi) -> MutexGuard<'a, HashMap<Supi, Box<UeState>>> {
    let mixed = supi.imsi().bytes().fold(0_usize, |mixed, octet| {
        mixed.wrapping_mul(31).wrapping_add(usize::from(octet))
    });
    states[mixed % states.len()]
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

fn contents(states: Arc<States>, added: Arc<RwLock<Entries>>, starts: Arc<AtomicU64>) -> Contents {
    Box::new(move |tell| {
        let starts = starts.load(Ordering::SeqCst);
        tell(STARTS.as_bytes(), &starts.to_le_bytes());
        for (name, entry) in added.read().unwrap_or_else(PoisonError::into_inner).iter() {
            let octets = serde_json::to_vec(entry).unwrap_or_default();
            tell(format!("{ADDED}{name}").as_bytes(), &octets);
        }
        for part in states.iter() {
            let part = part.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for (supi, state) in &part {
                let octets = serde_json::to_vec(state).unwrap_or_default();
                tell(format!("{STATE}{supi}").as_bytes(), &octets);
            }
        }
    })
}

/// Whether the store can use a value of this name.
pub(super) fn is_usable(name: &[u8], value: &[u8]) -> bool {
    let (states, added, mut starts) = (vec![Mutex::default()], RwLock::default(), 0);
    recover(&states, &added, &mut starts, name, Some(value))
}

/// Takes a change of the log; gives whether it can be used.
fn recover(
    states: &States,
    added: &RwLock<Entries>,
    starts: &mut u64,
    name: &[u8],
    value: Option<&[u8]>,
) -> bool {
    let Ok(name) = std::str::from_utf8(name) else {
        return false;
    };
    if name == STARTS {
        if let Some(octets) = value.and_then(|value| value.try_into().ok()) {
            *starts = u64::from_le_bytes(octets);
            return true;
        }
    } else if let Some(supi) = name.strip_prefix(ADDED) {
        let mut added = added.write().unwrap_or_else(PoisonError::into_inner);
        match value.map(serde_json::from_slice::<Entry>) {
            Some(Ok(entry)) => return added.insert(entry),
            Some(Err(_)) => {}
            None => {
                added.remove(supi);
                return true;
            }
        }
    } else if let Some(Ok(supi)) = name.strip_prefix(STATE).map(str::parse::<Supi>) {
        let mut states = shard(states, &supi);
        match value.map(serde_json::from_slice::<Box<UeState>>) {
            Some(Ok(state)) => {
                states.insert(supi, state);
                return true;
            }
            Some(Err(_)) => {}
            None => {
                states.remove(&supi);
                return true;
            }
        }
    }
    false
}
