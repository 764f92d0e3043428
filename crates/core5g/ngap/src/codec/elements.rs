//! Single information elements (TS 38.413 clause 9.3).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use corewire_guti::{AmfPointer, AmfRegionId, AmfSetId, Guami, Plmn, Tmsi};
use oxirush_ngap::ngap as asn;
use oxirush_ngap::{BitString, Bits, Error};

use super::Fault;
use crate::transfer::GtpTunnel;
use crate::{
    AmfUeNgapId, EstablishmentCause, GnbId, Location, NrCell, PlmnSlices, RadioSecurityCapability,
    RanUeNgapId, UePair,
};
use corewire_core5g_nas::{PduSessionId, STmsi, Snssai, Tac, Tai};

pub(super) fn plmn(from: asn::PLMNIdentity) -> Result<Plmn, Fault> {
    Plmn::from_tbcd(from.0).map_err(|_| Fault::Value("PLMN identity"))
}

pub(super) const fn to_plmn(plmn: Plmn) -> asn::PLMNIdentity {
    asn::PLMNIdentity(plmn.to_tbcd())
}

pub(super) fn snssai(from: &asn::SNSSAI) -> Snssai {
    let [sst] = from.sst.0;
    Snssai {
        sst,
        sd: from.sd.as_ref().map(|sd| sd.0),
    }
}

pub(super) fn to_snssai(slice: Snssai) -> asn::SNSSAI {
    asn::SNSSAI::new(asn::SST([slice.sst]), slice.sd.map(asn::SD), None)
}

pub(super) fn slices(from: &asn::SliceSupportList) -> Vec<Snssai> {
    from.0.iter().map(|item| snssai(&item.s_nssai)).collect()
}

fn to_slices(slices: &[Snssai]) -> asn::SliceSupportList {
    let item = |slice: &Snssai| asn::SliceSupportItem::new(to_snssai(*slice), None);
    asn::SliceSupportList(slices.iter().map(item).collect())
}

pub(super) fn to_broadcast(plmn: &PlmnSlices) -> asn::BroadcastPLMNItem {
    asn::BroadcastPLMNItem::new(to_plmn(plmn.plmn), to_slices(&plmn.slices), None)
}

pub(super) fn to_support(plmn: &PlmnSlices) -> asn::PLMNSupportItem {
    asn::PLMNSupportItem::new(to_plmn(plmn.plmn), to_slices(&plmn.slices), None)
}

pub(super) fn tai(from: &asn::TAI) -> Result<Tai, Fault> {
    Ok(Tai {
        plmn: plmn(from.plmn_identity)?,
        tac: Tac(from.tac.0),
    })
}

pub(super) fn to_tai(tai: Tai) -> asn::TAI {
    asn::TAI::new(to_plmn(tai.plmn), asn::TAC(tai.tac.0), None)
}

pub(super) fn guami(from: &asn::GUAMI) -> Result<Guami, Fault> {
    Ok(Guami::new(
        plmn(from.plmn_identity)?,
        AmfRegionId::new(low_octet(from.amf_region_id.0)),
        amf_set(&from.amf_set_id)?,
        amf_pointer(&from.amf_pointer)?,
    ))
}

pub(super) fn to_guami(guami: Guami) -> Result<asn::GUAMI, Error> {
    Ok(asn::GUAMI::new(
        to_plmn(guami.plmn()),
        asn::AMFRegionID::new(u64::from(guami.region().value()))?,
        asn::AMFSetID::new(u64::from(guami.set().value()))?,
        asn::AMFPointer::new(u64::from(guami.pointer().value()))?,
        None,
    ))
}

fn amf_set(from: &asn::AMFSetID) -> Result<AmfSetId, Fault> {
    u16::try_from(from.0.value())
        .ok()
        .and_then(|set| AmfSetId::try_from(set).ok())
        .ok_or(Fault::Value("AMF Set ID"))
}

