//! The 5GMM messages (TS 24.501 clause 8.2).

use oxirush_nas::nas_5gs::{
    Nas5gmmMessage as Foreign, Nas5gsMessage, NasAbba, NasAdditional5gSecurityInformation,
    NasAdditionalInformation, NasAuthenticationFailure, NasAuthenticationFailureParameter,
    NasAuthenticationParameterAutn, NasAuthenticationParameterRand, NasAuthenticationReject,
    NasAuthenticationRequest, NasAuthenticationResponse, NasAuthenticationResponseParameter,
    NasConfigurationUpdateCommand, NasConfigurationUpdateComplete,
    NasConfigurationUpdateIndication, NasDeRegistrationType, NasDeregistrationAcceptUeOriginating,
    NasDeregistrationAcceptUeTerminated, NasDeregistrationRequestUeOriginating,
    NasDeregistrationRequestUeTerminated, NasDlNasTransport, NasFGmmCause, NasFGmmStatus,
    NasFGsIdentityType, NasFGsRegistrationResult, NasFGsRegistrationType, NasGprsTimer2,
    NasIdentityRequest, NasIdentityResponse, NasImeisvRequest, NasMessageContainer,
    NasPayloadContainer, NasPayloadContainerType, NasPduSessionIdentity2, NasRegistrationAccept,
    NasRegistrationComplete, NasRegistrationReject, NasRegistrationRequest, NasRequestType,
    NasSecurityAlgorithms, NasSecurityModeCommand, NasSecurityModeComplete, NasSecurityModeReject,
    NasServiceAccept, NasServiceReject, NasServiceRequest, NasServiceType, NasT3512Value,
    NasUeSecurityCapability, NasUlNasTransport,
};

use super::elements::{
    conditional, dnn, guti, identity, ksi, mandatory, nssai, own_identity, reactivation, seconds,
    session_status, snssai, tai, tai_list, to_dnn, to_identity, to_ksi, to_nssai, to_own_identity,
    to_reactivation, to_s_tmsi, to_session_status, to_snssai, to_tai, to_tai_list, to_uplink_data,
    uplink_data,
};
use super::unencodable;
use crate::*;
use corewire_core5g_aka::{Abba, Auts};

/// The UE is on 3GPP access (clause 9.11.3.20).
const ACCESS_3GPP: u8 = 0b01;
/// Switch off, in a deregistration type.
const SWITCH_OFF: u8 = 0b1000;
/// Re-registration required, in a deregistration type.
const REREGISTRATION: u8 = 0b0100;
/// More is to come, in a registration type.
const FOLLOW_ON: u8 = 0b1000;
/// The UE is to say its IMEISV (clause 9.11.3.28).
const IMEISV_REQUESTED: u8 = 1;
/// Retransmission of the initial message requested (clause 9.11.3.12).
const RINMR: u8 = 0b10;
/// The update is to be acknowledged (clause 9.11.3.18).
const ACKNOWLEDGE: u8 = 1;

