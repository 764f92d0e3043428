//! The messages between gNB and AMF as nodes.

use std::time::Duration;

use oxirush_ngap::ngap as asn;
use oxirush_ngap::ngap::NGAPPDU;
use oxirush_ngap::{Error, extract_ngap_ies};

use super::cause::{cause, to_cause};
use super::elements::{
    amf_id, gnb, guami, plmn, s_tmsi, slices, tai, to_broadcast, to_gnb, to_guami, to_s_tmsi,
    to_support, to_tai,
};
use super::{Fault, build};
use crate::{
    Criticality, ElementFault, ErrorIndication, NgReset, NgResetAcknowledge, NgSetupFailure,
    NgSetupRequest, NgSetupResponse, OverloadStart, Paging, PlmnSlices, RanConfigurationUpdate,
    RanConfigurationUpdateFailure, RanUeNgapId, ResetScope, SupportedArea, UeConnection,
};
use corewire_core5g_nas::Tac;

pub(super) fn setup_request(pdu: &NGAPPDU<'_>) -> Result<NgSetupRequest, Fault> {
    extract_ngap_ies!(pdu, NGSetupRequest,
        req id: asn::GlobalRANNodeID = GlobalRANNodeID(id) => id,
        opt name: String = RANNodeName(name) => name.0.into_owned(),
        req areas: asn::SupportedTAList = SupportedTAList(areas) => areas,
    );
    Ok(NgSetupRequest {
        gnb: gnb(&id)?,
        name,
        areas: supported_areas(&areas)?,
    })
}

fn supported_areas(list: &asn::SupportedTAList) -> Result<Vec<SupportedArea>, Fault> {
    let area = |item: &asn::SupportedTAItem| {
        let plmns = item.broadcast_plmn_list.0.iter().map(|item| {
            Ok(PlmnSlices {
                plmn: plmn(item.plmn_identity)?,
                slices: slices(&item.tai_slice_support_list),
            })
        });
        Ok(SupportedArea {
            tac: Tac(item.tac.0),
            plmns: plmns.collect::<Result<_, Fault>>()?,
        })
    };
    list.0.iter().map(area).collect()
}

fn to_supported_areas(areas: &[SupportedArea]) -> asn::SupportedTAList {
    let area = |area: &SupportedArea| {
        let plmns = asn::BroadcastPLMNList(area.plmns.iter().map(to_broadcast).collect());
        asn::SupportedTAItem::new(asn::TAC(area.tac.0), plmns, None)
    };
    asn::SupportedTAList(areas.iter().map(area).collect())
}

pub(super) fn to_setup_request(m: &NgSetupRequest) -> Result<NGAPPDU<'static>, Error> {
    build!(NGSetupRequest {
        GlobalRANNodeID(to_gnb(m.gnb)?),
        { RANNodeName(m.name.clone().map(|name| asn::RANNodeName(name.into()))) },
        SupportedTAList(to_supported_areas(&m.areas)),
        DefaultPagingDRX(asn::PagingDRX::v128),
    })
}

pub(super) fn setup_response(pdu: &NGAPPDU<'_>) -> Result<NgSetupResponse, Fault> {
    extract_ngap_ies!(pdu, NGSetupResponse,
        req amf_name: String = AMFName(name) => name.0.into_owned(),
        req guamis: Vec<asn::GUAMI> = ServedGUAMIList(list) =>
            list.0.into_iter().map(|item| item.guami).collect(),
        req capacity: u8 = RelativeAMFCapacity(capacity) => capacity.0,
        req plmns: asn::PLMNSupportList = PLMNSupportList(plmns) => plmns,
    );
    let support = |item: &asn::PLMNSupportItem| {
        Ok(PlmnSlices {
            plmn: plmn(item.plmn_identity)?,
            slices: slices(&item.slice_support_list),
        })
    };
    Ok(NgSetupResponse {
        amf_name,
        guamis: guamis.iter().map(guami).collect::<Result<_, Fault>>()?,
        capacity,
        plmns: plmns.0.iter().map(support).collect::<Result<_, Fault>>()?,
    })
}

