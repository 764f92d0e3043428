//! The sessions of a replica, by their references and by their UEs.

use super::reference::SmContextRef;
use super::session::SmContext;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Contexts that have ended and are remembered: what is still on its way for one of them, an answer
/// of the store above all, must not bring it back.
const MAX_ENDED: usize = 4096;

/// A session as the UE has it: its SUPI and number.
type Key = (String, u8);

/// The contexts that this replica holds. A reference is never used again, so one that has ended has
/// ended for good.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    contexts: HashMap<SmContextRef, Arc<SmContext>>,
    /// The one context that a session has.
    of_session: HashMap<Key, SmContextRef>,
    ended: HashSet<SmContextRef>,
    /// The same, in the order in which they ended.
    ended_in_order: VecDeque<SmContextRef>,
}

/// What is known here of a reference.
pub(crate) enum Known {
    /// Its context.
    Held(Arc<SmContext>),
    /// It has ended.
    Ended,
    /// Nothing: another replica may have made it.
    Nothing,
}

impl Held {
    fn insert(&mut self, context: Arc<SmContext>) {
        self.of_session.insert(key(&context), context.reference);
        self.contexts.insert(context.reference, context);
    }
}

fn key(context: &SmContext) -> Key {
    (context.supi.clone(), context.pdu_session_id)
}

impl Sessions {
    /// Holds a new context; gives the one that its session had before, which the UE has no more
    /// (TS 29.502, 5.2.2.2.1): it is to be ended.
    pub(crate) fn begin(&self, context: &Arc<SmContext>) -> Option<Arc<SmContext>> {
        let mut held = self.lock();
        let before = held.of_session.get(&key(context)).copied();
        let before = before.and_then(|before| held.contexts.get(&before).cloned());
        held.insert(Arc::clone(context));
        before
    }

    /// What is known of this reference.
    pub(crate) fn find(&self, reference: SmContextRef) -> Known {
        let held = self.lock();
        match held.contexts.get(&reference) {
            Some(context) => Known::Held(Arc::clone(context)),
            None if held.ended.contains(&reference) => Known::Ended,
            None => Known::Nothing,
        }
    }

    /// Holds what the store has, unless it has changed or ended here meanwhile.
    pub(crate) fn take_over(&self, context: Arc<SmContext>) -> Option<Arc<SmContext>> {
        let mut held = self.lock();
        if held.ended.contains(&context.reference) {
            return None;
        }
        if let Some(newer) = held.contexts.get(&context.reference) {
            return Some(Arc::clone(newer));
        }
        held.insert(Arc::clone(&context));
        Some(context)
    }

    /// Changes a context that is held, whatever has become of it since it was read; `None` when it has
    /// ended. Takes what the caller has of it: a context that only the table has is not copied.
    pub(crate) fn change(
        &self,
        context: Arc<SmContext>,
        change: impl FnOnce(&mut SmContext),
    ) -> Option<Arc<SmContext>> {
        let reference = context.reference;
        drop(context);
        let mut held = self.lock();
        let entry = held.contexts.get_mut(&reference)?;
        change(Arc::make_mut(entry));
        Some(Arc::clone(entry))
    }

    /// Ends a context here; says whether it had not ended before. The caller that hears so
    /// does the rest.
    pub(crate) fn end(&self, reference: SmContextRef) -> bool {
        let mut held = self.lock();
        if let Some(context) = held.contexts.remove(&reference) {
            let key = key(&context);
            if held.of_session.get(&key) == Some(&reference) {
                held.of_session.remove(&key);
            }
        }
        if !held.ended.insert(reference) {
            return false;
        }
        held.ended_in_order.push_back(reference);
        if held.ended_in_order.len() > MAX_ENDED
            && let Some(oldest) = held.ended_in_order.pop_front()
        {
            held.ended.remove(&oldest);
        }
        true
    }

    /// Whether the session of this context has one.
    pub(crate) fn has_one(&self, context: &SmContext) -> bool {
        self.lock().of_session.contains_key(&key(context))
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self, reference: SmContextRef) -> bool {
        self.lock().ended.contains(&reference)
    }

    /// Whether it is held.
    pub(crate) fn holds(&self, reference: SmContextRef) -> bool {
        self.lock().contexts.contains_key(&reference)
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().contexts.len()
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::session::State;
    use crate::context::subscription;
    use corewire_core5g_sbi::model::common::Snssai as Slice;

    fn reference(number: u64) -> SmContextRef {
        SmContextRef::new("127.0.0.1:7000".parse().expect("an address"), number)
    }

    fn context(number: u64, session: u8) -> Arc<SmContext> {
        Arc::new(SmContext {
            reference: reference(number),
            supi: "imsi-001010000000001".to_owned(),
            pdu_session_id: session,
            slice: Slice { sst: 1, sd: None },
            dnn: "internet".to_owned(),
            address: [10, 45, 0, 2].into(),
            subscription: subscription::DEFAULT,
            uplink: None,
            status_uri: String::new(),
            state: State::Establishing,
            pti: 1,
        })
    }

    #[test]
    fn a_session_has_one_context_and_the_former_is_told() {
        let sessions = Sessions::default();
        assert!(sessions.begin(&context(1, 5)).is_none());
        assert!(sessions.begin(&context(2, 6)).is_none());
        let before = sessions.begin(&context(3, 5)).expect("one");
        assert_eq!(before.reference, reference(1));
        assert!(sessions.end(before.reference));
        // The end of the former is not that of the latter.
        let before = sessions.begin(&context(4, 5)).expect("one");
        assert_eq!(before.reference, reference(3));
    }

    #[test]
    fn what_has_ended_stays_so_whatever_is_still_on_its_way() {
        let sessions = Sessions::default();
        assert!(sessions.begin(&context(1, 5)).is_none());
        assert!(sessions.end(reference(1)));
        assert!(!sessions.end(reference(1)), "RELEASE COMPLETE twice");
        assert!(sessions.take_over(context(1, 5)).is_none());
        assert_eq!(sessions.len(), 0);
        assert!(sessions.take_over(context(2, 5)).is_some());
    }

    #[test]
    fn a_change_is_of_what_is_held_now_and_of_nothing_that_has_ended() {
        let sessions = Sessions::default();
        let context = context(1, 5);
        assert!(sessions.begin(&context).is_none());
        let active = sessions.change(Arc::clone(&context), |held| held.state = State::Active);
        assert_eq!(active.expect("held").state, State::Active);
        // By a procedure that read it before.
        let moved = sessions.change(context, |held| held.status_uri = "http://amf".to_owned());
        let moved = moved.expect("held");
        assert_eq!(moved.state, State::Active);
        assert!(sessions.end(moved.reference));
        assert!(
            sessions
                .change(moved, |held| held.state = State::Active)
                .is_none()
        );
    }
}
