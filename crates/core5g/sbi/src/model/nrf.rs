//! Nnrf_NFManagement, Nnrf_NFDiscovery, Nnrf_AccessToken (TS 29.510, 6): what the NRF itself looks at.
//! A profile is kept as it came; this is a view of it.

use super::common::{GuamiModel, PlmnId, Snssai, TaiModel};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A network function.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NfProfile {
    pub nf_instance_id: String,
    pub nf_type: String,
    pub nf_status: String,
    #[serde(default)]
    pub heart_beat_timer: Option<u32>,
    #[serde(default)]
    pub plmn_list: Option<Vec<PlmnId>>,
    #[serde(default)]
    pub s_nssais: Option<Vec<Snssai>>,
    #[serde(default)]
    pub fqdn: Option<String>,
    #[serde(default)]
    pub ipv4_addresses: Vec<String>,
    #[serde(default)]
    pub ipv6_addresses: Vec<String>,
    #[serde(default)]
    pub allowed_nf_types: Option<Vec<String>>,
    #[serde(default)]
    pub allowed_plmns: Option<Vec<PlmnId>>,
    #[serde(default)]
    pub priority: Option<u16>,
    #[serde(default)]
    pub capacity: Option<u16>,
    #[serde(default)]
    pub load: Option<u8>,
    #[serde(default)]
    pub locality: Option<String>,
    #[serde(default)]
    pub nf_set_id_list: Vec<String>,
    #[serde(default)]
    pub amf_info: Option<AmfInfo>,
    #[serde(default)]
    pub smf_info: Option<SmfInfo>,
    #[serde(default)]
    pub udm_info: Option<SupiInfo>,
    #[serde(default)]
    pub ausf_info: Option<SupiInfo>,
    #[serde(default)]
    pub nf_services: Vec<NfService>,
    #[serde(default)]
    pub nf_service_list: BTreeMap<String, NfService>,
    #[serde(default)]
    pub nf_profile_changes_support_ind: bool,
}

impl NfProfile {
    /// Its services, from whichever of the two members has them.
    pub fn services(&self) -> impl Iterator<Item = &NfService> {
        let listed = self.nf_services.is_empty();
        let map = self.nf_service_list.values().filter(move |_| listed);
        self.nf_services.iter().chain(map)
    }
}

/// A service of a network function.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NfService {
    pub service_instance_id: String,
    pub service_name: String,
    pub versions: Vec<NfServiceVersion>,
    pub scheme: String,
    pub nf_service_status: String,
    #[serde(default)]
    pub ip_end_points: Vec<IpEndPoint>,
    #[serde(default)]
    pub allowed_nf_types: Option<Vec<String>>,
    #[serde(default)]
    pub fqdn: Option<String>,
    #[serde(default)]
    pub priority: Option<u16>,
    #[serde(default)]
    pub capacity: Option<u16>,
    #[serde(default)]
    pub load: Option<u8>,
}

/// A version of a service's interface.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NfServiceVersion {
    pub(crate) api_version_in_uri: String,
    pub(crate) api_full_version: String,
}

/// Where a service is reached.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IpEndPoint {
    #[serde(default)]
    pub ipv4_address: Option<String>,
    #[serde(default)]
    pub ipv6_address: Option<String>,
    #[serde(default)]
    pub port: Option<u16>,
}

/// What an AMF serves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AmfInfo {
    pub amf_set_id: String,
    pub amf_region_id: String,
    #[serde(default)]
    pub guami_list: Vec<GuamiModel>,
    #[serde(default)]
    pub tai_list: Vec<TaiModel>,
}

/// What an SMF serves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmfInfo {
    #[serde(default)]
    pub s_nssai_smf_info_list: Vec<SnssaiSmfInfoItem>,
}

/// The data networks that an SMF serves in a slice.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnssaiSmfInfoItem {
    pub s_nssai: Snssai,
    #[serde(default)]
    pub dnn_smf_info_list: Vec<DnnSmfInfoItem>,
}

/// A data network that an SMF serves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct DnnSmfInfoItem {
    pub dnn: String,
}

/// Which subscribers a UDM or AUSF serves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SupiInfo {
    #[serde(default)]
    pub supi_ranges: Vec<SupiRange>,
    #[serde(default)]
    pub routing_indicators: Vec<String>,
}

/// Subscribers from one number to another.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SupiRange {
    #[serde(default)]
    pub start: Option<String>,
    #[serde(default)]
    pub end: Option<String>,
}

/// Asks to be told of network functions that come, change or go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionData {
    pub nf_status_notification_uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub req_nf_instance_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscr_cond: Option<SubscrCond>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validity_time: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub req_notif_events: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) req_nf_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) requester_features: Option<String>,
}

/// Of which.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscrCond {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nf_instance_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nf_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nf_set_id: Option<String>,
    /// Conditions that are not known here.
    #[serde(flatten)]
    pub others: BTreeMap<String, serde_json::Value>,
}

/// The answer to who asked for a token (RFC 6749, 5.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessTokenRsp {
    pub access_token: String,
    pub token_type: String,
    pub expires_in: u32,
    pub scope: String,
}

/// Why there is none (RFC 6749, 5.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessTokenErr {
    pub error: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_description: Option<String>,
}
