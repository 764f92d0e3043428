//! The contexts of a replica, and their copies in the UDSF (TS 29.598).

use super::super::reference::SmContextRef;
use super::context::SmContext;
use crate::runtime::{Sbi, SbiFailure, SbiRequest};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

const SERVICE: &str = "nudsf-dr";
const RECORDS: &str = "/nudsf-dr/v1/corewire/smf/records";

/// The contexts that this replica holds.
#[derive(Debug, Default)]
pub(super) struct Contexts(Mutex<HashMap<SmContextRef, SmContext>>);

impl Contexts {
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
        if let Some(context) = self.lock().get(&reference) {
            return Ok(Some(context.clone()));
        }
        let request = SbiRequest::get(format!("{RECORDS}/{reference}"));
        match sbi.call(SERVICE, request).await {
            Ok(answer) => {
                let context: SmContext = answer.json()?;
                self.lock().insert(reference, context.clone());
                Ok(Some(context))
            }
            Err(failure) if failure.status() == Some(404) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Holds a context, and stores it.
    ///
    /// # Errors
    /// When the store does not take it; it is held here all the same.
    pub(super) async fn put(
        &self,
        reference: SmContextRef,
        context: SmContext,
        sbi: &Sbi,
    ) -> Result<(), SbiFailure> {
        let request = SbiRequest::put(format!("{RECORDS}/{reference}")).json(&context)?;
        self.lock().insert(reference, context);
        sbi.call(SERVICE, request).await.map(drop)
    }

    /// Forgets a context, here and in the store.
    ///
    /// # Errors
    /// When the store does not answer.
    pub(super) async fn remove(
        &self,
        reference: SmContextRef,
        sbi: &Sbi,
    ) -> Result<(), SbiFailure> {
        self.lock().remove(&reference);
        let request = SbiRequest::delete(format!("{RECORDS}/{reference}"));
        match sbi.call(SERVICE, request).await {
            Err(failure) if failure.status() != Some(404) => Err(failure),
            _ => Ok(()),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SmContextRef, SmContext>> {
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
