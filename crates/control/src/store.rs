//! What outlives a restart: the registered instances, and how often the state has changed.
//!
//! redb, written by a thread of its own, off every path a caller waits on. What is to be written
//! is a map by name, so that whatever comes while a commit runs goes into the next one together
//! (group commit), and a disk that hangs costs at most one entry for each instance. Heartbeats are
//! not written: after a restart every instance gets its lease again. A registration may be lost
//! that was answered a few milliseconds before a crash; its heartbeat is answered "register again".

use crate::generated::registry as message;
use crate::registry::Instance;
use prost::Message;
use redb::backends::FileBackend;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

const INSTANCES: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("instances");
const NUMBERS: TableDefinition<'static, &str, u64> = TableDefinition::new("numbers");
const GENERATION: &str = "generation";
const FILE: &str = "registry.redb";
/// How long a disk gets to recover before it is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// What is on disk, and the thread that writes it.
pub(crate) struct Store {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What was kept.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) instances: Vec<Instance>,
    pub(crate) generation: u64,
    /// Entries that could not be read; they are passed over.
    pub(crate) unreadable: usize,
}

#[derive(Default)]
struct Shared {
    pending: Mutex<Pending>,
    wake: Condvar,
}

/// What waits for the disk. Bounded by the instances that are registered and those that are on
/// disk, however long the disk hangs and however many come and go meanwhile: one that came and
/// left before it was written leaves nothing behind.
#[derive(Default)]
struct Pending {
    instances: Changes,
    /// What is on disk, or may be soon: what of it leaves has to be deleted there.
    on_disk: HashSet<Arc<str>>,
    generation: Option<u64>,
    closing: bool,
    fault: Option<String>,
}

type Changes = HashMap<Arc<str>, Option<Arc<Instance>>>;

impl Pending {
    fn add(&mut self, id: Arc<str>, change: Option<Arc<Instance>>) {
        if change.is_none() && !self.on_disk.contains(&id) {
            self.instances.remove(&id);
        } else {
            self.instances.insert(id, change);
        }
    }

    /// What is written now. Until that has failed or not, it counts as being on disk.
    fn take(&mut self) -> Changes {
        let changes = std::mem::take(&mut self.instances);
        let present = changes.iter().filter(|(_, change)| change.is_some());
        self.on_disk.extend(present.map(|(id, _)| Arc::clone(id)));
        changes
    }

    /// It was written.
    fn written(&mut self, changes: &Changes) {
        for (id, _) in changes.iter().filter(|(_, change)| change.is_none()) {
            self.on_disk.remove(id);
        }
    }

    /// It was not: put back, but what came meanwhile is newer.
    fn put_back(&mut self, changes: Changes) {
        for (id, change) in changes {
            self.instances.entry(id).or_insert(change);
        }
    }

    fn is_empty(&self) -> bool {
        self.instances.is_empty() && self.generation.is_none()
    }
}

/// Why the store cannot be used.
#[derive(Debug)]
pub(crate) struct StoreFault {
    path: PathBuf,
    reason: String,
}

impl fmt::Display for StoreFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the state in {} cannot be used: {}; if no other control plane runs on it, move the file away (instances will register again)",
            self.path.display(),
            self.reason
        )
    }
}

impl std::error::Error for StoreFault {}

impl Store {
    /// Opens the store in this folder, which is made when it is not there.
    ///
    /// # Errors
    /// When another process uses it, or it cannot be read.
    pub(crate) fn open(folder: &Path) -> Result<(Self, Kept), StoreFault> {
        let path = folder.join(FILE);
        let fault = |reason: String| StoreFault {
            path: path.clone(),
            reason,
        };
        let file = open_for_owner(folder, &path).map_err(|error| fault(error.to_string()))?;
        let backend = FileBackend::new(file).map_err(|error| fault(error.to_string()))?;
        let database = Database::builder()
            .create_with_backend(backend)
            .map_err(|error| fault(error.to_string()))?;
        let kept = read(&database).map_err(|error| fault(error.to_string()))?;
        let shared = Arc::new(Shared::default());
        {
            let mut pending = shared
                .pending
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let ids = kept.instances.iter().map(|one| Arc::clone(&one.id));
            pending.on_disk.extend(ids);
        }
        let writes = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("corewire-store".into())
            .spawn(move || write_until_closed(&database, &writes))
            .map_err(|error| fault(error.to_string()))?;
        let store = Self {
            shared,
            thread: Some(thread),
        };
        Ok((store, kept))
    }

    /// Keeps these changes (`None`: forget it) some time soon. Never waits for the disk.
    pub(crate) fn keep(
        &self,
        changes: impl IntoIterator<Item = (Arc<str>, Option<Arc<Instance>>)>,
        generation: u64,
    ) {
        let mut pending = self.lock();
        for (id, change) in changes {
            pending.add(id, change);
        }
        pending.generation = Some(generation);
        self.shared.wake.notify_one();
    }

