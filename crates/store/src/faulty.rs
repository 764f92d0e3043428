//! A file system in memory that fails on demand, and forgets what was not synchronised when the machine
//! is lost. For tests.
//!
//! As on Linux, what was written is seen at once by every process (the page cache), survives `kill -9`, and
//! survives the loss of the machine only once it was synchronised. A failed `sync` marks what was written
//! as clean: a later `sync` that succeeds does not bring it to the disk.

use crate::file_system::{Access, FileState, FileSystem, StoreFile};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// No space left on device.
pub const NO_SPACE: i32 = 28;
/// Input or output error.
pub const INPUT_OUTPUT: i32 = 5;
/// Read-only file system.
pub const READ_ONLY: i32 = 30;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The call fails with this error number.
    Error(i32),
    /// A write takes this many bytes, and the next fails with this error number.
    Short(usize, i32),
}

/// When it goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum When {
    /// At the call with this number, counted from 0 over all calls that change something.
    Once(u64),
    /// At that call and at every one after it.
    From(u64),
}

/// Kinds of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Call {
    /// A file is opened, created or emptied.
    Open,
    /// Bytes are written.
    Write,
    /// A file is synchronised.
    Sync,
    /// A file is cut or filled up.
    SetLength,
    /// A file is made longer.
    Extend,
    /// A name is given or taken.
    Name,
    /// A folder is synchronised.
    SyncFolder,
}

/// A disk, its page cache, and the processes' view of it. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    files: Vec<Data>,
    calls: Vec<Call>,
    fault: Option<(When, Fault)>,
    /// A short write was made: what the next one fails with.
    after_short: Option<i32>,
    /// Bytes that all files may have together.
    room: Option<u64>,
    keys: u8,
    /// Handles that hold a lock.
    locked: BTreeMap<usize, u64>,
    handles: u64,
}

#[derive(Clone, Debug, Default)]
struct Data {
    cached: Vec<u8>,
    durable: Vec<u8>,
    /// Written and not synchronised.
    dirty: Vec<Range<usize>>,
    /// The length was changed and not synchronised.
    is_cut: bool,
    unreadable: BTreeSet<u64>,
}

impl Disk {
    /// An empty one without faults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Something goes wrong from now on; `None`: nothing.
    pub fn set_fault(&self, fault: Option<(When, Fault)>) {
        let mut state = self.lock();
        state.fault = fault;
        state.after_short = None;
    }

    /// All files together may have so many bytes; `None`: any number.
    pub fn set_room(&self, room: Option<u64>) {
        self.lock().room = room;
    }

    /// The calls so far that change something.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.lock().calls.clone()
    }

    /// What a new process finds after `kill -9`: all that was written.
    #[must_use]
    pub fn after_kill(&self) -> Self {
        let state = self.lock();
        Self(Arc::new(Mutex::new(State {
            names: state.names.clone(),
            durable_names: state.durable_names.clone(),
            files: state.files.clone(),
            keys: state.keys,
            ..State::default()
        })))
    }

    /// What a machine finds after it has lost power: what was synchronised.
    #[must_use]
    pub fn after_power_loss(&self) -> Self {
        let state = self.lock();
        let files = state.files.iter().map(|file| Data {
            cached: file.durable.clone(),
            durable: file.durable.clone(),
            ..Data::default()
        });
        Self(Arc::new(Mutex::new(State {
            names: state.durable_names.clone(),
            durable_names: state.durable_names.clone(),
            files: files.collect(),
            keys: state.keys,
            ..State::default()
        })))
    }

    /// The bytes of a file.
    #[must_use]
    pub fn read(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let state = self.lock();
        let file = state.names.get(path.as_ref())?;
        Some(state.files[*file].cached.clone())
    }

    /// Puts bytes into a file as another program would, `cp` for one: it is emptied and written.
    pub fn overwrite(&self, path: impl AsRef<Path>, bytes: impl Into<Vec<u8>>) {
        let mut state = self.lock();
        let state = &mut *state;
        let file = *state
            .names
            .entry(path.as_ref().to_owned())
            .or_insert_with(|| {
                state.files.push(Data::default());
                state.files.len() - 1
            });
        let bytes = bytes.into();
        let data = &mut state.files[file];
        data.durable.clone_from(&bytes);
        data.cached = bytes;
        data.dirty.clear();
        state.durable_names.insert(path.as_ref().to_owned(), file);
    }

    /// Takes a name away, as `rm` does.
    pub fn delete(&self, path: impl AsRef<Path>) {
        self.lock().names.remove(path.as_ref());
    }

    /// The block of 4,096 bytes around this place of a file cannot be read any more.
    pub fn spoil(&self, path: impl AsRef<Path>, at: u64) {
        let mut state = self.lock();
        if let Some(file) = state.names.get(path.as_ref()).copied() {
            state.files[file].unreadable.insert(at / 4096);
        }
    }

    /// The names of all files.
    #[must_use]
    pub fn names(&self) -> Vec<PathBuf> {
        self.lock().names.keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Counts a call, and says what goes wrong with it.
    fn call(&mut self, call: Call) -> Result<Option<usize>, io::Error> {
        let number = self.calls.len() as u64;
        self.calls.push(call);
        if let Some(error) = self.after_short.take() {
            return Err(io::Error::from_raw_os_error(error));
        }
        let Some((when, fault)) = self.fault else {
            return Ok(None);
        };
        let is_now = match when {
            When::Once(at) => number == at,
            When::From(at) => number >= at,
        };
        match fault {
            _ if !is_now => Ok(None),
            Fault::Error(error) => Err(io::Error::from_raw_os_error(error)),
            Fault::Short(bytes, error) if call == Call::Write => {
                self.after_short = Some(error);
                Ok(Some(bytes))
            }
            Fault::Short(_, error) => Err(io::Error::from_raw_os_error(error)),
        }
    }

    fn of(&self, file: usize) -> FileState {
        FileState {
            length: self.files[file].cached.len() as u64,
            identity: (1, file as u64),
        }
    }

    fn room(&self) -> u64 {
        let held: usize = self.files.iter().map(|file| file.cached.len()).sum();
        self.room
            .map_or(u64::MAX, |room| room.saturating_sub(held as u64))
    }
}

