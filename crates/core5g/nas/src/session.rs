//! The 5GSM messages (TS 24.501 clause 8.3): what N1 says about PDU sessions.

use super::{
    OptionsRequest, PduAddress, PduSessionId, QosFlowDescriptions, QosRules, SessionAmbr,
    SessionOptions, SessionType, SmCause, Snssai, SscMode,
};

/// Which session and which procedure a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SmHeader {
    /// The session.
    pub session: PduSessionId,
    /// Procedure transaction identity: the UE's number for what it asked, 0 when it did not ask.
    pub pti: u8,
}

/// PDU SESSION ESTABLISHMENT REQUEST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionEstablishmentRequest {
    /// Session and transaction.
    pub header: SmHeader,
    /// What it shall carry; the network decides when absent.
    pub session_type: Option<SessionType>,
    /// Whether the address shall stay.
    pub ssc_mode: Option<SscMode>,
    /// What else it wants to be told.
    pub options: Option<OptionsRequest>,
}

/// PDU SESSION ESTABLISHMENT ACCEPT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionEstablishmentAccept {
    /// Session and transaction.
    pub header: SmHeader,
    /// What it carries.
    pub session_type: SessionType,
    /// Whether the address stays.
    pub ssc_mode: SscMode,
    /// Which packets take which flow.
    pub qos_rules: QosRules,
    /// The rate of the session.
    pub ambr: SessionAmbr,
    /// Why it is not what was asked for.
    pub cause: Option<SmCause>,
    /// Its address.
    pub address: Option<PduAddress>,
    /// Its slice.
    pub snssai: Option<Snssai>,
    /// How its flows are treated.
    pub qos_flows: Option<QosFlowDescriptions>,
    /// Its data network.
    pub dnn: Option<String>,
    /// What else was asked for.
    pub options: Option<SessionOptions>,
}

/// PDU SESSION ESTABLISHMENT REJECT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionEstablishmentReject {
    /// Session and transaction.
    pub header: SmHeader,
    /// Why.
    pub cause: SmCause,
}

/// PDU SESSION MODIFICATION REQUEST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionModificationRequest {
    /// Session and transaction.
    pub header: SmHeader,
    /// Which rules the UE asks for.
    pub qos_rules: Option<QosRules>,
}

/// PDU SESSION MODIFICATION REJECT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionModificationReject {
    /// Session and transaction.
    pub header: SmHeader,
    /// Why.
    pub cause: SmCause,
}

/// PDU SESSION MODIFICATION COMMAND.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionModificationCommand {
    /// Session and transaction.
    pub header: SmHeader,
    /// The new rate.
    pub ambr: Option<SessionAmbr>,
    /// The new rules.
    pub qos_rules: Option<QosRules>,
}

/// PDU SESSION MODIFICATION COMPLETE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionModificationComplete {
    /// Session and transaction.
    pub header: SmHeader,
}

/// PDU SESSION MODIFICATION COMMAND REJECT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionModificationCommandReject {
    /// Session and transaction.
    pub header: SmHeader,
    /// Why.
    pub cause: SmCause,
}

/// PDU SESSION RELEASE REQUEST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionReleaseRequest {
    /// Session and transaction.
    pub header: SmHeader,
    /// Why.
    pub cause: Option<SmCause>,
}

/// PDU SESSION RELEASE REJECT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionReleaseReject {
    /// Session and transaction.
    pub header: SmHeader,
    /// Why.
    pub cause: SmCause,
}

/// PDU SESSION RELEASE COMMAND.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionReleaseCommand {
    /// Session and transaction.
    pub header: SmHeader,
    /// Why.
    pub cause: SmCause,
}

/// PDU SESSION RELEASE COMPLETE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduSessionReleaseComplete {
    /// Session and transaction.
    pub header: SmHeader,
}

/// 5GSM STATUS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmStatus {
    /// Session and transaction.
    pub header: SmHeader,
    /// What was wrong with a message.
    pub cause: SmCause,
}
