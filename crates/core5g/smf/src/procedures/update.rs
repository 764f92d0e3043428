//! UpdateSMContext (TS 29.502, 5.2.2.3): what a request is about.

use super::lookup::context_of;
use super::reply::{gone, not_saved, to_ue};
use super::{activation, modification, release};
use crate::context::commands::Kind;
use crate::context::job::Job;
use crate::context::n1::{self as nas, NO_PTI, Request, Uplink};
use crate::context::replica::Replica;
use crate::context::session::{SmContext, State};
use crate::peers::nudsf;
use crate::ports::Sbi;
use corewire_core5g_nas::SmCause;
use corewire_core5g_sbi::model::smf::SmContextUpdateData;
use corewire_core5g_sbi::{Exchange, Problem, Reply};
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
            Some(uplink) if uplink.session == context.pdu_session_id => {
                on_n1(&replica, context, &uplink, &sbi).await
            }
            // Nothing that could be answered, or of another session than the AMF means.
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

/// A 5GSM message of the UE.
async fn on_n1(
    replica: &Arc<Replica>,
    context: Arc<SmContext>,
    uplink: &Uplink,
    sbi: &Sbi,
) -> Result<Reply, Problem> {
    let (session, pti) = (context.pdu_session_id, uplink.pti);
    let (commands, reference) = (&replica.commands, context.reference);
    let is_answer = |kind| commands.answered(reference, kind, pti);
    let is_taken_over = context.state == State::Releasing && !commands.waits(reference);
    match uplink.request {
        // What a UE asks for has a transaction (TS 24.501, 7.3.1).
        Request::Modification { .. } if pti == NO_PTI => {
            let cause = SmCause::INVALID_PTI;
            Ok(to_ue(nas::modification_reject(session, pti, cause)))
        }
        Request::Release if pti == NO_PTI => {
            let cause = SmCause::INVALID_PTI;
            Ok(to_ue(nas::release_reject(session, pti, cause)))
        }
        Request::Modification { has_rules } => {
            modification::begin(replica, &context, pti, has_rules)
        }
        Request::Release => release::begin(replica, context, pti, sbi).await,
        Request::ModificationComplete if is_answer(Kind::Modification) => Ok(Reply::no_content()),
        // Also of a command that another replica, or an earlier process, has sent.
        Request::ReleaseComplete if is_answer(Kind::Release) || is_taken_over => {
            Ok(end(replica, context, sbi))
        }
        // It answers no command (TS 24.501, 7.3.1).
        Request::ModificationComplete | Request::ReleaseComplete => {
            let cause = SmCause::PTI_MISMATCH;
            Ok(to_ue(nas::status(session, pti, cause)))
        }
        // TS 24.501, 6.3.2.4 and 6.5.3: the UE has no such session, or it stays as it is.
        Request::ModificationCommandReject(cause) | Request::Status(cause) => {
            commands.refused(reference, pti);
            match cause {
                SmCause::INVALID_SESSION_IDENTITY => Ok(end(replica, context, sbi)),
                _ => Ok(Reply::no_content()),
            }
        }
        // TS 24.501, 7.4.
        Request::Unknown | Request::Establishment(_) => {
            let cause = SmCause::MESSAGE_TYPE_UNKNOWN;
            Ok(to_ue(nas::status(session, pti, cause)))
        }
    }
}

/// The session ends behind the answer.
fn end(replica: &Arc<Replica>, context: Arc<SmContext>, sbi: &Sbi) -> Reply {
    replica.begin(sbi, Job::EndRelease(context));
    Reply::no_content()
}
