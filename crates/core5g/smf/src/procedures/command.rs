//! Commands to the UE that it does not answer: T3591 and T3592 (TS 24.501, 6.3.2.5 and 6.3.3.5).

use super::release;
use crate::context::commands::{Expiry, Kind};
use crate::context::replica::Replica;
use crate::context::session::{SmContext, State};
use crate::peers::namf;
use crate::ports::Sbi;
use std::sync::Arc;

/// A command was not answered in time. A gNB has long done what it was asked: only the UE gets it again. What
/// was modified stays as it is when it never answers; what was to end ends.
pub(crate) async fn expired(
    replica: &Arc<Replica>,
    context: Arc<SmContext>,
    expiry: Expiry,
    sbi: &Sbi,
) {
    let reference = context.reference;
    match expiry {
        Expiry::Again(command) => {
            if let Err(failure) = namf::transfer(sbi, &context, Some(command), None, None).await {
                tracing::warn!(name: "command-not-sent", "{reference}: no command for the UE: {failure}");
            }
        }
        Expiry::GivenUp(kind) => {
            tracing::info!(name: "ue-silent", "{reference}: the UE does not answer a command: {kind:?}");
            let is_unfinished = match kind {
                Kind::Establishment => context.state == State::Establishing,
                Kind::Modification => false,
                Kind::Release => true,
            };
            if is_unfinished {
                release::end(replica, &context, sbi).await;
            }
        }
    }
}
