//! Nudm_UEAuthentication, Nudm_UEContextManagement, Nudm_SubscriberDataManagement (TS 29.503, 6).

use super::common::{Ambr, GuamiModel, PlmnId, Snssai};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a UE said of its sequence number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResynchronizationInfo {
    pub rand: String,
    pub auts: String,
}

/// Asks for an authentication vector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationInfoRequest {
    pub serving_network_name: String,
    pub ausf_instance_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resynchronization_info: Option<ResynchronizationInfo>,
}

/// The vector, and whom it is for. Holds keys: no `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationInfoResult {
    /// `5G_AKA`.
    pub auth_type: String,
    pub authentication_vector: Av5gHeAka,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supi: Option<String>,
}

/// The vector (5G HE AV). Holds keys: no `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Av5gHeAka {
    /// `5G_HE_AKA`.
    pub av_type: String,
    pub rand: String,
    pub autn: String,
    pub xres_star: String,
    pub kausf: String,
}

/// How an authentication ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthEvent {
    pub nf_instance_id: String,
    pub success: bool,
    pub time_stamp: String,
    pub auth_type: String,
    pub serving_network_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_removal_ind: Option<bool>,
}

/// Which AMF serves a UE.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Amf3GppAccessRegistration {
    pub amf_instance_id: String,
    pub dereg_callback_uri: String,
    pub guami: GuamiModel,
    pub rat_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_registration_ind: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purge_flag: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pei: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) registration_time: Option<String>,
}

/// What an AMF is told when another takes its UE over, an SMF when another takes its session over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeregistrationData {
    /// `UE_INITIAL_REGISTRATION`, `SUBSCRIPTION_WITHDRAWN`, …
    pub dereg_reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_type: Option<String>,
    /// Of which session, where an SMF is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pdu_session_id: Option<u8>,
}

/// Which SMF serves a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmfRegistration {
    pub smf_instance_id: String,
    pub pdu_session_id: u8,
    pub single_nssai: Snssai,
    pub plmn_id: PlmnId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dnn: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) registration_time: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dereg_callback_uri: Option<String>,
}

/// All sessions of a UE.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmfRegistrationInfo {
    pub smf_registration_list: Vec<SmfRegistration>,
}

/// What a UE may do (`am-data`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessAndMobilitySubscriptionData {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpsis: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscribed_ue_ambr: Option<Ambr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nssai: Option<Nssai>,
}

/// The slices of a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Nssai {
    pub default_single_nssais: Vec<Snssai>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub single_nssais: Vec<Snssai>,
}

/// The data networks of each slice (`smf-select-data`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmfSelectionSubscriptionData {
    #[serde(default)]
    pub subscribed_snssai_infos: BTreeMap<String, SnssaiInfo>,
}

/// The data networks of one slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnssaiInfo {
    pub dnn_infos: Vec<DnnInfo>,
}

/// One data network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DnnInfo {
    pub dnn: String,
    #[serde(default)]
    pub default_dnn_indicator: bool,
}

/// How sessions of one slice are made (`sm-data`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionManagementSubscriptionData {
    pub single_nssai: Snssai,
    #[serde(default)]
    pub dnn_configurations: BTreeMap<String, DnnConfiguration>,
}

/// How sessions to one data network are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DnnConfiguration {
    pub pdu_session_types: PduSessionTypes,
    pub ssc_modes: SscModes,
    #[serde(rename = "5gQosProfile")]
    pub five_g_qos_profile: QosProfile,
    pub session_ambr: Ambr,
}

/// Kinds of sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PduSessionTypes {
    /// `IPV4`, …
    pub default_session_type: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_session_types: Vec<String>,
}

/// Kinds of continuity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SscModes {
    /// `SSC_MODE_1`, …
    pub default_ssc_mode: String,
}

/// Quality of service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QosProfile {
    #[serde(rename = "5qi")]
    pub five_qi: u8,
    pub arp: Arp,
}

/// Who gives way to whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arp {
    pub priority_level: u8,
    pub preempt_cap: String,
    pub preempt_vuln: String,
}

/// Asks to be told of changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SdmSubscription {
    pub nf_instance_id: String,
    pub callback_reference: String,
    pub(crate) monitored_resource_uris: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) implicit_unsubscribe: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<String>,
}
