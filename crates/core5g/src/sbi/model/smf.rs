//! Nsmf_PDUSession (TS 29.502, 6.1.6).

use super::common::{GuamiModel, PlmnId, RefToBinaryData, Snssai};
use serde::{Deserialize, Serialize};

/// Asks for an SM context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SmContextCreateData {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) supi: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pdu_session_id: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dnn: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) s_nssai: Option<Snssai>,
    pub(crate) serving_nf_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) guami: Option<GuamiModel>,
    pub(crate) serving_network: PlmnId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) n1_sm_msg: Option<RefToBinaryData>,
    pub(crate) an_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rat_type: Option<String>,
    pub(crate) sm_context_status_uri: String,
}

/// The SM context that was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SmContextCreatedData {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pdu_session_id: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) s_nssai: Option<Snssai>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) up_cnx_state: Option<String>,
}

/// Why no SM context was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SmContextCreateError {
    pub(crate) error: crate::sbi::Problem,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) n1_sm_msg: Option<RefToBinaryData>,
}

/// Changes an SM context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SmContextUpdateData {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) n1_sm_msg: Option<RefToBinaryData>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) n2_sm_info: Option<RefToBinaryData>,
    /// `PDU_RES_SETUP_RSP`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) n2_sm_info_type: Option<String>,
    /// `ACTIVATED`, `ACTIVATING`, `DEACTIVATED`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) up_cnx_state: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) release: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) serving_nf_id: Option<String>,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SmContextUpdatedData {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) n1_sm_msg: Option<RefToBinaryData>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) n2_sm_info: Option<RefToBinaryData>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) n2_sm_info_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) up_cnx_state: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<String>,
}

/// Ends an SM context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SmContextReleaseData {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<String>,
}