pub(super) fn decode(message: Foreign) -> Result<NasMessage, NasError> {
    Ok(match message {
        Foreign::RegistrationRequest(m) => registration_request(&m)?.into(),
        Foreign::RegistrationAccept(m) => registration_accept(&m).into(),
        Foreign::RegistrationComplete(_) => RegistrationComplete.into(),
        Foreign::RegistrationReject(m) => RegistrationReject {
            cause: MmCause(m.fgmm_cause.value),
            t3346: seconds(m.t3346_value.as_ref().and_then(NasGprsTimer2::to_seconds)),
        }
        .into(),
        Foreign::DeregistrationRequestUeOriginating(m) => DeregistrationRequestFromUe {
            switch_off: m.de_registration_type.value & SWITCH_OFF != 0,
            ksi: ksi(m.ngksi),
            identity: own_identity(&m.fgs_mobile_identity)
                .ok_or_else(mandatory("5GS mobile identity"))?,
        }
        .into(),
        Foreign::DeregistrationAcceptUeOriginating(_) => DeregistrationAcceptToUe.into(),
        Foreign::DeregistrationRequestUeTerminated(m) => DeregistrationRequestToUe {
            reregistration_required: m.de_registration_type.value & REREGISTRATION != 0,
            cause: m.fgmm_cause.map(|cause| MmCause(cause.value)),
        }
        .into(),
        Foreign::DeregistrationAcceptUeTerminated(_) => DeregistrationAcceptFromUe.into(),
        Foreign::ServiceRequest(m) => service_request(&m)?.into(),
        Foreign::ServiceAccept(m) => ServiceAccept {
            sessions: m.pdu_session_status.as_ref().map(session_status),
            reactivation_failed: m.pdu_session_reactivation_result.as_ref().map(reactivation),
        }
        .into(),
        Foreign::ServiceReject(m) => ServiceReject {
            cause: MmCause(m.fgmm_cause.value),
            sessions: m.pdu_session_status.as_ref().map(session_status),
        }
        .into(),
        Foreign::ConfigurationUpdateCommand(m) => ConfigurationUpdateCommand {
            acknowledge: m
                .configuration_update_indication
                .is_some_and(|indication| indication.value & ACKNOWLEDGE != 0),
            guti: m.fg_guti.as_ref().and_then(guti),
            tai_list: m.tai_list.as_ref().map(tai_list).unwrap_or_default(),
            allowed_nssai: m.allowed_nssai.as_ref().map(nssai).unwrap_or_default(),
        }
        .into(),
        Foreign::ConfigurationUpdateComplete(_) => ConfigurationUpdateComplete.into(),
        Foreign::AuthenticationRequest(m) => authentication_request(&m)?.into(),
        Foreign::AuthenticationResponse(m) => AuthenticationResponse {
            res_star: m
                .authentication_response_parameter
                .as_ref()
                .and_then(|res| res.value[..].try_into().ok())
                .ok_or_else(conditional("authentication response parameter"))?,
        }
        .into(),
        Foreign::AuthenticationReject(_) => AuthenticationReject.into(),
        Foreign::AuthenticationFailure(m) => AuthenticationFailure {
            cause: MmCause(m.fgmm_cause.value),
            auts: m
                .authentication_failure_parameter
                .as_ref()
                .and_then(|auts| Auts::try_from(&auts.value[..]).ok()),
        }
        .into(),
        Foreign::IdentityRequest(m) => IdentityRequest {
            kind: identity_kind(m.identity_type.value),
        }
        .into(),
        Foreign::IdentityResponse(m) => IdentityResponse {
            identity: identity(&m.mobile_identity).ok_or_else(mandatory("mobile identity"))?,
        }
        .into(),
        Foreign::SecurityModeCommand(m) => security_mode_command(&m)?.into(),
        Foreign::SecurityModeComplete(m) => SecurityModeComplete {
            imeisv: m
                .imeisv
                .as_ref()
                .and_then(identity)
                .and_then(|id| match id {
                    MobileIdentity::Imeisv(digits) => Some(digits),
                    _ => None,
                }),
            container: container(m.nas_message_container.as_ref()),
        }
        .into(),
        Foreign::SecurityModeReject(m) => SecurityModeReject {
            cause: MmCause(m.fgmm_cause.value),
        }
        .into(),
        Foreign::FiveGmmStatus(m) => MmStatus {
            cause: MmCause(m.fgmm_cause.value),
        }
        .into(),
        Foreign::UlNasTransport(m) => uplink_transport(&m)?.into(),
        Foreign::DlNasTransport(m) => DownlinkNasTransport {
            kind: payload_kind(m.payload_container_type)?,
            payload: m.payload_container.value.to_vec(),
            additional: m.additional_information.map(|more| more.value.to_vec()),
            session: m.pdu_session_id.and_then(|id| PduSessionId::new(id.value)),
            cause: m.fgmm_cause.map(|cause| MmCause(cause.value)),
        }
        .into(),
        other => {
            let name = format!("{:?}", other.message_type());
            return Err(NasError::of(NasErrorKind::MessageType, name));
        }
    })
}

fn registration_request(m: &NasRegistrationRequest) -> Result<RegistrationRequest, NasError> {
    let kind = m.fgs_registration_type.value;
    Ok(RegistrationRequest {
        kind: match kind & 0x07 {
            2 => RegistrationKind::Mobility,
            3 => RegistrationKind::Periodic,
            4 => RegistrationKind::Emergency,
            // Unused values are read as initial registration (clause 9.11.3.7).
            _ => RegistrationKind::Initial,
        },
        follow_on: kind & FOLLOW_ON != 0,
        ksi: ksi(m.ngksi),
        identity: own_identity(&m.fgs_mobile_identity)
            .ok_or_else(mandatory("5GS mobile identity"))?,
        capability: m
            .ue_security_capability
            .as_ref()
            .and_then(|capability| UeSecurityCapability::from_octets(&capability.value)),
        requested_nssai: m.requested_nssai.as_ref().map(nssai).unwrap_or_default(),
        last_tai: m.last_visited_registered_tai.as_ref().and_then(tai),
        uplink_data: m.uplink_data_status.as_ref().map(uplink_data),
        sessions: m.pdu_session_status.as_ref().map(session_status),
        container: container(m.nas_message_container.as_ref()),
    })
}

