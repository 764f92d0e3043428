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

use corewire_core5g_ngap::AmfUeNgapId;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long UEs may be silent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// T3512: when UEs register periodically.
    pub(crate) t3512: Duration,
    /// How much longer the mobile reachable timer is, and how long the one behind it.
    pub(crate) grace: Duration,
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
pub(crate) struct Silence {
    patience: Patience,
    due: Mutex<BTreeSet<(Instant, AmfUeNgapId)>>,
}

/// Since when a UE is idle.
#[derive(Debug)]
pub(crate) struct IdleMark {
    ue: AmfUeNgapId,
    idle: Mutex<Idle>,
}

/// Since when a UE is idle, and when it is looked at: never after it has been silent for too long.
#[derive(Clone, Copy, Debug, Default)]
struct Idle {
    since: Option<Instant>,
    looked_at: Option<Instant>,
}

impl IdleMark {
    pub(crate) fn new(ue: AmfUeNgapId) -> Self {
        Self {
            ue,
            idle: Mutex::default(),
        }
    }

    /// The UE has a connection.
    pub(crate) fn end(&self) {
        self.lock().since = None;
    }

    /// Whether the UE is idle since just then.
    pub(crate) fn is_since(&self, since: Instant) -> bool {
        self.lock().since == Some(since)
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Silence {
    pub(crate) const fn new(patience: Patience) -> Self {
        Self {
            patience,
            due: Mutex::new(BTreeSet::new()),
        }
    }

    /// T3512, as UEs are told.
    pub(crate) const fn t3512(&self) -> Duration {
        self.patience.t3512
    }

    /// A registered UE has no connection from now on.
    pub(crate) fn begins(&self, now: Instant, mark: &IdleMark) {
        let mut due = self.due();
        let mut idle = mark.lock();
        idle.since = Some(now);
        if idle.looked_at.is_none() {
            let when = now + self.patience.registered();
            idle.looked_at = Some(when);
            due.insert((when, mark.ue));
        }
    }

    /// The UE is gone.
    pub(crate) fn forget(&self, mark: &IdleMark) {
        let mut due = self.due();
        if let Some(when) = std::mem::take(&mut *mark.lock()).looked_at {
            due.remove(&(when, mark.ue));
        }
    }

    /// Whether the UE hears when it is called: its mobile reachable timer has not expired.
    pub(crate) fn is_reachable(&self, now: Instant, mark: &IdleMark) -> bool {
        let since = mark.lock().since;
        since.is_none_or(|since| now < since + self.patience.reachable())
    }

    /// The UEs that have been silent for too long, and since when.
    pub(crate) fn handle_timeout<S: AsRef<IdleMark>>(
        &self,
        now: Instant,
        find: impl Fn(AmfUeNgapId) -> Option<Arc<S>>,
    ) -> Vec<(Arc<S>, Instant)> {
        let mut due = self.due();
        let mut silent = Vec::new();
        while let Some((when, id)) = due.first().copied().filter(|(when, _)| *when <= now) {
            due.remove(&(when, id));
            let Some(slot) = find(id) else { continue };
            let mut idle = (*slot).as_ref().lock();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ues::Ues;

    const SECOND: Duration = Duration::from_secs(1);

    impl AsRef<Self> for IdleMark {
        fn as_ref(&self) -> &Self {
            self
        }
    }

    fn silence() -> Silence {
        Silence::new(Patience {
            t3512: 60 * SECOND,
            grace: 10 * SECOND,
        })
    }

    #[test]
    fn who_is_idle_is_called_for_a_while_and_registered_a_little_longer() {
        let (silence, ues, began) = (silence(), Ues::default(), Instant::now());
        let find = |id| ues.by_id(id);
        let slot = ues.add(IdleMark::new).unwrap();
        silence.begins(began, &slot);
        assert!(silence.is_reachable(began + 69 * SECOND, &slot));
        assert!(!silence.is_reachable(began + 70 * SECOND, &slot));
        assert!(silence.handle_timeout(began + 79 * SECOND, find).is_empty());
        let silent = silence.handle_timeout(began + 80 * SECOND, find);
        assert_eq!(silent.len(), 1);
        assert!(Arc::ptr_eq(&silent[0].0, &slot) && silent[0].1 == began);
        assert!(
            silence
                .handle_timeout(began + 999 * SECOND, find)
                .is_empty()
        );
        // It was let go on, and becomes idle once more.
        silence.begins(began + 999 * SECOND, &slot);
        assert_eq!(silence.handle_timeout(began + 1079 * SECOND, find).len(), 1);
    }

    #[test]
    fn who_comes_back_begins_anew_and_who_is_gone_leaves_nothing() {
        let (silence, ues, began) = (silence(), Ues::default(), Instant::now());
        let find = |id| ues.by_id(id);
        let (one, two) = (
            ues.add(IdleMark::new).unwrap(),
            ues.add(IdleMark::new).unwrap(),
        );
        for slot in [&one, &two] {
            silence.begins(began, slot);
        }
        one.end();
        silence.begins(began + 50 * SECOND, &one);
        two.end();
        assert!(silence.is_reachable(began + 110 * SECOND, &one));
        assert!(silence.is_reachable(began + 999 * SECOND, &two));
        assert!(
            silence
                .handle_timeout(began + 129 * SECOND, find)
                .is_empty()
        );
        let silent = silence.handle_timeout(began + 130 * SECOND, find);
        assert_eq!(silent.len(), 1);
        assert!(Arc::ptr_eq(&silent[0].0, &one));
        silence.begins(began + 130 * SECOND, &two);
        silence.forget(&two);
        assert!(silence.due().is_empty());
    }
}
