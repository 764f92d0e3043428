//! Between this crate's messages and those of `oxirush-ngap`: the only place that names its types.

mod cause;
mod context_release;
mod elements;
mod node;
pub(super) mod transfer;
mod ue;

use oxirush_ngap::ngap::{NGAP_PDU, NGAPPDU};
use oxirush_ngap::{Error, ErrorKind, NgapPduKind as Kind, extract_ngap_ies};

use super::error::AnsweredBy;
use super::{AmfUeNgapId, NgapError, NgapErrorKind, NgapMessage, RanUeNgapId};

/// What is wrong with a message: the codec says so, or a value in it makes no sense.
#[derive(Debug)]
pub(super) enum Fault {
    Codec(Error),
    Value(&'static str),
    Procedure(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Codec(error)
    }
}

impl Fault {
    fn kind(&self) -> NgapErrorKind {
        match self {
            Self::Codec(error) if error.kind() == ErrorKind::Decode => {
                NgapErrorKind::TransferSyntax
            }
            Self::Codec(_) => NgapErrorKind::Element,
            Self::Value(_) => NgapErrorKind::Semantic,
            Self::Procedure(_) => NgapErrorKind::Procedure,
        }
    }

    fn what(&self) -> String {
        match self {
            Self::Codec(error) => error.to_string(),
            Self::Value(what) => (*what).to_owned(),
            Self::Procedure(name) => name.clone(),
        }
    }

