//! The messages about one UE.

use oxirush_ngap::ngap as asn;
use oxirush_ngap::ngap::NGAPPDU;
use oxirush_ngap::{BitString, Error, Octets, extract_ngap_ies};

use super::cause::{cause, to_cause};
use super::elements::{
    capability, establishment, guami, location, pair, s_tmsi, session, snssai, to_capability,
    to_establishment, to_guami, to_location, to_s_tmsi, to_session, to_snssai,
};
use super::{Fault, build};
use crate::*;
use corewire_core5g_aka::Kgnb;

/// Reads a list of sessions with a transfer each.
macro_rules! transfers {
    ($list:expr, $field:ident) => {
        $list
            .0
            .iter()
            .map(|item| {
                Ok(SessionTransfer {
                    session: session(&item.pdu_session_id)?,
                    transfer: item.$field.to_vec(),
                })
            })
            .collect::<Result<Vec<_>, Fault>>()?
    };
}

/// Writes a list of sessions with a transfer each; none when it is empty, because no list may be.
macro_rules! to_transfers {
    ($list:ident of $item:ident, $sessions:expr) => {
        (!$sessions.is_empty()).then(|| {
            let items = $sessions.iter().map(|item| {
                let transfer = Octets::from(item.transfer.clone());
                asn::$item::new(to_session(item.session), transfer, None)
            });
            asn::$list(items.collect())
        })
    };
}

fn to_nas(nas: &[u8]) -> asn::NASPDU<'static> {
    asn::NASPDU::from(nas.to_vec())
}

fn owned(nas: asn::NASPDU<'_>) -> Vec<u8> {
    nas.0.to_vec()
}

fn ambr(from: &asn::UEAggregateMaximumBitRate) -> UeAmbr {
    UeAmbr {
        downlink: from.ue_aggregate_maximum_bit_rate_dl.0,
        uplink: from.ue_aggregate_maximum_bit_rate_ul.0,
    }
}

fn to_ambr(ambr: UeAmbr) -> asn::UEAggregateMaximumBitRate {
    asn::UEAggregateMaximumBitRate::new(
        asn::BitRate(ambr.downlink),
        asn::BitRate(ambr.uplink),
        None,
    )
}

pub(super) fn initial_ue_message(pdu: &NGAPPDU<'_>) -> Result<InitialUeMessage, Fault> {
    extract_ngap_ies!(pdu, InitialUEMessage,
        req ran: u32 = RAN_UE_NGAP_ID(id),
        req nas: Vec<u8> = NAS_PDU(nas) => owned(nas),
        req at: asn::UserLocationInformation<'_> = UserLocationInformation(at) => at,
        req why: asn::RRCEstablishmentCause = RRCEstablishmentCause(why) => why,
        opt who: asn::FiveGSTMSI = FiveG_S_TMSI(who) => who,
        opt context: bool = UEContextRequest(_context) => true,
    );
    Ok(InitialUeMessage {
        ran: RanUeNgapId(ran),
        nas,
        location: location(&at)?,
        establishment: establishment(why),
        s_tmsi: who.as_ref().map(s_tmsi).transpose()?,
        context_requested: context.unwrap_or(false),
    })
}

pub(super) fn to_initial_ue_message(m: &InitialUeMessage) -> Result<NGAPPDU<'static>, Error> {
    let context = m
        .context_requested
        .then_some(asn::UEContextRequest::requested);
    build!(InitialUEMessage {
        RAN_UE_NGAP_ID(m.ran.0),
        NAS_PDU(to_nas(&m.nas)),
        UserLocationInformation(to_location(m.location)?),
        RRCEstablishmentCause(to_establishment(m.establishment)),
        { FiveG_S_TMSI(m.s_tmsi.map(to_s_tmsi).transpose()?) },
        { UEContextRequest(context) },
    })
}

pub(super) fn downlink_nas(pdu: &NGAPPDU<'_>) -> Result<DownlinkNas, Fault> {
    extract_ngap_ies!(pdu, DownlinkNASTransport,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        req nas: Vec<u8> = NAS_PDU(nas) => owned(nas),
    );
    let ue = pair(amf, ran)?;
    Ok(DownlinkNas { ue, nas })
}

