//! What must outlive a process: an append-only log of named values, written behind.
//!
//! ```text
//!   put, remove ──▶ pending, by name ──▶ writer thread: a write a group ──▶ NAME.log
//!                                              │ └ a fdatasync for several of them
//!                                              └ now and then the log anew, of what is left
//! ```
//!
//! Nobody on the signalling path waits for the disk. A group gathers for a millisecond, and what is
//! written is brought to the disk fifty times a second: a disk's turn costs more CPU time than a
//! registration. So the end of the process costs what came in its last millisecond, that of the
//! machine what came in its last twenty; who cannot bear that asks [`Journal::committed`]. A name that
//! changes often is written once a group, and a disk that hangs costs one entry a name.
//!
//! An entry is `name length (4) | value length + 1, or 0 for none (4) | check (8) | name | value`,
//! numbers little endian; the check is SipHash 1-3 of everything else. An entry that is cut short or
//! does not pass its check ends the log: it is what was being written when the process ended.

use bytes::Bytes;
use siphasher::sip::SipHasher13;
use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::hash::Hasher;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The longest name, octets.
pub(crate) const MAX_NAME: usize = 1024;
/// The longest value, octets.
pub(crate) const MAX_VALUE: usize = 16 << 20;
/// The log is written anew when it has grown by this much and by twice what is left of it.
const GROWTH: u64 = 64 << 20;
/// How long a group gathers.
const GATHER: Duration = Duration::from_millis(1);
/// How long what is written may wait for its turn at the disk.
const SYNC: Duration = Duration::from_millis(20);
/// How long a disk that refuses is left alone.
const RETRY: Duration = Duration::from_secs(1);
/// Nobody but its owner reads or writes a file.
const OWNERS: u32 = 0o600;
const MAGIC: &[u8; 8] = b"CWJOURN1";
const HEAD: usize = 16;

/// Gives every name and value that is left, for a new log.
pub(crate) type Contents = Box<dyn Fn(&mut dyn FnMut(&[u8], &[u8])) + Send>;

/// A log and the thread that writes it. Dropping it writes what is pending.
pub(crate) struct Journal {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    pending: Mutex<Pending>,
    /// Something is to be written, or the end has come.
    wake: Condvar,
    /// What was written is on the disk, or cannot be brought there.
    written: Condvar,
}

#[derive(Default)]
struct Pending {
    entries: HashMap<Bytes, Option<Bytes>>,
    /// Changes so far.
    asked: u64,
    /// How many of them are on the disk.
    committed: u64,
    /// Changes that somebody waits for: until they are on the disk nothing is put off.
    awaited: u64,
    closing: bool,
    fault: Option<String>,
}

/// What was found when a log was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// Entries read, removals among them.
    pub(crate) entries: u64,
    /// Octets of a last entry that was not whole.
    pub(crate) cut: u64,
}

impl Journal {
    /// Opens `FOLDER/NAME.log`, gives what is in it to `apply` in its order, and begins to write.
    /// `contents` is asked for what is left when the log is written anew.
    ///
    /// # Errors
    /// When another process has it, or it cannot be read or written.
    pub(crate) fn open(
        folder: &Path,
        name: &str,
        mut apply: impl FnMut(&[u8], Option<&[u8]>),
        contents: Contents,
    ) -> io::Result<(Self, Recovered)> {
        // What is in it is nobody else's: subscribers' keys, security contexts.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(OWNERS)
            .open(folder.join(format!("{name}.lock")))?;
        lock.try_lock().map_err(|error| {
            let what = format!("{} is used by another process: {error}", folder.display());
            io::Error::new(io::ErrorKind::ResourceBusy, what)
        })?;
        let path = folder.join(format!("{name}.log"));
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(OWNERS)
            .open(&path)?;
        let (recovered, length) = recover(&mut file, &path, &mut apply)?;
        file.set_len(length)?;
        file.seek(io::SeekFrom::End(0))?;
        let shared = Arc::new(Shared::default());
        let mut writer = Writer {
            shared: Arc::clone(&shared),
            path,
            file,
            length,
            kept: length,
            contents,
            _lock: lock,
        };
        let thread = std::thread::Builder::new()
            .name(format!("{name}-log"))
            .spawn(move || writer.run())?;
        let journal = Self {
            shared,
            thread: Some(thread),
        };
        Ok((journal, recovered))
    }

    /// Keeps a value under this name; gives the number of the change.
    pub(crate) fn put(&self, name: impl Into<Bytes>, value: impl Into<Bytes>) -> u64 {
        self.change(name.into(), Some(value.into()))
    }

    /// Forgets what is under this name.
    pub(crate) fn remove(&self, name: impl Into<Bytes>) -> u64 {
        self.change(name.into(), None)
    }

