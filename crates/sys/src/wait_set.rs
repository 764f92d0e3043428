//! Places where threads sleep, of whom any number are woken with one call to the kernel.
//!
//! A thread that wakes others one by one is put aside after the first on a core that they share, and
//! comes back for each of the others. Woken together they are all ready before it goes on.
//!
//! A slot is a bit of two words. Who wakes sets bits of the one, looks in the other for those whose
//! threads sleep, and has the kernel wake these (`FUTEX_WAKE_BITSET`). Who goes to sleep says so, then
//! looks whether it was woken, and sleeps only if the word is still as it was then. At least one of the
//! two sees the other, so no wake-up is lost; `loom_tests` tries every order.
//!
//! A thread may first ask a few times whether it [is woken](WaitSet::is_woken) and let others run
//! meanwhile: then nobody needs to wake it.

use crate::socket::timespec;
use std::io;
use std::time::Duration;

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU32, Ordering};
#[cfg(all(test, loom))]
use loom_tests::Kernel;
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicU32, Ordering};

#[cfg(not(all(test, loom)))]
use futex::Kernel;

/// WaitSet of one word.
const A_WORD: usize = u32::BITS as usize;

/// Threads that share one connection are seldom more than these words' slots.
const WORDS: usize = if cfg!(all(test, loom)) { 1 } else { 4 };

/// Places for up to 128 threads to sleep in.
#[derive(Debug)]
pub struct WaitSet {
    /// Bit set: its thread is woken and has not left its slot.
    woken: [AtomicU32; WORDS],
    /// Bit set: its thread sleeps, or is about to.
    asleep: [AtomicU32; WORDS],
    taken: [AtomicU32; WORDS],
    kernel: Kernel,
}

/// One place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitSlot(u8);

impl WaitSlot {
    const fn word(self) -> usize {
        self.0 as usize / A_WORD % WORDS
    }

    const fn bit(self) -> u32 {
        1 << (self.0 as usize % A_WORD)
    }
}

impl Default for WaitSet {
    fn default() -> Self {
        Self::new()
    }
}

impl WaitSet {
    /// All are free.
    #[must_use]
    pub fn new() -> Self {
        let words = || std::array::from_fn(|_| AtomicU32::new(0));
        Self {
            woken: words(),
            asleep: words(),
            taken: words(),
            kernel: Kernel::new(),
        }
    }

    /// Takes a place, if one is free. Who wakes its thread from now on does not do so in vain.
    #[must_use]
    pub fn take(&self) -> Option<WaitSlot> {
        for (word, taken) in self.taken.iter().enumerate() {
            loop {
                let free = (!taken.load(Ordering::Relaxed)).trailing_zeros() as usize;
                if free == A_WORD {
                    break;
                }
                let slot = WaitSlot((word * A_WORD + free) as u8);
                if taken.fetch_or(slot.bit(), Ordering::Acquire) & slot.bit() == 0 {
                    // Left over when its last thread was woken too late.
                    self.woken[word].fetch_and(!slot.bit(), Ordering::Relaxed);
                    return Some(slot);
                }
            }
        }
        None
    }

    /// Gives a place back.
    pub fn give(&self, slot: WaitSlot) {
        self.taken[slot.word()].fetch_and(!slot.bit(), Ordering::Release);
    }

    /// Whether this thread was woken since it last found so, or slept.
    #[must_use]
    pub fn is_woken(&self, slot: WaitSlot) -> bool {
        let word = &self.woken[slot.word()];
        let is_woken = word.load(Ordering::Acquire) & slot.bit() != 0;
        if is_woken {
            word.fetch_and(!slot.bit(), Ordering::Relaxed);
        }
        is_woken
    }

    /// Sleeps until woken, at most so long. May end earlier, as parking may: the thread that had the
    /// place before may be woken late.
    pub fn sleep(&self, slot: WaitSlot, at_most: Option<Duration>) {
        let until = at_most.map(after_now);
        let asleep = &self.asleep[slot.word()];
        // Whoever looks there later sees it; of who looked before, what it had woken is seen here.
        asleep.fetch_or(slot.bit(), Ordering::AcqRel);
        self.sleep_until(slot, until.as_ref());
        asleep.fetch_and(!slot.bit(), Ordering::Relaxed);
    }