pub(super) fn to_downlink_nas(m: &DownlinkNas) -> Result<NGAPPDU<'static>, Error> {
    build!(DownlinkNASTransport {
        AMF_UE_NGAP_ID(m.ue.amf.value()),
        RAN_UE_NGAP_ID(m.ue.ran.0),
        NAS_PDU(to_nas(&m.nas)),
    })
}

pub(super) fn uplink_nas(pdu: &NGAPPDU<'_>) -> Result<UplinkNas, Fault> {
    extract_ngap_ies!(pdu, UplinkNASTransport,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        req nas: Vec<u8> = NAS_PDU(nas) => owned(nas),
        req at: asn::UserLocationInformation<'_> = UserLocationInformation(at) => at,
    );
    Ok(UplinkNas {
        ue: pair(amf, ran)?,
        nas,
        location: location(&at)?,
    })
}

pub(super) fn to_uplink_nas(m: &UplinkNas) -> Result<NGAPPDU<'static>, Error> {
    build!(UplinkNASTransport {
        AMF_UE_NGAP_ID(m.ue.amf.value()),
        RAN_UE_NGAP_ID(m.ue.ran.0),
        NAS_PDU(to_nas(&m.nas)),
        UserLocationInformation(to_location(m.location)?),
    })
}

pub(super) fn non_delivery(pdu: &NGAPPDU<'_>) -> Result<NasNonDeliveryIndication, Fault> {
    extract_ngap_ies!(pdu, NASNonDeliveryIndication,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        req nas: Vec<u8> = NAS_PDU(nas) => owned(nas),
        req why: asn::Cause = Cause(cause) => cause,
    );
    Ok(NasNonDeliveryIndication {
        ue: pair(amf, ran)?,
        nas,
        cause: cause(&why),
    })
}

pub(super) fn to_non_delivery(m: &NasNonDeliveryIndication) -> Result<NGAPPDU<'static>, Error> {
    build!(NASNonDeliveryIndication {
        AMF_UE_NGAP_ID(m.ue.amf.value()),
        RAN_UE_NGAP_ID(m.ue.ran.0),
        NAS_PDU(to_nas(&m.nas)),
        Cause(to_cause(m.cause)),
    })
}

pub(super) fn context_setup_request(
    pdu: &NGAPPDU<'_>,
) -> Result<InitialContextSetupRequest, Fault> {
    extract_ngap_ies!(pdu, InitialContextSetupRequest,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        opt rate: asn::UEAggregateMaximumBitRate = UEAggregateMaximumBitRate(rate) => rate,
        req serving: asn::GUAMI = GUAMI(guami) => guami,
        opt sessions: asn::PDUSessionResourceSetupListCxtReq<'_> =
            PDUSessionResourceSetupListCxtReq(list) => list,
        req allowed: asn::AllowedNSSAI = AllowedNSSAI(list) => list,
        req algorithms: asn::UESecurityCapabilities<'_> = UESecurityCapabilities(them) => them,
        req key: asn::SecurityKey<'_> = SecurityKey(key) => key,
        opt nas: Vec<u8> = NAS_PDU(nas) => owned(nas),
    );
    let sessions = sessions.iter().flat_map(|list| list.0.iter()).map(|item| {
        Ok(SessionSetup {
            session: session(&item.pdu_session_id)?,
            nas: item.nas_pdu.as_ref().map(|nas| nas.0.to_vec()),
            snssai: snssai(&item.s_nssai),
            transfer: item.pdu_session_resource_setup_request_transfer.to_vec(),
        })
    });
    let allowed = allowed.0.iter().map(|item| snssai(&item.s_nssai));
    Ok(InitialContextSetupRequest {
        ue: pair(amf, ran)?,
        guami: guami(&serving)?,
        allowed_nssai: allowed.collect(),
        capability: capability(&algorithms),
        kgnb: Kgnb::try_from(key.0.as_octets()).map_err(|_| Fault::Value("security key"))?,
        nas,
        sessions: sessions.collect::<Result<_, Fault>>()?,
        ambr: rate.as_ref().map(ambr),
    })
}

