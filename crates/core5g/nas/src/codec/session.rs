//! The 5GSM messages (TS 24.501 clause 8.3).

use oxirush_nas::nas_5gs::{
    Nas5gsMessage, Nas5gsmHeader, Nas5gsmMessage as Foreign, NasFGsmCause, NasFGsmStatus,
    NasIntegrityProtectionMaximumDataRate, NasPduAddress, NasPduSessionEstablishmentAccept,
    NasPduSessionEstablishmentReject, NasPduSessionEstablishmentRequest,
    NasPduSessionModificationCommand, NasPduSessionModificationCommandReject,
    NasPduSessionModificationComplete, NasPduSessionModificationReject,
    NasPduSessionModificationRequest, NasPduSessionReleaseCommand, NasPduSessionReleaseComplete,
    NasPduSessionReleaseReject, NasPduSessionReleaseRequest, NasPduSessionType,
    NasQosFlowDescriptions, NasQosRules, NasSessionAmbr, NasSscMode,
};

use super::elements::{dnn, mandatory, snssai, to_dnn, to_snssai};
use super::{protocol_options, unencodable};
use crate::*;

/// The UE checks the integrity of user data at any rate (clause 9.11.4.7), both directions.
const FULL_DATA_RATE: u16 = 0xffff;

pub(super) fn decode(header: Nas5gsmHeader, message: Foreign) -> Result<NasMessage, NasError> {
    let header = SmHeader {
        session: PduSessionId::new(header.pdu_session_identity)
            .ok_or_else(mandatory("PDU session identity"))?,
        pti: header.procedure_transaction_identity,
    };
    let cause = |element: NasFGsmCause| SmCause(element.value);
    Ok(match message {
        Foreign::PduSessionEstablishmentRequest(m) => PduSessionEstablishmentRequest {
            header,
            session_type: m.pdu_session_type.map(|t| SessionType::from_bits(t.value)),
            ssc_mode: m.ssc_mode.map(|mode| SscMode(mode.value & 0x07)),
            options: m
                .extended_protocol_configuration_options
                .as_ref()
                .and_then(protocol_options::request),
        }
        .into(),
        Foreign::PduSessionEstablishmentAccept(m) => PduSessionEstablishmentAccept {
            header,
            session_type: SessionType::from_bits(m.selected_pdu_session_type.value),
            ssc_mode: SscMode(m.selected_ssc_mode.value & 0x07),
            qos_rules: QosRules(m.authorized_qos_rules.value.to_vec()),
            ambr: ambr(&m.session_ambr).ok_or_else(mandatory("session AMBR"))?,
            cause: m.fgsm_cause.map(cause),
            address: m
                .pdu_address
                .as_ref()
                .and_then(|address| PduAddress::from_octets(&address.value)),
            snssai: m.s_nssai.as_ref().and_then(|slice| snssai(&slice.value)),
            qos_flows: m
                .authorized_qos_flow_descriptions
                .as_ref()
                .map(|flows| QosFlowDescriptions(flows.value.to_vec())),
            dnn: m.dnn.as_ref().and_then(dnn),
            options: m
                .extended_protocol_configuration_options
                .as_ref()
                .and_then(protocol_options::answer),
        }
        .into(),
        Foreign::PduSessionEstablishmentReject(m) => PduSessionEstablishmentReject {
            header,
            cause: cause(m.fgsm_cause),
        }
        .into(),
        Foreign::PduSessionModificationRequest(m) => PduSessionModificationRequest {
            header,
            qos_rules: rules(m.requested_qos_rules.as_ref()),
        }
        .into(),
        Foreign::PduSessionModificationReject(m) => PduSessionModificationReject {
            header,
            cause: cause(m.fgsm_cause),
        }
        .into(),
        Foreign::PduSessionModificationCommand(m) => PduSessionModificationCommand {
            header,
            ambr: m.session_ambr.as_ref().and_then(ambr),
            qos_rules: rules(m.authorized_qos_rules.as_ref()),
        }
        .into(),
        Foreign::PduSessionModificationComplete(_) => {
            PduSessionModificationComplete { header }.into()
        }
        Foreign::PduSessionModificationCommandReject(m) => PduSessionModificationCommandReject {
            header,
            cause: cause(m.fgsm_cause),
        }
        .into(),
        Foreign::PduSessionReleaseRequest(m) => PduSessionReleaseRequest {
            header,
            cause: m.fgsm_cause.map(cause),
        }
        .into(),
        Foreign::PduSessionReleaseReject(m) => PduSessionReleaseReject {
            header,
            cause: cause(m.fgsm_cause),
        }
        .into(),
        Foreign::PduSessionReleaseCommand(m) => PduSessionReleaseCommand {
            header,
            cause: cause(m.fgsm_cause),
        }
        .into(),
        Foreign::PduSessionReleaseComplete(_) => PduSessionReleaseComplete { header }.into(),
        Foreign::FiveGsmStatus(m) => SmStatus {
            header,
            cause: cause(m.fgsm_cause),
        }
        .into(),
        other => {
            let name = format!("{:?}", other.message_type());
            return Err(NasError::of(NasErrorKind::MessageType, name));
        }
    })
}

