//! What passes between UEs, gNBs and SMFs through the AMF: 5GSM messages in NAS TRANSPORT, resources
//! in NGAP (TS 23.502, 4.3; TS 24.501, 5.4.5). The AMF reads neither.

use super::{an_release, paging};
use crate::context::session::{GnbContext, Session, Transfer};
use crate::context::ue::Ue;
use crate::peers::flow::Milestone;
use crate::peers::nsmf::{self, NotCreated, Updated};
use crate::peers::{flow_of, note};
use corewire_core5g_nas::{
    DownlinkNasTransport, MmCause, NasMessage, PduSessionId, PduSessionSet, RequestKind,
    UplinkNasTransport,
};
use corewire_core5g_ngap::{NgapMessage, SessionModify, SessionSetup, SessionTransfer};
use corewire_core5g_sbi::model::common::Snssai as Slice;

/// Messages of SMFs that may wait for one UE.
const MAX_PENDING: usize = 32;

/// UL NAS TRANSPORT: to the SMF of the session, or a new one.
pub(crate) async fn uplink(ue: &mut Ue, transport: UplinkNasTransport) {
    let Some(id) = transport.session else {
        return not_forwarded(ue, transport, MmCause::PAYLOAD_NOT_FORWARDED);
    };
    let session = id.value();
    let is_new = matches!(
        transport.request,
        Some(RequestKind::Initial | RequestKind::Existing)
    );
    if is_new {
        return create(ue, session, transport).await;
    }
    let Some(context) = ue.sessions.get(&session).map(|entry| entry.context.clone()) else {
        return not_forwarded(ue, transport, MmCause::PAYLOAD_NOT_FORWARDED);
    };
    match nsmf::update_n1(ue, &context, transport.payload.clone()).await {
        Ok(updated) => carry(ue, session, updated),
        Err(failure) => {
            tracing::warn!(name: "smf-update-failed", "an SMF: {failure}");
            if failure.status() == Some(404) {
                ue.sessions.remove(&session);
            }
            not_forwarded(ue, transport, MmCause::PAYLOAD_NOT_FORWARDED);
        }
    }
}

/// A new session (TS 23.502, 4.3.2.2.1). Its accept comes as a transfer.
async fn create(ue: &mut Ue, session: u8, transport: UplinkNasTransport) {
    if let Some(before) = ue.sessions.remove(&session) {
        // The UE does not have it any more (TS 24.501, 5.4.5.2.5).
        nsmf::release(ue, &before.context).await;
    }
    let wanted = transport.snssai.or_else(|| ue.allowed.first().copied());
    let Some(slice) = wanted.filter(|slice| ue.allowed.contains(slice)) else {
        return not_forwarded(ue, transport, MmCause::PAYLOAD_NOT_FORWARDED);
    };
    let slice = Slice::from(slice);
    let default = match transport.dnn {
        Some(_) => None,
        None => flow_of(ue).default_dnn(ue, &slice).await,
    };
    let dnn = transport.dnn.as_deref().or(default.as_deref());
    let payload = transport.payload.clone();
    let handle = ue.amf.clock.unique_number();
    note(ue, Milestone::SessionAsked { session, dnn }).await;
    match nsmf::create(ue, session, handle, slice.clone(), dnn, payload).await {
        Ok(context) => {
            let entry = Session {
                context,
                handle,
                slice,
                active: false,
                take_down: false,
            };
            ue.sessions.insert(session, Box::new(entry));
        }
        Err(NotCreated::Rejected(message)) => to_ue(ue, session, &message),
        Err(NotCreated::Failed(failure)) => {
            tracing::warn!(name: "smf-create-failed", "no SMF takes a session: {failure}");
            let cause = match failure.cause() {
                Some("DNN_NOT_SUPPORTED" | "DNN_DENIED") => MmCause::DNN_NOT_SUPPORTED,
                _ => MmCause::PAYLOAD_NOT_FORWARDED,
            };
            not_forwarded(ue, transport, cause);
        }
    }
}

/// The payload goes back to where it came from (TS 24.501, 5.4.5.3.1, case h).
fn not_forwarded(ue: &mut Ue, transport: UplinkNasTransport, cause: MmCause) {
    ue.send(DownlinkNasTransport {
        payload: transport.payload,
        session: transport.session,
        cause: Some(cause),
        ..DownlinkNasTransport::default()
    });
}

