//! What other NFs ask of an AMF: Namf_Communication (TS 29.518), and what it is called back for.

use super::restoration;
use crate::context::session::{FailureNotice, Transfer};
use crate::context::ue::{Amf, Delivery, Event, Notice, Slot, Why};
use corewire_core5g_nas::{PayloadKind, PduSessionId};
use corewire_core5g_sbi::model::smf::{N1N2MessageTransferReqData, N1N2MessageTransferRspData};
use corewire_core5g_sbi::model::udm::DeregistrationData;
use corewire_core5g_sbi::{Exchange, Multipart, Problem, Reply, Router};
use std::sync::Arc;

/// Octets of a correlation identifier (TS 29.572, 6.1.6.3.2): they fit their element of NAS.
const MAX_CORRELATION: usize = 255;

/// The resources of an AMF.
pub(crate) fn router(amf: Arc<Amf>) -> Router<Amf> {
    Router::new(amf)
        .post(
            "/namf-comm/v1/ue-contexts/{ueContextId}/n1-n2-messages",
            transfer,
        )
        .post(
            "/namf-callback/v1/{supi}/sm-context-status/{pduSessionId}/{handle}",
            session_status,
        )
        .post(
            "/namf-callback/v1/{supi}/dereg-notify/{registration}",
            deregister,
        )
}

/// N1N2MessageTransfer (TS 29.518, 5.2.2.3.1).
async fn transfer(amf: Arc<Amf>, exchange: Exchange) -> Result<Reply, Problem> {
    let message = exchange.multipart()?;
    let data: N1N2MessageTransferReqData = message.json()?;
    let (failure_uri, mut transfer) = read_transfer(&message, data)?;
    let context = exchange.param("ueContextId");
    let slot = ue_of(&amf, context).await?;
    if !amf.silence.is_reachable(amf.clock.now(), &slot.idle) {
        // It is not called any more (TS 24.501, 5.3.7).
        return Err(Problem::new(504, "UE_NOT_REACHABLE"));
    }
    let is_connected = slot.is_connected();
    let (status, cause) = if is_connected {
        (200, "N1_N2_TRANSFER_INITIATED")
    } else {
        (202, "ATTEMPTING_TO_REACH_UE")
    };
    let reply = Reply::json(
        status,
        &N1N2MessageTransferRspData {
            cause: cause.to_owned(),
        },
    );
    let resource = || {
        let (root, number) = (&amf.own.api_root, amf.clock.unique_number());
        format!("{root}/namf-comm/v1/ue-contexts/{context}/n1-n2-messages/{number}")
    };
    // What is not done yet has a resource, which the notification of its failure names (6.1.3.5.3.1).
    let resource = (!is_connected).then(resource);
    transfer.failure = failure_uri
        .zip(resource.clone())
        .map(|(to, transfer)| Box::new(FailureNotice { to, transfer }));
    deliver(&slot, Event::Transfer(Box::new(transfer)))?;
    Ok(match resource {
        Some(resource) => reply.header("location", &resource),
        None => reply,
    })
}

