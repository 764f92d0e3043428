//! Namf_Communication (TS 29.518, 6.1.6).

use super::common::{RefToBinaryData, Snssai};
use serde::{Deserialize, Serialize};

/// Messages for a UE and its gNB, from an SMF.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct N1N2MessageTransferReqData {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) n1_message_container: Option<N1MessageContainer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) n2_info_container: Option<N2InfoContainer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pdu_session_id: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) skip_ind: Option<bool>,
}

/// A NAS message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct N1MessageContainer {
    /// `SM`, …
    pub(crate) n1_message_class: String,
    pub(crate) n1_message_content: RefToBinaryData,
}

/// An NGAP structure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct N2InfoContainer {
    /// `SM`, …
    pub(crate) n2_information_class: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sm_info: Option<N2SmInformation>,
}

/// An NGAP structure of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct N2SmInformation {
    pub(crate) pdu_session_id: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) n2_info_content: Option<N2InfoContent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) s_nssai: Option<Snssai>,
}

/// Which, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct N2InfoContent {
    /// `PDU_RES_SETUP_REQ`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ngap_ie_type: Option<String>,
    pub(crate) ngap_data: RefToBinaryData,
}

/// What became of the messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct N1N2MessageTransferRspData {
    /// `N1_N2_TRANSFER_INITIATED`, `ATTEMPTING_TO_REACH_UE`, …
    pub(crate) cause: String,
}
