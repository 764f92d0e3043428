//! PDU session modification that the UE asks for (TS 23.502, 4.3.3.2; TS 24.501, 6.4.2).

use super::super::models::{SmContextUpdateData, n1, n2};
use super::context::SmContext;
use super::n1 as nas;
use super::service::PduSessions;
use super::update::answer;
use crate::ngap::transfer::ModifyRequestTransfer;
use crate::sbi::{Problem, Reply};

impl PduSessions {
    /// Grants what the subscription allows, which is what the session has: the command repeats its
    /// AMBR and flow to UE and gNB.
    pub(super) fn modify(&self, context: &SmContext, pti: u8) -> Result<Reply, Problem> {
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
        answer(&data, command, Some(transfer.into()))
    }
}
