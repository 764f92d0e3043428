//! The store without clock and thread: what a change does, and what is to be done when.
//!
//! ```text
//!              append fails                       probe succeeds
//!   Serving ─────────────────▶ Refusing, Room ─────────────────────▶ Serving
//!      │  sync fails, the file is another's        a new log is written
//!      └─────────────────────▶ Refusing, Anew ─────────────────────▶ Serving
//! ```
//!
//! A failed append leaves the log as it was before, so the disk needs only room again. After a failed
//! `sync` the kernel may have dropped what was written (and says so once only), so all of it is written
//! again, from memory, to a new file. The same when the file is not what was written to it: another
//! process has cut, replaced or deleted it.

use crate::file_system::{Access, FileSystem, StoreFile, write_all};
use crate::options::{OnDamage, Options, State, Status};
use crate::place::Place;
use crate::record::{Encoder, HEAD, HEADER, Key, MAX_NAME, MAX_VALUE};
use crate::scan::{Apply, Damage, Found, ScanError, scan};
use crate::version_1;
use bytes::Bytes;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

/// A new log goes to the file in pieces of this length.
const PIECE: usize = 1 << 20;
/// Bytes of a new log that are written between two syncs, so that the last of them is short.
const PIECES_SYNC: u64 = 8 << 20;
/// Changes that may come while a new log takes the place of the old; more are written first.
const FEW: usize = 256;
/// Rounds after which they are few enough however many they are.
const MAX_ROUNDS: u32 = 16;
/// Room that the disk must have before changes are taken again.
const ROOM: usize = 64 << 10;
/// Between two looks at whether the file is still there, while nothing is written.
const INSPECT: Duration = Duration::from_secs(1);
/// How long a log that could not be written anew to shorten it grows on.
const SHORTEN_AGAIN: Duration = Duration::from_secs(10);

/// Gives every name and value that there is, for a new log. A change must be in it as soon as the lock is
/// released under which it was appended.
pub type Contents = Box<dyn Fn(&mut dyn FnMut(&[u8], &[u8])) + Send>;

/// Why a change was refused. Nothing of it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteError {
    /// The disk, a quota or a limit has no room.
    NoRoom,
    /// The disk does not take it: an I/O error, a read-only file system.
    Failed,
    /// The disk has not answered for longer than [`Options::stall_limit`].
    Stalled,
    /// The name or the value is too long: [`MAX_NAME`], [`MAX_VALUE`].
    TooLong,
    /// The store is closed.
    Closed,
}

impl WriteError {
    fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::NoRoom,
            _ => Self::Failed,
        }
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoRoom => "the disk of the store has no room",
            Self::Failed => "the disk of the store refuses",
            Self::Stalled => "the disk of the store does not answer",
            Self::TooLong => "the name or the value is too long",
            Self::Closed => "the store is closed",
        })
    }
}

impl std::error::Error for WriteError {}

/// Why a store is not opened. The log is as it was.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has it.
    InUse(PathBuf),
    /// The file is no log, or its header has rotted.
    NotALog(PathBuf),
    /// A part of it cannot be read, and [`OnDamage::Refuse`] was asked for.
    Damaged(PathBuf, Vec<Damage>),
    /// The operating system refuses.
    Io {
        /// What was to be opened.
        path: PathBuf,
        /// What it says.
        error: io::Error,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse(path) => write!(f, "{} is used by another process", path.display()),
            Self::NotALog(path) => write!(
                f,
                "{} is no log of this program, or its beginning is damaged; move it away to start without it",
                path.display()
            ),
            Self::Damaged(path, damage) => write!(
                f,
                "{} is damaged in {} place(s), the first at byte {}; serving the rest was not allowed",
                path.display(),
                damage.len(),
                damage.first().map_or(0, |first| first.offset)
            ),
            Self::Io { path, .. } => write!(f, "{} cannot be used", path.display()),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// What was found when a log was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// Changes that were read: values and removals.
    pub records: u64,
    /// Places that are damaged, the first thousand of them.
    pub damage: Vec<Damage>,
    /// How many there are.
    pub damaged: u64,
    /// Changes that are known to be lost.
    pub lost: u64,
    /// Bytes at the end of a record that was not written to its end, and was not acknowledged.
    pub torn: u64,
    /// The copy of the log as it was, where something of it is not served.
    pub kept: Option<PathBuf>,
}