    fn change(&self, name: Bytes, value: Option<Bytes>) -> u64 {
        debug_assert!(
            name.len() <= MAX_NAME && value.as_ref().is_none_or(|v| v.len() <= MAX_VALUE)
        );
        let mut pending = self.shared.lock();
        let was_empty = pending.entries.is_empty();
        pending.entries.insert(name, value);
        pending.asked += 1;
        let number = pending.asked;
        drop(pending);
        if was_empty {
            self.shared.wake.notify_one();
        }
        number
    }

    /// The number of the last change that is on the disk with all before it.
    pub(crate) fn committed(&self) -> u64 {
        self.shared.lock().committed
    }

    /// Waits until this change is on the disk. Blocks: for starts and tests, not for services.
    ///
    /// # Errors
    /// What the disk says, when it refuses.
    pub(crate) fn wait(&self, number: u64) -> io::Result<()> {
        let mut pending = self.shared.lock();
        pending.awaited = pending.awaited.max(number);
        self.shared.wake.notify_one();
        while pending.committed < number {
            if let Some(fault) = &pending.fault {
                return Err(io::Error::other(fault.clone()));
            }
            pending = self
                .shared
                .written
                .wait(pending)
                .unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }
}

fn wait<'a>(
    wake: &Condvar,
    pending: MutexGuard<'a, Pending>,
    at_most: Duration,
) -> MutexGuard<'a, Pending> {
    if at_most == Duration::MAX {
        return wake.wait(pending).unwrap_or_else(PoisonError::into_inner);
    }
    let waited = wake.wait_timeout(pending, at_most);
    waited.unwrap_or_else(PoisonError::into_inner).0
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Journal")
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Writer {
    shared: Arc<Shared>,
    path: PathBuf,
    file: File,
    /// Octets of the log.
    length: u64,
    /// The same when it was last written anew.
    kept: u64,
    contents: Contents,
    /// Held as long as the log is ours.
    _lock: File,
}

impl Pending {
    /// Nothing is put off: somebody waits, or the end has come.
    const fn is_urgent(&self) -> bool {
        self.closing || self.awaited > self.committed
    }
}

impl Writer {
    fn run(&mut self) {
        // The last change that is written and not on the disk, and when it is to be there.
        let mut unsynced: Option<(u64, Instant)> = None;
        // The disk has refused something: what is in the log may lack it.
        let mut broken = false;
        loop {
            let (entries, number, closing) = self.next_group(unsynced.map(|(_, due)| due));
            let mut done = Ok(());
            if !entries.is_empty() {
                // A broken log is written anew, of what there is by then.
                done = if broken { Ok(()) } else { self.write(&entries) };
                let due = unsynced.map_or_else(|| Instant::now() + SYNC, |(_, due)| due);
                unsynced = Some((number, due));
            }
            let urgent = self.shared.lock().is_urgent() && !broken;
            let is_due = |(_, due): &(u64, Instant)| urgent || closing || Instant::now() >= *due;
            if let Some((number, _)) = unsynced.filter(|at| done.is_ok() && is_due(at)) {
                done = match broken {
                    true => self.write_anew(),
                    false => self.file.sync_data(),
                };
                if done.is_ok() {
                    (unsynced, broken) = (None, false);
                    self.committed(number);
                }
            }
            if let Err(error) = done {
                self.failed(&error);
                broken = true;
                unsynced = unsynced.map(|(number, _)| (number, Instant::now() + RETRY));
                if closing {
                    return;
                }
            } else if closing && unsynced.is_none() {
                return;
            }
        }
    }