pub(super) fn to_setup_response(m: &NgSetupResponse) -> Result<NGAPPDU<'static>, Error> {
    let served = m.guamis.iter().map(|guami| {
        let guami = to_guami(*guami)?;
        Ok(asn::ServedGUAMIItem::new(guami, None, None))
    });
    let served = served.collect::<Result<Vec<_>, Error>>()?;
    build!(NGSetupResponse {
        AMFName(asn::AMFName(m.amf_name.clone().into())),
        ServedGUAMIList(asn::ServedGUAMIList(served)),
        RelativeAMFCapacity(asn::RelativeAMFCapacity(m.capacity)),
        PLMNSupportList(asn::PLMNSupportList(m.plmns.iter().map(to_support).collect())),
    })
}

pub(super) fn setup_failure(pdu: &NGAPPDU<'_>) -> Result<NgSetupFailure, Fault> {
    extract_ngap_ies!(pdu, NGSetupFailure,
        req why: asn::Cause = Cause(cause) => cause,
        opt wait: asn::TimeToWait = TimeToWait(wait) => wait,
        opt diagnostics: asn::CriticalityDiagnostics = CriticalityDiagnostics(found) => found,
    );
    Ok(NgSetupFailure {
        cause: cause(&why),
        wait: wait.map(time_to_wait),
        faults: diagnostics.as_ref().map(faults).unwrap_or_default(),
    })
}

pub(super) fn to_setup_failure(m: &NgSetupFailure) -> Result<NGAPPDU<'static>, Error> {
    build!(NGSetupFailure {
        Cause(to_cause(m.cause)),
        { TimeToWait(m.wait.map(to_time_to_wait)) },
        { CriticalityDiagnostics(to_diagnostics(&m.faults)) },
    })
}

pub(super) fn configuration_update(pdu: &NGAPPDU<'_>) -> Result<RanConfigurationUpdate, Fault> {
    extract_ngap_ies!(pdu, RANConfigurationUpdate,
        opt name: String = RANNodeName(name) => name.0.into_owned(),
        opt areas: asn::SupportedTAList = SupportedTAList(areas) => areas,
    );
    Ok(RanConfigurationUpdate {
        name,
        areas: areas.as_ref().map(supported_areas).transpose()?,
    })
}

pub(super) fn to_configuration_update(
    m: &RanConfigurationUpdate,
) -> Result<NGAPPDU<'static>, Error> {
    build!(RANConfigurationUpdate {
        { RANNodeName(m.name.clone().map(|name| asn::RANNodeName(name.into()))) },
        { SupportedTAList(m.areas.as_deref().map(to_supported_areas)) },
    })
}

pub(super) fn to_configuration_update_acknowledge() -> Result<NGAPPDU<'static>, Error> {
    build!(RANConfigurationUpdateAcknowledge {})
}

pub(super) fn configuration_update_failure(
    pdu: &NGAPPDU<'_>,
) -> Result<RanConfigurationUpdateFailure, Fault> {
    extract_ngap_ies!(pdu, RANConfigurationUpdateFailure,
        req why: asn::Cause = Cause(cause) => cause,
        opt wait: asn::TimeToWait = TimeToWait(wait) => wait,
        opt diagnostics: asn::CriticalityDiagnostics = CriticalityDiagnostics(found) => found,
    );
    Ok(RanConfigurationUpdateFailure {
        cause: cause(&why),
        wait: wait.map(time_to_wait),
        faults: diagnostics.as_ref().map(faults).unwrap_or_default(),
    })
}

pub(super) fn to_configuration_update_failure(
    m: &RanConfigurationUpdateFailure,
) -> Result<NGAPPDU<'static>, Error> {
    build!(RANConfigurationUpdateFailure {
        Cause(to_cause(m.cause)),
        { TimeToWait(m.wait.map(to_time_to_wait)) },
        { CriticalityDiagnostics(to_diagnostics(&m.faults)) },
    })
}

const fn time_to_wait(wait: asn::TimeToWait) -> Duration {
    Duration::from_secs(match wait {
        asn::TimeToWait::v1s => 1,
        asn::TimeToWait::v2s => 2,
        asn::TimeToWait::v5s => 5,
        asn::TimeToWait::v10s => 10,
        asn::TimeToWait::v20s => 20,
        _ => 60,
    })
}