/// A log that is open.
pub(crate) struct Log {
    file_system: Arc<dyn FileSystem>,
    place: Place,
    options: Options,
    file: Arc<dyn StoreFile>,
    encoder: Encoder,
    /// Bytes of the log.
    length: u64,
    /// Bytes of the file: zeros behind the log.
    physical: u64,
    /// The last record that was written.
    last: Option<Mark>,
    /// The last one that the file was looked at with.
    inspected: Option<Mark>,
    /// The same when it was last written anew.
    shortened: u64,
    /// Changes so far.
    changes: u64,
    /// How many of them are on the disk.
    synced: u64,
    /// A change up to this one is waited for.
    awaited: u64,
    wakers: Vec<Waker>,
    unsynced_since: Option<Instant>,
    syncing_since: Option<Instant>,
    inspect_at: Option<Instant>,
    shorten_after: Option<Instant>,
    /// Changes since a new log was begun.
    meanwhile: Option<Vec<(Bytes, Option<Bytes>)>>,
    trouble: Option<Trouble>,
    /// What was last said of the state.
    told: State,
    is_stalled: bool,
    closing: bool,
    tried_at_close: bool,
    fault: Option<String>,
    refused: u64,
    lost: u64,
    encoded: Vec<u8>,
    _lock: Arc<dyn StoreFile>,
}

/// A record's place and head.
type Mark = (u64, [u8; HEAD]);

/// Changes are refused, and what mends it.
struct Trouble {
    why: WriteError,
    repair: Repair,
    retry_at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    /// The log is right; the disk must have room behind it.
    Room,
    /// All is written to a new log.
    Anew {
        /// A copy of the old one is kept: it holds what is not in memory.
        keep: bool,
    },
}

/// What is to be done now.
enum Due {
    Nothing(Option<Instant>),
    Sync,
    Probe,
    Anew { keep: bool },
    Inspect,
    End,
}

/// What [`step`] has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Call again at once.
    Again,
    /// Call again at this time, or when something was appended.
    Wait(Option<Instant>),
    /// It is closed.
    End,
}

impl Log {
    /// Opens a log, and gives what is in it to `apply`, oldest first. A log that needs to be written anew
    /// refuses changes until [`step`] has done so.
    pub(crate) fn open(
        file_system: Arc<dyn FileSystem>,
        place: Place,
        options: Options,
        now: Instant,
        apply: Apply<'_>,
    ) -> Result<(Self, Recovered), OpenError> {
        let path = place.log();
        let failed = |error: io::Error| OpenError::Io {
            path: path.clone(),
            error,
        };
        let (lock, file) = open_files(&*file_system, &place).map_err(failed)?;
        let Some((lock, file)) = lock.zip(file) else {
            return Err(OpenError::InUse(path));
        };
        // A log that was begun and did not come to replace this one.
        file_system.remove(&place.new_log()).map_err(failed)?;
        let physical = file.state().map_err(failed)?.length;
        // Without a whole header there was no record.
        let is_empty = physical == 0;
        let found = if is_empty {
            Found::default()
        } else {
            scan(&*file, apply).map_err(|error| match error {
                ScanError::Io(error) => failed(error),
                ScanError::NotALog => OpenError::NotALog(path.clone()),
            })?
        };
        if found.damaged > 0 && options.on_damage == OnDamage::Refuse {
            return Err(OpenError::Damaged(path, found.damage));
        }
        let mut recovered = Recovered {
            records: found.records,
            lost: found.lost(),
            damaged: found.damaged,
            torn: found.torn,
            damage: found.damage,
            kept: None,
        };
        let is_damaged = found.damaged > 0 || found.torn > 0;
        if is_damaged {
            recovered.kept = place.kept(&*file_system).ok();
        }
        let mut log = Self {
            encoder: Encoder {
                key: found.key.unwrap_or(Key([0; 16])),
                number: found.number,
                previous: found.previous,
            },
            length: found.end,
            physical,
            last: None,
            inspected: None,
            shortened: found.end,
            changes: 0,
            synced: 0,
            awaited: 0,
            wakers: Vec::new(),
            unsynced_since: None,
            syncing_since: None,
            inspect_at: Some(now + INSPECT),
            shorten_after: None,
            meanwhile: None,
            trouble: None,
            told: State::Serving,
            is_stalled: false,
            closing: false,
            tried_at_close: false,
            fault: None,
            refused: 0,
            lost: recovered.lost,
            encoded: Vec::new(),
            _lock: lock,
            file_system,
            place,
            options,
            file,
        };
        if is_empty || is_damaged || found.is_version_1 {
            log.trouble = Some(Trouble {
                why: WriteError::Failed,
                repair: Repair::Anew { keep: is_damaged },
                retry_at: now,
            });
        }
        Ok((log, recovered))
    }