fn ambr(element: &NasSessionAmbr) -> Option<SessionAmbr> {
    element.parse().map(|ambr| SessionAmbr {
        downlink_kbps: ambr.dl_kbps,
        uplink_kbps: ambr.ul_kbps,
    })
}

fn to_ambr(ambr: SessionAmbr) -> Result<NasSessionAmbr, NasError> {
    NasSessionAmbr::from_kbps(ambr.downlink_kbps, ambr.uplink_kbps).map_err(unencodable)
}

fn rules(element: Option<&NasQosRules>) -> Option<QosRules> {
    element.map(|rules| QosRules(rules.value.to_vec()))
}

pub(super) fn encode(message: &NasMessage) -> Result<Nas5gsMessage, NasError> {
    let cause = |cause: SmCause| NasFGsmCause::new(cause.0);
    /// Puts a message under its header.
    macro_rules! under {
        ($header:expr, $message:expr) => {
            Nas5gsMessage::new_5gsm($message, $header.session.value(), $header.pti)
        };
    }
    Ok(match message {
        NasMessage::PduSessionEstablishmentRequest(m) => {
            let rate = NasIntegrityProtectionMaximumDataRate::new(FULL_DATA_RATE);
            let mut to = NasPduSessionEstablishmentRequest::new(rate);
            if let Some(kind) = m.session_type {
                to.set_pdu_session_type(NasPduSessionType::new(kind as u8));
            }
            if let Some(mode) = m.ssc_mode {
                to.set_ssc_mode(NasSscMode::new(mode.0));
            }
            if let Some(options) = m.options {
                let options = protocol_options::from_request(options)?;
                to.set_extended_protocol_configuration_options(options);
            }
            under!(m.header, to)
        }
        NasMessage::PduSessionEstablishmentAccept(m) => {
            let mut to = NasPduSessionEstablishmentAccept::new(
                NasPduSessionType::new(m.session_type as u8),
                NasSscMode::new(m.ssc_mode.0),
                NasQosRules::new(&m.qos_rules.0[..]),
                to_ambr(m.ambr)?,
            );
            if let Some(value) = m.cause {
                to.set_fgsm_cause(cause(value));
            }
            if let Some(address) = m.address {
                to.set_pdu_address(NasPduAddress::new(address.to_octets()));
            }
            if let Some(slice) = m.snssai {
                to.set_s_nssai(to_snssai(slice));
            }
            if let Some(flows) = &m.qos_flows {
                to.set_authorized_qos_flow_descriptions(NasQosFlowDescriptions::new(&flows.0[..]));
            }
            if let Some(name) = &m.dnn {
                to.set_dnn(to_dnn(name)?);
            }
            if let Some(options) = &m.options {
                let options = protocol_options::from_answer(options)?;
                to.set_extended_protocol_configuration_options(options);
            }
            under!(m.header, to)
        }
        NasMessage::PduSessionEstablishmentReject(m) => {
            under!(
                m.header,
                NasPduSessionEstablishmentReject::new(cause(m.cause))
            )
        }
        NasMessage::PduSessionModificationRequest(m) => {
            let mut to = NasPduSessionModificationRequest::new();
            if let Some(rules) = &m.qos_rules {
                to.set_requested_qos_rules(NasQosRules::new(&rules.0[..]));
            }
            under!(m.header, to)
        }
        NasMessage::PduSessionModificationReject(m) => {
            under!(
                m.header,
                NasPduSessionModificationReject::new(cause(m.cause))
            )
        }
        NasMessage::PduSessionModificationCommand(m) => {
            let mut to = NasPduSessionModificationCommand::new();
            if let Some(rate) = m.ambr {
                to.set_session_ambr(to_ambr(rate)?);
            }
            if let Some(rules) = &m.qos_rules {
                to.set_authorized_qos_rules(NasQosRules::new(&rules.0[..]));
            }
            under!(m.header, to)
        }
        NasMessage::PduSessionModificationComplete(m) => {
            under!(m.header, NasPduSessionModificationComplete::new())
        }
        NasMessage::PduSessionModificationCommandReject(m) => under!(
            m.header,
            NasPduSessionModificationCommandReject::new(cause(m.cause))
        ),
        NasMessage::PduSessionReleaseRequest(m) => {
            let mut to = NasPduSessionReleaseRequest::new();
            if let Some(value) = m.cause {
                to.set_fgsm_cause(cause(value));
            }
            under!(m.header, to)
        }
        NasMessage::PduSessionReleaseReject(m) => {
            under!(m.header, NasPduSessionReleaseReject::new(cause(m.cause)))
        }
        NasMessage::PduSessionReleaseCommand(m) => {
            under!(m.header, NasPduSessionReleaseCommand::new(cause(m.cause)))
        }
        NasMessage::PduSessionReleaseComplete(m) => {
            under!(m.header, NasPduSessionReleaseComplete::new())
        }
        NasMessage::SmStatus(m) => under!(m.header, NasFGsmStatus::new(cause(m.cause))),
        other => return Err(NasError::of(NasErrorKind::Encode, other.name())),
    })
}
