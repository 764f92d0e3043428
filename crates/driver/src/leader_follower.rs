//! Threads that share a connection: which one reads, which sleep, and which are on their way back.
//!
//! One thread, the leader, reads for all. What it reads often ends the calls of several followers; it
//! wakes them all, and each comes back, takes its answer and, more often than not, calls again at
//! once. If each of them wrote for itself, the peer would be woken for the first and read them one
//! by one. So their requests are **coalesced**: from the moment at which a read ended the calls of several
//! followers, a thread that calls leaves its request in the outbox and sleeps, as long as a woken thread is
//! still on its way. The last of these wakes a successor, which writes all of it with one call to the
//! kernel, and reads.
//!
//! ```text
//!            a call ends                    several calls of followers end
//!   reads ───────────────► reads    reads ─────────────────────────────► none reads, some return
//!     ▲                                                                     │ each comes, takes its
//!     │  writes what the others left, reads                                 │ answer; one that calls now
//!     └────────────────── woken to lead ◄───────────────────────────────────┘ leaves it and sleeps
//!                                          the last one wakes a successor
//! ```
//!
//! What this relies on, and the loom model tries in every order: a thread that was woken comes back
//! and says so ([`LeaderFollower::arrive`]), and every thread that is about to let go of the lock calls
//! [`LeaderFollower::hand_over`].

use std::time::{Duration, Instant};

/// So many calls of others must have ended with one read for requests to be coalesced: with fewer,
/// writing at once costs less than waiting for each other.
const COALESCE_FROM: usize = 2;

/// A thread that comes later than this is not waited for: the next that calls writes what is there.
const WAIT_AT_MOST: Duration = Duration::from_micros(200);

/// What the thread that reads for all, if there is one, sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a driver treats each of them")]
pub enum Leader {
    /// There is none.
    None,
    /// It sleeps until octets come; that there is room to write it does not see.
    Reads,
    /// It wakes for both.
    ReadsAndWrites,
}

/// A thread that sleeps while another one leads, or is on its way back.
#[derive(Debug)]
struct Sleeper<K, H> {
    /// What it waits for; without one, for what it has written to be taken.
    key: Option<K>,
    handle: H,
    /// It waits for room to write as well.
    writes: bool,
    woken: Woken,
}

/// Why a sleeper was woken; it has not come yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    No,
    /// There is news for it.
    News,
    /// It is to lead, or to write.
    Successor,
}

/// Which threads of one connection lead and follow. `K` names what a thread waits for, `H` how it is
/// woken: [taken](Self::take_woken) by the thread that holds the lock, and done when it is free.
#[derive(Debug)]
pub struct LeaderFollower<K, H> {
    leader: Leader,
    sleepers: Vec<Sleeper<K, H>>,
    /// How many of the sleepers are on their way back.
    returning: usize,
    /// How many of those were woken to take over, whatever news there is.
    successors: usize,
    /// Requests are coalesced since then, until the next thread leads.
    coalescing: Option<Instant>,
    /// To be woken once the lock is free: they would run into it.
    to_wake: Vec<H>,
}