/// What another NF has for the UE (TS 23.502, 4.2.3.3): now, or when it has come back.
pub(crate) async fn downlink(ue: &mut Ue, transfer: Transfer) {
    ue.reserve_counts().await;
    if ue.link.is_none() {
        if ue.pending.len() < MAX_PENDING {
            ue.pending.push(transfer);
            paging::run(ue);
        }
        return;
    }
    let Some(session) = transfer.session else {
        return not_of_a_session(ue, transfer);
    };
    if transfer.sets_up() {
        let session = session.value();
        note(ue, Milestone::SessionGiven { session }).await;
    }
    let updated = Updated {
        n1_message: transfer.n1_message,
        n2_info: transfer.n2_info,
    };
    carry(ue, session.value(), updated);
}

/// A message that is not of an SMF: positioning, short messages, policies (TS 24.501, 5.4.5.3.2).
fn not_of_a_session(ue: &mut Ue, transfer: Transfer) {
    if let Some(message) = transfer.n1_message {
        ue.send(DownlinkNasTransport {
            kind: transfer.kind,
            payload: message.to_vec(),
            additional: transfer.correlation.map(String::into_bytes),
            ..DownlinkNasTransport::default()
        });
    }
}

/// What waited for the UE. Resources for a gNB that it has left are of no use: its sessions' user
/// planes are asked for anew.
pub(crate) async fn deliver_pending(ue: &mut Ue) {
    let mut wanted = PduSessionSet::default();
    for transfer in std::mem::take(&mut ue.pending) {
        match transfer
            .session
            .filter(|_| transfer.sets_up() && transfer.n1_message.is_none())
        {
            Some(id) => wanted = wanted.with(id),
            None => downlink(ue, transfer).await,
        }
    }
    let planes = planes(ue, wanted).await;
    activate(ue, planes.set_up);
}

/// Hands on what an SMF says, to the UE alone or by the gNB's procedure that carries both.
fn carry(ue: &mut Ue, session: u8, updated: Updated) {
    let Some((kind, octets)) = updated.n2_info else {
        if let Some(message) = updated.n1_message {
            to_ue(ue, session, &message);
        }
        return;
    };
    let nas = updated
        .n1_message
        .and_then(|message| wrapped(session, &message))
        .and_then(|transport| ue.protect(&transport));
    let (Some(link), Some(entry), Some(id)) = (
        &ue.link,
        ue.sessions.get(&session),
        PduSessionId::new(session),
    ) else {
        return;
    };
    let transfer = octets.to_vec();
    match kind.as_str() {
        "PDU_RES_SETUP_REQ" => {
            let set_up = SessionSetup {
                session: id,
                nas,
                snssai: entry.snssai(),
                transfer,
            };
            link.set_up(set_up, ue.ambr);
        }
        "PDU_RES_MOD_REQ" => link.modify(SessionModify {
            session: id,
            nas,
            transfer,
        }),
        "PDU_RES_REL_CMD" => {
            let release = SessionTransfer {
                session: id,
                transfer,
            };
            link.release_session(release, nas);
        }
        other => tracing::warn!(
            name: "unknown-n2-information",
            "an SMF sends a gNB {other}, which is not known here"
        ),
    }
}

fn to_ue(ue: &mut Ue, session: u8, message: &[u8]) {
    if let Some(transport) = wrapped(session, message) {
        ue.send(transport);
    }
}

/// DL NAS TRANSPORT of a 5GSM message.
fn wrapped(session: u8, message: &[u8]) -> Option<NasMessage> {
    let transport = DownlinkNasTransport {
        payload: message.to_vec(),
        session: Some(PduSessionId::new(session)?),
        ..DownlinkNasTransport::default()
    };
    Some(transport.into())
}

/// The user planes of sessions that a UE wants.
#[derive(Default)]
pub(crate) struct Planes {
    /// What the gNB needs for them.
    pub(crate) set_up: Vec<SessionSetup>,
    /// Those that cannot be had: there is no such session, or its SMF does not give one.
    pub(crate) failed: PduSessionSet,
}

/// Asks the SMFs for the user planes of these sessions.
pub(crate) async fn planes(ue: &mut Ue, wanted: PduSessionSet) -> Planes {
    let mut planes = Planes::default();
    for session in wanted.iter() {
        match plane(ue, session).await {
            Some(set_up) => planes.set_up.push(set_up),
            None => planes.failed = planes.failed.with(session),
        }
    }
    planes
}

/// Gives the gNB the UE's context, a NAS message for the UE, and these user planes (TS 38.413, 8.3.1).
pub(crate) fn set_up_context(ue: &Ue, nas: Vec<u8>, planes: Vec<SessionSetup>) {
    let (Some(link), Some(security), Some(capability)) = (&ue.link, &ue.security, &ue.capability)
    else {
        return;
    };
    link.set_up_context(GnbContext {
        guami: ue.amf.network.guami,
        allowed: &ue.allowed,
        capability,
        kgnb: security.kgnb(ue.kgnb_count),
        nas,
        sessions: planes,
        ambr: ue.ambr,
    });
}