    /// Appends a change; gives its number. After an error the log is as it was.
    ///
    /// # Errors
    /// Why it is refused.
    pub(crate) fn append(
        &mut self,
        now: Instant,
        name: &Bytes,
        value: Option<&Bytes>,
    ) -> Result<u64, WriteError> {
        let taken = self.take(now, name, value);
        if taken.is_err() {
            self.refused += 1;
        }
        taken
    }

    fn take(
        &mut self,
        now: Instant,
        name: &Bytes,
        value: Option<&Bytes>,
    ) -> Result<u64, WriteError> {
        let length = value.map_or(0, Bytes::len);
        if name.is_empty() || name.len() > MAX_NAME || length > MAX_VALUE {
            return Err(WriteError::TooLong);
        }
        if self.closing {
            return Err(WriteError::Closed);
        }
        if let Some(trouble) = &self.trouble {
            return Err(trouble.why);
        }
        if let Some(since) = self.syncing_since
            && now.saturating_duration_since(since) > self.options.stall_limit
        {
            self.is_stalled = true;
            return Err(WriteError::Stalled);
        }
        let mut encoder = self.encoder;
        self.encoded.clear();
        encoder.push(&mut self.encoded, name, value.map(|value| &value[..]));
        if let Err(error) = write_all(&*self.file, &self.encoded, self.length) {
            // Half a record would be taken for a torn tail; if this fails too, the next start does so.
            let repair = match self.file.set_length(self.length) {
                Ok(()) => {
                    self.physical = self.length;
                    Repair::Room
                }
                Err(_) => Repair::Anew { keep: false },
            };
            return Err(self.broken(now, &error, repair));
        }
        self.encoder = encoder;
        let head = self.encoded.first_chunk();
        self.last = head.map(|head| (self.length, *head));
        self.length += self.encoded.len() as u64;
        self.physical = self.physical.max(self.length);
        // One long value does not hold its memory for good.
        self.encoded.shrink_to(PIECE);
        self.changes += 1;
        self.unsynced_since.get_or_insert(now);
        if let Some(meanwhile) = &mut self.meanwhile {
            meanwhile.push((name.clone(), value.cloned()));
        }
        Ok(self.changes)
    }

    /// The file is not what was written to it.
    fn meddled(&mut self, now: Instant) -> WriteError {
        let what = "another program has changed, replaced or removed it; it is written anew";
        self.broken(now, &io::Error::other(what), Repair::Anew { keep: true })
    }

