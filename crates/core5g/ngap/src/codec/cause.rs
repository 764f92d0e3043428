//! Causes between the numbers of [`Cause`] and the codec's enumerations.

use oxirush_ngap::ngap as asn;

use crate::Cause;

pub(super) fn cause(from: &asn::Cause) -> Cause {
    /// The index of an enumerated value; all of them are below 256.
    macro_rules! index {
        ($value:expr) => {
            u8::try_from($value as u64).unwrap_or(0)
        };
    }
    match from {
        asn::Cause::radioNetwork(value) => Cause::RadioNetwork(index!(*value)),
        asn::Cause::transport(value) => Cause::Transport(index!(*value)),
        asn::Cause::nas(value) => Cause::Nas(index!(*value)),
        asn::Cause::protocol(value) => Cause::Protocol(index!(*value)),
        asn::Cause::misc(value) => Cause::Misc(index!(*value)),
        _ => Cause::MISC_UNSPECIFIED,
    }
}

/// A number that the specification does not have is written as "unspecified" of its group.
pub(super) fn to_cause(cause: Cause) -> asn::Cause {
    match cause {
        Cause::RadioNetwork(value) => asn::Cause::radioNetwork(radio_network(value)),
        Cause::Transport(value) => asn::Cause::transport(transport(value)),
        Cause::Nas(value) => asn::Cause::nas(nas(value)),
        Cause::Protocol(value) => asn::Cause::protocol(protocol(value)),
        Cause::Misc(value) => asn::Cause::misc(misc(value)),
    }
}

const fn radio_network(value: u8) -> asn::CauseRadioNetwork {
    use asn::CauseRadioNetwork as C;
    match value {
        1 => C::txnrelocoverall_expiry,
        2 => C::successful_handover,
        3 => C::release_due_to_ngran_generated_reason,
        4 => C::release_due_to_5gc_generated_reason,
        5 => C::handover_cancelled,
        6 => C::partial_handover,
        7 => C::ho_failure_in_target_5GC_ngran_node_or_target_system,
        8 => C::ho_target_not_allowed,
        9 => C::tngrelocoverall_expiry,
        10 => C::tngrelocprep_expiry,
        11 => C::cell_not_available,
        12 => C::unknown_targetID,
        13 => C::no_radio_resources_available_in_target_cell,
        14 => C::unknown_local_UE_NGAP_ID,
        15 => C::inconsistent_remote_UE_NGAP_ID,
        16 => C::handover_desirable_for_radio_reason,
        17 => C::time_critical_handover,
        18 => C::resource_optimisation_handover,
        19 => C::reduce_load_in_serving_cell,
        20 => C::user_inactivity,
        21 => C::radio_connection_with_ue_lost,
        22 => C::radio_resources_not_available,
        23 => C::invalid_qos_combination,
        24 => C::failure_in_radio_interface_procedure,
        25 => C::interaction_with_other_procedure,
        26 => C::unknown_PDU_session_ID,
        27 => C::unkown_qos_flow_ID,
        28 => C::multiple_PDU_session_ID_instances,
        29 => C::multiple_qos_flow_ID_instances,
        30 => C::encryption_and_or_integrity_protection_algorithms_not_supported,
        31 => C::ng_intra_system_handover_triggered,
        32 => C::ng_inter_system_handover_triggered,
        33 => C::xn_handover_triggered,
        34 => C::not_supported_5QI_value,
        35 => C::ue_context_transfer,
        36 => C::ims_voice_eps_fallback_or_rat_fallback_triggered,
        37 => C::up_integrity_protection_not_possible,
        38 => C::up_confidentiality_protection_not_possible,
        39 => C::slice_not_supported,
        40 => C::ue_in_rrc_inactive_state_not_reachable,
        41 => C::redirection,
        42 => C::resources_not_available_for_the_slice,
        43 => C::ue_max_integrity_protected_data_rate_reason,
        44 => C::release_due_to_cn_detected_mobility,
        45 => C::n26_interface_not_available,
        46 => C::release_due_to_pre_emption,
        47 => C::multiple_location_reporting_reference_ID_instances,
        48 => C::rsn_not_available_for_the_up,
        49 => C::npn_access_denied,
        50 => C::cag_only_access_denied,
        51 => C::insufficient_ue_capabilities,
        52 => C::redcap_ue_not_supported,
        53 => C::unknown_MBS_Session_ID,
        54 => C::indicated_MBS_session_area_information_not_served_by_the_gNB,
        55 => C::inconsistent_slice_info_for_the_session,
        56 => C::misaligned_association_for_multicast_unicast,
        57 => C::eredcap_ue_not_supported,
        58 => C::two_rx_xr_ue_not_supported,
        59 => C::aerial_ue_flight_information_reporting_initiation_failure,
        60 => C::unknown_RAN_AIoT_Device_NGAP_ID,
        61 => C::requested_AIoT_service_area_information_not_served_by_the_gNB,
        62 => C::unknown_AIoT_session,
        63 => C::aiot_device_not_reachable,
        64 => C::multiple_AIoT_session_ID_instances,
        _ => C::unspecified,
    }
}

const fn transport(value: u8) -> asn::CauseTransport {
    use asn::CauseTransport as C;
    match value {
        0 => C::transport_resource_unavailable,
        _ => C::unspecified,
    }
}

const fn nas(value: u8) -> asn::CauseNas {
    use asn::CauseNas as C;
    match value {
        0 => C::normal_release,
        1 => C::authentication_failure,
        2 => C::deregister,
        4 => C::uE_not_in_PLMN_serving_area,
        5 => C::mobile_IAB_not_authorized,
        6 => C::iAB_not_authorized,
        7 => C::no_aiot_NAS_response,
        _ => C::unspecified,
    }
}

const fn protocol(value: u8) -> asn::CauseProtocol {
    use asn::CauseProtocol as C;
    match value {
        0 => C::transfer_syntax_error,
        1 => C::abstract_syntax_error_reject,
        2 => C::abstract_syntax_error_ignore_and_notify,
        3 => C::message_not_compatible_with_receiver_state,
        4 => C::semantic_error,
        5 => C::abstract_syntax_error_falsely_constructed_message,
        _ => C::unspecified,
    }
}

const fn misc(value: u8) -> asn::CauseMisc {
    use asn::CauseMisc as C;
    match value {
        0 => C::control_processing_overload,
        1 => C::not_enough_user_plane_processing_resources,
        2 => C::hardware_failure,
        3 => C::om_intervention,
        4 => C::unknown_PLMN_or_SNPN,
        _ => C::unspecified,
    }
}