fn amf_pointer(from: &asn::AMFPointer) -> Result<AmfPointer, Fault> {
    AmfPointer::try_from(low_octet(from.0)).map_err(|_| Fault::Value("AMF Pointer"))
}

fn low_octet(bits: Bits) -> u8 {
    let [.., low] = bits.value().to_be_bytes();
    low
}

pub(super) fn s_tmsi(from: &asn::FiveGSTMSI) -> Result<STmsi, Fault> {
    Ok(STmsi {
        set: amf_set(&from.amf_set_id)?,
        pointer: amf_pointer(&from.amf_pointer)?,
        tmsi: Tmsi::try_from(u32::from_be_bytes(from.five_g_tmsi.0))
            .map_err(|_| Fault::Value("5G-TMSI"))?,
    })
}

pub(super) fn to_s_tmsi(s_tmsi: STmsi) -> Result<asn::FiveGSTMSI, Error> {
    Ok(asn::FiveGSTMSI::new(
        asn::AMFSetID::new(u64::from(s_tmsi.set.value()))?,
        asn::AMFPointer::new(u64::from(s_tmsi.pointer.value()))?,
        asn::FiveGTMSI(s_tmsi.tmsi.value().to_be_bytes()),
        None,
    ))
}

pub(super) fn pair(amf: u64, ran: u32) -> Result<UePair, Fault> {
    Ok(UePair {
        amf: amf_id(amf)?,
        ran: RanUeNgapId(ran),
    })
}

pub(super) fn amf_id(amf: u64) -> Result<AmfUeNgapId, Fault> {
    AmfUeNgapId::new(amf).ok_or(Fault::Value("AMF UE NGAP ID"))
}

pub(super) fn session(from: &asn::PDUSessionID) -> Result<PduSessionId, Fault> {
    PduSessionId::new(from.0).ok_or(Fault::Value("PDU session ID"))
}

pub(super) const fn to_session(session: PduSessionId) -> asn::PDUSessionID {
    asn::PDUSessionID(session.value())
}

pub(super) fn gnb(from: &asn::GlobalRANNodeID) -> Result<GnbId, Fault> {
    let asn::GlobalRANNodeID::globalGNB_ID(gnb) = from else {
        return Err(Fault::Value("a RAN node that is no gNB"));
    };
    let asn::GNBID::gNB_ID(bits) = &gnb.gnb_id else {
        return Err(Fault::Value("gNB ID"));
    };
    let fault = |_| Fault::Value("gNB ID");
    Ok(GnbId {
        plmn: plmn(gnb.plmn_identity)?,
        value: u32::try_from(bits.value()).map_err(fault)?,
        bits: u8::try_from(bits.len()).map_err(fault)?,
    })
}

pub(super) fn to_gnb(gnb: GnbId) -> Result<asn::GlobalRANNodeID, Error> {
    let id = oxirush_ngap::helpers::global_gnb_id(to_plmn(gnb.plmn), gnb.value, gnb.bits.into())?;
    Ok(asn::GlobalRANNodeID::globalGNB_ID(id))
}

pub(super) fn location(from: &asn::UserLocationInformation<'_>) -> Result<Location, Fault> {
    let asn::UserLocationInformation::userLocationInformationNR(nr) = from else {
        return Err(Fault::Value("a location that is not in NR"));
    };
    Ok(Location {
        cell: NrCell {
            plmn: plmn(nr.nr_cgi.plmn_identity)?,
            value: nr.nr_cgi.nr_cell_identity.0.value(),
        },
        tai: tai(&nr.tai)?,
    })
}

pub(super) fn to_location(
    location: Location,
) -> Result<asn::UserLocationInformation<'static>, Error> {
    let cell = asn::NRCGI::new(
        to_plmn(location.cell.plmn),
        asn::NRCellIdentity::new(location.cell.value)?,
        None,
    );
    let nr = asn::UserLocationInformationNR::new(cell, to_tai(location.tai), None, None);
    Ok(asn::UserLocationInformation::userLocationInformationNR(nr))
}

