//! UEs of which something is due at a time.

use crate::ngap::AmfUeNgapId;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// UEs by the time at which they are to be looked at. Time is an argument.
#[derive(Default)]
pub(in crate::amf) struct Due(Mutex<BTreeSet<(Instant, AmfUeNgapId)>>);

impl Due {
    /// This UE is to be looked at then.
    pub(in crate::amf) fn push(&self, at: Instant, ue: AmfUeNgapId) {
        self.lock().insert((at, ue));
    }

    /// The UEs whose time has come.
    pub(in crate::amf) fn handle_timeout(&self, now: Instant) -> Vec<AmfUeNgapId> {
        let mut due = self.lock();
        let mut come = Vec::new();
        while let Some((at, ue)) = due.first().copied().filter(|(at, _)| *at <= now) {
            due.remove(&(at, ue));
            come.push(ue);
        }
        come
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<(Instant, AmfUeNgapId)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
