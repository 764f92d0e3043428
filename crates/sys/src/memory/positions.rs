//! Where writer and reader of one ring are, and how one that sleeps is woken.
//!
//! One writer, one reader, in two processes. Positions count octets from the beginning and never go
//! back. An end that is going to sleep says so and looks once more; one that has moved looks whether
//! the other sleeps. A fence between the two on either side makes sure that at least one of them
//! sees the other (Dekker), so no wake-up is lost. `tests` tries every order of these steps with
//! loom.

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Each on a cache line of its own, so that the two ends do not take it from each other.
#[repr(C, align(64))]
#[derive(Debug)]
struct Line<T>(T);

/// The head of a ring in memory. All zeros is an empty ring with both ends awake.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Positions {
    /// Octets written.
    written: Line<AtomicU64>,
    /// Octets read.
    read: Line<AtomicU64>,
    /// The reader sleeps until something is written.
    reader_sleeps: Line<AtomicU32>,
    /// The writer sleeps until there is room.
    writer_sleeps: Line<AtomicU32>,
}

/// The peer has written positions that cannot be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken;

impl Positions {
    #[cfg(test)]
    pub(super) fn new() -> Self {
        Self {
            written: Line(AtomicU64::new(0)),
            read: Line(AtomicU64::new(0)),
            reader_sleeps: Line(AtomicU32::new(0)),
            writer_sleeps: Line(AtomicU32::new(0)),
        }
    }

    /// Reader, which has read `read` octets: how many more there are.
    pub(super) fn filled(&self, read: u64, ring: usize) -> Result<usize, Broken> {
        let filled = self.written.0.load(Ordering::Acquire).wrapping_sub(read);
        within(filled, ring)
    }

    /// Writer, which has written `written` octets: how many more fit.
    pub(super) fn room(&self, written: u64, ring: usize) -> Result<usize, Broken> {
        let filled = written.wrapping_sub(self.read.0.load(Ordering::Acquire));
        within(filled, ring).map(|filled| ring - filled)
    }

    /// Writer: so many octets are written in all; says whether the reader must be woken.
    pub(super) fn wrote(&self, written: u64) -> bool {
        self.written.0.store(written, Ordering::Release);
        wakes(&self.reader_sleeps.0)
    }

    /// Reader: so many octets are read in all; says whether the writer must be woken.
    pub(super) fn has_read(&self, read: u64) -> bool {
        self.read.0.store(read, Ordering::Release);
        wakes(&self.writer_sleeps.0)
    }

    /// Reader: is going to sleep unless there is something, which it must look for after this.
    pub(super) fn reader_falls_asleep(&self) {
        falls_asleep(&self.reader_sleeps.0);
    }

    /// Writer: is going to sleep unless there is room, which it must look for after this.
    pub(super) fn writer_falls_asleep(&self) {
        falls_asleep(&self.writer_sleeps.0);
    }

    /// Reader: is awake and need not be woken.
    pub(super) fn reader_is_awake(&self) {
        // Nothing hangs on when the other end sees it: one wake-up too many does no harm.
        self.reader_sleeps.0.store(0, Ordering::Relaxed);
    }
}

fn within(filled: u64, ring: usize) -> Result<usize, Broken> {
    match usize::try_from(filled) {
        Ok(filled) if filled <= ring => Ok(filled),
        _ => Err(Broken),
    }
}

fn falls_asleep(flag: &AtomicU32) {
    flag.store(1, Ordering::Relaxed);
    fence(Ordering::SeqCst);
}

fn wakes(flag: &AtomicU32) -> bool {
    fence(Ordering::SeqCst);
    flag.load(Ordering::Relaxed) != 0 && flag.swap(0, Ordering::Relaxed) != 0
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn positions_that_cannot_be_are_found() {
        let positions = Positions::new();
        assert_eq!(positions.filled(0, 64), Ok(0));
        assert_eq!(positions.room(0, 64), Ok(64));
        // The peer says that it has written more than fits, or less than was read.
        positions.wrote(65);
        assert_eq!(positions.filled(0, 64), Err(Broken));
        positions.wrote(5);
        assert_eq!(positions.filled(6, 64), Err(Broken));
        // That it has read what was not written, or unread something.
        positions.has_read(7);
        assert_eq!(positions.room(6, 64), Err(Broken));
        positions.has_read(u64::MAX);
        assert_eq!(positions.room(64, 64), Err(Broken));
        // Positions go on over the end of their numbers.
        positions.wrote(3);
        assert_eq!(positions.filled(u64::MAX - 4, 64), Ok(8));
    }
}

/// `RUSTFLAGS="--cfg loom" cargo test -p corewire-sys --lib loom`
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::{Arc, Notify};
    use loom::thread;

    /// One end moves and rings; the other sleeps until what it waits for is there. Loom reports a
    /// sleeper that nobody wakes as a deadlock.
    fn sleeper_is_woken(
        moves: impl Fn(&Positions) -> bool + Send + Sync + Copy + 'static,
        falls_asleep: impl Fn(&Positions) + Send + Sync + Copy + 'static,
        is_there: impl Fn(&Positions) -> bool + Send + Sync + Copy + 'static,
        begin: impl Fn(&Positions) + Send + Sync + Copy + 'static,
    ) {
        loom::model(move || {
            let shared = Arc::new((Positions::new(), Notify::new()));
            begin(&shared.0);
            let mover = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    if moves(&shared.0) {
                        shared.1.notify();
                    }
                })
            };
            let (positions, bell) = &*shared;
            while !is_there(positions) {
                falls_asleep(positions);
                if is_there(positions) {
                    break;
                }
                bell.wait();
            }
            mover.join().unwrap();
        });
    }

    #[test]
    fn a_reader_that_sleeps_is_woken() {
        sleeper_is_woken(
            |positions| positions.wrote(1),
            Positions::reader_falls_asleep,
            |positions| positions.filled(0, 64) == Ok(1),
            |_| {},
        );
    }

    #[test]
    fn a_writer_that_sleeps_is_woken() {
        sleeper_is_woken(
            |positions| positions.has_read(64),
            Positions::writer_falls_asleep,
            |positions| positions.room(64, 64) == Ok(64),
            |positions| {
                positions.wrote(64);
            },
        );
    }
}
