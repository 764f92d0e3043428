//! The contexts of a replica, and their copies in the UDSF (TS 29.598).

use super::super::reference::SmContextRef;
use super::context::SmContext;
use crate::runtime::{Sbi, SbiFailure, SbiRequest};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SERVICE: &str = "nudsf-dr";
const RECORDS: &str = "/nudsf-dr/v1/corewire/smf/records";

/// Contexts that have ended and are remembered: what is still on its way for one of them, an answer
/// of the store above all, must not bring it back.
const MAX_ENDED: usize = 4096;

/// A session as the UE has it: its SUPI and number.
type Key = (String, u8);

/// The contexts that this replica holds. A reference is never used again, so one that has ended has
/// ended for good.
#[derive(Debug, Default)]
pub(super) struct Contexts(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    contexts: HashMap<SmContextRef, SmContext>,
    /// The one context that a session has.
    of_session: HashMap<Key, SmContextRef>,
    ended: HashSet<SmContextRef>,
    /// The same, in the order in which they ended.
    ended_in_order: VecDeque<SmContextRef>,
}

impl Held {
    fn insert(&mut self, reference: SmContextRef, context: SmContext) {
        self.of_session.insert(key(&context), reference);
        self.contexts.insert(reference, context);
    }
}

fn key(context: &SmContext) -> Key {
    (context.supi.clone(), context.pdu_session_id)
}

impl Contexts {
    /// Holds a new context; gives the one that its session had before, which the UE has no more
    /// (TS 29.502, 5.2.2.2.1): it is to be ended.
    pub(super) fn begin(
        &self,
        reference: SmContextRef,
        context: SmContext,
    ) -> Option<(SmContextRef, SmContext)> {
        let mut held = self.lock();
        let before = held.of_session.get(&key(&context)).copied();
        let before = before.and_then(|before| Some((before, held.contexts.get(&before)?.clone())));
        held.insert(reference, context);
        before
    }