    fn broken(&mut self, now: Instant, error: &io::Error, repair: Repair) -> WriteError {
        let why = WriteError::of(error);
        // The last word counts: no change is tried while there is trouble, so that room is never what
        // comes after the need of a new log.
        // The first try comes at once: another program's change needs no patience.
        let is_first = self.trouble.is_none() && repair != Repair::Room;
        let retry_at = if is_first {
            now
        } else {
            now + self.options.retry_interval
        };
        self.trouble = Some(Trouble {
            why,
            repair,
            retry_at,
        });
        self.fault = Some(format!("{}: {error}", self.place.log().display()));
        self.wake();
        why
    }

    /// The number of the last change that is on the disk with all before it.
    pub(crate) const fn synced(&self) -> u64 {
        self.synced
    }

    /// Whether a change is as safe as its sender wants: `None`: not yet, and the waker is called.
    pub(crate) fn settled(
        &mut self,
        change: u64,
        waker: Option<&Waker>,
    ) -> Option<Result<(), WriteError>> {
        if change <= self.synced {
            return Some(Ok(()));
        }
        if let Some(trouble) = &self.trouble {
            return Some(Err(trouble.why));
        }
        self.awaited = self.awaited.max(change);
        if let Some(waker) = waker
            && !self.wakers.iter().any(|known| known.will_wake(waker))
        {
            self.wakers.push(waker.clone());
        }
        None
    }

    fn wake(&mut self) {
        self.wakers.drain(..).for_each(Waker::wake);
    }

    /// Nothing is taken any more; what is written goes to the disk.
    pub(crate) const fn close(&mut self) {
        self.closing = true;
    }

    /// Whether all that was taken is on the disk, and changes would be taken.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn ended(&self) -> Result<(), WriteError> {
        match &self.trouble {
            Some(trouble) => Err(trouble.why),
            None if self.synced < self.changes => Err(WriteError::Failed),
            None => Ok(()),
        }
    }

    /// What it says of itself.
    pub(crate) fn status(&self, now: Instant) -> Status {
        let is_stalled = self.is_stalled
            && self.syncing_since.is_some_and(|since| {
                now.saturating_duration_since(since) > self.options.stall_limit
            });
        Status {
            state: match &self.trouble {
                Some(trouble) => State::Refusing(trouble.why),
                None if is_stalled => State::Refusing(WriteError::Stalled),
                None => State::Serving,
            },
            fault: self.fault.clone(),
            refused: self.refused,
            lost: self.lost,
            sync_interval: self.options.sync_interval,
        }
    }

    /// The status, if its state is another than the last that this has given.
    pub(crate) fn news(&mut self, now: Instant) -> Option<Status> {
        let status = self.status(now);
        (std::mem::replace(&mut self.told, status.state) != status.state).then_some(status)
    }

    pub(crate) const fn options(&self) -> &Options {
        &self.options
    }

    fn due(&mut self, now: Instant) -> Due {
        if let Some(trouble) = &self.trouble {
            let repair = trouble.repair;
            if self.closing && std::mem::replace(&mut self.tried_at_close, true) {
                return Due::End;
            }
            if !self.closing && now < trouble.retry_at {
                return Due::Nothing(Some(trouble.retry_at));
            }
            return match repair {
                Repair::Room => Due::Probe,
                Repair::Anew { keep } => Due::Anew { keep },
            };
        }
        let sync_at = self
            .unsynced_since
            .map(|since| since + self.options.sync_interval);
        if let Some(at) = sync_at
            && (now >= at || self.closing || self.awaited > self.synced)
        {
            return Due::Sync;
        }
        if self.closing {
            return Due::End;
        }
        let is_long = self.length - self.shortened.min(self.length)
            > self.options.growth.max(2 * self.shortened);
        if is_long && self.shorten_after.is_none_or(|after| now >= after) {
            return Due::Anew { keep: false };
        }
        match self.inspect_at {
            Some(at) if now >= at => Due::Inspect,
            at => Due::Nothing(sync_at.into_iter().chain(at).min()),
        }
    }

    /// The length that the file should have, if it is due to be made longer.
    fn longer(&self) -> Option<u64> {
        let is_due = self.trouble.is_none() && !self.closing;
        let ahead = self.options.ahead;
        let is_short = self.physical.saturating_sub(self.length) < ahead.div_ceil(2);
        (is_due && is_short).then_some(self.length + ahead)
    }

    /// Whether the log's name still leads to the log, and it is as long as it should be.
    fn inspect(&mut self, now: Instant) -> bool {
        self.inspect_at = Some(now + INSPECT);
        let is_ours = || -> io::Result<bool> {
            let (own, named) = (
                self.file.state()?,
                self.file_system.state(&self.place.log())?,
            );
            // The last records are still what was written: a copy of the log over itself lacks them.
            for (at, head) in [self.last, self.inspected].into_iter().flatten() {
                let mut found = [0; HEAD];
                let read = self.file.read_at(&mut found, at)?;
                if read != HEAD || found != head {
                    return Ok(false);
                }
            }
            Ok(own.length == self.physical
                && named.is_some_and(|named| named.identity == own.identity))
        };
        match is_ours() {
            Ok(true) => {
                self.inspected = self.last;
                return true;
            }
            Ok(false) => {
                self.meddled(now);
            }
            Err(error) => {
                self.broken(now, &error, Repair::Anew { keep: false });
            }
        }
        false
    }

    fn synced_up_to(&mut self, now: Instant, change: u64, done: io::Result<()>) {
        self.syncing_since = None;
        self.is_stalled = false;
        match done {
            Ok(()) => {
                self.synced = self.synced.max(change);
                self.unsynced_since = (self.synced < self.changes).then_some(now);
                self.wake();
            }
            Err(error) => {
                self.broken(now, &error, Repair::Anew { keep: false });
            }
        }
    }

    fn mended(&mut self) {
        self.trouble = None;
        self.fault = None;
        self.wake();
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Log({})", self.place.log().display())
    }
}

