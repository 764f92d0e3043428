//! Nausf_UEAuthentication (TS 29.509, 6.1.6).

use super::common::Link;
use super::udm::ResynchronizationInfo;
use serde::{Deserialize, Serialize};

/// Asks for an authentication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationInfo {
    pub supi_or_suci: String,
    pub serving_network_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resynchronization_info: Option<ResynchronizationInfo>,
}

/// The authentication that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UeAuthenticationCtx {
    /// `5G_AKA`.
    pub auth_type: String,
    #[serde(rename = "5gAuthData")]
    pub auth_data: Av5gAka,
    #[serde(rename = "_links")]
    pub links: AuthenticationLinks,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving_network_name: Option<String>,
}

/// What the UE is asked (5G SE AV).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Av5gAka {
    pub rand: String,
    pub autn: String,
    pub hxres_star: String,
}

/// Where the answer goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthenticationLinks {
    #[serde(rename = "5g-aka")]
    pub five_g_aka: Link,
}

/// The UE's answer; null when it did not give one (TS 29.509, 6.1.6.2.4: the member must be there).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationData {
    #[serde(deserialize_with = "Option::deserialize")]
    pub res_star: Option<String>,
}

/// What the home network says of it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmationDataResponse {
    pub auth_result: AuthResult,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supi: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kseaf: Option<String>,
}

/// Whether the UE is who it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(clippy::exhaustive_enums, reason = "TS 29.509 lists three")]
pub enum AuthResult {
    /// It is.
    AuthenticationSuccess,
    /// It is not.
    AuthenticationFailure,
    /// Not known yet.
    AuthenticationOngoing,
}

/// A UE whose security context is to be forgotten.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeregistrationInfo {
    pub supi: String,
}