/// Asks the gNB for these user planes.
pub(crate) fn activate(ue: &Ue, planes: Vec<SessionSetup>) {
    let Some(link) = &ue.link else { return };
    for set_up in planes {
        link.set_up(set_up, ue.ambr);
    }
}

/// What the gNB needs for a session's user plane, from its SMF.
async fn plane(ue: &mut Ue, id: PduSessionId) -> Option<SessionSetup> {
    let session = id.value();
    let entry = ue.sessions.get(&session)?;
    let (context, snssai) = (entry.context.clone(), entry.snssai());
    let named = (session, entry.handle);
    match nsmf::user_plane(ue, &context, named, true).await {
        Ok(updated) => {
            // The SMF has a new user plane in place of the one that was to be taken down.
            if let Some(entry) = ue.sessions.get_mut(&session) {
                entry.take_down = false;
            }
            updated.n2_info.map(|(_, octets)| SessionSetup {
                session: id,
                nas: None,
                snssai,
                transfer: octets.to_vec(),
            })
        }
        Err(failure) => {
            tracing::warn!(name: "smf-update-failed", "an SMF gives no user plane: {failure}");
            if failure.status() == Some(404) {
                ue.sessions.remove(&session);
            }
            None
        }
    }
}

/// Whether a gNB's message answers INITIAL CONTEXT SETUP REQUEST.
pub(crate) const fn is_context_answer(message: &NgapMessage) -> bool {
    matches!(
        message,
        NgapMessage::InitialContextSetupResponse(_) | NgapMessage::InitialContextSetupFailure(_)
    )
}

/// What a gNB has done of what it was asked for.
pub(crate) async fn on_answer(ue: &mut Ue, message: NgapMessage) {
    match message {
        NgapMessage::InitialContextSetupResponse(response) => {
            ue.context_at_gnb = true;
            done(ue, "PDU_RES_SETUP_RSP", response.set_up).await;
            done(ue, "PDU_RES_SETUP_FAIL", response.failed).await;
        }
        NgapMessage::InitialContextSetupFailure(failure) => {
            an_release::run(ue, failure.cause).await;
        }
        NgapMessage::PduSessionResourceSetupResponse(response) => {
            done(ue, "PDU_RES_SETUP_RSP", response.set_up).await;
            done(ue, "PDU_RES_SETUP_FAIL", response.failed).await;
        }
        NgapMessage::PduSessionResourceModifyResponse(response) => {
            done(ue, "PDU_RES_MOD_RSP", response.modified).await;
            done(ue, "PDU_RES_MOD_FAIL", response.failed).await;
        }
        NgapMessage::PduSessionResourceReleaseResponse(response) => {
            done(ue, "PDU_RES_REL_RSP", response.released).await;
        }
        // Answers that nobody waits for any more.
        _ => {}
    }
}

/// Tells the SMFs what the gNB has done.
async fn done(ue: &mut Ue, kind: &str, sessions: Vec<SessionTransfer>) {
    for SessionTransfer { session, transfer } in sessions {
        let session = session.value();
        let Some(entry) = ue.sessions.get_mut(&session) else {
            continue;
        };
        match kind {
            "PDU_RES_SETUP_RSP" => entry.active = true,
            "PDU_RES_SETUP_FAIL" | "PDU_RES_REL_RSP" => entry.active = false,
            _ => {}
        }
        let context = entry.context.clone();
        if kind == "PDU_RES_SETUP_RSP" {
            note(ue, Milestone::SessionActive).await;
        }
        match nsmf::update_n2(ue, &context, kind, transfer).await {
            Ok(updated) => carry(ue, session, updated),
            Err(failure) => {
                tracing::warn!(name: "smf-update-failed", "an SMF was not notified of what a gNB did: {failure}")
            }
        }
        if kind == "PDU_RES_SETUP_RSP" {
            // The session is the UE's from now on, whatever becomes of this process.
            ue.save().await;
        }
    }
}

/// Lets go of every session: the UE has none any more.
pub(crate) async fn release_all(ue: &mut Ue) {
    for (_, session) in std::mem::take(&mut ue.sessions) {
        nsmf::release(ue, &session.context).await;
    }
}

/// Lets go of the sessions that the UE does not have any more.
pub(crate) async fn keep_only(ue: &mut Ue, theirs: PduSessionSet) {
    let gone: Vec<u8> = ue
        .sessions
        .keys()
        .copied()
        .filter(|session| PduSessionId::new(*session).is_none_or(|id| !theirs.has(id)))
        .collect();
    for session in gone {
        if let Some(session) = ue.sessions.remove(&session) {
            nsmf::release(ue, &session.context).await;
        }
    }
}