type Handles = (Option<Arc<dyn StoreFile>>, Option<Arc<dyn StoreFile>>);

/// The lock and the log; `None` where another process has it.
fn open_files(file_system: &dyn FileSystem, place: &Place) -> io::Result<Handles> {
    file_system.create_folder(&place.folder)?;
    let lock = file_system.open(&place.lock(), Access::ReadWrite)?;
    if !lock.lock()? {
        return Ok((None, None));
    }
    let path = place.log();
    let file = file_system.open(&path, Access::ReadWrite)?;
    // The log itself is locked too: the lock's file may have been removed.
    let is_ours = file.lock()?
        && file_system
            .state(&path)?
            .is_some_and(|named| file.state().is_ok_and(|own| own.identity == named.identity));
    Ok((Some(lock), is_ours.then_some(file)))
}

pub(crate) fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does what is due, and says when to come back. One thread at a time calls it; appends go on meanwhile.
pub(crate) fn step(log: &Mutex<Log>, contents: &Contents, clock: &dyn Fn() -> Instant) -> Next {
    let mut guard = lock(log);
    let due = guard.due(clock());
    match due {
        Due::Nothing(until) => Next::Wait(until),
        Due::End => {
            if guard.trouble.is_none() && guard.physical > guard.length {
                // The zeros have served; whether they can be taken away does not matter.
                let _ = guard.file.set_length(guard.length);
                guard.physical = guard.length;
            }
            Next::End
        }
        Due::Inspect => {
            guard.inspect(clock());
            Next::Again
        }
        Due::Sync => {
            if guard.inspect(clock()) {
                drop(guard);
                sync(log, clock);
            }
            Next::Again
        }
        Due::Probe => {
            // Of both the probe makes one.
            guard.physical = guard.length;
            let (file, length) = (Arc::clone(&guard.file), guard.length);
            drop(guard);
            let probed = probe(&*file, length);
            let mut guard = lock(log);
            match probed {
                Ok(()) => {
                    let changes = guard.changes;
                    guard.synced_up_to(clock(), changes, Ok(()));
                    guard.mended();
                }
                Err((error, repair)) => {
                    guard.broken(clock(), &error, repair);
                }
            }
            Next::Again
        }
        Due::Anew { keep } => {
            let is_repair = guard.trouble.is_some();
            drop(guard);
            let done = write_anew(log, contents, clock, keep);
            let mut guard = lock(log);
            guard.meanwhile = None;
            match done {
                Ok(()) if is_repair => guard.mended(),
                Ok(()) => {}
                Err(error) if is_repair => {
                    guard.broken(clock(), &error, Repair::Anew { keep });
                }
                // The old log is as good as before, only long.
                Err(_) => guard.shorten_after = Some(clock() + SHORTEN_AGAIN),
            }
            Next::Again
        }
    }
}