    fn sleep_until(&self, slot: WaitSlot, until: Option<&libc::timespec>) {
        let word = &self.woken[slot.word()];
        loop {
            let value = word.load(Ordering::Acquire);
            if value & slot.bit() != 0 {
                word.fetch_and(!slot.bit(), Ordering::Relaxed);
                return;
            }
            if let Err(error) = self.kernel.wait(word, value, until, slot.bit()) {
                match error.kind() {
                    // Others were woken, or a signal came.
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => {}
                    _ => return,
                }
            }
        }
    }

    /// Wakes the threads in these places; nothing happens to those that are awake.
    pub fn wake(&self, slots: impl IntoIterator<Item = WaitSlot>) {
        let mut bits = [0; WORDS];
        for slot in slots {
            bits[slot.word()] |= slot.bit();
        }
        for ((woken, asleep), bits) in self.woken.iter().zip(&self.asleep).zip(bits) {
            if bits == 0 {
                continue;
            }
            woken.fetch_or(bits, Ordering::Release);
            // A change, though of nothing, comes before or after that of a thread that falls asleep.
            let asleep = asleep.fetch_or(0, Ordering::AcqRel) & bits;
            if asleep != 0 {
                self.kernel.wake(woken, asleep);
            }
        }
    }
}

/// This long from now, on the clock that the kernel measures waits by.
fn after_now(left: Duration) -> libc::timespec {
    let mut now = timespec(Duration::ZERO);
    // SAFETY: the pointer is that of a live `timespec`, and the clock exists everywhere.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    let now = Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32);
    timespec(now.saturating_add(left))
}

/// Waiting and waking in the kernel; the model has its own.
#[cfg(not(all(test, loom)))]
mod futex {
    use super::AtomicU32;
    use crate::calls::count;
    use libc::{c_int, c_long};
    use std::io;
    use std::ptr;

    #[derive(Debug)]
    pub(super) struct Kernel;

    impl Kernel {
        pub(super) const fn new() -> Self {
            Self
        }

        #[expect(clippy::unused_self, reason = "the model keeps its sleepers there")]
        pub(super) fn wait(
            &self,
            word: &AtomicU32,
            value: u32,
            until: Option<&libc::timespec>,
            bits: u32,
        ) -> io::Result<()> {
            count(|calls| &mut calls.waits);
            let until = until.map_or(ptr::null(), ptr::from_ref);
            call(word, libc::FUTEX_WAIT_BITSET, value, until, bits)
        }

        #[expect(clippy::unused_self, reason = "the model keeps its sleepers there")]
        pub(super) fn wake(&self, word: &AtomicU32, bits: u32) {
            count(|calls| &mut calls.bells);
            let all = c_int::MAX as u32;
            // It cannot fail for a word that is there, and there is nobody to be told.
            let _ = call(word, libc::FUTEX_WAKE_BITSET, all, ptr::null(), bits);
        }
    }

