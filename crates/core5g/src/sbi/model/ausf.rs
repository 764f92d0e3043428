//! Nausf_UEAuthentication (TS 29.509, 6.1.6).

use super::common::Link;
use super::udm::ResynchronizationInfo;
use serde::{Deserialize, Serialize};

/// Asks for an authentication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuthenticationInfo {
    pub(crate) supi_or_suci: String,
    pub(crate) serving_network_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resynchronization_info: Option<ResynchronizationInfo>,
}

/// The authentication that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UeAuthenticationCtx {
    /// `5G_AKA`.
    pub(crate) auth_type: String,
    #[serde(rename = "5gAuthData")]
    pub(crate) auth_data: Av5gAka,
    #[serde(rename = "_links")]
    pub(crate) links: AuthenticationLinks,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) serving_network_name: Option<String>,
}

/// What the UE is asked (5G SE AV).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Av5gAka {
    pub(crate) rand: String,
    pub(crate) autn: String,
    pub(crate) hxres_star: String,
}

/// Where the answer goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AuthenticationLinks {
    #[serde(rename = "5g-aka")]
    pub(crate) five_g_aka: Link,
}

/// The UE's answer; null when it did not give one (TS 29.509, 6.1.6.2.4: the member must be there).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfirmationData {
    #[serde(deserialize_with = "Option::deserialize")]
    pub(crate) res_star: Option<String>,
}

/// What the home network says of it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfirmationDataResponse {
    pub(crate) auth_result: AuthResult,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) supi: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kseaf: Option<String>,
}

/// Whether the UE is who it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(clippy::enum_variant_names, reason = "the names are the standard's")]
pub(crate) enum AuthResult {
    /// It is.
    AuthenticationSuccess,
    /// It is not.
    AuthenticationFailure,
    /// Not known yet.
    AuthenticationOngoing,
}

/// A UE whose security context is to be forgotten.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeregistrationInfo {
    pub(crate) supi: String,
}
