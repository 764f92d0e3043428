//! The transfers.

use oxirush_ngap::ngap as asn;
use oxirush_ngap::ngap::{decode_open_type, encode_open_type};
use oxirush_ngap::{Error, build_ngap_ie, extract_ngap_ies};

use super::Fault;
use super::cause::{cause, to_cause};
use super::elements::{to_tunnel, tunnel};
use crate::transfer::{
    ModifyRequestTransfer, ModifyResponseTransfer, ModifyUnsuccessfulTransfer, QosFlow,
    ReleaseCommandTransfer, ReleaseResponseTransfer, SessionRate, SetupRequestTransfer,
    SetupResponseTransfer, SetupUnsuccessfulTransfer,
};
use corewire_core5g_nas::SessionType;

/// Treatment and priority of a flow that asks for nothing (TS 23.501 table 5.7.4-1).
const BEST_EFFORT: (u8, u8) = (9, 8);

pub(crate) fn setup_request(octets: &[u8]) -> Result<SetupRequestTransfer, Fault> {
    let from: asn::PDUSessionResourceSetupRequestTransfer<'_> = decode_open_type(octets)?;
    extract_ngap_ies!(from, PDUSessionResourceSetupRequestTransfer,
        opt rate: asn::PDUSessionAggregateMaximumBitRate =
            PDUSessionAggregateMaximumBitRate(rate) => rate,
        req uplink: asn::UPTransportLayerInformation<'_> = UL_NGU_UP_TNLInformation(at) => at,
        req kind: asn::PDUSessionType = PDUSessionType(kind) => kind,
        req flows: asn::QosFlowSetupRequestList = QosFlowSetupRequestList(list) => list,
    );
    let flow = |item: &asn::QosFlowSetupRequestItem| {
        flow(
            &item.qos_flow_identifier,
            Some(&item.qos_flow_level_qos_parameters),
        )
    };
    Ok(SetupRequestTransfer {
        uplink: tunnel(&uplink)?,
        session_type: match kind {
            asn::PDUSessionType::ipv4 => SessionType::Ipv4,
            asn::PDUSessionType::ipv6 => SessionType::Ipv6,
            asn::PDUSessionType::ipv4v6 => SessionType::Ipv4v6,
            asn::PDUSessionType::ethernet => SessionType::Ethernet,
            asn::PDUSessionType::unstructured => SessionType::Unstructured,
            _ => return Err(Fault::Value("PDU session type")),
        },
        flows: flows.0.iter().map(flow).collect::<Result<_, Fault>>()?,
        rate: rate.as_ref().map(session_rate),
    })
}

pub(crate) fn to_setup_request(m: &SetupRequestTransfer) -> Result<Vec<u8>, Error> {
    let kind = match m.session_type {
        SessionType::Ipv4 => asn::PDUSessionType::ipv4,
        SessionType::Ipv6 => asn::PDUSessionType::ipv6,
        SessionType::Ipv4v6 => asn::PDUSessionType::ipv4v6,
        SessionType::Ethernet => asn::PDUSessionType::ethernet,
        SessionType::Unstructured => asn::PDUSessionType::unstructured,
    };
    let flows = m.flows.iter().map(|flow| {
        asn::QosFlowSetupRequestItem::new(
            asn::QosFlowIdentifier(flow.qfi.into()),
            to_parameters(flow),
            None,
            None,
        )
    });
    let flows = asn::QosFlowSetupRequestList(flows.collect());
    let mut elements = Vec::new();
    if let Some(rate) = m.rate {
        elements.push(build_ngap_ie!(
            PDUSessionResourceSetupRequestTransfer,
            PDUSessionAggregateMaximumBitRate(to_session_rate(rate))
        )?);
    }
    elements.push(build_ngap_ie!(
        PDUSessionResourceSetupRequestTransfer,
        UL_NGU_UP_TNLInformation(to_tunnel(m.uplink))
    )?);
    elements.push(build_ngap_ie!(
        PDUSessionResourceSetupRequestTransfer,
        PDUSessionType(kind)
    )?);
    elements.push(build_ngap_ie!(
        PDUSessionResourceSetupRequestTransfer,
        QosFlowSetupRequestList(flows)
    )?);
    encode(&asn::PDUSessionResourceSetupRequestTransfer::new(
        asn::ProtocolIEContainer(elements),
    ))
}

