//! The NAS messages of a session (TS 24.501, 8.3), made from its context.

use super::session::{DEFAULT_FLOW, SmContext};
use crate::nas::{
    NasMessage, OptionsRequest, PduAddress, PduSessionEstablishmentAccept,
    PduSessionEstablishmentReject, PduSessionEstablishmentRequest, PduSessionId,
    PduSessionModificationCommand, PduSessionReleaseCommand, QosFlowDescriptions, QosRules,
    SessionAmbr, SessionOptions, SessionType, SmCause, SmHeader, Snssai, SscMode,
};
use bytes::Bytes;

/// The procedure transaction identity of what the UE did not ask for (TS 24.007, 11.2.3.1a).
pub(in crate::smf) const NO_PTI: u8 = 0;

/// What a UE says about a session.
pub(in crate::smf) enum Request {
    Establishment(Establishment),
    Modification { pti: u8 },
    ModificationComplete,
    Release { pti: u8 },
    ReleaseComplete,
}

/// What a UE asks of a new session.
pub(in crate::smf) struct Establishment {
    pub(in crate::smf) pti: u8,
    session_type: Option<SessionType>,
    ssc_mode: Option<SscMode>,
    options: OptionsRequest,
}

impl Establishment {
    /// Whether a session of this kind can be given: IPv4, and an address that stays.
    ///
    /// # Errors
    /// The cause for the AMF (TS 29.502, 6.1.7.3), and the one for the UE (TS 24.501, 6.4.1.4).
    pub(in crate::smf) fn acceptable(&self) -> Result<(), (&'static str, SmCause)> {
        if self.pti == NO_PTI {
            // TS 24.501, 7.3.1: what a UE asks for has one.
            return Err(("N1_SM_ERROR", SmCause::INVALID_PTI));
        }
        match self.session_type {
            None | Some(SessionType::Ipv4 | SessionType::Ipv4v6) => {}
            Some(SessionType::Ipv6) => return Err(("PDUTYPE_NOT_SUPPORTED", SmCause::IPV4_ONLY)),
            Some(_) => return Err(("PDUTYPE_NOT_SUPPORTED", SmCause::UNKNOWN_SESSION_TYPE)),
        }
        match self.ssc_mode {
            // Four is unused and read as one (TS 24.501, 9.11.4.16).
            None | Some(SscMode::ONE | SscMode(4)) => Ok(()),
            Some(_) => Err(("SSC_NOT_SUPPORTED", SmCause::SSC_MODE_NOT_SUPPORTED)),
        }
    }
}

/// Reads what a UE sent; `None` when it is nothing that an SMF takes.
pub(in crate::smf) fn decode(octets: &[u8]) -> Option<Request> {
    Some(match NasMessage::decode(octets).ok()? {
        NasMessage::PduSessionEstablishmentRequest(PduSessionEstablishmentRequest {
            header,
            session_type,
            ssc_mode,
            options,
        }) => Request::Establishment(Establishment {
            pti: header.pti,
            session_type,
            ssc_mode,
            options: options.unwrap_or_default(),
        }),
        NasMessage::PduSessionModificationRequest(request) => Request::Modification {
            pti: request.header.pti,
        },
        NasMessage::PduSessionModificationComplete(_)
        | NasMessage::PduSessionModificationCommandReject(_) => Request::ModificationComplete,
        NasMessage::PduSessionReleaseRequest(request) => Request::Release {
            pti: request.header.pti,
        },
        NasMessage::PduSessionReleaseComplete(_) => Request::ReleaseComplete,
        _ => return None,
    })
}

/// The session is there (8.3.2). Says #50 when the UE wanted IPv6 too, and of `options` what it asked for.
pub(in crate::smf) fn establishment_accept(
    context: &SmContext,
    asked: &Establishment,
    options: &SessionOptions,
) -> Option<Bytes> {
    let header = header(context.pdu_session_id, asked.pti)?;
    octets(PduSessionEstablishmentAccept {
        header,
        session_type: SessionType::Ipv4,
        ssc_mode: SscMode::ONE,
        qos_rules: QosRules::match_all(DEFAULT_FLOW),
        ambr: ambr(context),
        cause: (asked.session_type == Some(SessionType::Ipv4v6)).then_some(SmCause::IPV4_ONLY),
        address: Some(PduAddress::Ipv4(context.address)),
        snssai: Some(Snssai {
            sst: context.slice.sst,
            sd: context.slice.differentiator(),
        }),
        qos_flows: Some(QosFlowDescriptions::of_flow(
            DEFAULT_FLOW,
            context.subscription.five_qi,
        )),
        dnn: Some(context.dnn.clone()),
        options: options.asked_for(asked.options),
    })
}

/// There is no session (8.3.3).
pub(in crate::smf) fn establishment_reject(session: u8, pti: u8, cause: SmCause) -> Option<Bytes> {
    let header = header(session, pti)?;
    octets(PduSessionEstablishmentReject { header, cause })
}

/// What the session has (8.3.9).
pub(in crate::smf) fn modification_command(context: &SmContext, pti: u8) -> Option<Bytes> {
    let header = header(context.pdu_session_id, pti)?;
    octets(PduSessionModificationCommand {
        header,
        ambr: Some(ambr(context)),
        qos_rules: None,
    })
}

/// The session ends (8.3.14).
pub(in crate::smf) fn release_command(session: u8, pti: u8, cause: SmCause) -> Option<Bytes> {
    let header = header(session, pti)?;
    octets(PduSessionReleaseCommand { header, cause })
}

/// The session's rate.
pub(in crate::smf) const fn ambr(context: &SmContext) -> SessionAmbr {
    SessionAmbr {
        downlink_kbps: context.subscription.downlink / 1000,
        uplink_kbps: context.subscription.uplink / 1000,
    }
}

fn header(session: u8, pti: u8) -> Option<SmHeader> {
    let session = PduSessionId::new(session)?;
    Some(SmHeader { session, pti })
}

fn octets(message: impl Into<NasMessage>) -> Option<Bytes> {
    message.into().encode().ok().map(Bytes::from)
}