    /// What went wrong when it was last written, if it did.
    pub(crate) fn fault(&self) -> Option<String> {
        self.lock().fault.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Pending> {
        self.shared
            .pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Store {
    /// Writes what is still to be written.
    fn drop(&mut self) {
        self.lock().closing = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // Its panic is on its own output.
            let _ = thread.join();
        }
    }
}

/// Opens the file for its owner alone, in a folder that is made so when it is not there: addresses and
/// metadata of instances are in it, and whoever writes it changes where calls go.
fn open_for_owner(folder: &Path, path: &Path) -> std::io::Result<File> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    // One that an earlier version created may be open to others.
    if file.metadata()?.mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

fn read(database: &Database) -> Result<Kept, redb::Error> {
    // A new file has no tables, which reading would take for a fault.
    let write = database.begin_write()?;
    write.open_table(INSTANCES)?;
    write.open_table(NUMBERS)?;
    write.commit()?;
    let read = database.begin_read()?;
    let mut kept = Kept {
        generation: read
            .open_table(NUMBERS)?
            .get(GENERATION)?
            .map_or(0, |number| number.value()),
        ..Kept::default()
    };
    for entry in read.open_table(INSTANCES)?.iter()? {
        let (_, octets) = entry?;
        let stored = message::Instance::decode(octets.value()).ok();
        match stored.and_then(|stored| Instance::try_from(stored).ok()) {
            Some(instance) => kept.instances.push(instance),
            None => kept.unreadable += 1,
        }
    }
    Ok(kept)
}

fn write_until_closed(database: &Database, shared: &Shared) {
    let mut pending = shared
        .pending
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    loop {
        if pending.is_empty() {
            if pending.closing {
                return;
            }
            pending = shared
                .wake
                .wait(pending)
                .unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        let instances = pending.take();
        let generation = pending.generation.take();
        drop(pending);
        let written = write(database, &instances, generation);
        pending = shared
            .pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match written {
            Ok(()) => {
                pending.fault = None;
                pending.written(&instances);
            }
            Err(error) => {
                pending.fault = Some(error.to_string());
                if pending.closing {
                    return;
                }
                pending.put_back(instances);
                pending.generation = pending.generation.or(generation);
                pending = shared
                    .wake
                    .wait_timeout(pending, RETRY)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
            }
        }
    }
}

fn write(
    database: &Database,
    instances: &Changes,
    generation: Option<u64>,
) -> Result<(), redb::Error> {
    let write = database.begin_write()?;
    {
        let mut table = write.open_table(INSTANCES)?;
        for (id, change) in instances {
            match change {
                Some(instance) => {
                    let octets = message::Instance::from(&**instance).encode_to_vec();
                    table.insert(&**id, octets.as_slice())?;
                }
                None => drop(table.remove(&**id)?),
            }
        }
        if let Some(generation) = generation {
            write.open_table(NUMBERS)?.insert(GENERATION, generation)?;
        }
    }
    write.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(id: &str) -> Arc<Instance> {
        let mut instance = Instance::new("smf", id, "127.0.0.1:9001".parse().unwrap());
        instance.metadata.insert("version".into(), "v2".into());
        instance.ttl = Duration::from_secs(5);
        Arc::new(instance)
    }

    #[test]
    fn what_is_kept_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let (store, kept) = Store::open(folder.path()).unwrap();
        assert_eq!((kept.instances.len(), kept.generation), (0, 0));
        for round in 0..100 {
            let id: Arc<str> = format!("i-{round}").into();
            store.keep([(Arc::clone(&id), Some(instance(&id)))], round);
        }
        store.keep([("i-7".into(), None)], 100);
        drop(store);
        let (_store, kept) = Store::open(folder.path()).unwrap();
        assert_eq!((kept.instances.len(), kept.generation), (99, 100));
        let found = kept.instances.iter().find(|one| &*one.id == "i-8");
        assert_eq!(found, Some(&*instance("i-8")));
    }

    #[test]
    fn a_disk_that_hangs_costs_no_more_than_there_are_instances() {
        let mut pending = Pending::default();
        pending.add("old".into(), Some(instance("old")));
        // Being written, and the disk hangs.
        let writing = pending.take();
        for round in 0..10_000 {
            let id: Arc<str> = format!("i-{round}").into();
            pending.add(Arc::clone(&id), Some(instance(&id)));
            pending.add(id, None);
        }
        assert!(pending.instances.is_empty(), "{}", pending.instances.len());
        pending.add("old".into(), None);
        assert_eq!(pending.instances.len(), 1, "it may be on disk by now");
        // The write fails: what is newer counts.
        pending.put_back(writing);
        assert_eq!(pending.instances["old"], None);
        let writing = pending.take();
        pending.written(&writing);
        assert!(pending.on_disk.is_empty() && pending.is_empty());
    }

    #[test]
    fn two_processes_do_not_share_it() {
        let folder = tempfile::tempdir().unwrap();
        let (_store, _) = Store::open(folder.path()).unwrap();
        let refused = Store::open(folder.path()).err().unwrap().to_string();
        assert!(refused.contains("cannot be used"), "{refused}");
    }

    #[test]
    fn folder_and_file_are_their_owners() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("state");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        drop(Store::open(&own).unwrap());
        assert_eq!((mode(&own), mode(&own.join(FILE))), (0o700, 0o600));
        // As an earlier version left it.
        std::fs::set_permissions(own.join(FILE), Permissions::from_mode(0o644)).unwrap();
        drop(Store::open(&own).unwrap());
        assert_eq!(mode(&own.join(FILE)), 0o600);
    }

    #[test]
    fn rubbish_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), b"rubbish").unwrap();
        let refused = Store::open(folder.path()).err().unwrap().to_string();
        assert!(refused.contains("move the file away"), "{refused}");
    }
}