fn registration_accept(m: &NasRegistrationAccept) -> RegistrationAccept {
    RegistrationAccept {
        guti: m.fg_guti.as_ref().and_then(guti),
        tai_list: m.tai_list.as_ref().map(tai_list).unwrap_or_default(),
        allowed_nssai: m.allowed_nssai.as_ref().map(nssai).unwrap_or_default(),
        sessions: m.pdu_session_status.as_ref().map(session_status),
        reactivation_failed: m.pdu_session_reactivation_result.as_ref().map(reactivation),
        t3512: seconds(m.t3512_value.as_ref().and_then(NasT3512Value::to_seconds)),
    }
}

fn service_request(m: &NasServiceRequest) -> Result<ServiceRequest, NasError> {
    let s_tmsi = match identity(&m.fg_s_tmsi) {
        Some(MobileIdentity::STmsi(s_tmsi)) => s_tmsi,
        _ => return Err(mandatory("5G-S-TMSI")()),
    };
    Ok(ServiceRequest {
        ksi: ksi(m.ngksi),
        kind: match m.service_type.value & 0x0f {
            0 => ServiceKind::Signalling,
            2 => ServiceKind::MobileTerminated,
            // Unused values are read as data (clause 9.11.3.50).
            _ => ServiceKind::Data,
        },
        s_tmsi,
        uplink_data: m.uplink_data_status.as_ref().map(uplink_data),
        sessions: m.pdu_session_status.as_ref().map(session_status),
        container: container(m.nas_message_container.as_ref()),
    })
}

fn authentication_request(m: &NasAuthenticationRequest) -> Result<AuthenticationRequest, NasError> {
    Ok(AuthenticationRequest {
        ksi: ksi(m.ngksi).ok_or_else(mandatory("ngKSI"))?,
        abba: Abba::try_from(&m.abba.value[..]).map_err(|_| mandatory("ABBA")())?,
        rand: m
            .authentication_parameter_rand
            .as_ref()
            .and_then(|rand| rand.value[..].try_into().ok())
            .ok_or_else(conditional("RAND"))?,
        autn: m
            .authentication_parameter_autn
            .as_ref()
            .and_then(|autn| autn.value[..].try_into().ok())
            .ok_or_else(conditional("AUTN"))?,
    })
}

fn security_mode_command(m: &NasSecurityModeCommand) -> Result<SecurityModeCommand, NasError> {
    Ok(SecurityModeCommand {
        algorithms: NasAlgorithms::from_octet(m.selected_nas_security_algorithms.value)
            .ok_or_else(mandatory("selected NAS security algorithms"))?,
        ksi: ksi(m.ngksi).ok_or_else(mandatory("ngKSI"))?,
        replayed: UeSecurityCapability::from_octets(&m.replayed_ue_security_capabilities.value)
            .ok_or_else(mandatory("replayed UE security capabilities"))?,
        imeisv_requested: m
            .imeisv_request
            .is_some_and(|request| request.value & 0x07 == IMEISV_REQUESTED),
        repeat_initial: m
            .additional_5g_security_information
            .as_ref()
            .is_some_and(|information| information.value.first().is_some_and(|o| o & RINMR != 0)),
    })
}

fn uplink_transport(m: &NasUlNasTransport) -> Result<UplinkNasTransport, NasError> {
    Ok(UplinkNasTransport {
        payload: payload(m.payload_container_type, &m.payload_container)?,
        session: m.pdu_session_id.and_then(|id| PduSessionId::new(id.value)),
        request: m.request_type.and_then(|kind| match kind.value & 0x07 {
            1 => Some(RequestKind::Initial),
            2 => Some(RequestKind::Existing),
            3 => Some(RequestKind::InitialEmergency),
            4 => Some(RequestKind::ExistingEmergency),
            5 => Some(RequestKind::Modification),
            _ => None,
        }),
        snssai: m.s_nssai.as_ref().and_then(|slice| snssai(&slice.value)),
        dnn: m.dnn.as_ref().and_then(dnn),
    })
}