pub(crate) fn setup_response(octets: &[u8]) -> Result<SetupResponseTransfer, Fault> {
    let from: asn::PDUSessionResourceSetupResponseTransfer<'_> = decode_open_type(octets)?;
    let information = &from.dl_qos_flow_per_tnl_information;
    let flows = information.associated_qos_flow_list.0.iter();
    Ok(SetupResponseTransfer {
        downlink: tunnel(&information.up_transport_layer_information)?,
        flows: flows
            .map(|item| qfi(&item.qos_flow_identifier))
            .collect::<Result<_, Fault>>()?,
    })
}

pub(crate) fn to_setup_response(m: &SetupResponseTransfer) -> Result<Vec<u8>, Error> {
    let flows = m.flows.iter().map(|qfi| {
        let qfi = asn::QosFlowIdentifier(u64::from(*qfi));
        asn::AssociatedQosFlowItem::new(qfi, None, None)
    });
    let information = asn::QosFlowPerTNLInformation::new(
        to_tunnel(m.downlink),
        asn::AssociatedQosFlowList(flows.collect()),
        None,
    );
    encode(&asn::PDUSessionResourceSetupResponseTransfer::new(
        information,
        None,
        None,
        None,
        None,
    ))
}

pub(crate) fn setup_unsuccessful(octets: &[u8]) -> Result<SetupUnsuccessfulTransfer, Fault> {
    let from: asn::PDUSessionResourceSetupUnsuccessfulTransfer = decode_open_type(octets)?;
    Ok(SetupUnsuccessfulTransfer {
        cause: cause(&from.cause),
    })
}

pub(crate) fn to_setup_unsuccessful(m: &SetupUnsuccessfulTransfer) -> Result<Vec<u8>, Error> {
    encode(&asn::PDUSessionResourceSetupUnsuccessfulTransfer::new(
        to_cause(m.cause),
        None,
        None,
    ))
}

pub(crate) fn modify_request(octets: &[u8]) -> Result<ModifyRequestTransfer, Fault> {
    let from: asn::PDUSessionResourceModifyRequestTransfer<'_> = decode_open_type(octets)?;
    extract_ngap_ies!(from, PDUSessionResourceModifyRequestTransfer,
        opt rate: asn::PDUSessionAggregateMaximumBitRate =
            PDUSessionAggregateMaximumBitRate(rate) => rate,
        opt flows: asn::QosFlowAddOrModifyRequestList =
            QosFlowAddOrModifyRequestList(list) => list,
    );
    let flows = flows.iter().flat_map(|list| list.0.iter());
    let flow = |item: &asn::QosFlowAddOrModifyRequestItem| {
        flow(
            &item.qos_flow_identifier,
            item.qos_flow_level_qos_parameters.as_ref(),
        )
    };
    Ok(ModifyRequestTransfer {
        rate: rate.as_ref().map(session_rate),
        flows: flows.map(flow).collect::<Result<_, Fault>>()?,
    })
}

pub(crate) fn to_modify_request(m: &ModifyRequestTransfer) -> Result<Vec<u8>, Error> {
    let mut elements = Vec::new();
    if let Some(rate) = m.rate {
        elements.push(build_ngap_ie!(
            PDUSessionResourceModifyRequestTransfer,
            PDUSessionAggregateMaximumBitRate(to_session_rate(rate))
        )?);
    }
    if !m.flows.is_empty() {
        let flows = m.flows.iter().map(|flow| {
            asn::QosFlowAddOrModifyRequestItem::new(
                asn::QosFlowIdentifier(flow.qfi.into()),
                Some(to_parameters(flow)),
                None,
                None,
            )
        });
        elements.push(build_ngap_ie!(
            PDUSessionResourceModifyRequestTransfer,
            QosFlowAddOrModifyRequestList(asn::QosFlowAddOrModifyRequestList(flows.collect()))
        )?);
    }
    encode(&asn::PDUSessionResourceModifyRequestTransfer::new(
        asn::ProtocolIEContainer(elements),
    ))
}

pub(crate) fn modify_response(octets: &[u8]) -> Result<ModifyResponseTransfer, Fault> {
    let from: asn::PDUSessionResourceModifyResponseTransfer<'_> = decode_open_type(octets)?;
    let list = from.qos_flow_add_or_modify_response_list.as_ref();
    let flows = list.into_iter().flat_map(|list| list.0.iter());
    Ok(ModifyResponseTransfer {
        flows: flows
            .map(|item| qfi(&item.qos_flow_identifier))
            .collect::<Result<_, Fault>>()?,
    })
}