    /// What is to be written, the number of the last change in it, and whether the end has come. It
    /// waits until there is something to do: a group has gathered, or it is time for the disk.
    fn next_group(&self, due: Option<Instant>) -> (HashMap<Bytes, Option<Bytes>>, u64, bool) {
        let mut pending = self.shared.lock();
        loop {
            let now = Instant::now();
            // A disk that has refused is left alone until its time, whoever waits.
            let soon = due.is_some_and(|due| due <= now + SYNC);
            if pending.closing || (pending.is_urgent() && soon) {
                break;
            }
            let until = match (pending.entries.is_empty(), due) {
                (false, _) => break,
                (true, Some(due)) if due <= now => break,
                (true, Some(due)) => due - now,
                (true, None) => Duration::MAX,
            };
            pending = wait(&self.shared.wake, pending, until);
        }
        let until = Instant::now() + GATHER;
        while !pending.entries.is_empty() && !pending.is_urgent() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            pending = wait(&self.shared.wake, pending, left);
        }
        let entries = std::mem::take(&mut pending.entries);
        (entries, pending.asked, pending.closing)
    }

    fn committed(&self, number: u64) {
        let mut pending = self.shared.lock();
        pending.committed = number;
        pending.fault = None;
        self.shared.written.notify_all();
    }

    /// Says so to whoever waits.
    fn failed(&self, error: &io::Error) {
        let mut pending = self.shared.lock();
        pending.fault = Some(format!("{}: {error}", self.path.display()));
        // Who waited has been told; who waits from now on is told the same.
        pending.awaited = pending.committed;
        self.shared.written.notify_all();
    }

    fn write(&mut self, entries: &HashMap<Bytes, Option<Bytes>>) -> io::Result<()> {
        let mut group = Vec::new();
        for (name, value) in entries {
            push_entry(&mut group, name, value.as_deref());
        }
        if let Err(error) = self.file.write_all(&group) {
            // Half a group would hide what comes behind it.
            self.file.set_len(self.length)?;
            self.file.seek(io::SeekFrom::End(0))?;
            return Err(error);
        }
        self.length += group.len() as u64;
        if self.length - self.kept > GROWTH.max(2 * self.kept) {
            self.write_anew()?;
        }
        Ok(())
    }

    /// A new log of what is left. Changes that come meanwhile are newer and follow in the next group.
    fn write_anew(&mut self) -> io::Result<()> {
        let beside = self.path.with_extension("new");
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(OWNERS)
            .open(&beside)?;
        let mut group = MAGIC.to_vec();
        let mut length = 0;
        let mut failed = None;
        (self.contents)(&mut |name, value| {
            push_entry(&mut group, name, Some(value));
            if group.len() > 1 << 20 && failed.is_none() {
                failed = file.write_all(&group).err();
                length += group.len() as u64;
                group.clear();
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        file.write_all(&group)?;
        length += group.len() as u64;
        file.sync_data()?;
        std::fs::rename(&beside, &self.path)?;
        if let Some(folder) = self.path.parent() {
            File::open(folder)?.sync_all()?;
        }
        self.file = file;
        (self.length, self.kept) = (length, length);
        Ok(())
    }
}

fn push_entry(group: &mut Vec<u8>, name: &[u8], value: Option<&[u8]>) {
    let lengths = lengths(name, value);
    group.extend_from_slice(&lengths);
    group.extend_from_slice(&check(&lengths, name, value.unwrap_or_default()).to_le_bytes());
    group.extend_from_slice(name);
    group.extend_from_slice(value.unwrap_or_default());
}

/// Names and values are far below 4 GiB: [`MAX_NAME`], [`MAX_VALUE`].
fn lengths(name: &[u8], value: Option<&[u8]>) -> [u8; 8] {
    let mut lengths = [0; 8];
    lengths[..4].copy_from_slice(&(name.len() as u32).to_le_bytes());
    let value = value.map_or(0, |value| value.len() as u32 + 1);
    lengths[4..].copy_from_slice(&value.to_le_bytes());
    lengths
}

fn check(lengths: &[u8], name: &[u8], value: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(lengths);
    hasher.write(name);
    hasher.write(value);
    hasher.finish()
}

/// Reads what is in a log; gives how many octets of it are whole.
fn recover(
    file: &mut File,
    path: &Path,
    apply: &mut impl FnMut(&[u8], Option<&[u8]>),
) -> io::Result<(Recovered, u64)> {
    let whole = file.metadata()?.len();
    if whole == 0 {
        file.write_all(MAGIC)?;
        file.sync_data()?;
        return Ok((Recovered::default(), MAGIC.len() as u64));
    }
    let mut reader = io::BufReader::with_capacity(1 << 20, file);
    let mut magic = [0; MAGIC.len()];
    if reader.read_exact(&mut magic).is_err() || magic != *MAGIC {
        let what = format!("{} is no log of this program", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    let mut length = MAGIC.len() as u64;
    let mut recovered = Recovered::default();
    let mut entry = Vec::new();
    while let Some((name, octets)) = next_entry(&mut reader, &mut entry)? {
        let (name, value) = entry.split_at(name);
        apply(name, (octets > 0).then_some(value));
        length += (HEAD + entry.len()) as u64;
        recovered.entries += 1;
    }
    recovered.cut = whole.saturating_sub(length);
    Ok((recovered, length))
}

/// The next entry's name and value in `entry`; gives the name's length and the value's plus one.
fn next_entry(reader: &mut impl Read, entry: &mut Vec<u8>) -> io::Result<Option<(usize, usize)>> {
    let mut head = [0; HEAD];
    if !fill(reader, &mut head)? {
        return Ok(None);
    }
    let number =
        |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (name, value) = (number(0) as usize, number(4) as usize);
    if name > MAX_NAME || value > MAX_VALUE + 1 {
        return Ok(None);
    }
    entry.clear();
    entry.resize(name + value.saturating_sub(1), 0);
    if !fill(reader, entry)? {
        return Ok(None);
    }
    let said = u64::from_le_bytes(head[8..].try_into().unwrap_or_default());
    let (name_octets, value_octets) = entry.split_at(name);
    let good = check(&head[..8], name_octets, value_octets) == said;
    Ok(good.then_some((name, value)))
}

/// Reads that many octets; `false` when the end comes before.
fn fill(reader: &mut impl Read, octets: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(octets) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    type Kept = BTreeMap<Vec<u8>, Vec<u8>>;

    fn open(folder: &Path) -> (Journal, Recovered, Kept) {
        let mut kept = Kept::new();
        let opened = Journal::open(
            folder,
            "test",
            |name, value| {
                match value {
                    Some(value) => kept.insert(name.to_vec(), value.to_vec()),
                    None => kept.remove(name),
                };
            },
            Box::new(|_| {}),
        );
        let (journal, recovered) = opened.unwrap();
        (journal, recovered, kept)
    }

    fn value(number: u32) -> Vec<u8> {
        number.to_le_bytes().repeat(number as usize % 50)
    }

    #[test]
    fn what_is_kept_comes_back_and_what_is_removed_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let (journal, ..) = open(folder.path());
        for number in 0..1000_u32 {
            journal.put(number.to_string(), value(number));
        }
        let last = journal.remove("7");
        journal.wait(last).unwrap();
        assert!(journal.committed() >= last);
        drop(journal);
        let (_journal, recovered, kept) = open(folder.path());
        assert_eq!(recovered.cut, 0);
        assert_eq!(kept.len(), 999);
        assert_eq!(kept.get(&b"49"[..]), Some(&value(49)));
        assert_eq!(kept.get(&b"50"[..]), Some(&Vec::new()), "empty is not none");
        assert_eq!(kept.get(&b"7"[..]), None);
    }

    #[test]
    fn a_log_cut_anywhere_keeps_what_was_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (journal, ..) = open(folder.path());
        for number in 0..4_u32 {
            // One group each, so that their order is known.
            journal
                .wait(journal.put(number.to_string(), value(number + 2)))
                .unwrap();
        }
        drop(journal);
        let path = folder.path().join("test.log");
        let whole = std::fs::read(&path).unwrap();
        for cut in MAGIC.len()..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let (journal, recovered, kept) = open(folder.path());
            assert!(kept.len() < 4);
            assert_eq!(recovered.entries as usize, kept.len());
            // It goes on behind what was whole.
            journal.wait(journal.put("new", "x")).unwrap();
            drop(journal);
            assert_eq!(open(folder.path()).2.len(), kept.len() + 1, "cut at {cut}");
        }
        // A flipped bit ends it as well.
        let mut broken = whole.clone();
        *broken.last_mut().unwrap() ^= 1;
        std::fs::write(&path, &broken).unwrap();
        assert_eq!(open(folder.path()).2.len(), 3);
    }

    #[test]
    fn two_processes_do_not_share_it_and_rubbish_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let first = open(folder.path());
        let again = Journal::open(folder.path(), "test", |_, _| {}, Box::new(|_| {}));
        assert!(again.unwrap_err().to_string().contains("another process"));
        drop(first);
        std::fs::write(folder.path().join("test.log"), "rubbish, and more of it").unwrap();
        let rubbish = Journal::open(folder.path(), "test", |_, _| {}, Box::new(|_| {}));
        assert!(rubbish.unwrap_err().to_string().contains("no log"));
    }

    #[test]
    fn a_log_that_grows_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let left = Arc::new(Mutex::new(Kept::new()));
        let contents = Arc::clone(&left);
        let contents: Contents = Box::new(move |tell| {
            for (name, value) in contents.lock().unwrap().iter() {
                tell(name, value);
            }
        });
        let (journal, _) = Journal::open(folder.path(), "test", |_, _| {}, contents).unwrap();
        let mut last = 0;
        for round in 0..20_u8 {
            let value = vec![round; 8 << 20];
            left.lock().unwrap().insert(b"one".to_vec(), value.clone());
            last = journal.put("one", value);
            journal.wait(last).unwrap();
        }
        journal.wait(last).unwrap();
        drop(journal);
        let length = std::fs::metadata(folder.path().join("test.log"))
            .unwrap()
            .len();
        assert!(length < 100 << 20, "{length}");
        let (_journal, _, kept) = open(folder.path());
        assert_eq!(kept.get(&b"one"[..]), Some(&vec![19; 8 << 20]));
    }
}
