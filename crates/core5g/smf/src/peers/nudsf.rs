//! Nudsf_DataRepository (TS 29.598): sessions' contexts, as far as they must outlive this process.

use crate::context::reference::SmContextRef;
use crate::context::replica::Replica;
use crate::context::session::SmContext;
use crate::context::sessions::Known;
use crate::ports::Sbi;
use corewire_core5g_runtime::{SbiFailure, SbiRequest};
use std::sync::Arc;

const SERVICE: &str = "nudsf-dr";
const RECORDS: &str = "/nudsf-dr/v1/corewire/smf/records";

/// The context of this reference: held here, or taken over from the store. `None` when there is none.
///
/// # Errors
/// When the store does not answer.
pub(crate) async fn find(
    replica: &Replica,
    reference: SmContextRef,
    sbi: &Sbi,
) -> Result<Option<Arc<SmContext>>, SbiFailure> {
    match replica.sessions.find(reference) {
        Known::Held(context) => return Ok(Some(context)),
        Known::Ended => return Ok(None),
        Known::Nothing => {}
    }
    let request = SbiRequest::get(format!("{RECORDS}/{reference}"));
    match sbi.call(SERVICE, request).await {
        Ok(answer) => Ok(replica.sessions.take_over(Arc::new(answer.json()?))),
        Err(failure) if failure.status() == Some(404) => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Why a change of a context is not stored.
pub(crate) enum NotSaved {
    /// It has ended.
    Ended,
    /// The store does not take it; it is changed here all the same.
    Refused(SbiFailure),
}

impl From<SbiFailure> for NotSaved {
    fn from(failure: SbiFailure) -> Self {
        Self::Refused(failure)
    }
}

/// As a line of the log says it.
impl From<NotSaved> for SbiFailure {
    fn from(why: NotSaved) -> Self {
        match why {
            NotSaved::Ended => Self::local("the session has ended"),
            NotSaved::Refused(failure) => failure,
        }
    }
}

/// Changes a context that is held, and stores it; gives it as it is then.
///
/// # Errors
/// When it has ended, or the store does not take it.
pub(crate) async fn save(
    replica: &Replica,
    context: Arc<SmContext>,
    sbi: &Sbi,
    change: impl FnOnce(&mut SmContext),
) -> Result<Arc<SmContext>, NotSaved> {
    let reference = context.reference;
    let changed = replica.sessions.change(context, change);
    let changed = changed.ok_or(NotSaved::Ended)?;
    let request = SbiRequest::put(format!("{RECORDS}/{reference}")).json(&*changed)?;
    sbi.call(SERVICE, request).await?;
    if replica.sessions.holds(reference) {
        return Ok(changed);
    }
    // It ended meanwhile: the record may have been written behind its removal.
    remove(reference, sbi).await?;
    Err(NotSaved::Ended)
}

/// Removes a context from the store.
///
/// # Errors
/// When the store does not answer.
pub(crate) async fn remove(reference: SmContextRef, sbi: &Sbi) -> Result<(), SbiFailure> {
    let request = SbiRequest::delete(format!("{RECORDS}/{reference}"));
    match sbi.call(SERVICE, request).await {
        Err(failure) if failure.status() != Some(404) => Err(failure),
        _ => Ok(()),
    }
}

/// Every stored context, whoever made it: a replica that starts must not give away their addresses.
///
/// # Errors
/// When the store does not answer.
pub(crate) async fn stored(sbi: &Sbi) -> Result<Vec<SmContext>, SbiFailure> {
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