pub(crate) fn to_modify_response(m: &ModifyResponseTransfer) -> Result<Vec<u8>, Error> {
    let flows = (!m.flows.is_empty()).then(|| {
        let items = m.flows.iter().map(|qfi| {
            let qfi = asn::QosFlowIdentifier(u64::from(*qfi));
            asn::QosFlowAddOrModifyResponseItem::new(qfi, None)
        });
        asn::QosFlowAddOrModifyResponseList(items.collect())
    });
    encode(&asn::PDUSessionResourceModifyResponseTransfer::new(
        None, None, flows, None, None, None,
    ))
}

pub(crate) fn modify_unsuccessful(octets: &[u8]) -> Result<ModifyUnsuccessfulTransfer, Fault> {
    let from: asn::PDUSessionResourceModifyUnsuccessfulTransfer = decode_open_type(octets)?;
    Ok(ModifyUnsuccessfulTransfer {
        cause: cause(&from.cause),
    })
}

pub(crate) fn to_modify_unsuccessful(m: &ModifyUnsuccessfulTransfer) -> Result<Vec<u8>, Error> {
    encode(&asn::PDUSessionResourceModifyUnsuccessfulTransfer::new(
        to_cause(m.cause),
        None,
        None,
    ))
}

pub(crate) fn release_command(octets: &[u8]) -> Result<ReleaseCommandTransfer, Fault> {
    let from: asn::PDUSessionResourceReleaseCommandTransfer = decode_open_type(octets)?;
    Ok(ReleaseCommandTransfer {
        cause: cause(&from.cause),
    })
}

pub(crate) fn to_release_command(m: &ReleaseCommandTransfer) -> Result<Vec<u8>, Error> {
    encode(&asn::PDUSessionResourceReleaseCommandTransfer::new(
        to_cause(m.cause),
        None,
    ))
}

pub(crate) fn release_response(octets: &[u8]) -> Result<ReleaseResponseTransfer, Fault> {
    let _: asn::PDUSessionResourceReleaseResponseTransfer = decode_open_type(octets)?;
    Ok(ReleaseResponseTransfer)
}

pub(crate) fn to_release_response(_: &ReleaseResponseTransfer) -> Result<Vec<u8>, Error> {
    encode(&asn::PDUSessionResourceReleaseResponseTransfer::new(None))
}

fn encode<T: oxirush_ngap::Encode>(value: &T) -> Result<Vec<u8>, Error> {
    encode_open_type(value).map(|octets| octets.to_vec())
}

fn session_rate(from: &asn::PDUSessionAggregateMaximumBitRate) -> SessionRate {
    SessionRate {
        downlink: from.pdu_session_aggregate_maximum_bit_rate_dl.0,
        uplink: from.pdu_session_aggregate_maximum_bit_rate_ul.0,
    }
}

fn to_session_rate(rate: SessionRate) -> asn::PDUSessionAggregateMaximumBitRate {
    asn::PDUSessionAggregateMaximumBitRate::new(
        asn::BitRate(rate.downlink),
        asn::BitRate(rate.uplink),
        None,
    )
}

fn qfi(from: &asn::QosFlowIdentifier) -> Result<u8, Fault> {
    u8::try_from(from.0)
        .ok()
        .filter(|qfi| *qfi < 64)
        .ok_or(Fault::Value("QoS flow identifier"))
}

fn flow(
    id: &asn::QosFlowIdentifier,
    parameters: Option<&asn::QosFlowLevelQosParameters>,
) -> Result<QosFlow, Fault> {
    let five_qi = match parameters.map(|parameters| &parameters.qos_characteristics) {
        Some(asn::QosCharacteristics::nonDynamic5QI(descriptor)) => {
            u8::try_from(descriptor.five_qi.0).map_err(|_| Fault::Value("5QI"))?
        }
        _ => BEST_EFFORT.0,
    };
    let priority = parameters.map_or(BEST_EFFORT.1, |parameters| {
        parameters
            .allocation_and_retention_priority
            .priority_level_arp
            .0
    });
    Ok(QosFlow {
        qfi: qfi(id)?,
        five_qi,
        priority,
    })
}

fn to_parameters(flow: &QosFlow) -> asn::QosFlowLevelQosParameters {
    let five_qi =
        asn::NonDynamic5QIDescriptor::new(asn::FiveQI(flow.five_qi.into()), None, None, None, None);
    let priority = asn::AllocationAndRetentionPriority::new(
        asn::PriorityLevelARP(flow.priority),
        asn::PreEmptionCapability::shall_not_trigger_pre_emption,
        asn::PreEmptionVulnerability::not_pre_emptable,
        None,
    );
    asn::QosFlowLevelQosParameters::new(
        asn::QosCharacteristics::nonDynamic5QI(five_qi),
        priority,
        None,
        None,
        None,
        None,
    )
}
