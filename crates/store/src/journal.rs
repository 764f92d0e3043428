//! The driver of a [`Log`]: a lock for those who change something, a thread for what may take long, and
//! the clock.

use crate::file_system::{FileSystem, OsFileSystem};
use crate::log::{Contents, Log, Next, OpenError, Recovered, WriteError, lock, step};
use crate::options::{Options, Status};
use crate::place::Place;
use bytes::Bytes;
use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Called when changes are refused, and when they are taken again.
type Tell = Box<dyn Fn(&Status) + Send + Sync>;

/// A log that is open, and the thread that brings it to the disk. Dropping it closes it.
pub struct Journal {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    log: Mutex<Log>,
    /// The thread waits for this, with the time of its next work in `sleeps`.
    wake: Condvar,
    sleeps: Mutex<Sleep>,
    /// The thread sleeps until it is woken. Otherwise it comes back within an interval by itself.
    is_idle: AtomicBool,
    /// Something was brought to the disk, or cannot be.
    done: Condvar,
    tell: Tell,
}

/// How the thread sleeps.
#[derive(Debug, Default)]
struct Sleep {
    woken: bool,
}

#[expect(clippy::disallowed_methods, reason = "the driver's clock")]
fn now() -> Instant {
    Instant::now()
}

impl Journal {
    /// Opens the log `NAME.log` in a folder, gives what is in it to `apply` (which says whether it can use
    /// it), oldest first, and begins to write. `contents` is asked for all that there is when the log is
    /// written anew. `tell` is called when changes are refused, and when they are taken again.
    ///
    /// When the disk refuses, the store opens all the same and refuses changes until it does not.
    ///
    /// # Errors
    /// When another process has it, it is no log, or it cannot be read.
    pub fn open(
        folder: &Path,
        name: &str,
        options: Options,
        apply: impl FnMut(&[u8], Option<&[u8]>) -> bool,
        contents: Contents,
        tell: impl Fn(&Status) + Send + Sync + 'static,
    ) -> Result<(Self, Recovered), OpenError> {
        let file_system = Arc::new(OsFileSystem);
        Self::open_on(file_system, folder, name, options, apply, contents, tell)
    }

    /// The same on another file system.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_on(
        file_system: Arc<dyn FileSystem>,
        folder: &Path,
        name: &str,
        options: Options,
        mut apply: impl FnMut(&[u8], Option<&[u8]>) -> bool,
        contents: Contents,
        tell: impl Fn(&Status) + Send + Sync + 'static,
    ) -> Result<(Self, Recovered), OpenError> {
        let place = Place {
            folder: folder.to_owned(),
            name: name.to_owned(),
        };
        let path = place.log();
        let (log, recovered) = Log::open(file_system, place, options, now(), &mut apply)?;
        drop(apply);
        let shared = Arc::new(Shared {
            log: Mutex::new(log),
            wake: Condvar::new(),
            sleeps: Mutex::default(),
            is_idle: AtomicBool::new(false),
            done: Condvar::new(),
            tell: Box::new(tell),
        });
        // A new log, or one that is written anew, is there before anything is taken.
        let _next = step(&shared.log, &contents, &now);
        shared.tell_news();
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name(format!("{name}-log"))
            .spawn(move || own.run(&contents))
            .map_err(|error| OpenError::Io { path, error })?;
        let journal = Self {
            shared,
            thread: Mutex::new(Some(thread)),
        };
        Ok((journal, recovered))
    }

    /// Keeps a value under this name; gives the number of the change. What is acknowledged survives the
    /// end of the process; the loss of the machine once [`Self::synced`] has reached it.
    ///
    /// # Errors
    /// Why it is refused; nothing was changed then.
    pub fn put(&self, name: impl Into<Bytes>, value: impl Into<Bytes>) -> Result<u64, WriteError> {
        self.change(&name.into(), Some(&value.into()))
    }

    /// Forgets what is under this name; gives the number of the change.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn remove(&self, name: impl Into<Bytes>) -> Result<u64, WriteError> {
        self.change(&name.into(), None)
    }

    fn change(&self, name: &Bytes, value: Option<&Bytes>) -> Result<u64, WriteError> {
        let taken = lock(&self.shared.log).append(now(), name, value);
        match taken {
            // The thread looks into the log once more after it has said that it is idle.
            Ok(_) if self.shared.is_idle.load(Ordering::SeqCst) => self.shared.wake(),
            Ok(_) => {}
            Err(_) => {
                self.shared.wake();
                self.shared.tell_news();
            }
        }
        taken
    }

    /// Completes when a change may be acknowledged: at once, unless [`Options::sync_interval`] is zero.
    /// Then when it is on the disk.
    ///
    /// # Cancel safety
    /// The change stays, whether it is waited for or not.
    pub fn settled(&self, change: u64) -> Settled<'_> {
        Settled {
            journal: self,
            change,
        }
    }

    /// Waits until a change is on the disk. Blocks: for starts and tests.
    ///
    /// # Errors
    /// Why it is not there. It may be there later.
    pub fn wait(&self, change: u64) -> Result<(), WriteError> {
        let mut log = lock(&self.shared.log);
        loop {
            if let Some(settled) = log.settled(change, None) {
                return settled;
            }
            self.shared.wake();
            // Woken without need now and then: the thread may have been faster than this.
            let waited = self
                .shared
                .done
                .wait_timeout(log, Duration::from_millis(100));
            log = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The number of the last change that is on the disk with all before it.
    #[must_use]
    pub fn synced(&self) -> u64 {
        lock(&self.shared.log).synced()
    }

    /// What it says of itself.
    #[must_use]
    pub fn status(&self) -> Status {
        lock(&self.shared.log).status(now())
    }

    /// Takes no more changes, and brings to the disk what was taken.
    ///
    /// # Errors
    /// When the disk does not take it, or refuses changes.
    pub fn close(&self) -> Result<(), WriteError> {
        lock(&self.shared.log).close();
        self.shared.wake();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // Its panic is on its own output.
            let _ = thread.join();
        }
        lock(&self.shared.log).ended()
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Nothing is left to tell; `close` tells.
        let _ = self.close();
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Journal")
    }
}