fn payload(
    kind: NasPayloadContainerType,
    container: &NasPayloadContainer,
) -> Result<Vec<u8>, NasError> {
    match payload_kind(kind)? {
        PayloadKind::Sm => Ok(container.value.to_vec()),
        _ => Err(not_served(kind)),
    }
}

fn payload_kind(kind: NasPayloadContainerType) -> Result<PayloadKind, NasError> {
    Ok(match kind.value & 0x0f {
        1 => PayloadKind::Sm,
        2 => PayloadKind::Sms,
        3 => PayloadKind::Lpp,
        5 => PayloadKind::UePolicy,
        7 => PayloadKind::LocationServices,
        _ => return Err(not_served(kind)),
    })
}

fn not_served(kind: NasPayloadContainerType) -> NasError {
    let what = format!("payload container type {}", kind.value & 0x0f);
    NasError::of(NasErrorKind::MessageType, what)
}

fn container(element: Option<&NasMessageContainer>) -> Option<Vec<u8>> {
    element.map(|container| container.value.to_vec())
}

fn identity_kind(octet: u8) -> IdentityKind {
    match octet & 0x07 {
        2 => IdentityKind::Guti,
        3 => IdentityKind::Imei,
        4 => IdentityKind::STmsi,
        5 => IdentityKind::Imeisv,
        // Unused values are read as SUCI (clause 9.11.3.3).
        _ => IdentityKind::Suci,
    }
}

/// Sets an optional element when there is a value.
macro_rules! set {
    ($message:ident.$setter:ident = $value:expr) => {
        if let Some(value) = $value {
            $message.$setter(value);
        }
    };
}

