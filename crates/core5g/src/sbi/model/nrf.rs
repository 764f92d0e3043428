//! Nnrf_NFManagement, Nnrf_NFDiscovery, Nnrf_AccessToken (TS 29.510, 6): what the NRF itself looks at.
//! A profile is kept as it came; this is a view of it.

use super::common::{GuamiModel, PlmnId, Snssai, TaiModel};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A network function.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NfProfile {
    pub(crate) nf_instance_id: String,
    pub(crate) nf_type: String,
    pub(crate) nf_status: String,
    #[serde(default)]
    pub(crate) heart_beat_timer: Option<u32>,
    #[serde(default)]
    pub(crate) plmn_list: Option<Vec<PlmnId>>,
    #[serde(default)]
    pub(crate) s_nssais: Option<Vec<Snssai>>,
    #[serde(default)]
    pub(crate) fqdn: Option<String>,
    #[serde(default)]
    pub(crate) ipv4_addresses: Vec<String>,
    #[serde(default)]
    pub(crate) ipv6_addresses: Vec<String>,
    #[serde(default)]
    pub(crate) allowed_nf_types: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) allowed_plmns: Option<Vec<PlmnId>>,
    #[serde(default)]
    pub(crate) priority: Option<u16>,
    #[serde(default)]
    pub(crate) capacity: Option<u16>,
    #[serde(default)]
    pub(crate) load: Option<u8>,
    #[serde(default)]
    pub(crate) locality: Option<String>,
    #[serde(default)]
    pub(crate) nf_set_id_list: Vec<String>,
    #[serde(default)]
    pub(crate) amf_info: Option<AmfInfo>,
    #[serde(default)]
    pub(crate) smf_info: Option<SmfInfo>,
    #[serde(default)]
    pub(crate) udm_info: Option<SupiInfo>,
    #[serde(default)]
    pub(crate) ausf_info: Option<SupiInfo>,
    #[serde(default)]
    pub(crate) nf_services: Vec<NfService>,
    #[serde(default)]
    pub(crate) nf_service_list: BTreeMap<String, NfService>,
    #[serde(default)]
    pub(crate) nf_profile_changes_support_ind: bool,
}

impl NfProfile {
    /// Its services, from whichever of the two members has them.
    pub(crate) fn services(&self) -> impl Iterator<Item = &NfService> {
        let listed = self.nf_services.is_empty();
        let map = self.nf_service_list.values().filter(move |_| listed);
        self.nf_services.iter().chain(map)
    }
}

/// A service of a network function.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NfService {
    pub(crate) service_instance_id: String,
    pub(crate) service_name: String,
    pub(crate) versions: Vec<NfServiceVersion>,
    pub(crate) scheme: String,
    pub(crate) nf_service_status: String,
    #[serde(default)]
    pub(crate) ip_end_points: Vec<IpEndPoint>,
    #[serde(default)]
    pub(crate) allowed_nf_types: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) fqdn: Option<String>,
    #[serde(default)]
    pub(crate) priority: Option<u16>,
    #[serde(default)]
    pub(crate) capacity: Option<u16>,
    #[serde(default)]
    pub(crate) load: Option<u8>,
}

/// A version of a service's interface.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NfServiceVersion {
    pub(crate) api_version_in_uri: String,
    pub(crate) api_full_version: String,
}

/// Where a service is reached.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IpEndPoint {
    #[serde(default)]
    pub(crate) ipv4_address: Option<String>,
    #[serde(default)]
    pub(crate) ipv6_address: Option<String>,
    #[serde(default)]
    pub(crate) port: Option<u16>,
}

/// What an AMF serves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AmfInfo {
    pub(crate) amf_set_id: String,
    pub(crate) amf_region_id: String,
    #[serde(default)]
    pub(crate) guami_list: Vec<GuamiModel>,
    #[serde(default)]
    pub(crate) tai_list: Vec<TaiModel>,
}

/// What an SMF serves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SmfInfo {
    #[serde(default)]
    pub(crate) s_nssai_smf_info_list: Vec<SnssaiSmfInfoItem>,
}

/// The data networks that an SMF serves in a slice.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SnssaiSmfInfoItem {
    pub(crate) s_nssai: Snssai,
    #[serde(default)]
    pub(crate) dnn_smf_info_list: Vec<DnnSmfInfoItem>,
}

/// A data network that an SMF serves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct DnnSmfInfoItem {
    pub(crate) dnn: String,
}

/// Which subscribers a UDM or AUSF serves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SupiInfo {
    #[serde(default)]
    pub(crate) supi_ranges: Vec<SupiRange>,
    #[serde(default)]
    pub(crate) routing_indicators: Vec<String>,
}

/// Subscribers from one number to another.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct SupiRange {
    #[serde(default)]
    pub(crate) start: Option<String>,
    #[serde(default)]
    pub(crate) end: Option<String>,
}

/// Asks to be told of network functions that come, change or go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubscriptionData {
    pub(crate) nf_status_notification_uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) req_nf_instance_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subscr_cond: Option<SubscrCond>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subscription_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) validity_time: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) req_notif_events: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) req_nf_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) requester_features: Option<String>,
}

/// Of which.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubscrCond {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) nf_instance_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) nf_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) service_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) nf_set_id: Option<String>,
    /// Conditions that are not known here.
    #[serde(flatten)]
    pub(crate) others: BTreeMap<String, serde_json::Value>,
}

/// The answer to who asked for a token (RFC 6749, 5.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AccessTokenRsp {
    pub(crate) access_token: String,
    pub(crate) token_type: String,
    pub(crate) expires_in: u32,
    pub(crate) scope: String,
}

/// Why there is none (RFC 6749, 5.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AccessTokenErr {
    pub(crate) error: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error_description: Option<String>,
}
