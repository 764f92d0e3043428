//! The documents of TS 29.502 and of N1N2MessageTransfer (TS 29.518), as far as the core reads or
//! writes them. Field names are the standard's.

use corewire_core5g_nas::Snssai;
use serde::{Deserialize, Serialize};

/// The service of the replicas; the gateway alone calls it.
pub(crate) const REPLICA_SERVICE: &str = "corewire-pdu-session";
/// The service that AMFs call.
pub(crate) const SERVICE: &str = "nsmf-pdusession";
/// Its resources (TS 29.502, 6.1.3.1).
pub(crate) const SM_CONTEXTS: &str = "/nsmf-pdusession/v1/sm-contexts";

/// Where a part of the message is, by its content id (TS 29.571, 5.2.4.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RefToBinary {
    pub(crate) content_id: String,
}

/// An NAS part (TS 29.502, 6.1.2.4.1): its name here and its media type.
pub(crate) mod n1 {
    use super::RefToBinary;
    pub(crate) const ID: &str = "5gnas-sm";
    pub(crate) const MEDIA_TYPE: &str = "application/vnd.3gpp.5gnas";
    pub(crate) fn reference() -> RefToBinary {
        RefToBinary {
            content_id: ID.to_owned(),
        }
    }
}

/// An NGAP part: its name here and its media type.
pub(crate) mod n2 {
    use super::RefToBinary;
    pub(crate) const ID: &str = "ngap-sm";
    pub(crate) const MEDIA_TYPE: &str = "application/vnd.3gpp.ngap";
    pub(crate) fn reference() -> RefToBinary {
        RefToBinary {
            content_id: ID.to_owned(),
        }
    }
}

/// S-NSSAI (TS 29.571, 5.4.4.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slice {
    pub(crate) sst: u8,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) sd: Option<String>,
}

impl Slice {
    /// The differentiator's octets, when it is one.
    pub(crate) fn differentiator(&self) -> Option<[u8; 3]> {
        let digits = self.sd.as_deref().filter(|sd| sd.len() == 6)?;
        let [_, a, b, c] = u32::from_str_radix(digits, 16).ok()?.to_be_bytes();
        Some([a, b, c])
    }
}

impl From<Snssai> for Slice {
    fn from(slice: Snssai) -> Self {
        let hex = |[a, b, c]: [u8; 3]| format!("{a:02x}{b:02x}{c:02x}");
        Self {
            sst: slice.sst,
            sd: slice.sd.map(hex),
        }
    }
}

/// PLMN id (TS 29.571, 5.4.4.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlmnId {
    pub(crate) mcc: String,
    pub(crate) mnc: String,
}

/// SmContextCreateData (TS 29.502, 6.1.6.2.2).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SmContextCreateData {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) supi: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) pdu_session_id: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) dnn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) s_nssai: Option<Slice>,
    pub(crate) serving_nf_id: String,
    pub(crate) serving_network: PlmnId,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) request_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) n1_sm_msg: Option<RefToBinary>,
    pub(crate) an_type: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) rat_type: Option<String>,
    pub(crate) sm_context_status_uri: String,
}

/// SmContextCreatedData (6.1.6.2.3).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SmContextCreatedData {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) pdu_session_id: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) s_nssai: Option<Slice>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) up_cnx_state: Option<String>,
}

/// SmContextUpdateData and SmContextUpdatedData (6.1.6.2.4, 6.1.6.2.5): the fields that both have.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SmContextUpdateData {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) up_cnx_state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) n1_sm_msg: Option<RefToBinary>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) n2_sm_info: Option<RefToBinary>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) n2_sm_info_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) serving_nf_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) sm_context_status_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) release: Option<bool>,
}

/// SmContextCreateError (6.1.6.2.15), and SmContextUpdateError alike.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SmContextError {
    pub(crate) error: ErrorDetail,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) n1_sm_msg: Option<RefToBinary>,
}

/// As much of ProblemDetails as such an error holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ErrorDetail {
    pub(crate) status: u16,
    pub(crate) cause: String,
    /// A sentence for people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) detail: Option<String>,
}

/// SmContextStatusNotification (6.1.6.2.8).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SmContextStatusNotification {
    pub(crate) status_info: StatusInfo,
}

/// StatusInfo (6.1.6.2.9).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusInfo {
    pub(crate) resource_status: String,
}

/// N1N2MessageTransferReqData (TS 29.518, 6.1.6.2.18).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct N1N2MessageTransferReqData {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) n1_message_container: Option<N1MessageContainer>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) n2_info_container: Option<N2InfoContainer>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) pdu_session_id: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) lcs_correlation_id: Option<String>,
    /// Where a transfer that fails later is notified.
    #[serde(
        rename = "n1n2FailureTxfNotifURI",
        skip_serializing_if = "Option::is_none",
        default
    )]
    pub(crate) failure_uri: Option<String>,
}

/// N1MessageContainer (6.1.6.2.16).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct N1MessageContainer {
    pub(crate) n1_message_class: String,
    pub(crate) n1_message_content: RefToBinary,
}

/// N2InfoContainer (6.1.6.2.17).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct N2InfoContainer {
    pub(crate) n2_information_class: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) sm_info: Option<N2SmInformation>,
}

/// N2SmInformation (6.1.6.2.26).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct N2SmInformation {
    pub(crate) pdu_session_id: u8,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) n2_info_content: Option<N2InfoContent>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) s_nssai: Option<Slice>,
}

/// N2InfoContent (6.1.6.2.27).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct N2InfoContent {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) ngap_ie_type: Option<String>,
    pub(crate) ngap_data: RefToBinary,
}

/// N1N2MessageTransferRspData (6.1.6.2.20).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct N1N2MessageTransferRspData {
    pub(crate) cause: String,
}