/// The 5GMM message; none when the message is of 5GSM.
pub(super) fn encode(message: &NasMessage) -> Result<Option<Nas5gsMessage>, NasError> {
    let cause = |cause: MmCause| NasFGmmCause::new(cause.0);
    Ok(Some(match message {
        NasMessage::RegistrationRequest(m) => to_registration_request(m)?,
        NasMessage::RegistrationAccept(m) => to_registration_accept(m)?,
        NasMessage::RegistrationComplete(_) => {
            Nas5gsMessage::new_5gmm(NasRegistrationComplete::new())
        }
        NasMessage::RegistrationReject(m) => {
            let mut to = NasRegistrationReject::new(cause(m.cause));
            set!(
                to.set_t3346_value = m
                    .t3346
                    .map(|wait| NasGprsTimer2::from_seconds(wait.as_secs()))
                    .transpose()
                    .map_err(unencodable)?
            );
            Nas5gsMessage::new_5gmm(to)
        }
        NasMessage::DeregistrationRequestFromUe(m) => {
            let off = if m.switch_off { SWITCH_OFF } else { 0 };
            Nas5gsMessage::new_5gmm(NasDeregistrationRequestUeOriginating::new(
                NasDeRegistrationType::new(off | ACCESS_3GPP),
                to_ksi(m.ksi),
                to_own_identity(&m.identity)?,
            ))
        }
        NasMessage::DeregistrationAcceptToUe(_) => {
            Nas5gsMessage::new_5gmm(NasDeregistrationAcceptUeOriginating::new())
        }
        NasMessage::DeregistrationRequestToUe(m) => {
            let again = if m.reregistration_required {
                REREGISTRATION
            } else {
                0
            };
            let kind = NasDeRegistrationType::new(again | ACCESS_3GPP);
            let mut to = NasDeregistrationRequestUeTerminated::new(kind);
            set!(to.set_fgmm_cause = m.cause.map(cause));
            Nas5gsMessage::new_5gmm(to)
        }
        NasMessage::DeregistrationAcceptFromUe(_) => {
            Nas5gsMessage::new_5gmm(NasDeregistrationAcceptUeTerminated::new())
        }
        NasMessage::ServiceRequest(m) => to_service_request(m),
        NasMessage::ServiceAccept(m) => {
            let mut to = NasServiceAccept::new();
            set!(to.set_pdu_session_status = m.sessions.map(to_session_status));
            set!(
                to.set_pdu_session_reactivation_result = m.reactivation_failed.map(to_reactivation)
            );
            Nas5gsMessage::new_5gmm(to)
        }
        NasMessage::ServiceReject(m) => {
            let mut to = NasServiceReject::new(cause(m.cause));
            set!(to.set_pdu_session_status = m.sessions.map(to_session_status));
            Nas5gsMessage::new_5gmm(to)
        }
        NasMessage::ConfigurationUpdateCommand(m) => to_configuration_update(m)?,
        NasMessage::ConfigurationUpdateComplete(_) => {
            Nas5gsMessage::new_5gmm(NasConfigurationUpdateComplete::new())
        }
        NasMessage::AuthenticationRequest(m) => {
            let abba = NasAbba::new(m.abba.as_bytes());
            let mut to = NasAuthenticationRequest::new(to_ksi(Some(m.ksi)), abba);
            to.set_authentication_parameter_rand(NasAuthenticationParameterRand::new(
                m.rand.as_bytes(),
            ));
            to.set_authentication_parameter_autn(NasAuthenticationParameterAutn::new(
                m.autn.as_bytes(),
            ));
            Nas5gsMessage::new_5gmm(to)
        }
        NasMessage::AuthenticationResponse(m) => {
            let mut to = NasAuthenticationResponse::new();
            to.set_authentication_response_parameter(NasAuthenticationResponseParameter::new(
                m.res_star.as_bytes(),
            ));
            Nas5gsMessage::new_5gmm(to)
        }
        NasMessage::AuthenticationReject(_) => {
            Nas5gsMessage::new_5gmm(NasAuthenticationReject::new())
        }
        NasMessage::AuthenticationFailure(m) => {
            let mut to = NasAuthenticationFailure::new(cause(m.cause));
            set!(
                to.set_authentication_failure_parameter = m
                    .auts
                    .as_ref()
                    .map(|auts| NasAuthenticationFailureParameter::new(auts.as_bytes()))
            );
            Nas5gsMessage::new_5gmm(to)
        }
        NasMessage::IdentityRequest(m) => {
            let kind = NasFGsIdentityType::new(m.kind as u8);
            Nas5gsMessage::new_5gmm(NasIdentityRequest::new(kind))
        }
        NasMessage::IdentityResponse(m) => {
            Nas5gsMessage::new_5gmm(NasIdentityResponse::new(to_identity(&m.identity)?))
        }
        NasMessage::SecurityModeCommand(m) => to_security_mode_command(m),
        NasMessage::SecurityModeComplete(m) => {
            let mut to = NasSecurityModeComplete::new();
            if let Some(imeisv) = &m.imeisv {
                to.set_imeisv(to_identity(&MobileIdentity::Imeisv(imeisv.clone()))?);
            }
            set!(
                to.set_nas_message_container = m.container.as_deref().map(NasMessageContainer::new)
            );
            Nas5gsMessage::new_5gmm(to)
        }
        NasMessage::SecurityModeReject(m) => {
            Nas5gsMessage::new_5gmm(NasSecurityModeReject::new(cause(m.cause)))
        }
        NasMessage::MmStatus(m) => Nas5gsMessage::new_5gmm(NasFGmmStatus::new(cause(m.cause))),
        NasMessage::UplinkNasTransport(m) => to_uplink_transport(m)?,
        NasMessage::DownlinkNasTransport(m) => {
            let mut to = NasDlNasTransport::new(
                NasPayloadContainerType::new(m.kind as u8),
                NasPayloadContainer::new(&m.payload[..]),
            );
            set!(
                to.set_additional_information =
                    m.additional.as_deref().map(NasAdditionalInformation::new)
            );
            set!(to.set_pdu_session_id = to_session(m.session));
            set!(to.set_fgmm_cause = m.cause.map(cause));
            Nas5gsMessage::new_5gmm(to)
        }
        _ => return Ok(None),
    }))
}

fn to_registration_request(m: &RegistrationRequest) -> Result<Nas5gsMessage, NasError> {
    let follow_on = if m.follow_on { FOLLOW_ON } else { 0 };
    let mut to = NasRegistrationRequest::new(
        NasFGsRegistrationType::new(follow_on | m.kind as u8),
        to_ksi(m.ksi),
        to_own_identity(&m.identity)?,
    );
    set!(
        to.set_ue_security_capability = m
            .capability
            .as_ref()
            .map(|capability| NasUeSecurityCapability::new(capability.as_octets()))
    );
    if !m.requested_nssai.is_empty() {
        to.set_requested_nssai(to_nssai(&m.requested_nssai)?);
    }
    set!(to.set_last_visited_registered_tai = m.last_tai.map(to_tai));
    set!(to.set_uplink_data_status = m.uplink_data.map(to_uplink_data));
    set!(to.set_pdu_session_status = m.sessions.map(to_session_status));
    set!(to.set_nas_message_container = m.container.as_deref().map(NasMessageContainer::new));
    Ok(Nas5gsMessage::new_5gmm(to))
}

