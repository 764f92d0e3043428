//! PDU session modification that the UE asks for (TS 23.502, 4.3.3.2; TS 24.501, 6.4.2).

use super::reply::{to_ue, updated};
use crate::context::commands::Kind;
use crate::context::n1 as nas;
use crate::context::replica::Replica;
use crate::context::session::{SmContext, State};
use corewire_core5g_nas::SmCause;
use corewire_core5g_ngap::transfer::ModifyRequestTransfer;
use corewire_core5g_sbi::model::smf::{SmContextUpdateData, n1, n2};
use corewire_core5g_sbi::{Problem, Reply};

/// Grants what the subscription allows, which is what the session has: the command repeats its AMBR to the UE,
/// and with its flow to a gNB that has resources for it. Rules of the UE's own are refused.
pub(super) fn begin(
    replica: &Replica,
    context: &SmContext,
    pti: u8,
    has_rules: bool,
) -> Result<Reply, Problem> {
    if context.state == State::Releasing {
        // TS 24.501, 6.3.3.5: the release goes on, and the request is ignored.
        return Ok(Reply::no_content());
    }
    if has_rules {
        // TS 24.501, 6.4.2.4.
        let cause = SmCause::NOT_SUPPORTED;
        let reject = nas::modification_reject(context.pdu_session_id, pti, cause);
        return Ok(to_ue(reject));
    }
    let command = nas::modification_command(context, pti);
    replica.expect_answer(context.reference, Kind::Modification, pti, command.as_ref());
    if context.state != State::Active {
        return Ok(to_ue(command));
    }
    let transfer = ModifyRequestTransfer {
        rate: Some(context.rate()),
        flows: vec![context.flow()],
    }
    .encode()
    .map_err(|error| Problem::failure(error.to_string()))?;
    let data = SmContextUpdateData {
        n1_sm_msg: command.as_ref().map(|_| n1::reference()),
        n2_sm_info: Some(n2::reference()),
        n2_sm_info_type: Some("PDU_RES_MOD_REQ".to_owned()),
        ..SmContextUpdateData::default()
    };
    Ok(updated(&data, command, Some(transfer.into())))
}
