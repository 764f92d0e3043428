//! The session that a request is about.

use super::reply::{gone, unavailable};
use crate::context::reference::SmContextRef;
use crate::context::replica::Replica;
use crate::context::session::SmContext;
use crate::peers::nudsf;
use crate::ports::Sbi;
use corewire_core5g_sbi::{Exchange, Problem};
use std::sync::Arc;

/// The context that a request names, held here or taken over from the store.
///
/// # Errors
/// 404 when there is none, 504 when the store does not answer.
pub(super) async fn context_of(
    replica: &Replica,
    exchange: &Exchange,
    sbi: &Sbi,
) -> Result<Arc<SmContext>, Problem> {
    let reference: SmContextRef = exchange.param("smContextRef").parse().map_err(|_| gone())?;
    let found = nudsf::find(replica, reference, sbi).await;
    let Some(context) = found.map_err(unavailable)? else {
        // Ended by a replica that took it over; its address may be one of this one's.
        replica.pools().give_back(reference);
        return Err(gone());
    };
    replica.count();
    Ok(context)
}
