//! Nudm_UEAuthentication, Nudm_UEContextManagement, Nudm_SubscriberDataManagement (TS 29.503, 6).

use super::common::{Ambr, GuamiModel, PlmnId, Snssai};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a UE said of its sequence number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ResynchronizationInfo {
    pub(crate) rand: String,
    pub(crate) auts: String,
}

/// Asks for an authentication vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuthenticationInfoRequest {
    pub(crate) serving_network_name: String,
    pub(crate) ausf_instance_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resynchronization_info: Option<ResynchronizationInfo>,
}

/// The vector, and whom it is for. Holds keys: no `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuthenticationInfoResult {
    /// `5G_AKA`.
    pub(crate) auth_type: String,
    pub(crate) authentication_vector: Av5gHeAka,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) supi: Option<String>,
}

/// The vector (5G HE AV). Holds keys: no `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Av5gHeAka {
    /// `5G_HE_AKA`.
    pub(crate) av_type: String,
    pub(crate) rand: String,
    pub(crate) autn: String,
    pub(crate) xres_star: String,
    pub(crate) kausf: String,
}

/// How an authentication ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuthEvent {
    pub(crate) nf_instance_id: String,
    pub(crate) success: bool,
    pub(crate) time_stamp: String,
    pub(crate) auth_type: String,
    pub(crate) serving_network_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) auth_removal_ind: Option<bool>,
}

/// Which AMF serves a UE.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Amf3GppAccessRegistration {
    pub(crate) amf_instance_id: String,
    pub(crate) dereg_callback_uri: String,
    pub(crate) guami: GuamiModel,
    pub(crate) rat_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) initial_registration_ind: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) purge_flag: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pei: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) registration_time: Option<String>,
}

/// What an AMF is told when another takes its UE over, an SMF when another takes its session over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeregistrationData {
    /// `UE_INITIAL_REGISTRATION`, `SUBSCRIPTION_WITHDRAWN`, …
    pub(crate) dereg_reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) access_type: Option<String>,
    /// Of which session, where an SMF is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pdu_session_id: Option<u8>,
}

/// Which SMF serves a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SmfRegistration {
    pub(crate) smf_instance_id: String,
    pub(crate) pdu_session_id: u8,
    pub(crate) single_nssai: Snssai,
    pub(crate) plmn_id: PlmnId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dnn: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) registration_time: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dereg_callback_uri: Option<String>,
}

/// All sessions of a UE.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SmfRegistrationInfo {
    pub(crate) smf_registration_list: Vec<SmfRegistration>,
}

/// What a UE may do (`am-data`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccessAndMobilitySubscriptionData {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gpsis: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subscribed_ue_ambr: Option<Ambr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) nssai: Option<Nssai>,
}

/// The slices of a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Nssai {
    pub(crate) default_single_nssais: Vec<Snssai>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) single_nssais: Vec<Snssai>,
}

/// The data networks of each slice (`smf-select-data`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SmfSelectionSubscriptionData {
    #[serde(default)]
    pub(crate) subscribed_snssai_infos: BTreeMap<String, SnssaiInfo>,
}

/// The data networks of one slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SnssaiInfo {
    pub(crate) dnn_infos: Vec<DnnInfo>,
}

/// One data network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DnnInfo {
    pub(crate) dnn: String,
    #[serde(default)]
    pub(crate) default_dnn_indicator: bool,
}

/// How sessions of one slice are made (`sm-data`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionManagementSubscriptionData {
    pub(crate) single_nssai: Snssai,
    #[serde(default)]
    pub(crate) dnn_configurations: BTreeMap<String, DnnConfiguration>,
}

/// How sessions to one data network are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DnnConfiguration {
    pub(crate) pdu_session_types: PduSessionTypes,
    pub(crate) ssc_modes: SscModes,
    #[serde(rename = "5gQosProfile")]
    pub(crate) five_g_qos_profile: QosProfile,
    pub(crate) session_ambr: Ambr,
}

/// Kinds of sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PduSessionTypes {
    /// `IPV4`, …
    pub(crate) default_session_type: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) allowed_session_types: Vec<String>,
}

/// Kinds of continuity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SscModes {
    /// `SSC_MODE_1`, …
    pub(crate) default_ssc_mode: String,
}

/// Quality of service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QosProfile {
    #[serde(rename = "5qi")]
    pub(crate) five_qi: u8,
    pub(crate) arp: Arp,
}

/// Who gives way to whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Arp {
    pub(crate) priority_level: u8,
    pub(crate) preempt_cap: String,
    pub(crate) preempt_vuln: String,
}

/// Asks to be told of changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SdmSubscription {
    pub(crate) nf_instance_id: String,
    pub(crate) callback_reference: String,
    pub(crate) monitored_resource_uris: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) implicit_unsubscribe: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subscription_id: Option<String>,
}
