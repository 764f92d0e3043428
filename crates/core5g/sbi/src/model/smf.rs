//! The documents of TS 29.502 and of N1N2MessageTransfer (TS 29.518), as far as the core reads or
//! writes them. Field names are the standard's.

use super::common::{PlmnId, Snssai};
use serde::{Deserialize, Serialize};

/// SM contexts of an SMF (TS 29.502, 6.1.3.1).
pub const SM_CONTEXTS: &str = "/nsmf-pdusession/v1/sm-contexts";

/// Where a part of the message is, by its content id (TS 29.571, 5.2.4.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefToBinary {
    pub content_id: String,
}

/// An NAS part (TS 29.502, 6.1.2.4.1): its name here and its media type.
pub mod n1 {
    use super::RefToBinary;
    /// Its content id.
    pub const ID: &str = "5gnas-sm";
    /// Its media type.
    pub const MEDIA_TYPE: &str = "application/vnd.3gpp.5gnas";
    /// What the JSON part says of it.
    pub fn reference() -> RefToBinary {
        RefToBinary {
            content_id: ID.to_owned(),
        }
    }
}

/// An NGAP part: its name here and its media type.
pub mod n2 {
    use super::RefToBinary;
    /// Its content id.
    pub const ID: &str = "ngap-sm";
    /// Its media type.
    pub const MEDIA_TYPE: &str = "application/vnd.3gpp.ngap";
    /// What the JSON part says of it.
    pub fn reference() -> RefToBinary {
        RefToBinary {
            content_id: ID.to_owned(),
        }
    }
}

/// SmContextCreateData (TS 29.502, 6.1.6.2.2).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmContextCreateData {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub supi: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pdu_session_id: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dnn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub s_nssai: Option<Snssai>,
    pub serving_nf_id: String,
    pub serving_network: PlmnId,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub n1_sm_msg: Option<RefToBinary>,
    pub an_type: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rat_type: Option<String>,
    pub sm_context_status_uri: String,
}

/// SmContextCreatedData (6.1.6.2.3).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmContextCreatedData {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pdu_session_id: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub s_nssai: Option<Snssai>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub up_cnx_state: Option<String>,
}

/// SmContextUpdateData and SmContextUpdatedData (6.1.6.2.4, 6.1.6.2.5): the fields that both have.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmContextUpdateData {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub up_cnx_state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub n1_sm_msg: Option<RefToBinary>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub n2_sm_info: Option<RefToBinary>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub n2_sm_info_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub serving_nf_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sm_context_status_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub release: Option<bool>,
}

/// SmContextCreateError (6.1.6.2.15), and SmContextUpdateError alike.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmContextError {
    pub error: ErrorDetail,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub n1_sm_msg: Option<RefToBinary>,
}

/// As much of ProblemDetails as such an error holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErrorDetail {
    pub status: u16,
    pub cause: String,
    /// A sentence for people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub detail: Option<String>,
}

/// SmContextStatusNotification (6.1.6.2.8).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmContextStatusNotification {
    pub status_info: StatusInfo,
}

/// StatusInfo (6.1.6.2.9).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusInfo {
    pub resource_status: String,
}

/// N1N2MessageTransferReqData (TS 29.518, 6.1.6.2.18).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct N1N2MessageTransferReqData {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub n1_message_container: Option<N1MessageContainer>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub n2_info_container: Option<N2InfoContainer>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pdu_session_id: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lcs_correlation_id: Option<String>,
    /// Where a transfer that fails later is notified.
    #[serde(
        rename = "n1n2FailureTxfNotifURI",
        skip_serializing_if = "Option::is_none",
        default
    )]
    pub failure_uri: Option<String>,
}

/// N1N2MsgTxfrFailureNotification (6.1.6.2.30).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct N1N2MsgTxfrFailureNotification {
    pub cause: String,
    pub n1n2_msg_data_uri: String,
}

/// N1MessageContainer (6.1.6.2.16).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct N1MessageContainer {
    pub n1_message_class: String,
    pub n1_message_content: RefToBinary,
}

/// N2InfoContainer (6.1.6.2.17).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct N2InfoContainer {
    pub n2_information_class: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sm_info: Option<N2SmInformation>,
}

/// N2SmInformation (6.1.6.2.26).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct N2SmInformation {
    pub pdu_session_id: u8,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub n2_info_content: Option<N2InfoContent>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub s_nssai: Option<Snssai>,
}

/// N2InfoContent (6.1.6.2.27).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct N2InfoContent {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ngap_ie_type: Option<String>,
    pub ngap_data: RefToBinary,
}

/// N1N2MessageTransferRspData (6.1.6.2.20).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct N1N2MessageTransferRspData {
    pub cause: String,
}