/// The next that the specification has, so that nobody comes too early.
const fn to_time_to_wait(wait: Duration) -> asn::TimeToWait {
    match wait.as_secs() {
        0..=1 => asn::TimeToWait::v1s,
        2 => asn::TimeToWait::v2s,
        3..=5 => asn::TimeToWait::v5s,
        6..=10 => asn::TimeToWait::v10s,
        11..=20 => asn::TimeToWait::v20s,
        _ => asn::TimeToWait::v60s,
    }
}

pub(super) fn faults(diagnostics: &asn::CriticalityDiagnostics) -> Vec<ElementFault> {
    let items = diagnostics.ies_criticality_diagnostics.iter();
    let fault = |item: &asn::CriticalityDiagnosticsIEItem| ElementFault {
        id: item.ie_id.0,
        criticality: match item.ie_criticality {
            asn::Criticality::reject => Criticality::Reject,
            asn::Criticality::ignore => Criticality::Ignore,
            asn::Criticality::notify => Criticality::Notify,
        },
        is_missing: matches!(item.type_of_error, asn::TypeOfError::missing),
    };
    items.flat_map(|list| &list.0).map(fault).collect()
}

/// As the outcome of a procedure has it: without the procedure, which the outcome names itself.
fn to_diagnostics(faults: &[ElementFault]) -> Option<asn::CriticalityDiagnostics> {
    let item = |fault: &ElementFault| {
        let criticality = match fault.criticality {
            Criticality::Reject => asn::Criticality::reject,
            Criticality::Ignore => asn::Criticality::ignore,
            Criticality::Notify => asn::Criticality::notify,
        };
        let kind = if fault.is_missing {
            asn::TypeOfError::missing
        } else {
            asn::TypeOfError::not_understood
        };
        asn::CriticalityDiagnosticsIEItem::new(criticality, asn::ProtocolIEID(fault.id), kind, None)
    };
    let items: Vec<_> = faults.iter().map(item).collect();
    let list = (!items.is_empty()).then_some(asn::CriticalityDiagnosticsIEList(items))?;
    let criticality = Some(asn::Criticality::reject);
    Some(asn::CriticalityDiagnostics::new(
        None,
        None,
        criticality,
        Some(list),
        None,
    ))
}

pub(super) fn reset(pdu: &NGAPPDU<'_>) -> Result<NgReset, Fault> {
    extract_ngap_ies!(pdu, NGReset,
        req why: asn::Cause = Cause(cause) => cause,
        req scope: asn::ResetType = ResetType(kind) => kind,
    );
    let scope = match scope {
        asn::ResetType::nG_Interface(_) => ResetScope::All,
        asn::ResetType::partOfNG_Interface(list) => ResetScope::Ues(connections(&list)?),
        _ => return Err(Fault::Value("reset type")),
    };
    Ok(NgReset {
        cause: cause(&why),
        scope,
    })
}

pub(super) fn to_reset(m: &NgReset) -> Result<NGAPPDU<'static>, Error> {
    let scope = match &m.scope {
        ResetScope::All => asn::ResetType::nG_Interface(asn::ResetAll::reset_all),
        ResetScope::Ues(ues) => asn::ResetType::partOfNG_Interface(to_connections(ues)),
    };
    build!(NGReset {
        Cause(to_cause(m.cause)),
        ResetType(scope),
    })
}

pub(super) fn reset_acknowledge(pdu: &NGAPPDU<'_>) -> Result<NgResetAcknowledge, Fault> {
    extract_ngap_ies!(pdu, NGResetAcknowledge,
        opt list: asn::UEAssociatedLogicalNGConnectionList =
            UE_associatedLogicalNG_connectionList(list) => list,
    );
    let ues = list.as_ref().map(connections).transpose()?;
    Ok(NgResetAcknowledge {
        ues: ues.unwrap_or_default(),
    })
}

pub(super) fn to_reset_acknowledge(m: &NgResetAcknowledge) -> Result<NGAPPDU<'static>, Error> {
    let list = (!m.ues.is_empty()).then(|| to_connections(&m.ues));
    build!(NGResetAcknowledge {
        { UE_associatedLogicalNG_connectionList(list) },
    })
}

