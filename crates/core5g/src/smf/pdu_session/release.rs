//! PDU session release that the UE asks for (TS 23.502, 4.3.4.2; TS 24.501, 6.4.3).

use super::super::models::{SmContextUpdateData, n1, n2};
use super::super::reference::SmContextRef;
use super::context::{SmContext, State};
use super::n1::{self as nas};
use super::n1n2;
use super::service::{PduSessions, unavailable};
use super::update::answer;
use crate::nas::SmCause;
use crate::ngap::Cause;
use crate::ngap::transfer::ReleaseCommandTransfer;
use crate::runtime::Sbi;
use crate::sbi::{Problem, Reply};
use std::sync::Arc;

impl PduSessions {
    /// Tells the UE to let go, and the gNB too when it holds resources.
    pub(super) async fn begin_release(
        &self,
        reference: SmContextRef,
        mut context: SmContext,
        pti: u8,
        sbi: &Sbi,
    ) -> Result<Reply, Problem> {
        let had_resources = context.state == State::Active;
        let command =
            nas::release_command(context.pdu_session_id, pti, SmCause::REGULAR_DEACTIVATION);
        context.state = State::Releasing;
        self.contexts
            .put(reference, context, sbi)
            .await
            .map_err(unavailable)?;
        let transfer = match had_resources {
            true => Some(
                ReleaseCommandTransfer {
                    cause: Cause::NORMAL_RELEASE,
                }
                .encode()
                .map_err(|error| Problem::failure(error.to_string()))?
                .into(),
            ),
            false => None,
        };
        let data = SmContextUpdateData {
            n1_sm_msg: command.as_ref().map(|_| n1::reference()),
            n2_sm_info: transfer.as_ref().map(|_| n2::reference()),
            n2_sm_info_type: transfer.as_ref().map(|_| "PDU_RES_REL_CMD".to_owned()),
            ..SmContextUpdateData::default()
        };
        answer(&data, command, transfer)
    }

    /// The UE has let go: the session is gone, and the AMF is told so behind the answer.
    pub(super) fn end_release(
        self: &Arc<Self>,
        reference: SmContextRef,
        context: &SmContext,
        sbi: &Sbi,
    ) {
        let (task, context, sbi) = (Arc::clone(self), context.clone(), sbi.clone());
        self.runtime.spawn(self.turn(), async move {
            task.forget(reference, &context, &sbi).await;
            if let Err(failure) = n1n2::notify_released(&sbi, &context).await {
                tracing::warn!(
                    name: "amf-not-notified",
                    "{reference}: the AMF was not notified of the release: {failure}"
                );
            }
        });
    }
}
