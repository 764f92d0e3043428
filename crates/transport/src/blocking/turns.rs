//! Who of the threads that share a connection reads, who sleeps, and who is on the way back.
//!
//! One thread, the leader, reads for all. What it reads often ends the calls of several others; it
//! wakes them all, and each comes back, takes its answer and, more often than not, calls again at
//! once. If each of them wrote for itself, the peer would be woken for the first and read them one
//! by one. So they are **combined**: from the moment at which a read ended the calls of several
//! others, who calls leaves the request in the outbox and sleeps, as long as a woken thread is still
//! on its way. The last of these hands the lead over; the new leader writes all of it with one call
//! to the kernel, and reads.
//!
//! ```text
//!            a call ends                    several calls of others end
//!   reads ───────────────► reads    reads ─────────────────────────────► nobody reads, some come
//!     ▲                                                                     │ each comes, takes its
//!     │  writes what the others left, reads                                 │ answer; who calls now
//!     └────────────────── woken to lead ◄───────────────────────────────────┘ leaves it and sleeps
//!                                          the last one wakes a sleeper
//! ```
//!
//! What this relies on, and the loom model tries in every order: a thread that was woken comes back
//! and says so ([`Turns::arrive`]), and whoever lets go of the lock calls [`Turns::hand_over`].

use std::time::{Duration, Instant};

/// So many calls of others must have ended with one read for requests to be combined: with fewer,
/// writing at once costs less than waiting for each other.
const COMBINE_FROM: usize = 2;

/// Who comes later than this is not waited for: the next that calls writes what is there.
const WAIT_AT_MOST: Duration = Duration::from_micros(200);

/// What the thread that reads for all, if there is one, sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// Nobody reads.
    Nobody,
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
    Heir,
}

/// The turns of the threads of one connection. `K` names what a thread waits for, `H` how it is
/// woken; who lets go of the lock does so.
#[derive(Debug)]
pub(super) struct Turns<K, H> {
    lead: Lead,
    sleepers: Vec<Sleeper<K, H>>,
    /// How many of the sleepers are on their way back.
    returning: usize,
    /// How many of those were woken to take over, whatever news there is.
    heirs: usize,
    /// Requests are combined since then, until the next thread leads.
    combining: Option<Instant>,
    /// To be woken once the lock is free: they would run into it.
    to_wake: Vec<H>,
}

impl<K: Copy + PartialEq, H: Clone + PartialEq> Turns<K, H> {
    pub(super) const fn new() -> Self {
        Self {
            lead: Lead::Nobody,
            sleepers: Vec::new(),
            returning: 0,
            heirs: 0,
            combining: None,
            to_wake: Vec::new(),
        }
    }

    pub(super) const fn lead(&self) -> Lead {
        self.lead
    }

    /// How many threads are on their way back.
    pub(super) const fn returning(&self) -> usize {
        self.returning
    }

    /// How many threads sleep and are not being woken.
    pub(super) const fn asleep(&self) -> usize {
        self.sleepers.len() - self.returning
    }

    /// Whether others share the connection at the moment.
    #[cfg(test)]
    pub(super) const fn has_company(&self) -> bool {
        !self.sleepers.is_empty()
    }

    /// Whether a thread is on its way that will see to it that what waits is written and that
    /// somebody reads. Who calls meanwhile may leave its request and sleep.
    pub(super) fn are_combined(&self, now: Instant) -> bool {
        self.lead == Lead::Nobody
            && self.returning > 0
            && self
                .combining
                .is_some_and(|since| now.saturating_duration_since(since) < WAIT_AT_MOST)
    }

    /// This thread reads for all from now on.
    pub(super) fn begin_to_lead(&mut self, sees_room: bool) {
        self.combining = None;
        self.lead = if sees_room {
            Lead::ReadsAndWrites
        } else {
            Lead::Reads
        };
    }

    /// This thread has read. To be followed by [`delivered`](Self::delivered) once the others know
    /// what came.
    pub(super) const fn end_to_lead(&mut self) {
        self.lead = Lead::Nobody;
    }

    /// What was read is with those whom it concerns, who are being woken.
    pub(super) const fn delivered(&mut self, now: Instant) {
        if self.returning >= COMBINE_FROM {
            self.combining = Some(now);
        }
    }

    /// This thread goes to sleep once it has let go of the lock. It then calls
    /// [`arrive`](Self::arrive), whatever it is woken by.
    pub(super) fn sleep(&mut self, key: Option<K>, handle: H, writes: bool) {
        self.sleepers.push(Sleeper {
            key,
            handle,
            writes,
            woken: Woken::No,
        });
    }

    /// This thread sleeps no more.
    pub(super) fn arrive(&mut self, handle: &H) {
        let place = self.sleepers.iter().position(|s| s.handle == *handle);
        match place.map(|place| self.sleepers.remove(place).woken) {
            None | Some(Woken::No) => {}
            Some(Woken::News) => self.returning -= 1,
            Some(Woken::Heir) => {
                self.returning -= 1;
                self.heirs -= 1;
            }
        }
    }

    /// Whether a thread waits for room to write, or is on its way to do so.
    pub(super) fn has_writer(&self) -> bool {
        self.sleepers.iter().any(|sleeper| sleeper.writes)
    }

    /// Has the thread that waits for this woken.
    pub(super) fn wake(&mut self, key: K) {
        let place = self.sleepers.iter().position(|s| s.key == Some(key));
        if let Some(place) = place {
            self.wake_at(place, Woken::News);
        }
    }

    /// Wakes the threads that wait for what they have written to be taken.
    pub(super) fn wake_senders(&mut self) {
        for place in 0..self.sleepers.len() {
            if self.sleepers[place].key.is_none() {
                self.wake_at(place, Woken::News);
            }
        }
    }

    /// Wakes everybody.
    pub(super) fn wake_all(&mut self) {
        for place in 0..self.sleepers.len() {
            self.wake_at(place, Woken::News);
        }
    }

    /// Before the lock is let go: sees that nobody sleeps in vain. `waits` says whether octets wait
    /// that the kernel did not take.
    pub(super) fn hand_over(&mut self, waits: bool) {
        let needed = match self.lead {
            // Combined, the last one that comes hands over.
            Lead::Nobody if self.combining.is_some() => self.returning == 0,
            Lead::Nobody => self.heirs == 0,
            Lead::Reads => waits && self.heirs == 0 && !self.has_writer(),
            Lead::ReadsAndWrites => false,
        };
        let mut sleepers = self.sleepers.iter();
        if needed && let Some(place) = sleepers.position(|sleeper| sleeper.woken == Woken::No) {
            self.wake_at(place, Woken::Heir);
        }
    }

    /// Those to be woken now that the lock is free.
    pub(super) fn take_woken(&mut self) -> Vec<H> {
        std::mem::take(&mut self.to_wake)
    }

    fn wake_at(&mut self, place: usize, why: Woken) {
        let sleeper = &mut self.sleepers[place];
        if sleeper.woken == Woken::No {
            sleeper.woken = why;
            self.returning += 1;
            self.heirs += usize::from(why == Woken::Heir);
            self.to_wake.push(sleeper.handle.clone());
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

/// `RUSTFLAGS="--cfg loom" cargo test -p corewire-transport --lib loom`
#[cfg(all(test, loom))]
mod loom_tests;