pub(super) const fn establishment(from: asn::RRCEstablishmentCause) -> EstablishmentCause {
    use asn::RRCEstablishmentCause as C;
    match from {
        C::emergency => EstablishmentCause::Emergency,
        C::highPriorityAccess => EstablishmentCause::HighPriority,
        C::mt_Access => EstablishmentCause::MobileTerminated,
        C::mo_Signalling => EstablishmentCause::Signalling,
        C::mo_Data => EstablishmentCause::Data,
        _ => EstablishmentCause::Other,
    }
}

pub(super) const fn to_establishment(cause: EstablishmentCause) -> asn::RRCEstablishmentCause {
    use asn::RRCEstablishmentCause as C;
    match cause {
        EstablishmentCause::Emergency => C::emergency,
        EstablishmentCause::HighPriority => C::highPriorityAccess,
        EstablishmentCause::MobileTerminated => C::mt_Access,
        EstablishmentCause::Signalling => C::mo_Signalling,
        EstablishmentCause::Data => C::mo_Data,
        EstablishmentCause::Other => C::notAvailable,
    }
}

pub(super) fn capability(from: &asn::UESecurityCapabilities<'_>) -> RadioSecurityCapability {
    let bits = |string: &BitString<'_>| match string.as_octets() {
        [high, low, ..] => u16::from_be_bytes([*high, *low]),
        _ => 0,
    };
    RadioSecurityCapability {
        nr_ciphering: bits(&from.nr_encryption_algorithms.0),
        nr_integrity: bits(&from.nr_integrity_protection_algorithms.0),
        eutra_ciphering: bits(&from.eutra_encryption_algorithms.0),
        eutra_integrity: bits(&from.eutra_integrity_protection_algorithms.0),
    }
}

pub(super) fn to_capability(
    capability: RadioSecurityCapability,
) -> asn::UESecurityCapabilities<'static> {
    let bits = |value: u16| BitString::from(value.to_be_bytes());
    asn::UESecurityCapabilities::new(
        asn::NRencryptionAlgorithms(bits(capability.nr_ciphering)),
        asn::NRintegrityProtectionAlgorithms(bits(capability.nr_integrity)),
        asn::EUTRAencryptionAlgorithms(bits(capability.eutra_ciphering)),
        asn::EUTRAintegrityProtectionAlgorithms(bits(capability.eutra_integrity)),
        None,
    )
}

/// An IPv4 address has 32 bits, an IPv6 address 128, and both together 160 (clause 9.3.2.4); of both
/// the first is used.
pub(super) fn tunnel(from: &asn::UPTransportLayerInformation<'_>) -> Result<GtpTunnel, Fault> {
    let asn::UPTransportLayerInformation::gTPTunnel(tunnel) = from else {
        return Err(Fault::Value("a tunnel that is not of GTP"));
    };
    let octets = tunnel.transport_layer_address.0.as_octets();
    let address = match octets.len() {
        4 | 20 => octets
            .first_chunk()
            .map(|v4: &[u8; 4]| IpAddr::V4(Ipv4Addr::from(*v4))),
        16 => octets
            .first_chunk()
            .map(|v6: &[u8; 16]| IpAddr::V6(Ipv6Addr::from(*v6))),
        _ => None,
    };
    Ok(GtpTunnel {
        address: address.ok_or(Fault::Value("transport layer address"))?,
        teid: u32::from_be_bytes(tunnel.gtp_teid.0),
    })
}

pub(super) fn to_tunnel(tunnel: GtpTunnel) -> asn::UPTransportLayerInformation<'static> {
    let address = match tunnel.address {
        IpAddr::V4(v4) => BitString::from_octets(v4.octets().to_vec()),
        IpAddr::V6(v6) => BitString::from_octets(v6.octets().to_vec()),
    };
    asn::UPTransportLayerInformation::gTPTunnel(asn::GTPTunnel::new(
        asn::TransportLayerAddress(address),
        asn::GTPTEID(tunnel.teid.to_be_bytes()),
        None,
    ))
}
