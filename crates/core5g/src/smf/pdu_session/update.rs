//! UpdateSMContext (TS 29.502, 5.2.2.3): what a request is about, and its answer.

use super::super::models::{SmContextUpdateData, n1, n2};
use super::n1::{self as nas, Request};
use super::service::PduSessions;
use crate::sbi::{Exchange, Multipart, Problem, Reply};
use bytes::Bytes;
use std::sync::Arc;

impl PduSessions {
    /// An update: what it is about decides which procedure it belongs to.
    pub(super) async fn update(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let sbi = self.runtime.sbi(self.turn());
        let (reference, mut context) = self.context_of(&exchange, &sbi).await?;
        let message = exchange.multipart()?;
        let data: SmContextUpdateData = message.json()?;
        if let Some(uri) = &data.sm_context_status_uri {
            // Another AMF serves the UE now.
            context.status_uri.clone_from(uri);
        }
        if let Some(kind) = data.n2_sm_info_type.as_deref() {
            let part = data.n2_sm_info.as_ref();
            let octets = part.and_then(|part| message.part(&part.content_id));
            let octets = octets.map_or(&[][..], |octets| octets);
            return match kind {
                "PDU_RES_SETUP_RSP" => self.activated(reference, context, octets, &sbi).await,
                "PDU_RES_SETUP_FAIL" => self.deactivate(reference, context, &sbi).await,
                // The gNB has done what it was asked; the UE's answer ends these procedures.
                "PDU_RES_MOD_RSP" | "PDU_RES_MOD_FAIL" | "PDU_RES_REL_RSP" => {
                    Ok(Reply::no_content())
                }
                _ => Err(Problem::mandatory_incorrect(
                    "/n2SmInfoType",
                    "it is not known here",
                )),
            };
        }
        if let Some(part) = &data.n1_sm_msg {
            let octets = message
                .part(&part.content_id)
                .ok_or_else(|| Problem::mandatory_missing("/n1SmMsg"))?;
            return match nas::decode(octets) {
                Some(Request::Modification { pti }) => self.modify(&context, pti),
                Some(Request::ModificationComplete) => Ok(Reply::no_content()),
                Some(Request::Release { pti }) => {
                    self.begin_release(reference, context, pti, &sbi).await
                }
                Some(Request::ReleaseComplete) => {
                    self.end_release(reference, &context, &sbi);
                    Ok(Reply::no_content())
                }
                _ => Err(Problem::new(403, "N1_SM_ERROR")),
            };
        }
        match data.up_cnx_state.as_deref() {
            Some("ACTIVATING") => self.activate(reference, context, &sbi).await,
            Some("DEACTIVATED") => self.deactivate(reference, context, &sbi).await,
            _ => Ok(Reply::no_content()),
        }
    }
}

/// SmContextUpdatedData, with its parts.
pub(super) fn answer(
    data: &SmContextUpdateData,
    n1_message: Option<Bytes>,
    n2_info: Option<Bytes>,
) -> Result<Reply, Problem> {
    if n1_message.is_none() && n2_info.is_none() {
        return Ok(Reply::ok(data));
    }
    let mut message = Multipart::new(data);
    if let Some(octets) = n1_message {
        message = message.with(n1::ID, n1::MEDIA_TYPE, octets);
    }
    if let Some(octets) = n2_info {
        message = message.with(n2::ID, n2::MEDIA_TYPE, octets);
    }
    let (content_type, body) = message.encode();
    Ok(Reply::octets(200, &content_type, body))
}
