//! The NAS messages of a session (TS 24.501, 8.3), made from its context.

use super::session::{DEFAULT_FLOW, SmContext};
use bytes::Bytes;
use corewire_core5g_nas::{
    NasErrorKind, NasMessage, OptionsRequest, PduAddress, PduSessionEstablishmentAccept,
    PduSessionEstablishmentReject, PduSessionEstablishmentRequest, PduSessionId,
    PduSessionModificationCommand, PduSessionModificationReject, PduSessionReleaseCommand,
    PduSessionReleaseReject, QosFlowDescriptions, QosRules, SessionAmbr, SessionOptions,
    SessionType, SmCause, SmHeader, SmStatus, Snssai, SscMode,
};

/// Extended protocol discriminator of 5GS session management (TS 24.007, 11.2.3.1A).
const EPD_5GSM: u8 = 0x2e;

/// The procedure transaction identity of what the UE did not ask for (TS 24.007, 11.2.3.1a).
pub(crate) const NO_PTI: u8 = 0;

/// What a UE says about a session.
pub(crate) struct Uplink {
    /// Which session it is about.
    pub(crate) session: u8,
    pub(crate) pti: u8,
    pub(crate) request: Request,
}

/// What it says.
pub(crate) enum Request {
    Establishment(Establishment),
    Modification {
        /// Whether it wants rules of its own.
        has_rules: bool,
    },
    ModificationComplete,
    ModificationCommandReject(SmCause),
    Release,
    ReleaseComplete,
    Status(SmCause),
    /// A message that no UE sends, or that is not known here.
    Unknown,
}

/// What a UE asks of a new session.
pub(crate) struct Establishment {
    pub(crate) pti: u8,
    session_type: Option<SessionType>,
    ssc_mode: Option<SscMode>,
    options: OptionsRequest,
}

impl Establishment {
    /// Whether a session of this kind can be given: IPv4, and an address that stays.
    ///
    /// # Errors
    /// The cause for the AMF (TS 29.502, 6.1.7.3), and the one for the UE (TS 24.501, 6.4.1.4).
    pub(crate) fn acceptable(&self) -> Result<(), (&'static str, SmCause)> {
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

/// Reads what a UE sent; `None` when it is no 5GSM message that can be answered (TS 24.501, 7.2 and 7.5).
pub(crate) fn decode(octets: &[u8]) -> Option<Uplink> {
    let (header, request) = match NasMessage::decode(octets) {
        Ok(NasMessage::PduSessionEstablishmentRequest(PduSessionEstablishmentRequest {
            header,
            session_type,
            ssc_mode,
            options,
        })) => {
            let asked = Establishment {
                pti: header.pti,
                session_type,
                ssc_mode,
                options: options.unwrap_or_default(),
            };
            (header, Request::Establishment(asked))
        }
        Ok(NasMessage::PduSessionModificationRequest(message)) => {
            let has_rules = message.qos_rules.is_some();
            (message.header, Request::Modification { has_rules })
        }
        Ok(NasMessage::PduSessionModificationComplete(message)) => {
            (message.header, Request::ModificationComplete)
        }
        Ok(NasMessage::PduSessionModificationCommandReject(message)) => (
            message.header,
            Request::ModificationCommandReject(message.cause),
        ),
        Ok(NasMessage::PduSessionReleaseRequest(message)) => (message.header, Request::Release),
        Ok(NasMessage::PduSessionReleaseComplete(message)) => {
            (message.header, Request::ReleaseComplete)
        }
        Ok(NasMessage::SmStatus(message)) => (message.header, Request::Status(message.cause)),
        Ok(_) => (header_of(octets)?, Request::Unknown),
        Err(error) if error.kind() == NasErrorKind::MessageType => {
            (header_of(octets)?, Request::Unknown)
        }
        Err(_) => return None,
    };
    Some(Uplink {
        session: header.session.value(),
        pti: header.pti,
        request,
    })
}

/// Session and transaction of any 5GSM message (TS 24.501, 9.1.1).
fn header_of(octets: &[u8]) -> Option<SmHeader> {
    match octets {
        [EPD_5GSM, session, pti, _, ..] => header(*session, *pti),
        _ => None,
    }
}

/// The session is there (8.3.2). Says #50 when the UE wanted IPv6 too, and of `options` what it asked for.
pub(crate) fn establishment_accept(
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
pub(crate) fn establishment_reject(session: u8, pti: u8, cause: SmCause) -> Option<Bytes> {
    let header = header(session, pti)?;
    octets(PduSessionEstablishmentReject { header, cause })
}

/// What the session has (8.3.9).
pub(crate) fn modification_command(context: &SmContext, pti: u8) -> Option<Bytes> {
    let header = header(context.pdu_session_id, pti)?;
    octets(PduSessionModificationCommand {
        header,
        ambr: Some(ambr(context)),
        qos_rules: None,
    })
}

/// The session stays as it is (8.3.8).
pub(crate) fn modification_reject(session: u8, pti: u8, cause: SmCause) -> Option<Bytes> {
    let header = header(session, pti)?;
    octets(PduSessionModificationReject { header, cause })
}

/// The session stays (8.3.13).
pub(crate) fn release_reject(session: u8, pti: u8, cause: SmCause) -> Option<Bytes> {
    let header = header(session, pti)?;
    octets(PduSessionReleaseReject { header, cause })
}

/// What was wrong with a message of the UE (8.3.16).
pub(crate) fn status(session: u8, pti: u8, cause: SmCause) -> Option<Bytes> {
    let header = header(session, pti)?;
    octets(SmStatus { header, cause })
}

/// The session ends (8.3.14).
pub(crate) fn release_command(session: u8, pti: u8, cause: SmCause) -> Option<Bytes> {
    let header = header(session, pti)?;
    octets(PduSessionReleaseCommand { header, cause })
}

/// The session's rate.
pub(crate) const fn ambr(context: &SmContext) -> SessionAmbr {
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