/// Brings what was written to the disk.
fn sync(log: &Mutex<Log>, clock: &dyn Fn() -> Instant) {
    let mut guard = lock(log);
    let (file, change) = (Arc::clone(&guard.file), guard.changes);
    let began = clock();
    guard.syncing_since = Some(began);
    drop(guard);
    let done = file.sync();
    // What came meanwhile waits from the beginning of this sync on, at most.
    lock(log).synced_up_to(began, change, done);
    extend(log);
}

/// Makes the file longer ahead of its records, with the lock free: it may wait for the file system. Where
/// it fails, records make the file longer themselves.
fn extend(log: &Mutex<Log>) {
    let guard = lock(log);
    let (file, longer) = (Arc::clone(&guard.file), guard.longer());
    drop(guard);
    let Some(length) = longer else { return };
    if file.extend(length).is_err() {
        return;
    }
    let mut guard = lock(log);
    // An append that failed meanwhile has cut the file.
    if let Ok(state) = file.state() {
        guard.physical = state.length;
    }
}

/// Whether the disk has room behind the log, and takes what is brought to it.
fn probe(file: &dyn StoreFile, length: u64) -> Result<(), (io::Error, Repair)> {
    let room = |error| (error, Repair::Room);
    let anew = |error| (error, Repair::Anew { keep: false });
    let written = write_all(file, &vec![0; ROOM], length);
    let cut = file.set_length(length);
    written.map_err(room)?;
    cut.map_err(anew)?;
    // The failed write itself may be told by the next sync only.
    file.sync().map_err(anew)
}

/// A log that is being written, beside the one in use.
struct NewLog {
    file: Arc<dyn StoreFile>,
    encoder: Encoder,
    piece: Vec<u8>,
    length: u64,
    synced: u64,
}

impl NewLog {
    fn begin(file_system: &dyn FileSystem, place: &Place) -> io::Result<Self> {
        let path = place.new_log();
        file_system.remove(&path)?;
        let file = file_system.open(&path, Access::New)?;
        if !file.lock()? {
            return Err(io::Error::other("the new log is used by another process"));
        }
        let key = Key(file_system.new_key()?);
        Ok(Self {
            file,
            encoder: Encoder::new(key),
            piece: key.header().to_vec(),
            length: 0,
            synced: 0,
        })
    }