pub(super) fn to_context_setup_request(
    m: &InitialContextSetupRequest,
) -> Result<NGAPPDU<'static>, Error> {
    let sessions = (!m.sessions.is_empty()).then(|| {
        let items = m.sessions.iter().map(|item| {
            asn::PDUSessionResourceSetupItemCxtReq::new(
                to_session(item.session),
                item.nas.as_deref().map(to_nas),
                to_snssai(item.snssai),
                Octets::from(item.transfer.clone()),
                None,
            )
        });
        asn::PDUSessionResourceSetupListCxtReq(items.collect())
    });
    let allowed = m.allowed_nssai.iter();
    let allowed = allowed.map(|slice| asn::AllowedNSSAIItem::new(to_snssai(*slice), None));
    build!(InitialContextSetupRequest {
        AMF_UE_NGAP_ID(m.ue.amf.value()),
        RAN_UE_NGAP_ID(m.ue.ran.0),
        { UEAggregateMaximumBitRate(m.ambr.map(to_ambr)) },
        GUAMI(to_guami(m.guami)?),
        { PDUSessionResourceSetupListCxtReq(sessions) },
        AllowedNSSAI(asn::AllowedNSSAI(allowed.collect())),
        UESecurityCapabilities(to_capability(m.capability)),
        SecurityKey(asn::SecurityKey(BitString::from_octets(m.kgnb.as_bytes().to_vec()))),
        { NAS_PDU(m.nas.as_deref().map(to_nas)) },
    })
}

pub(super) fn context_setup_response(
    pdu: &NGAPPDU<'_>,
) -> Result<InitialContextSetupResponse, Fault> {
    extract_ngap_ies!(pdu, InitialContextSetupResponse,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        opt set_up: asn::PDUSessionResourceSetupListCxtRes<'_> =
            PDUSessionResourceSetupListCxtRes(list) => list,
        opt failed: asn::PDUSessionResourceFailedToSetupListCxtRes<'_> =
            PDUSessionResourceFailedToSetupListCxtRes(list) => list,
    );
    Ok(InitialContextSetupResponse {
        ue: pair(amf, ran)?,
        set_up: match set_up {
            Some(list) => transfers!(list, pdu_session_resource_setup_response_transfer),
            None => Vec::new(),
        },
        failed: match failed {
            Some(list) => transfers!(list, pdu_session_resource_setup_unsuccessful_transfer),
            None => Vec::new(),
        },
    })
}

pub(super) fn to_context_setup_response(
    m: &InitialContextSetupResponse,
) -> Result<NGAPPDU<'static>, Error> {
    build!(InitialContextSetupResponse {
        AMF_UE_NGAP_ID(m.ue.amf.value()),
        RAN_UE_NGAP_ID(m.ue.ran.0),
        { PDUSessionResourceSetupListCxtRes(to_transfers!(
            PDUSessionResourceSetupListCxtRes of PDUSessionResourceSetupItemCxtRes, m.set_up)) },
        { PDUSessionResourceFailedToSetupListCxtRes(to_transfers!(
            PDUSessionResourceFailedToSetupListCxtRes of PDUSessionResourceFailedToSetupItemCxtRes,
            m.failed)) },
    })
}

pub(super) fn context_setup_failure(
    pdu: &NGAPPDU<'_>,
) -> Result<InitialContextSetupFailure, Fault> {
    extract_ngap_ies!(pdu, InitialContextSetupFailure,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        req why: asn::Cause = Cause(cause) => cause,
    );
    Ok(InitialContextSetupFailure {
        ue: pair(amf, ran)?,
        cause: cause(&why),
    })
}

pub(super) fn to_context_setup_failure(
    m: &InitialContextSetupFailure,
) -> Result<NGAPPDU<'static>, Error> {
    build!(InitialContextSetupFailure {
        AMF_UE_NGAP_ID(m.ue.amf.value()),
        RAN_UE_NGAP_ID(m.ue.ran.0),
        Cause(to_cause(m.cause)),
    })
}

pub(super) fn resource_setup_request(
    pdu: &NGAPPDU<'_>,
) -> Result<PduSessionResourceSetupRequest, Fault> {
    extract_ngap_ies!(pdu, PDUSessionResourceSetupRequest,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        req sessions: asn::PDUSessionResourceSetupListSUReq<'_> =
            PDUSessionResourceSetupListSUReq(list) => list,
        opt rate: asn::UEAggregateMaximumBitRate = UEAggregateMaximumBitRate(rate) => rate,
    );
    let sessions = sessions.0.iter().map(|item| {
        Ok(SessionSetup {
            session: session(&item.pdu_session_id)?,
            nas: item.pdu_session_nas_pdu.as_ref().map(|nas| nas.0.to_vec()),
            snssai: snssai(&item.s_nssai),
            transfer: item.pdu_session_resource_setup_request_transfer.to_vec(),
        })
    });
    Ok(PduSessionResourceSetupRequest {
        ue: pair(amf, ran)?,
        sessions: sessions.collect::<Result<_, Fault>>()?,
        ambr: rate.as_ref().map(ambr),
    })
}

