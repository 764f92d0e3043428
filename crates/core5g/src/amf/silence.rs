//! UEs that are idle and silent for too long (TS 24.501, 5.3.7): they are called no more, then
//! deregistered.
//!
//! ```text
//!   idle ── T3512 and a grace: mobile reachable timer ──▶ not called any more
//!        ── and a grace: implicit deregistration timer ──▶ deregistered
//! ```
//!
//! There is no timer a UE: a UE says when it became idle, and is looked at when it may have been silent
//! for long enough. One that was here meanwhile is looked at again when that may be so next. Time is an
//! argument.

use super::Amf;
use super::ue::Event;
use super::ues::{Slot, Ues};
use crate::ngap::AmfUeNgapId;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between two looks at who was silent for too long.
const TICK: Duration = Duration::from_secs(1);

/// How long UEs may be silent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// T3512: when UEs register periodically.
    pub(super) t3512: Duration,
    /// How much longer the mobile reachable timer is, and how long the one behind it.
    pub(super) grace: Duration,
}

impl Patience {
    fn reachable(self) -> Duration {
        self.t3512 + self.grace
    }

    fn registered(self) -> Duration {
        self.reachable() + self.grace
    }
}

/// Who is idle, by when to look at him.
pub(super) struct Silence {
    patience: Patience,
    due: Mutex<BTreeSet<(Instant, AmfUeNgapId)>>,
}

/// Since when a UE is idle, and when it is looked at: never after it has been silent for too long.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Idle {
    since: Option<Instant>,
    looked_at: Option<Instant>,
}

impl Silence {
    pub(super) const fn new(patience: Patience) -> Self {
        Self {
            patience,
            due: Mutex::new(BTreeSet::new()),
        }
    }

    /// T3512, as UEs are told.
    pub(super) const fn t3512(&self) -> Duration {
        self.patience.t3512
    }

    /// A registered UE has no connection from now on.
    pub(super) fn begins(&self, now: Instant, slot: &Slot) {
        let mut due = self.due();
        let mut idle = slot.idle();
        idle.since = Some(now);
        if idle.looked_at.is_none() {
            let when = now + self.patience.registered();
            idle.looked_at = Some(when);
            due.insert((when, slot.id));
        }
    }

    /// The UE has a connection.
    pub(super) fn ends(slot: &Slot) {
        slot.idle().since = None;
    }

    /// Whether the UE is idle since just then.
    pub(super) fn is_since(slot: &Slot, since: Instant) -> bool {
        slot.idle().since == Some(since)
    }

    /// The UE is gone.
    pub(super) fn forget(&self, slot: &Slot) {
        let mut due = self.due();
        if let Some(when) = std::mem::take(&mut *slot.idle()).looked_at {
            due.remove(&(when, slot.id));
        }
    }

    /// Whether the UE hears when it is called: its mobile reachable timer has not expired.
    pub(super) fn is_reachable(&self, now: Instant, slot: &Slot) -> bool {
        let since = slot.idle().since;
        since.is_none_or(|since| now < since + self.patience.reachable())
    }

    /// Those who have been silent for too long, and since when.
    fn handle_timeout(&self, now: Instant, ues: &Ues) -> Vec<(Arc<Slot>, Instant)> {
        let mut due = self.due();
        let mut silent = Vec::new();
        while let Some((when, id)) = due.first().copied().filter(|(when, _)| *when <= now) {
            due.remove(&(when, id));
            let Some(slot) = ues.by_id(id) else { continue };
            let mut idle = slot.idle();
            idle.looked_at = None;
            let Some(since) = idle.since else { continue };
            let end = since + self.patience.registered();
            if end > now {
                idle.looked_at = Some(end);
                due.insert((end, id));
                continue;
            }
            drop(idle);
            silent.push((slot, since));
        }
        silent
    }

    fn due(&self) -> MutexGuard<'_, BTreeSet<(Instant, AmfUeNgapId)>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Deregisters who is silent for too long, from now on.
pub(super) fn watch(amf: &Arc<Amf>) {
    let amf = Arc::clone(amf);
    let runtime = amf.runtime.clone();
    runtime.spawn(0, async move {
        while !amf.runtime.loops()[0].has_ended() {
            amf.runtime.sleep(TICK).await;
            for (slot, since) in amf.silence.handle_timeout(Instant::now(), &amf.ues) {
                let _came_back = slot.deliver(Event::Silent(since));
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn silence() -> Silence {
        Silence::new(Patience {
            t3512: 60 * SECOND,
            grace: 10 * SECOND,
        })
    }

    #[test]
    fn who_is_idle_is_called_for_a_while_and_registered_a_little_longer() {
        let (silence, ues, began) = (silence(), Ues::default(), Instant::now());
        let slot = ues.add(1).unwrap();
        silence.begins(began, &slot);
        assert!(silence.is_reachable(began + 69 * SECOND, &slot));
        assert!(!silence.is_reachable(began + 70 * SECOND, &slot));
        assert!(silence.handle_timeout(began + 79 * SECOND, &ues).is_empty());
        let silent = silence.handle_timeout(began + 80 * SECOND, &ues);
        assert_eq!(silent.len(), 1);
        assert!(Arc::ptr_eq(&silent[0].0, &slot) && silent[0].1 == began);
        assert!(
            silence
                .handle_timeout(began + 999 * SECOND, &ues)
                .is_empty()
        );
        // It was let go on, and becomes idle once more.
        silence.begins(began + 999 * SECOND, &slot);
        assert_eq!(silence.handle_timeout(began + 1079 * SECOND, &ues).len(), 1);
    }

    #[test]
    fn who_comes_back_begins_anew_and_who_is_gone_leaves_nothing() {
        let (silence, ues, began) = (silence(), Ues::default(), Instant::now());
        let (one, two) = (ues.add(1).unwrap(), ues.add(1).unwrap());
        for slot in [&one, &two] {
            silence.begins(began, slot);
        }
        Silence::ends(&one);
        silence.begins(began + 50 * SECOND, &one);
        Silence::ends(&two);
        assert!(silence.is_reachable(began + 110 * SECOND, &one));
        assert!(silence.is_reachable(began + 999 * SECOND, &two));
        assert!(
            silence
                .handle_timeout(began + 129 * SECOND, &ues)
                .is_empty()
        );
        let silent = silence.handle_timeout(began + 130 * SECOND, &ues);
        assert_eq!(silent.len(), 1);
        assert!(Arc::ptr_eq(&silent[0].0, &one));
        silence.begins(began + 130 * SECOND, &two);
        silence.forget(&two);
        assert!(silence.due().is_empty());
    }
}
