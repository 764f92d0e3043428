//! Subscribers: provisioned ranges, and the state of those who came.

use super::sequence::{STARTS, Sequence};
use crate::aka::{Sqn, Supi};
use crate::journal::{Contents, Journal};
use crate::sbi::Problem;
use crate::sbi::model::udm::{
    Amf3GppAccessRegistration, AuthEvent, SdmSubscription, SmfRegistration,
};
use crate::subscribers::{Entries, Entry, SubscriberFile};
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
    journal: Option<Journal>,
}

impl Store {
    /// Takes the subscribers of a file, and what the log in the folder has kept.
    ///
    /// # Errors
    /// When the log cannot be used.
    pub(super) fn open(file: SubscriberFile, folder: Option<&Path>) -> std::io::Result<Self> {
        let states: Arc<States> = Arc::new((0..SHARDS).map(|_| Mutex::default()).collect());
        let added: Arc<RwLock<Entries>> = Arc::default();
        let mut starts = 0;
        let counted = Arc::new(AtomicU64::new(0));
        let journal = match folder {
            None => None,
            Some(folder) => {
                let contents = contents(
                    Arc::clone(&states),
                    Arc::clone(&added),
                    Arc::clone(&counted),
                );
                let apply = |name: &[u8], value: Option<&[u8]>| {
                    recover(&states, &added, &mut starts, name, value);
                };
                Some(Journal::open(folder, "udm", apply, contents)?.0)
            }
        };
        starts += 1;
        counted.store(starts, Ordering::SeqCst);
        if let Some(journal) = &journal {
            // Before any number is given.
            journal.wait(journal.put(STARTS, starts.to_le_bytes().to_vec()))?;
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
    /// 507 when there are [`MAX_ADDED`].
    pub(super) fn add(&self, entry: Entry) -> Result<(), Problem> {
        let name = entry.supi.to_string();
        let octets =
            serde_json::to_vec(&entry).map_err(|error| Problem::failure(error.to_string()))?;
        let mut added = self.added.write().unwrap_or_else(PoisonError::into_inner);
        if added.len() >= MAX_ADDED || !added.insert(entry) {
            return Err(Problem::new(507, "INSUFFICIENT_RESOURCES").detail("add ranges: --count"));
        }
        if let Some(journal) = &self.journal {
            journal.put(format!("{ADDED}{name}"), octets);
        }
        Ok(())
    }

    /// Removes what was added under this SUPI; gives whether there was something.
    pub(super) fn remove(&self, supi: &str) -> bool {
        let mut added = self.added.write().unwrap_or_else(PoisonError::into_inner);
        let removed = added.remove(supi);
        if let Some(journal) = self.journal.as_ref().filter(|_| removed) {
            journal.remove(format!("{ADDED}{supi}"));
        }
        removed
    }

    /// A sequence number that was never used for this subscriber; `floor` is what it was provisioned
    /// with.
    pub(super) fn next_sqn(&self, supi: &Supi, floor: Sqn) -> Option<Sqn> {
        let mut states = shard(&self.states, supi);
        let state = states.entry(*supi).or_default();
        let committed = self.journal.as_ref().map_or(u64::MAX, Journal::committed);
        let given = state.sequence.next(self.starts, floor, committed)?;
        if given.reserves {
            let change = self.write(supi, state);
            state.sequence.written_by(change);
        }
        Some(given.sqn)
    }

    /// Goes on from the number that a USIM is at, where it would not take the next.
    pub(super) fn resynchronise(&self, supi: &Supi, floor: Sqn, at: Sqn) {
        let mut states = shard(&self.states, supi);
        let state = states.entry(*supi).or_default();
        if state.sequence.resynchronise(self.starts, floor, at) {
            let change = self.write(supi, state);
            state.sequence.written_by(change);
        }
    }

    /// Writes a state behind; gives the change of the log.
    fn write(&self, supi: &Supi, state: &UeState) -> u64 {
        let Some(journal) = &self.journal else {
            return 0;
        };
        // Texts, numbers and maps of texts: writing them to memory does not fail.
        let octets = serde_json::to_vec(state).unwrap_or_default();
        journal.put(format!("{STATE}{supi}"), octets)
    }

    /// Looks at the state of a UE.
    pub(super) fn read<T>(&self, supi: &Supi, look: impl FnOnce(Option<&UeState>) -> T) -> T {
        look(shard(&self.states, supi).get(supi).map(|state| &**state))
    }

    /// Changes the state of a UE, and keeps it if it has become another.
    pub(super) fn change<T>(&self, supi: &Supi, change: impl FnOnce(&mut UeState) -> T) -> T {
        let mut states = shard(&self.states, supi);
        let state = states.entry(*supi).or_default();
        let result = change(state);
        self.write(supi, state);
        result
    }
}

fn shard<'a>(states: &'a States, supi: &Supi) -> MutexGuard<'a, HashMap<Supi, Box<UeState>>> {
    let mixed = supi.imsi().bytes().fold(0_usize, |mixed, octet| {
        mixed.wrapping_mul(31).wrapping_add(usize::from(octet))
    });
    states[mixed % SHARDS]
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

fn recover(
    states: &States,
    added: &RwLock<Entries>,
    starts: &mut u64,
    name: &[u8],
    value: Option<&[u8]>,
) {
    let Ok(name) = std::str::from_utf8(name) else {
        return;
    };
    if name == STARTS {
        if let Some(octets) = value.and_then(|value| value.try_into().ok()) {
            *starts = u64::from_le_bytes(octets);
        }
    } else if let Some(supi) = name.strip_prefix(ADDED) {
        let entry = value.and_then(|value| serde_json::from_slice::<Entry>(value).ok());
        let mut added = added.write().unwrap_or_else(PoisonError::into_inner);
        let _changed = match entry {
            Some(entry) => added.insert(entry),
            None => added.remove(supi),
        };
    } else if let Some(Ok(supi)) = name.strip_prefix(STATE).map(str::parse::<Supi>)
        && let Some(Ok(state)) = value.map(serde_json::from_slice::<Box<UeState>>)
    {
        shard(states, &supi).insert(supi, state);
    }
}