impl FileSystem for Disk {
    fn create_folder(&self, _folder: &Path) -> io::Result<()> {
        Ok(())
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn StoreFile>> {
        let mut state = self.lock();
        let known = state.names.get(path).copied();
        if access != Access::Read {
            let _whole = state.call(Call::Open)?;
        }
        let file = match (known, access) {
            (None, Access::Read) => return Err(io::ErrorKind::NotFound.into()),
            (Some(file), Access::New) => {
                let data = &mut state.files[file];
                data.cached.clear();
                data.is_cut = true;
                file
            }
            (Some(file), _) => file,
            (None, _) => {
                state.files.push(Data::default());
                let file = state.files.len() - 1;
                state.names.insert(path.to_owned(), file);
                file
            }
        };
        state.handles += 1;
        let handle = state.handles;
        drop(state);
        Ok(Arc::new(Handle {
            disk: self.clone(),
            file,
            handle,
        }))
    }

    fn state(&self, path: &Path) -> io::Result<Option<FileState>> {
        let state = self.lock();
        Ok(state.names.get(path).map(|file| state.of(*file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock();
        let _whole = state.call(Call::Name)?;
        let file = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), file);
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock();
        let _whole = state.call(Call::Name)?;
        let file = *state.names.get(from).ok_or(io::ErrorKind::NotFound)?;
        if state.names.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.names.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        let _whole = state.call(Call::Name)?;
        state.names.remove(path);
        Ok(())
    }

    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        let mut state = self.lock();
        let _whole = state.call(Call::SyncFolder)?;
        state.durable_names = state.names.clone();
        Ok(())
    }

    fn new_key(&self) -> io::Result<[u8; 16]> {
        let mut state = self.lock();
        state.keys += 1;
        Ok([state.keys; 16])
    }
}

#[derive(Debug)]
struct Handle {
    disk: Disk,
    file: usize,
    handle: u64,
}

impl StoreFile for Handle {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        let state = self.disk.lock();
        let data = &state.files[self.file];
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let Some(rest) = data.cached.get(at..) else {
            return Ok(0);
        };
        let read = rest.len().min(bytes.len());
        let blocks = at as u64 / 4096..=(at + read.saturating_sub(1)) as u64 / 4096;
        if read > 0 && data.unreadable.iter().any(|block| blocks.contains(block)) {
            return Err(io::Error::from_raw_os_error(INPUT_OUTPUT));
        }
        bytes[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        let mut state = self.disk.lock();
        let short = state.call(Call::Write)?.unwrap_or(usize::MAX);
        let length = bytes.len().min(short);
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let more = (at + length).saturating_sub(state.files[self.file].cached.len());
        let room = usize::try_from(state.room()).unwrap_or(usize::MAX);
        let length = length - more.saturating_sub(room).min(length);
        if length == 0 {
            return Err(io::Error::from_raw_os_error(NO_SPACE));
        }
        let data = &mut state.files[self.file];
        if data.cached.len() < at + length {
            data.cached.resize(at + length, 0);
        }
        data.cached[at..at + length].copy_from_slice(&bytes[..length]);
        data.dirty.push(at..at + length);
        Ok(length)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.lock();
        let called = state.call(Call::Sync);
        let data = &mut state.files[self.file];
        let dirty = std::mem::take(&mut data.dirty);
        let is_cut = std::mem::take(&mut data.is_cut);
        called?;
        if is_cut {
            data.durable.truncate(data.cached.len());
        }
        for range in dirty {
            let range = range.start..range.end.min(data.cached.len());
            if range.is_empty() {
                continue;
            }
            if data.durable.len() < range.end {
                data.durable.resize(range.end, 0);
            }
            data.durable[range.clone()].copy_from_slice(&data.cached[range]);
        }
        Ok(())
    }

    fn extend(&self, length: u64) -> io::Result<()> {
        let mut state = self.disk.lock();
        let _whole = state.call(Call::Extend)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let more = length.saturating_sub(state.files[self.file].cached.len());
        if more as u64 > state.room() {
            return Err(io::Error::from_raw_os_error(NO_SPACE));
        }
        let data = &mut state.files[self.file];
        if more > 0 {
            data.cached.resize(length, 0);
            data.dirty.push(length - more..length);
        }
        Ok(())
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        let mut state = self.disk.lock();
        let _whole = state.call(Call::SetLength)?;
        let data = &mut state.files[self.file];
        data.cached
            .resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
        data.is_cut = true;
        Ok(())
    }

    fn state(&self) -> io::Result<FileState> {
        Ok(self.disk.lock().of(self.file))
    }

    fn lock(&self) -> io::Result<bool> {
        let mut state = self.disk.lock();
        let (file, handle) = (self.file, self.handle);
        let holder = *state.locked.entry(file).or_insert(handle);
        Ok(holder == handle)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut state = self.disk.lock();
        if state.locked.get(&self.file) == Some(&self.handle) {
            state.locked.remove(&self.file);
        }
    }
}
