//! Notices that the configuration file has changed.
//!
//! inotify on the file's folder, because editors and Kubernetes put another file in its place; and
//! a look at its time now and then, for file systems that tell nothing.

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How often the file's time is looked at.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(2);
/// A file that was written within this time may still be half of what it is going to be.
const STILL: Duration = Duration::from_secs(1);

/// Watches one file.
pub(crate) struct FileWatch {
    path: PathBuf,
    inotify: Option<OwnedFd>,
    seen: Option<SystemTime>,
}

impl FileWatch {
    /// Watches this file; without inotify only by its time.
    pub(crate) fn new(path: &Path) -> Self {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let watch = || -> io::Result<OwnedFd> {
            let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            let events = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO;
            inotify::add_watch(&inotify, folder, events)?;
            Ok(inotify)
        };
        Self {
            inotify: watch().ok(),
            seen: modified(path),
            path: path.to_owned(),
        }
    }

    /// Readable when something happened; then call [`happened`](Self::happened).
    pub(crate) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(AsFd::as_fd)
    }

    /// Whether something happened in the file's folder that may concern it.
    pub(crate) fn happened(&mut self) -> bool {
        let Some(inotify) = &self.inotify else {
            return false;
        };
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(inotify, &mut buffer);
        let name = self.path.file_name();
        let mut concerns = false;
        while let Ok(event) = reader.next() {
            let told = event.file_name().map(|name| name.to_bytes().to_owned());
            // Kubernetes swaps a folder called ..data in, which the file is a link into.
            concerns |= told.is_none_or(|told| {
                told.starts_with(b"..") || name.is_some_and(|name| name.as_encoded_bytes() == told)
            });
        }
        if concerns {
            self.seen = modified(&self.path);
        }
        concerns
    }

    /// Whether the file has another time than before and is not being written just now.
    pub(crate) fn looks_changed(&mut self) -> bool {
        let modified = modified(&self.path);
        let still = modified.is_some_and(|time| time.elapsed().is_ok_and(|age| age >= STILL));
        if modified == self.seen || !still {
            return false;
        }
        self.seen = modified;
        true
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path)
        .and_then(|about| about.modified())
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_and_replacing_are_noticed_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.toml");
        std::fs::write(&path, "").unwrap();
        let mut watch = FileWatch::new(&path);
        assert!(watch.as_fd().is_some());
        assert!(!watch.happened());
        std::fs::write(&path, "a").unwrap();
        assert!(watch.happened());
        assert!(!watch.happened());
        let other = folder.path().join("other");
        std::fs::write(&other, "b").unwrap();
        assert!(!watch.happened());
        std::fs::rename(&other, &path).unwrap();
        assert!(watch.happened());
        assert!(!watch.looks_changed(), "that was it");
    }

    #[test]
    fn without_inotify_the_time_tells() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.toml");
        std::fs::write(&path, "").unwrap();
        let mut watch = FileWatch::new(&path);
        watch.inotify = None;
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60))
            .unwrap();
        assert!(watch.looks_changed());
        assert!(!watch.looks_changed());
        file.set_modified(SystemTime::now()).unwrap();
        assert!(!watch.looks_changed(), "it may still be written");
    }
}
