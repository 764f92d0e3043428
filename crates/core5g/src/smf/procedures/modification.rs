//! PDU session modification that the UE asks for (TS 23.502, 4.3.3.2; TS 24.501, 6.4.2).

use super::reply::updated;
use crate::ngap::transfer::ModifyRequestTransfer;
use crate::sbi::{Problem, Reply};
use crate::smf::context::models::{SmContextUpdateData, n1, n2};
use crate::smf::context::n1 as nas;
use crate::smf::context::session::SmContext;

/// Grants what the subscription allows, which is what the session has: the command repeats its
/// AMBR and flow to UE and gNB.
pub(super) fn begin(context: &SmContext, pti: u8) -> Result<Reply, Problem> {
    let command = nas::modification_command(context, pti);
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
