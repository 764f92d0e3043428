//! UpdateSMContext (TS 29.502, 5.2.2.3): what a request is about.

use super::lookup::context_of;
use super::reply::{gone, not_saved};
use super::{activation, modification, release};
use crate::sbi::{Exchange, Problem, Reply};
use crate::smf::context::job::Job;
use crate::smf::context::models::SmContextUpdateData;
use crate::smf::context::n1::{self as nas, Request};
use crate::smf::context::replica::Replica;
use crate::smf::context::session::SmContext;
use crate::smf::peers::nudsf;
use std::sync::Arc;

/// An update: what it is about decides which procedure it belongs to.
pub(super) async fn update(replica: Arc<Replica>, exchange: Exchange) -> Result<Reply, Problem> {
    let sbi = replica.sbi();
    let mut context = context_of(&replica, &exchange, &sbi).await?;
    let message = exchange.multipart()?;
    let data: SmContextUpdateData = message.json()?;
    let amf = data.sm_context_status_uri.as_ref();
    if let Some(uri) = amf {
        // Another AMF serves the UE now.
        let moved = |context: &mut SmContext| context.status_uri.clone_from(uri);
        context = replica.sessions.change(context, moved).ok_or_else(gone)?;
    }
    if let Some(kind) = data.n2_sm_info_type.as_deref() {
        let part = data.n2_sm_info.as_ref();
        let octets = part.and_then(|part| message.part(&part.content_id));
        let octets = octets.map_or(&[][..], |octets| octets);
        return match kind {
            "PDU_RES_SETUP_RSP" => activation::activated(&replica, context, octets, &sbi).await,
            "PDU_RES_SETUP_FAIL" => activation::failed(&replica, context, &sbi).await,
            // The gNB has done what it was asked; the UE's answer ends these procedures.
            "PDU_RES_MOD_RSP" | "PDU_RES_MOD_FAIL" | "PDU_RES_REL_RSP" => Ok(Reply::no_content()),
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
            Some(Request::Modification { pti }) => modification::begin(&context, pti),
            Some(Request::ModificationComplete) => Ok(Reply::no_content()),
            Some(Request::Release { pti }) => release::begin(&replica, context, pti, &sbi).await,
            Some(Request::ReleaseComplete) => {
                replica.begin(&sbi, Job::EndRelease(context));
                Ok(Reply::no_content())
            }
            _ => Err(Problem::new(403, "N1_SM_ERROR")),
        };
    }
    match data.up_cnx_state.as_deref() {
        Some("ACTIVATING") => activation::activate(&replica, context, &sbi).await,
        Some("DEACTIVATED") => activation::deactivate(&replica, context, &sbi).await,
        _ if amf.is_some() => {
            let saved = nudsf::save(&replica, context, &sbi, |_| {}).await;
            saved.map_err(not_saved)?;
            Ok(Reply::no_content())
        }
        _ => Ok(Reply::no_content()),
    }
}