pub(super) fn to_resource_setup_request(
    m: &PduSessionResourceSetupRequest,
) -> Result<NGAPPDU<'static>, Error> {
    let items = m.sessions.iter().map(|item| {
        asn::PDUSessionResourceSetupItemSUReq::new(
            to_session(item.session),
            item.nas.as_deref().map(to_nas),
            to_snssai(item.snssai),
            Octets::from(item.transfer.clone()),
            None,
        )
    });
    build!(PDUSessionResourceSetupRequest {
        AMF_UE_NGAP_ID(m.ue.amf.value()),
        RAN_UE_NGAP_ID(m.ue.ran.0),
        PDUSessionResourceSetupListSUReq(asn::PDUSessionResourceSetupListSUReq(items.collect())),
        { UEAggregateMaximumBitRate(m.ambr.map(to_ambr)) },
    })
}

pub(super) fn resource_setup_response(
    pdu: &NGAPPDU<'_>,
) -> Result<PduSessionResourceSetupResponse, Fault> {
    extract_ngap_ies!(pdu, PDUSessionResourceSetupResponse,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        opt set_up: asn::PDUSessionResourceSetupListSURes<'_> =
            PDUSessionResourceSetupListSURes(list) => list,
        opt failed: asn::PDUSessionResourceFailedToSetupListSURes<'_> =
            PDUSessionResourceFailedToSetupListSURes(list) => list,
    );
    Ok(PduSessionResourceSetupResponse {
        ue: pair(amf, ran)?,
        set_up: match set_up {
            Some(list) => transfers!(list, pdu_session_resource_setup_response_transfer),
            None => Vec::new(),
        },
        failed: match failed {
            Some(list) => transfers!(list, pdu_session_resource_setup_unsuccessful_transfer),
            None => Vec::new(),
        },
    })
}

pub(super) fn to_resource_setup_response(
    m: &PduSessionResourceSetupResponse,
) -> Result<NGAPPDU<'static>, Error> {
    build!(PDUSessionResourceSetupResponse {
        AMF_UE_NGAP_ID(m.ue.amf.value()),
        RAN_UE_NGAP_ID(m.ue.ran.0),
        { PDUSessionResourceSetupListSURes(to_transfers!(
            PDUSessionResourceSetupListSURes of PDUSessionResourceSetupItemSURes, m.set_up)) },
        { PDUSessionResourceFailedToSetupListSURes(to_transfers!(
            PDUSessionResourceFailedToSetupListSURes of PDUSessionResourceFailedToSetupItemSURes,
            m.failed)) },
    })
}

pub(super) fn resource_modify_request(
    pdu: &NGAPPDU<'_>,
) -> Result<PduSessionResourceModifyRequest, Fault> {
    extract_ngap_ies!(pdu, PDUSessionResourceModifyRequest,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        req sessions: asn::PDUSessionResourceModifyListModReq<'_> =
            PDUSessionResourceModifyListModReq(list) => list,
    );
    let sessions = sessions.0.iter().map(|item| {
        Ok(SessionModify {
            session: session(&item.pdu_session_id)?,
            nas: item.nas_pdu.as_ref().map(|nas| nas.0.to_vec()),
            transfer: item.pdu_session_resource_modify_request_transfer.to_vec(),
        })
    });
    Ok(PduSessionResourceModifyRequest {
        ue: pair(amf, ran)?,
        sessions: sessions.collect::<Result<_, Fault>>()?,
    })
}

pub(super) fn to_resource_modify_request(
    m: &PduSessionResourceModifyRequest,
) -> Result<NGAPPDU<'static>, Error> {
    let items = m.sessions.iter().map(|item| {
        asn::PDUSessionResourceModifyItemModReq::new(
            to_session(item.session),
            item.nas.as_deref().map(to_nas),
            Octets::from(item.transfer.clone()),
            None,
        )
    });
    build!(PDUSessionResourceModifyRequest {
        AMF_UE_NGAP_ID(m.ue.amf.value()),
        RAN_UE_NGAP_ID(m.ue.ran.0),
        PDUSessionResourceModifyListModReq(
            asn::PDUSessionResourceModifyListModReq(items.collect())),
    })
}