    /// Of a transfer, whose sender is not waiting for an answer.
    pub(super) fn of_transfer(self) -> NgapError {
        NgapError {
            kind: self.kind(),
            what: self.what(),
            amf: None,
            ran: None,
            answered_by: AnsweredBy::Nothing,
            faults: Vec::new(),
        }
    }
}

pub(super) fn unencodable(error: impl std::fmt::Display) -> NgapError {
    NgapError {
        kind: NgapErrorKind::Encode,
        what: error.to_string(),
        amf: None,
        ran: None,
        answered_by: AnsweredBy::Nothing,
        faults: Vec::new(),
    }
}

pub(super) fn decode(octets: &[u8]) -> Result<NgapMessage, NgapError> {
    let pdu = NGAP_PDU::decode_borrowed(octets).map_err(|error| NgapError {
        kind: NgapErrorKind::TransferSyntax,
        what: error.to_string(),
        amf: None,
        ran: None,
        answered_by: AnsweredBy::ErrorIndication,
        faults: Vec::new(),
    })?;
    read(&pdu).map_err(|fault| {
        let (amf, ran) = ue_of(&pdu);
        NgapError {
            kind: fault.kind(),
            what: fault.what(),
            amf,
            ran,
            answered_by: answered_by(&pdu),
            faults: pdu.check().map_or_else(
                |_| Vec::new(),
                |found| node::faults(&pdu.criticality_diagnostics_for_response(&found)),
            ),
        }
    })
}

fn answered_by(pdu: &NGAPPDU<'_>) -> AnsweredBy {
    match pdu.kind() {
        Kind::Initiating_NGSetup => AnsweredBy::NgSetupFailure,
        Kind::Initiating_RANConfigurationUpdate => AnsweredBy::RanConfigurationUpdateFailure,
        _ if pdu.is_initiating() => AnsweredBy::ErrorIndication,
        _ => AnsweredBy::Nothing,
    }
}

fn read(pdu: &NGAPPDU<'_>) -> Result<NgapMessage, Fault> {
    Ok(match pdu.kind() {
        Kind::Initiating_NGSetup => node::setup_request(pdu)?.into(),
        Kind::Successful_NGSetup => node::setup_response(pdu)?.into(),
        Kind::Unsuccessful_NGSetup => node::setup_failure(pdu)?.into(),
        Kind::Initiating_RANConfigurationUpdate => node::configuration_update(pdu)?.into(),
        Kind::Successful_RANConfigurationUpdate => super::RanConfigurationUpdateAcknowledge.into(),
        Kind::Unsuccessful_RANConfigurationUpdate => {
            node::configuration_update_failure(pdu)?.into()
        }
        Kind::Initiating_NGReset => node::reset(pdu)?.into(),
        Kind::Successful_NGReset => node::reset_acknowledge(pdu)?.into(),
        Kind::Initiating_ErrorIndication => node::error_indication(pdu)?.into(),
        Kind::Initiating_Paging => node::paging(pdu)?.into(),
        Kind::Initiating_OverloadStart => node::overload_start(pdu)?.into(),
        Kind::Initiating_OverloadStop => super::OverloadStop.into(),
        Kind::Initiating_InitialUEMessage => ue::initial_ue_message(pdu)?.into(),
        Kind::Initiating_DownlinkNASTransport => ue::downlink_nas(pdu)?.into(),
        Kind::Initiating_UplinkNASTransport => ue::uplink_nas(pdu)?.into(),
        Kind::Initiating_NASNonDeliveryIndication => ue::non_delivery(pdu)?.into(),
        Kind::Initiating_InitialContextSetup => ue::context_setup_request(pdu)?.into(),
        Kind::Successful_InitialContextSetup => ue::context_setup_response(pdu)?.into(),
        Kind::Unsuccessful_InitialContextSetup => ue::context_setup_failure(pdu)?.into(),
        Kind::Initiating_PDUSessionResourceSetup => ue::resource_setup_request(pdu)?.into(),
        Kind::Successful_PDUSessionResourceSetup => ue::resource_setup_response(pdu)?.into(),
        Kind::Initiating_PDUSessionResourceModify => ue::resource_modify_request(pdu)?.into(),
        Kind::Successful_PDUSessionResourceModify => ue::resource_modify_response(pdu)?.into(),
        Kind::Initiating_PDUSessionResourceRelease => ue::resource_release_command(pdu)?.into(),
        Kind::Successful_PDUSessionResourceRelease => ue::resource_release_response(pdu)?.into(),
        Kind::Initiating_UEContextReleaseRequest => {
            context_release::context_release_request(pdu)?.into()
        }
        Kind::Initiating_UEContextRelease => context_release::context_release_command(pdu)?.into(),
        Kind::Successful_UEContextRelease => context_release::context_release_complete(pdu)?.into(),
        _ => return Err(Fault::Procedure(pdu.procedure_name().to_string())),
    })
}

/// The UE that a faulty message is about, as far as it can be read.
fn ue_of(pdu: &NGAPPDU<'_>) -> (Option<AmfUeNgapId>, Option<RanUeNgapId>) {
    fn ids(pdu: &NGAPPDU<'_>) -> Result<(Option<u64>, Option<u32>), Error> {
        // Any message with both numbers serves to look for them.
        extract_ngap_ies!(pdu, UplinkNASTransport,
            lax amf: u64 = AMF_UE_NGAP_ID(id),
            lax ran: u32 = RAN_UE_NGAP_ID(id),
        );
        Ok((amf, ran))
    }
    let (amf, ran) = ids(pdu).unwrap_or_default();
    (amf.and_then(AmfUeNgapId::new), ran.map(RanUeNgapId))
}

pub(super) fn encode(message: &NgapMessage) -> Result<Vec<u8>, NgapError> {
    use NgapMessage as M;
    let pdu = match message {
        M::NgSetupRequest(m) => node::to_setup_request(m),
        M::NgSetupResponse(m) => node::to_setup_response(m),
        M::NgSetupFailure(m) => node::to_setup_failure(m),
        M::RanConfigurationUpdate(m) => node::to_configuration_update(m),
        M::RanConfigurationUpdateAcknowledge(_) => node::to_configuration_update_acknowledge(),
        M::RanConfigurationUpdateFailure(m) => node::to_configuration_update_failure(m),
        M::NgReset(m) => node::to_reset(m),
        M::NgResetAcknowledge(m) => node::to_reset_acknowledge(m),
        M::ErrorIndication(m) => node::to_error_indication(m),
        M::Paging(m) => node::to_paging(m),
        M::OverloadStart(m) => node::to_overload_start(m),
        M::OverloadStop(_) => node::to_overload_stop(),
        M::InitialUeMessage(m) => ue::to_initial_ue_message(m),
        M::DownlinkNas(m) => ue::to_downlink_nas(m),
        M::UplinkNas(m) => ue::to_uplink_nas(m),
        M::NasNonDeliveryIndication(m) => ue::to_non_delivery(m),
        M::InitialContextSetupRequest(m) => ue::to_context_setup_request(m),
        M::InitialContextSetupResponse(m) => ue::to_context_setup_response(m),
        M::InitialContextSetupFailure(m) => ue::to_context_setup_failure(m),
        M::PduSessionResourceSetupRequest(m) => ue::to_resource_setup_request(m),
        M::PduSessionResourceSetupResponse(m) => ue::to_resource_setup_response(m),
        M::PduSessionResourceModifyRequest(m) => ue::to_resource_modify_request(m),
        M::PduSessionResourceModifyResponse(m) => ue::to_resource_modify_response(m),
        M::PduSessionResourceReleaseCommand(m) => ue::to_resource_release_command(m),
        M::PduSessionResourceReleaseResponse(m) => ue::to_resource_release_response(m),
        M::UeContextReleaseRequest(m) => context_release::to_context_release_request(m),
        M::UeContextReleaseCommand(m) => context_release::to_context_release_command(m),
        M::UeContextReleaseComplete(m) => context_release::to_context_release_complete(m),
    }
    .map_err(unencodable)?;
    pdu.encode().map_err(unencodable)
}

/// Builds a message of elements in the order of the specification; an optional one stands in braces.
macro_rules! build {
    ($message:ident { $($element:tt)* }) => {{
        #[allow(unused_mut, reason = "a message may have no element")]
        let mut elements = Vec::new();
        $crate::codec::build!(@ elements $message $($element)*);
        let message = oxirush_ngap::ngap::$message::new(
            oxirush_ngap::ngap::ProtocolIEContainer(elements),
        );
        oxirush_ngap::ngap::NGAP_PDU::of_message(
            &message,
            <oxirush_ngap::ngap::$message<'_> as oxirush_ngap::Message<'_>>::CRITICALITY,
        )
    }};
    (@ $elements:ident $message:ident) => {};
    (@ $elements:ident $message:ident $name:ident($value:expr), $($rest:tt)*) => {
        $elements.push(oxirush_ngap::build_ngap_ie!($message, $name($value))?);
        $crate::codec::build!(@ $elements $message $($rest)*);
    };
    (@ $elements:ident $message:ident { $name:ident($value:expr) }, $($rest:tt)*) => {
        if let Some(value) = $value {
            $elements.push(oxirush_ngap::build_ngap_ie!($message, $name(value))?);
        }
        $crate::codec::build!(@ $elements $message $($rest)*);
    };
}
pub(super) use build;

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