fn connections(
    list: &asn::UEAssociatedLogicalNGConnectionList,
) -> Result<Vec<UeConnection>, Fault> {
    let one = |item: &asn::UEAssociatedLogicalNGConnectionItem| {
        let amf = item.amf_ue_ngap_id.as_ref();
        Ok(UeConnection {
            amf: amf.map(|id| amf_id(id.0)).transpose()?,
            ran: item.ran_ue_ngap_id.as_ref().map(|id| RanUeNgapId(id.0)),
        })
    };
    list.0.iter().map(one).collect()
}

fn to_connections(ues: &[UeConnection]) -> asn::UEAssociatedLogicalNGConnectionList {
    let one = |ue: &UeConnection| {
        asn::UEAssociatedLogicalNGConnectionItem::new(
            ue.amf.map(|id| asn::AMFUENGAPID(id.value())),
            ue.ran.map(|id| asn::RANUENGAPID(id.0)),
            None,
        )
    };
    asn::UEAssociatedLogicalNGConnectionList(ues.iter().map(one).collect())
}

pub(super) fn error_indication(pdu: &NGAPPDU<'_>) -> Result<ErrorIndication, Fault> {
    extract_ngap_ies!(pdu, ErrorIndication,
        opt amf: u64 = AMF_UE_NGAP_ID(id),
        opt ran: u32 = RAN_UE_NGAP_ID(id),
        opt why: asn::Cause = Cause(cause) => cause,
    );
    Ok(ErrorIndication {
        amf: amf.map(amf_id).transpose()?,
        ran: ran.map(RanUeNgapId),
        cause: why.as_ref().map(cause),
    })
}

pub(super) fn to_error_indication(m: &ErrorIndication) -> Result<NGAPPDU<'static>, Error> {
    build!(ErrorIndication {
        { AMF_UE_NGAP_ID(m.amf.map(|id| id.value())) },
        { RAN_UE_NGAP_ID(m.ran.map(|id| id.0)) },
        { Cause(m.cause.map(to_cause)) },
    })
}

pub(super) fn paging(pdu: &NGAPPDU<'_>) -> Result<Paging, Fault> {
    extract_ngap_ies!(pdu, Paging,
        req who: asn::UEPagingIdentity = UEPagingIdentity(who) => who,
        req areas: asn::TAIListForPaging = TAIListForPaging(list) => list,
    );
    let asn::UEPagingIdentity::fiveG_S_TMSI(who) = who else {
        return Err(Fault::Value("UE paging identity"));
    };
    let areas = areas.0.iter().map(|item| tai(&item.tai));
    Ok(Paging {
        s_tmsi: s_tmsi(&who)?,
        tais: areas.collect::<Result<_, Fault>>()?,
    })
}

pub(super) fn to_paging(m: &Paging) -> Result<NGAPPDU<'static>, Error> {
    let areas = m.tais.iter();
    let areas = areas.map(|tai| asn::TAIListForPagingItem::new(to_tai(*tai), None));
    build!(Paging {
        UEPagingIdentity(asn::UEPagingIdentity::fiveG_S_TMSI(to_s_tmsi(m.s_tmsi)?)),
        TAIListForPaging(asn::TAIListForPaging(areas.collect())),
    })
}

pub(super) fn overload_start(pdu: &NGAPPDU<'_>) -> Result<OverloadStart, Fault> {
    extract_ngap_ies!(pdu, OverloadStart,
        opt reduction: u8 = AMFTrafficLoadReductionIndication(share) => share.0,
    );
    Ok(OverloadStart { reduction })
}

pub(super) fn to_overload_start(m: &OverloadStart) -> Result<NGAPPDU<'static>, Error> {
    build!(OverloadStart {
        { AMFTrafficLoadReductionIndication(m.reduction.map(asn::TrafficLoadReductionIndication)) },
    })
}

pub(super) fn to_overload_stop() -> Result<NGAPPDU<'static>, Error> {
    let message = asn::OverloadStop::new(asn::ProtocolIEContainer(Vec::new()));
    asn::NGAP_PDU::of_message(
        &message,
        <asn::OverloadStop<'_> as oxirush_ngap::Message<'_>>::CRITICALITY,
    )
}