/// What is to be transferred, and where its failure is notified.
fn read_transfer(
    message: &Multipart,
    data: N1N2MessageTransferReqData,
) -> Result<(Option<String>, Transfer), Problem> {
    let kind = match &data.n1_message_container {
        Some(container) => payload_kind(&container.n1_message_class)?,
        None => PayloadKind::Sm,
    };
    let n1_message = data.n1_message_container.and_then(|container| {
        message
            .part(&container.n1_message_content.content_id)
            .cloned()
    });
    let n2_info = match data.n2_info_container {
        Some(container) if container.n2_information_class != "SM" => {
            let place = "/n2InfoContainer/n2InformationClass";
            return Err(Problem::mandatory_incorrect(
                place,
                "SM is transferred here",
            ));
        }
        container => container,
    };
    let n2_info = n2_info
        .and_then(|container| container.sm_info)
        .and_then(|info| info.n2_info_content)
        .and_then(|content| {
            let octets = message.part(&content.ngap_data.content_id)?.clone();
            Some((content.ngap_ie_type.unwrap_or_default(), octets))
        });
    if n1_message.is_none() && n2_info.is_none() {
        return Err(Problem::mandatory_missing("/n1MessageContainer"));
    }
    let session = match (kind, data.pdu_session_id) {
        (PayloadKind::Sm, None) => return Err(Problem::mandatory_missing("/pduSessionId")),
        (PayloadKind::Sm, Some(number)) => {
            let session = PduSessionId::new(number);
            let fault = || Problem::mandatory_incorrect("/pduSessionId", "1 to 15");
            Some(session.ok_or_else(fault)?)
        }
        // Of another kind: it is about no session.
        (_, _) => None,
    };
    let correlation = data.lcs_correlation_id;
    if correlation
        .as_ref()
        .is_some_and(|id| id.is_empty() || id.len() > MAX_CORRELATION)
    {
        return Err(Problem::mandatory_incorrect(
            "/lcsCorrelationId",
            "1 to 255 octets",
        ));
    }
    let transfer = Transfer {
        session,
        kind,
        correlation,
        n1_message,
        n2_info,
        failure: None,
    };
    Ok((data.failure_uri, transfer))
}

/// N1MessageClass (TS 29.518, 6.1.6.3.4) as what a payload container holds.
fn payload_kind(class: &str) -> Result<PayloadKind, Problem> {
    Ok(match class {
        "SM" => PayloadKind::Sm,
        "SMS" => PayloadKind::Sms,
        "LPP" => PayloadKind::Lpp,
        "UPDP" => PayloadKind::UePolicy,
        "LCS" => PayloadKind::LocationServices,
        _ => {
            let place = "/n1MessageContainer/n1MessageClass";
            return Err(Problem::mandatory_incorrect(
                place,
                "SM, SMS, LPP, UPDP or LCS",
            ));
        }
    })
}

/// SmContextStatusNotify (TS 29.502, 5.2.2.5).
async fn session_status(amf: Arc<Amf>, exchange: Exchange) -> Result<Reply, Problem> {
    let unknown = |_| Problem::new(404, "CONTEXT_NOT_FOUND");
    let session: u8 = exchange.param("pduSessionId").parse().map_err(unknown)?;
    let handle: u64 = exchange.param("handle").parse().map_err(unknown)?;
    let slot = ue_of(&amf, exchange.param("supi")).await?;
    deliver(&slot, Event::SessionReleased { session, handle })?;
    Ok(Reply::no_content())
}

/// DeregistrationNotification (TS 29.503, 5.3.2.3). It names the registration that it means: another
/// AMF may have been at this address before, and the UE may have come anew since.
async fn deregister(amf: Arc<Amf>, exchange: Exchange) -> Result<Reply, Problem> {
    let unknown = |_| Problem::new(404, "CONTEXT_NOT_FOUND");
    let registration: u64 = exchange.param("registration").parse().map_err(unknown)?;
    let data: DeregistrationData = exchange.json()?;
    let why = match data.dereg_reason.as_str() {
        "SUBSCRIPTION_WITHDRAWN" => Why::Withdrawn,
        "REREGISTRATION_REQUIRED" => Why::ToRegisterAgain,
        _ => Why::Elsewhere,
    };
    let slot = ue_of(&amf, exchange.param("supi")).await?;
    deliver(&slot, Event::Deregister(Notice { registration, why }))?;
    Ok(Reply::no_content())
}

/// The UE that a resource names: one of here, or one that is found in the store.
async fn ue_of(amf: &Arc<Amf>, supi: &str) -> Result<Arc<Slot>, Problem> {
    if let Some(slot) = amf.ues.by_supi(supi) {
        return Ok(slot);
    }
    let found = restoration::find_supi(amf, supi).await;
    found.ok_or_else(|| Problem::new(404, "CONTEXT_NOT_FOUND"))
}

fn deliver(slot: &Arc<Slot>, event: Event) -> Result<(), Problem> {
    match slot.deliver(event) {
        Delivery::Taken => Ok(()),
        Delivery::Dropped => Err(Problem::new(504, "UE_NOT_REACHABLE")),
    }
}