    /// The context of this reference: held here, or taken over from the store. `None` when there is
    /// none.
    ///
    /// # Errors
    /// When the store does not answer.
    pub(super) async fn find(
        &self,
        reference: SmContextRef,
        sbi: &Sbi,
    ) -> Result<Option<SmContext>, SbiFailure> {
        {
            let held = self.lock();
            if let Some(context) = held.contexts.get(&reference) {
                return Ok(Some(context.clone()));
            }
            if held.ended.contains(&reference) {
                return Ok(None);
            }
        }
        let request = SbiRequest::get(format!("{RECORDS}/{reference}"));
        match sbi.call(SERVICE, request).await {
            Ok(answer) => {
                let context: SmContext = answer.json()?;
                Ok(self.take_over(reference, context))
            }
            Err(failure) if failure.status() == Some(404) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Holds what the store has, unless it has changed or ended here meanwhile.
    fn take_over(&self, reference: SmContextRef, context: SmContext) -> Option<SmContext> {
        let mut held = self.lock();
        if held.ended.contains(&reference) {
            return None;
        }
        if let Some(newer) = held.contexts.get(&reference) {
            return Some(newer.clone());
        }
        held.insert(reference, context.clone());
        Some(context)
    }

    /// Changes a context that is held, and stores it.
    ///
    /// # Errors
    /// When it has ended, or the store does not take it; it is held here all the same then.
    pub(super) async fn put(
        &self,
        reference: SmContextRef,
        context: SmContext,
        sbi: &Sbi,
    ) -> Result<(), SbiFailure> {
        let request = SbiRequest::put(format!("{RECORDS}/{reference}")).json(&context)?;
        {
            let mut held = self.lock();
            let Some(entry) = held.contexts.get_mut(&reference) else {
                return Err(SbiFailure::local("the session has ended"));
            };
            *entry = context;
        }
        sbi.call(SERVICE, request).await.map(drop)?;
        if self.lock().contexts.contains_key(&reference) {
            return Ok(());
        }
        // It ended meanwhile: the record may have been written behind its removal.
        self.remove_stored(reference, sbi).await?;
        Err(SbiFailure::local("the session has ended"))
    }

    /// Ends a context here; says whether it had not ended before. Whoever is told so does the rest.
    pub(super) fn end(&self, reference: SmContextRef) -> bool {
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

    /// Whether it has ended.
    pub(super) fn has_ended(&self, reference: SmContextRef) -> bool {
        self.lock().ended.contains(&reference)
    }

    /// Removes a context from the store.
    ///
    /// # Errors
    /// When the store does not answer.
    pub(super) async fn remove_stored(
        &self,
        reference: SmContextRef,
        sbi: &Sbi,
    ) -> Result<(), SbiFailure> {
        let request = SbiRequest::delete(format!("{RECORDS}/{reference}"));
        match sbi.call(SERVICE, request).await {
            Err(failure) if failure.status() != Some(404) => Err(failure),
            _ => Ok(()),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lock().contexts.len()
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Every stored context, whoever made it: a replica that starts must not give away their addresses.
///
/// # Errors
/// When the store does not answer.
pub(super) async fn stored(sbi: &Sbi) -> Result<Vec<SmContext>, SbiFailure> {
    #[derive(serde::Deserialize)]
    struct Entry {
        id: String,
        record: serde_json::Value,
    }
    let mut contexts = Vec::new();
    let mut after = String::new();
    // A page at a time; behind the last there is an empty one.
    loop {
        let path = format!("{RECORDS}?prefix=&after={after}");
        let page: Vec<Entry> = sbi.call(SERVICE, SbiRequest::get(path)).await?.json()?;
        let Some(last) = page.last().filter(|last| last.id != after) else {
            return Ok(contexts);
        };
        after.clone_from(&last.id);
        let records = page.into_iter().map(|entry| entry.record);
        contexts.extend(records.filter_map(|record| serde_json::from_value(record).ok()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::context::State;
    use super::*;
    use crate::smf::models::Slice;
    use crate::smf::pdu_session::subscription;

    fn reference(number: u64) -> SmContextRef {
        SmContextRef::new("127.0.0.1:7000".parse().expect("an address"), number)
    }

    fn context(number: u64, session: u8) -> SmContext {
        SmContext {
            reference: reference(number).to_string(),
            supi: "imsi-001010000000001".to_owned(),
            pdu_session_id: session,
            slice: Slice { sst: 1, sd: None },
            dnn: "internet".to_owned(),
            address: [10, 45, 0, 2].into(),
            subscription: subscription::DEFAULT,
            uplink: None,
            status_uri: String::new(),
            state: State::Establishing,
        }
    }

    #[test]
    fn a_session_has_one_context_and_the_former_is_told() {
        let contexts = Contexts::default();
        assert!(contexts.begin(reference(1), context(1, 5)).is_none());
        assert!(contexts.begin(reference(2), context(2, 6)).is_none());
        let (before, _) = contexts.begin(reference(3), context(3, 5)).expect("one");
        assert_eq!(before, reference(1));
        assert!(contexts.end(before));
        // The end of the former is not that of the latter.
        let (before, _) = contexts.begin(reference(4), context(4, 5)).expect("one");
        assert_eq!(before, reference(3));
    }

    #[test]
    fn what_has_ended_stays_so_whatever_is_still_on_its_way() {
        let contexts = Contexts::default();
        assert!(contexts.begin(reference(1), context(1, 5)).is_none());
        assert!(contexts.end(reference(1)));
        assert!(!contexts.end(reference(1)), "RELEASE COMPLETE twice");
        assert!(contexts.take_over(reference(1), context(1, 5)).is_none());
        assert_eq!(contexts.len(), 0);
        assert!(contexts.take_over(reference(2), context(2, 5)).is_some());
    }
}