impl Shared {
    fn wake(&self) {
        let mut sleep = self.sleeps.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut sleep.woken, true) {
            self.wake.notify_one();
        }
    }

    fn tell_news(&self) {
        let news = lock(&self.log).news(now());
        if let Some(status) = news {
            (self.tell)(&status);
        }
    }

    fn run(&self, contents: &Contents) {
        let interval = lock(&self.log).options().sync_interval;
        // Something was done since it last slept: more may come soon, and need not wake it.
        let mut is_warm = false;
        loop {
            let next = step(&self.log, contents, &now);
            self.done.notify_all();
            self.tell_news();
            let until = match next {
                Next::Again => {
                    is_warm = true;
                    self.is_idle.store(false, Ordering::SeqCst);
                    continue;
                }
                Next::End => return,
                Next::Wait(until) => until,
            };
            if std::mem::take(&mut is_warm) && !interval.is_zero() {
                let soon = now() + interval;
                self.sleep(Some(until.map_or(soon, |until| until.min(soon))));
            } else if self.is_idle.swap(true, Ordering::SeqCst) {
                self.sleep(until);
                self.is_idle.store(false, Ordering::SeqCst);
            }
        }
    }

    /// Sleeps until this time, or until it is woken.
    fn sleep(&self, until: Option<Instant>) {
        let mut sleep = self.sleeps.lock().unwrap_or_else(PoisonError::into_inner);
        if !sleep.woken {
            sleep = match until {
                None => self
                    .wake
                    .wait(sleep)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(now());
                    let waited = self.wake.wait_timeout(sleep, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        sleep.woken = false;
    }
}

/// Completes when a change may be acknowledged. Of [`Journal::settled`].
#[derive(Debug)]
pub struct Settled<'a> {
    journal: &'a Journal,
    change: u64,
}

impl Future for Settled<'_> {
    type Output = Result<(), WriteError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut log = lock(&self.journal.shared.log);
        if !log.options().sync_interval.is_zero() {
            return Poll::Ready(Ok(()));
        }
        let settled = log.settled(self.change, Some(context.waker()));
        drop(log);
        match settled {
            Some(settled) => Poll::Ready(settled),
            None => {
                self.journal.shared.wake();
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests;