    fn push(&mut self, name: &[u8], value: Option<&[u8]>) -> io::Result<()> {
        self.encoder.push(&mut self.piece, name, value);
        if self.piece.len() >= PIECE {
            self.write()?;
            if self.length - self.synced >= PIECES_SYNC {
                self.sync()?;
            }
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        write_all(&*self.file, &self.piece, self.length)?;
        self.length += self.piece.len() as u64;
        self.piece.clear();
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()?;
        self.synced = self.length;
        Ok(())
    }
}

/// Writes all that there is to a new log, which takes the place of the old one. Changes that are
/// appended meanwhile go to the old one, and are repeated in the new one.
fn write_anew(
    log: &Mutex<Log>,
    contents: &Contents,
    clock: &dyn Fn() -> Instant,
    keep: bool,
) -> io::Result<()> {
    let mut guard = lock(log);
    let (file_system, place) = (Arc::clone(&guard.file_system), guard.place.clone());
    guard.meanwhile = Some(Vec::new());
    drop(guard);
    let done = fill_new(log, contents, clock, keep, &*file_system, &place);
    if done.is_err() {
        // What is half written takes room that may be scarce.
        let _ = file_system.remove(&place.new_log());
    }
    done
}

fn fill_new(
    log: &Mutex<Log>,
    contents: &Contents,
    clock: &dyn Fn() -> Instant,
    keep: bool,
    file_system: &dyn FileSystem,
    place: &Place,
) -> io::Result<()> {
    let mut new = NewLog::begin(file_system, place)?;
    let mut failed = None;
    contents(&mut |name, value| {
        if failed.is_some() {
            return;
        }
        let written = new.length;
        failed = new.push(name, Some(value)).err();
        if new.length > written {
            sync_if_due(log, clock);
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    // From here on the old log is not synchronised any more: what is on the disk is in the new one.
    let mut rounds = 0;
    loop {
        let meanwhile = {
            let mut guard = lock(log);
            std::mem::take(guard.meanwhile.get_or_insert_default())
        };
        for (name, value) in &meanwhile {
            new.push(name, value.as_deref())?;
        }
        new.write()?;
        new.sync()?;
        rounds += 1;
        if meanwhile.len() <= FEW || rounds >= MAX_ROUNDS {
            break;
        }
    }
    if keep {
        keep_copy(file_system, place)?;
    }
    let mut guard = lock(log);
    for (name, value) in guard.meanwhile.take().unwrap_or_default() {
        new.push(&name, value.as_deref())?;
    }
    new.write()?;
    file_system.rename(&place.new_log(), &place.log())?;
    guard.file = new.file;
    guard.encoder = new.encoder;
    (guard.length, guard.shortened) = (new.length, new.length);
    guard.physical = new.length;
    (guard.last, guard.inspected) = (None, None);
    // Without trouble, what came last is not on the disk yet, and its sync is due as before.
    let (file, changes) = (Arc::clone(&guard.file), guard.changes);
    drop(guard);
    let done = file_system
        .sync_folder(&place.folder)
        .and_then(|()| file.sync());
    let mut guard = lock(log);
    match done {
        Ok(()) => {
            guard.synced_up_to(clock(), changes, Ok(()));
            Ok(())
        }
        Err(error) => {
            // The new log is in place, and whether the disk knows is not known.
            guard.broken(clock(), &error, Repair::Anew { keep: false });
            Err(error)
        }
    }
}

/// Keeps the window of the old log while a new one is written.
fn sync_if_due(log: &Mutex<Log>, clock: &dyn Fn() -> Instant) {
    let guard = lock(log);
    let is_due = guard.trouble.is_none()
        && guard
            .unsynced_since
            .is_some_and(|since| clock() >= since + guard.options.sync_interval);
    drop(guard);
    if is_due {
        sync(log, clock);
    }
}

/// Gives the log as it is a second name, which the new one does not take.
fn keep_copy(file_system: &dyn FileSystem, place: &Place) -> io::Result<()> {
    let path = place.log();
    let Some(state) = file_system.state(&path)? else {
        return Ok(());
    };
    let kept = place.kept(file_system)?;
    if file_system.state(&kept)?.is_some() {
        return Ok(());
    }
    if file_system.link(&path, &kept).is_ok() {
        return Ok(());
    }
    // A file system without links: byte by byte.
    let (from, to) = (
        file_system.open(&path, Access::Read)?,
        file_system.open(&kept, Access::New)?,
    );
    let (mut piece, mut at) = (vec![0; PIECE], 0);
    while at < state.length {
        let read = from.read_at(&mut piece, at)?;
        if read == 0 {
            break;
        }
        write_all(&*to, &piece[..read], at)?;
        at += read as u64;
    }
    to.sync()
}

const _: () = assert!(HEADER > version_1::MAGIC.len());

#[cfg(test)]
mod tests;
