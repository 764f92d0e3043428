//! What is due when: one entry a connection, a listener or a sleep, however often it changes.

use super::arena::Key;
use corewire_wire::{DeadlineId, Deadlines};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// Entries below which nobody looks for sleeps that were dropped.
const SWEEP_FROM: usize = 64;

/// What is to be done.
pub(crate) enum Due {
    /// Its core, its first octets, or the end of connecting.
    Connection(Key),
    /// Accepting again.
    Accept(usize),
    /// Giving memory back to the system.
    GiveBack,
    /// A future sleeps, unless it was dropped.
    Wake(Weak<Sleep>),
}

/// Names one entry until it is removed or has come due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimerId {
    deadline: DeadlineId,
    place: u32,
}

/// The timers of one loop.
#[derive(Default)]
pub(crate) struct Timers {
    deadlines: Deadlines,
    /// What each deadline is for; its key is the place here.
    entries: Vec<Option<(DeadlineId, Due)>>,
    free: Vec<u32>,
    /// How many entries it takes until sleeps that were dropped are looked for again.
    sweep_at: usize,
}

impl Timers {
    #[cfg(test)]
    pub(crate) const fn len(&self) -> usize {
        self.deadlines.len()
    }

    /// The earliest.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.deadlines.next()
    }

    pub(crate) fn insert(&mut self, at: Instant, due: Due) -> TimerId {
        let place = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)
        });
        let deadline = self.deadlines.insert(at, place);
        self.entries[place as usize] = Some((deadline, due));
        TimerId { deadline, place }
    }

    /// Takes one out. It must not have been removed or have come due before.
    pub(crate) fn remove(&mut self, id: TimerId) {
        self.deadlines.remove(id.deadline);
        self.entries[id.place as usize] = None;
        self.free.push(id.place);
    }

    /// Adds a sleep. Those that were dropped before their time leave a dead entry behind: that is
    /// cheaper than to tell the loop, if most sleeps are limits that are not reached. They are
    /// swept out when the entries have doubled, so that there are never more dead than living.
    pub(crate) fn sleep(&mut self, at: Instant, sleep: Weak<Sleep>) {
        if sleep.strong_count() == 0 {
            return;
        }
        if self.deadlines.len() >= self.sweep_at.max(SWEEP_FROM) {
            self.sweep();
            self.sweep_at = 2 * self.deadlines.len();
        }
        self.insert(at, Due::Wake(sleep));
    }

    fn sweep(&mut self) {
        for (place, entry) in self.entries.iter_mut().enumerate() {
            if let Some((deadline, Due::Wake(sleep))) = entry
                && sleep.strong_count() == 0
            {
                self.deadlines.remove(*deadline);
                *entry = None;
                self.free.push(u32::try_from(place).unwrap_or(u32::MAX));
            }
        }
    }

    /// Takes the earliest out if it is not later than `now`.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<Due> {
        let place = self.deadlines.pop_due(now)?;
        self.free.push(place);
        let (_, due) = self.entries[place as usize].take()?;
        Some(due)
    }

    /// Ends every sleep: the loop has ended.
    pub(crate) fn wake_all(&mut self) {
        for (_, due) in self.entries.drain(..).flatten() {
            if let Due::Wake(sleep) = due {
                Sleep::end(&sleep);
            }
        }
        *self = Self::default();
    }
}

/// A future that sleeps, as its loop knows it.
#[derive(Debug, Default)]
pub(crate) struct Sleep(Mutex<Sleeper>);

#[derive(Debug, Default)]
struct Sleeper {
    over: bool,
    waker: Option<Waker>,
}

impl Sleep {
    fn with<T>(&self, f: impl FnOnce(&mut Sleeper) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether it is over; if not, `cx` is woken then.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.with(|sleeper| {
            if sleeper.over {
                return Poll::Ready(());
            }
            match &mut sleeper.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            Poll::Pending
        })
    }

    /// Wakes who sleeps, if it still does.
    pub(crate) fn end(sleep: &Weak<Self>) {
        let waker = sleep.upgrade().and_then(|sleep: Arc<Self>| {
            sleep.with(|sleeper| {
                sleeper.over = true;
                sleeper.waker.take()
            })
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire_driver::clock;
    use std::time::Duration;

    #[test]
    fn sleeps_that_were_dropped_do_not_pile_up() {
        let mut timers = Timers::default();
        let far = clock() + Duration::from_secs(3600);
        let kept: Vec<_> = (0..100).map(|_| Arc::new(Sleep::default())).collect();
        for sleep in &kept {
            timers.sleep(far, Arc::downgrade(sleep));
        }
        for _ in 0..100_000 {
            let sleep = Arc::new(Sleep::default());
            timers.sleep(far, Arc::downgrade(&sleep));
        }
        assert!((100..=201).contains(&timers.len()), "{}", timers.len());
        assert!(timers.entries.len() <= 201, "{}", timers.entries.len());
        assert!(timers.pop_due(clock()).is_none());
    }

    #[test]
    fn what_was_removed_does_not_come_due() {
        let mut timers = Timers::default();
        let now = clock();
        let first = timers.insert(now, Due::Accept(1));
        timers.insert(now, Due::Accept(2));
        timers.remove(first);
        timers.insert(now + Duration::from_secs(1), Due::Accept(3));
        assert!(matches!(timers.pop_due(now), Some(Due::Accept(2))));
        assert!(timers.pop_due(now).is_none());
        assert_eq!(timers.len(), 1);
    }
}