impl<K: Copy + PartialEq, H: Clone + PartialEq> LeaderFollower<K, H> {
    /// No thread has come yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            leader: Leader::None,
            sleepers: Vec::new(),
            returning: 0,
            successors: 0,
            coalescing: None,
            to_wake: Vec::new(),
        }
    }

    /// What the leader sees.
    #[inline]
    #[must_use]
    pub const fn leader(&self) -> Leader {
        self.leader
    }

    /// How many threads are on their way back.
    #[inline]
    #[must_use]
    pub const fn returning(&self) -> usize {
        self.returning
    }

    /// How many threads sleep and are not being woken.
    #[inline]
    #[must_use]
    pub const fn asleep(&self) -> usize {
        self.sleepers.len() - self.returning
    }

    /// Whether a thread is on its way that will see to it that what waits is written and that
    /// a thread reads. One that calls meanwhile may leave its request and sleep.
    #[inline]
    #[must_use]
    pub fn is_coalescing(&self, now: Instant) -> bool {
        self.leader == Leader::None
            && self.returning > 0
            && self
                .coalescing
                .is_some_and(|since| now.saturating_duration_since(since) < WAIT_AT_MOST)
    }

    /// This thread reads for all from now on.
    #[inline]
    pub fn begin_to_lead(&mut self, sees_room: bool) {
        self.coalescing = None;
        self.leader = if sees_room {
            Leader::ReadsAndWrites
        } else {
            Leader::Reads
        };
    }

    /// This thread has read. To be followed by [`delivered`](Self::delivered) once the others know
    /// what came.
    pub const fn end_to_lead(&mut self) {
        self.leader = Leader::None;
    }

    /// What was read is with those whom it concerns, who are being woken.
    pub const fn delivered(&mut self, now: Instant) {
        if self.returning >= COALESCE_FROM {
            self.coalescing = Some(now);
        }
    }

    /// This thread goes to sleep once it has let go of the lock. It then calls
    /// [`arrive`](Self::arrive), whatever it is woken by.
    pub fn sleep(&mut self, key: Option<K>, handle: H, writes: bool) {
        self.sleepers.push(Sleeper {
            key,
            handle,
            writes,
            woken: Woken::No,
        });
    }

    /// This thread sleeps no more.
    pub fn arrive(&mut self, handle: &H) {
        let place = self.sleepers.iter().position(|s| s.handle == *handle);
        match place.map(|place| self.sleepers.remove(place).woken) {
            None | Some(Woken::No) => {}
            Some(Woken::News) => self.returning -= 1,
            Some(Woken::Successor) => {
                self.returning -= 1;
                self.successors -= 1;
            }
        }
    }

    /// Whether a thread waits for room to write, or is on its way to do so.
    #[must_use]
    pub fn has_writer(&self) -> bool {
        self.sleepers.iter().any(|sleeper| sleeper.writes)
    }

    /// Has the thread that waits for this woken.
    pub fn wake(&mut self, key: K) {
        let place = self.sleepers.iter().position(|s| s.key == Some(key));
        if let Some(place) = place {
            self.wake_at(place, Woken::News);
        }
    }

    /// Wakes the threads that wait for what they have written to be taken.
    pub fn wake_senders(&mut self) {
        for place in 0..self.sleepers.len() {
            if self.sleepers[place].key.is_none() {
                self.wake_at(place, Woken::News);
            }
        }
    }

    /// Wakes all.
    pub fn wake_all(&mut self) {
        for place in 0..self.sleepers.len() {
            self.wake_at(place, Woken::News);
        }
    }

    /// Before the lock is let go: sees that no thread sleeps in vain. `waits` says whether octets wait
    /// that the kernel did not take.
    pub fn hand_over(&mut self, waits: bool) {
        let needed = match self.leader {
            // Coalesced, the last one that comes hands over.
            Leader::None if self.coalescing.is_some() => self.returning == 0,
            Leader::None => self.successors == 0,
            Leader::Reads => waits && self.successors == 0 && !self.has_writer(),
            Leader::ReadsAndWrites => false,
        };
        let mut sleepers = self.sleepers.iter();
        if needed && let Some(place) = sleepers.position(|sleeper| sleeper.woken == Woken::No) {
            self.wake_at(place, Woken::Successor);
        }
    }

    /// Those to be woken once the lock is free.
    #[inline]
    #[must_use]
    pub fn take_woken(&mut self) -> Vec<H> {
        std::mem::take(&mut self.to_wake)
    }

    fn wake_at(&mut self, place: usize, why: Woken) {
        let sleeper = &mut self.sleepers[place];
        if sleeper.woken == Woken::No {
            sleeper.woken = why;
            self.returning += 1;
            self.successors += usize::from(why == Woken::Successor);
            self.to_wake.push(sleeper.handle.clone());
        }
    }
}

impl<K: Copy + PartialEq, H: Clone + PartialEq> Default for LeaderFollower<K, H> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

/// `RUSTFLAGS="--cfg loom" cargo test -p corewire-driver --lib loom`
#[cfg(all(test, loom))]
mod loom_tests;