    fn call(
        word: &AtomicU32,
        operation: c_int,
        value: u32,
        until: *const libc::timespec,
        bits: u32,
    ) -> io::Result<()> {
        let operation = operation | libc::FUTEX_PRIVATE_FLAG;
        let nothing: *const u32 = ptr::null();
        // SAFETY: the word lives as long as it is borrowed, which is longer than the call; `until` is
        // null or a `timespec` that the caller holds; the second word is not looked at by these
        // operations.
        let result: c_long = unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                operation,
                value,
                until,
                nothing,
                bits,
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::time::Instant;

    #[test]
    fn who_was_woken_before_it_sleeps_does_not_sleep() {
        let set = WaitSet::new();
        let slot = set.take().unwrap();
        set.wake([slot]);
        set.sleep(slot, None);
        // Once only.
        let before = Instant::now();
        set.sleep(slot, Some(Duration::from_millis(5)));
        assert!(before.elapsed() >= Duration::from_millis(5));
    }

    #[test]
    fn places_are_used_again_without_what_was_left_of_the_last() {
        let set = WaitSet::new();
        let first = set.take().unwrap();
        set.give(first);
        set.wake([first]);
        assert_eq!(set.take(), Some(first));
        let before = Instant::now();
        set.sleep(first, Some(Duration::from_millis(5)));
        assert!(before.elapsed() >= Duration::from_millis(5));
        let mut all = vec![first];
        while let Some(slot) = set.take() {
            assert!(!all.contains(&slot));
            all.push(slot);
        }
        assert_eq!(all.len(), WORDS * A_WORD);
        set.give(all[77]);
        assert_eq!(set.take(), Some(all[77]));
    }

    #[test]
    fn who_asks_is_woken_without_sleeping() {
        let set = WaitSet::new();
        let slot = set.take().unwrap();
        assert!(!set.is_woken(slot));
        std::thread::scope(|scope| {
            scope.spawn(|| set.wake([slot]));
            let until = Instant::now() + Duration::from_secs(20);
            while !set.is_woken(slot) {
                assert!(Instant::now() < until);
                std::thread::yield_now();
            }
        });
        assert!(!set.is_woken(slot), "once only");
    }

    #[test]
    fn only_those_that_are_meant_wake() {
        let set = Arc::new(WaitSet::new());
        let awake = Arc::new(AtomicUsize::new(0));
        let taken: Vec<_> = (0..40).map(|_| set.take().unwrap()).collect();
        let threads: Vec<_> = taken
            .iter()
            .map(|slot| {
                let (set, awake, slot) = (Arc::clone(&set), Arc::clone(&awake), *slot);
                std::thread::spawn(move || {
                    set.sleep(slot, None);
                    awake.fetch_add(1, Ordering::SeqCst);
                })
            })
            .collect();
        let (some, others) = taken.split_at(35);
        set.wake(some.iter().copied());
        let mut threads = threads.into_iter();
        for thread in threads.by_ref().take(35) {
            thread.join().unwrap();
        }
        assert_eq!(awake.load(Ordering::SeqCst), 35);
        set.wake(others.iter().copied());
        for thread in threads {
            thread.join().unwrap();
        }
    }
}

/// `RUSTFLAGS="--cfg loom" cargo test -p corewire-sys --lib loom`
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::{Arc, Condvar, Mutex};
    use loom::thread;

    /// The part of the kernel that waits and wakes.
    #[derive(Debug, Default)]
    pub(super) struct Kernel {
        asleep: Mutex<u32>,
        change: Condvar,
    }

    impl Kernel {
        pub(super) fn new() -> Self {
            Self::default()
        }

        pub(super) fn wait(
            &self,
            word: &AtomicU32,
            value: u32,
            _until: Option<&libc::timespec>,
            bits: u32,
        ) -> io::Result<()> {
            let mut asleep = self.asleep.lock().unwrap();
            if word.load(Ordering::Relaxed) != value {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            *asleep |= bits;
            while *asleep & bits != 0 {
                asleep = self.change.wait(asleep).unwrap();
            }
            Ok(())
        }

        pub(super) fn wake(&self, _word: &AtomicU32, bits: u32) {
            *self.asleep.lock().unwrap() &= !bits;
            self.change.notify_all();
        }
    }

    /// Loom reports a thread that sleeps for ever as a deadlock.
    #[test]
    fn loom_who_is_woken_wakes_whatever_it_is_about() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let set = Arc::new(WaitSet::new());
            let places = [set.take().unwrap(), set.take().unwrap()];
            let sleepers = places.map(|slot| {
                let set = Arc::clone(&set);
                thread::spawn(move || {
                    thread::yield_now();
                    if !set.is_woken(slot) {
                        set.sleep(slot, None);
                    }
                    set.give(slot);
                })
            });
            set.wake([places[0]]);
            set.wake(places);
            for sleeper in sleepers {
                sleeper.join().unwrap();
            }
        });
    }
}
