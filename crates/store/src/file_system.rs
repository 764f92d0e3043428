//! What a store asks of the operating system, as a trait: tests put one in its place that fails.

use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;

/// Only the owner reads or writes a file of a store.
const FILE_MODE: u32 = 0o600;
/// Only the owner looks into a folder of a store.
const FOLDER_MODE: u32 = 0o700;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "what a store needs")]
pub enum Access {
    /// To read and write; it is created when it is not there.
    ReadWrite,
    /// To write from the beginning: created, or emptied.
    New,
    /// To read; it must be there.
    Read,
}

/// What is known of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what a store needs")]
pub struct FileState {
    /// Its length in bytes.
    pub length: u64,
    /// The same for every handle to the same file.
    pub identity: (u64, u64),
}

/// An open file. A dropped file is closed and unlocked.
pub trait StoreFile: Send + Sync + fmt::Debug {
    /// Reads at most as many bytes as fit, from this place on; 0 at the end.
    ///
    /// # Errors
    /// What the operating system says.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize>;

    /// Writes some of the bytes to this place; gives how many.
    ///
    /// # Errors
    /// What the operating system says. Nothing was written then.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize>;

    /// Brings what was written to the disk.
    ///
    /// # Errors
    /// What the operating system says. What was written since the last success may be lost then, also
    /// if a later call succeeds.
    fn sync(&self) -> io::Result<()>;

    /// Makes the file at least so long, with zeros, and reserves their room. It is never made shorter.
    ///
    /// # Errors
    /// What the operating system says; some file systems cannot.
    fn extend(&self, length: u64) -> io::Result<()>;

    /// Cuts the file, or fills it up with zeros.
    ///
    /// # Errors
    /// What the operating system says.
    fn set_length(&self, length: u64) -> io::Result<()>;

    /// Length and identity.
    ///
    /// # Errors
    /// What the operating system says.
    fn state(&self) -> io::Result<FileState>;

    /// Locks the file against other processes until it is dropped; `false` when another has it.
    ///
    /// # Errors
    /// What the operating system says.
    fn lock(&self) -> io::Result<bool>;
}

/// The part of an operating system that a store needs.
pub trait FileSystem: Send + Sync + fmt::Debug {
    /// Creates a folder and those above it, for their owner alone; one that exists stays as it is.
    ///
    /// # Errors
    /// What the operating system says.
    fn create_folder(&self, folder: &Path) -> io::Result<()>;

    /// Opens a file, for its owner alone.
    ///
    /// # Errors
    /// What the operating system says.
    fn open(&self, path: &Path, access: Access) -> io::Result<std::sync::Arc<dyn StoreFile>>;

    /// What a path leads to; `None`: nothing.
    ///
    /// # Errors
    /// What the operating system says.
    fn state(&self, path: &Path) -> io::Result<Option<FileState>>;

    /// Gives a file another name, in place of what has that name.
    ///
    /// # Errors
    /// What the operating system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a second name, which must be free.
    ///
    /// # Errors
    /// What the operating system says; some file systems cannot.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a name; none is removed without fault.
    ///
    /// # Errors
    /// What the operating system says.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Brings the names in a folder to the disk.
    ///
    /// # Errors
    /// What the operating system says.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// A key for the checks of a new file.
    ///
    /// # Errors
    /// When there is no randomness.
    fn new_key(&self) -> io::Result<[u8; 16]>;
}

/// The operating system's own.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it has no fields")]
pub struct OsFileSystem;

impl FileSystem for OsFileSystem {
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(FOLDER_MODE)
            .create(folder)
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<std::sync::Arc<dyn StoreFile>> {
        let mut options = OpenOptions::new();
        options.read(true).mode(FILE_MODE);
        match access {
            Access::Read => {}
            Access::ReadWrite => {
                options.write(true).create(true).truncate(false);
            }
            Access::New => {
                options.write(true).create(true).truncate(true);
            }
        }
        let file = options.open(path)?;
        // One that an earlier version or another program created may be open to others.
        if access != Access::Read && file.metadata()?.mode() & 0o077 != 0 {
            file.set_permissions(Permissions::from_mode(FILE_MODE))?;
        }
        Ok(std::sync::Arc::new(OsFile(file)))
    }

    fn state(&self, path: &Path) -> io::Result<Option<FileState>> {
        match std::fs::metadata(path) {
            Ok(found) => Ok(Some(state_of(&found))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn new_key(&self) -> io::Result<[u8; 16]> {
        let mut key = [0; 16];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        Ok(key)
    }
}

#[derive(Debug)]
struct OsFile(File);

impl StoreFile for OsFile {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        self.0.read_at(bytes, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<usize> {
        self.0.write_at(bytes, at)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn extend(&self, length: u64) -> io::Result<()> {
        Ok(rustix::fs::fallocate(
            &self.0,
            rustix::fs::FallocateFlags::empty(),
            0,
            length,
        )?)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn state(&self) -> io::Result<FileState> {
        Ok(state_of(&self.0.metadata()?))
    }

    fn lock(&self) -> io::Result<bool> {
        match self.0.try_lock() {
            Ok(()) => Ok(true),
            Err(std::fs::TryLockError::WouldBlock) => Ok(false),
            Err(std::fs::TryLockError::Error(error)) => Err(error),
        }
    }
}

fn state_of(found: &std::fs::Metadata) -> FileState {
    FileState {
        length: found.len(),
        identity: (found.dev(), found.ino()),
    }
}

/// Writes all of the bytes, however many calls it takes.
///
/// # Errors
/// What the operating system says. Some of the bytes may have been written then.
pub(crate) fn write_all(file: &dyn StoreFile, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write_at(bytes, at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                at += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