fn to_registration_accept(m: &RegistrationAccept) -> Result<Nas5gsMessage, NasError> {
    let mut to = NasRegistrationAccept::new(NasFGsRegistrationResult::new([ACCESS_3GPP]));
    set!(
        to.set_fg_guti = m
            .guti
            .map(|guti| oxirush_nas::nas_5gs::NasFGsMobileIdentity::new(guti.to_mobile_identity()))
    );
    if !m.tai_list.is_empty() {
        to.set_tai_list(to_tai_list(&m.tai_list)?);
    }
    if !m.allowed_nssai.is_empty() {
        to.set_allowed_nssai(to_nssai(&m.allowed_nssai)?);
    }
    set!(to.set_pdu_session_status = m.sessions.map(to_session_status));
    set!(to.set_pdu_session_reactivation_result = m.reactivation_failed.map(to_reactivation));
    set!(
        to.set_t3512_value = m
            .t3512
            .map(|period| NasT3512Value::from_seconds(period.as_secs()))
            .transpose()
            .map_err(unencodable)?
    );
    Ok(Nas5gsMessage::new_5gmm(to))
}

fn to_service_request(m: &ServiceRequest) -> Nas5gsMessage {
    let mut to = NasServiceRequest::new(
        to_ksi(m.ksi),
        NasServiceType::new(m.kind as u8),
        to_s_tmsi(m.s_tmsi),
    );
    set!(to.set_uplink_data_status = m.uplink_data.map(to_uplink_data));
    set!(to.set_pdu_session_status = m.sessions.map(to_session_status));
    set!(to.set_nas_message_container = m.container.as_deref().map(NasMessageContainer::new));
    Nas5gsMessage::new_5gmm(to)
}

fn to_configuration_update(m: &ConfigurationUpdateCommand) -> Result<Nas5gsMessage, NasError> {
    let mut to = NasConfigurationUpdateCommand::new();
    if m.acknowledge {
        to.set_configuration_update_indication(NasConfigurationUpdateIndication::new(ACKNOWLEDGE));
    }
    set!(
        to.set_fg_guti = m
            .guti
            .map(|guti| oxirush_nas::nas_5gs::NasFGsMobileIdentity::new(guti.to_mobile_identity()))
    );
    if !m.tai_list.is_empty() {
        to.set_tai_list(to_tai_list(&m.tai_list)?);
    }
    if !m.allowed_nssai.is_empty() {
        to.set_allowed_nssai(to_nssai(&m.allowed_nssai)?);
    }
    Ok(Nas5gsMessage::new_5gmm(to))
}

fn to_security_mode_command(m: &SecurityModeCommand) -> Nas5gsMessage {
    let mut to = NasSecurityModeCommand::new(
        NasSecurityAlgorithms::new(m.algorithms.to_octet()),
        to_ksi(Some(m.ksi)),
        NasUeSecurityCapability::new(m.replayed.as_octets()),
    );
    if m.imeisv_requested {
        to.set_imeisv_request(NasImeisvRequest::new(IMEISV_REQUESTED));
    }
    if m.repeat_initial {
        to.set_additional_5g_security_information(NasAdditional5gSecurityInformation::new([RINMR]));
    }
    Nas5gsMessage::new_5gmm(to)
}

fn to_uplink_transport(m: &UplinkNasTransport) -> Result<Nas5gsMessage, NasError> {
    let mut to = NasUlNasTransport::new(
        NasPayloadContainerType::new(PayloadKind::Sm as u8),
        NasPayloadContainer::new(&m.payload[..]),
    );
    set!(to.set_pdu_session_id = to_session(m.session));
    set!(to.set_request_type = m.request.map(|kind| NasRequestType::new(kind as u8)));
    set!(to.set_s_nssai = m.snssai.map(to_snssai));
    set!(to.set_dnn = m.dnn.as_deref().map(to_dnn).transpose()?);
    Ok(Nas5gsMessage::new_5gmm(to))
}

fn to_session(session: Option<PduSessionId>) -> Option<NasPduSessionIdentity2> {
    session.map(|session| NasPduSessionIdentity2::new(session.value()))
}