pub(super) fn resource_modify_response(
    pdu: &NGAPPDU<'_>,
) -> Result<PduSessionResourceModifyResponse, Fault> {
    extract_ngap_ies!(pdu, PDUSessionResourceModifyResponse,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        opt modified: asn::PDUSessionResourceModifyListModRes<'_> =
            PDUSessionResourceModifyListModRes(list) => list,
        opt failed: asn::PDUSessionResourceFailedToModifyListModRes<'_> =
            PDUSessionResourceFailedToModifyListModRes(list) => list,
    );
    Ok(PduSessionResourceModifyResponse {
        ue: pair(amf, ran)?,
        modified: match modified {
            Some(list) => transfers!(list, pdu_session_resource_modify_response_transfer),
            None => Vec::new(),
        },
        failed: match failed {
            Some(list) => transfers!(list, pdu_session_resource_modify_unsuccessful_transfer),
            None => Vec::new(),
        },
    })
}

pub(super) fn to_resource_modify_response(
    m: &PduSessionResourceModifyResponse,
) -> Result<NGAPPDU<'static>, Error> {
    build!(PDUSessionResourceModifyResponse {
        AMF_UE_NGAP_ID(m.ue.amf.value()),
        RAN_UE_NGAP_ID(m.ue.ran.0),
        { PDUSessionResourceModifyListModRes(to_transfers!(
            PDUSessionResourceModifyListModRes of PDUSessionResourceModifyItemModRes,
            m.modified)) },
        { PDUSessionResourceFailedToModifyListModRes(to_transfers!(
            PDUSessionResourceFailedToModifyListModRes of
            PDUSessionResourceFailedToModifyItemModRes, m.failed)) },
    })
}

pub(super) fn resource_release_command(
    pdu: &NGAPPDU<'_>,
) -> Result<PduSessionResourceReleaseCommand, Fault> {
    extract_ngap_ies!(pdu, PDUSessionResourceReleaseCommand,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        opt nas: Vec<u8> = NAS_PDU(nas) => owned(nas),
        req sessions: asn::PDUSessionResourceToReleaseListRelCmd<'_> =
            PDUSessionResourceToReleaseListRelCmd(list) => list,
    );
    Ok(PduSessionResourceReleaseCommand {
        ue: pair(amf, ran)?,
        nas,
        sessions: transfers!(sessions, pdu_session_resource_release_command_transfer),
    })
}

pub(super) fn to_resource_release_command(
    m: &PduSessionResourceReleaseCommand,
) -> Result<NGAPPDU<'static>, Error> {
    build!(PDUSessionResourceReleaseCommand {
        AMF_UE_NGAP_ID(m.ue.amf.value()),
        RAN_UE_NGAP_ID(m.ue.ran.0),
        { NAS_PDU(m.nas.as_deref().map(to_nas)) },
        { PDUSessionResourceToReleaseListRelCmd(to_transfers!(
            PDUSessionResourceToReleaseListRelCmd of PDUSessionResourceToReleaseItemRelCmd,
            m.sessions)) },
    })
}

pub(super) fn resource_release_response(
    pdu: &NGAPPDU<'_>,
) -> Result<PduSessionResourceReleaseResponse, Fault> {
    extract_ngap_ies!(pdu, PDUSessionResourceReleaseResponse,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        req released: asn::PDUSessionResourceReleasedListRelRes<'_> =
            PDUSessionResourceReleasedListRelRes(list) => list,
    );
    Ok(PduSessionResourceReleaseResponse {
        ue: pair(amf, ran)?,
        released: transfers!(released, pdu_session_resource_release_response_transfer),
    })
}

pub(super) fn to_resource_release_response(
    m: &PduSessionResourceReleaseResponse,
) -> Result<NGAPPDU<'static>, Error> {
    build!(PDUSessionResourceReleaseResponse {
        AMF_UE_NGAP_ID(m.ue.amf.value()),
        RAN_UE_NGAP_ID(m.ue.ran.0),
        { PDUSessionResourceReleasedListRelRes(to_transfers!(
            PDUSessionResourceReleasedListRelRes of PDUSessionResourceReleasedItemRelRes,
            m.released)) },
    })
}
