//! Nausf_UEAuthentication (TS 29.509, 5.2), and source 3's form of it.
#![expect(
    clippy::disallowed_methods,
    reason = "the driver of its contexts, which expire"
)]

use super::contexts::{Authentication, Contexts};
use super::home::HomeNetwork;
use corewire_core5g_aka::{HxresStar, Kausf, Rand, ResStar, ServingNetwork, Supi, XresStar};
use corewire_core5g_sbi::model::ausf::{
    AuthResult, AuthenticationInfo, AuthenticationLinks, Av5gAka, ConfirmationData,
    ConfirmationDataResponse, DeregistrationInfo, UeAuthenticationCtx,
};
use corewire_core5g_sbi::model::common::Link;
use corewire_core5g_sbi::model::udm::{AuthEvent, AuthenticationInfoRequest};
use corewire_core5g_sbi::{Exchange, Problem, Reply, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

const CONFIRMATION: &str = "/nausf-auth/v1/ue-authentications/{authCtxId}/5g-aka-confirmation";

/// The AUSF.
pub(super) struct Ausf<H> {
    pub(super) home: H,
    pub(super) contexts: Contexts,
    /// Its own name.
    pub(super) instance: String,
    /// What stands in front of the paths of its resources.
    pub(super) api_root: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Source3Answer {
    auth_ctx_id: String,
    res_star: Option<String>,
}

impl<H: HomeNetwork> Ausf<H> {
    /// Its resources.
    pub(super) fn router(self) -> Router<Self> {
        Router::new(Arc::new(self))
            .post("/nausf-auth/v1/ue-authentications", Self::authenticate)
            .post(
                "/nausf-auth/v1/ue-authentications/deregister",
                Self::deregister,
            )
            .put(CONFIRMATION, Self::confirm)
            .delete(CONFIRMATION, Self::delete)
            .post(
                "/source3/v1/nausf-ueauthentication/authenticate",
                Self::source3_authenticate,
            )
            .post(
                "/source3/v1/nausf-ueauthentication/location-update",
                Self::source3_location_update,
            )
    }

    async fn authenticate(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let asked: AuthenticationInfo = exchange.json()?;
        let (id, context) = self.begin(asked).await?;
        let location = format!("{}/nausf-auth/v1/ue-authentications/{id}", self.api_root);
        Ok(Reply::created(&location, &context))
    }

    /// Gets a vector and keeps what is not for the serving network.
    async fn begin(
        &self,
        asked: AuthenticationInfo,
    ) -> Result<(String, UeAuthenticationCtx), Problem> {
        let network: ServingNetwork = asked.serving_network_name.parse().map_err(|_| {
            // The AMF names itself; one that cannot is not known here (TS 29.509, 5.2.2.2.2).
            Problem::new(403, "SERVING_NETWORK_NOT_AUTHORIZED")
        })?;
        let request = AuthenticationInfoRequest {
            serving_network_name: asked.serving_network_name.clone(),
            ausf_instance_id: self.instance.clone(),
            resynchronization_info: asked.resynchronization_info,
        };
        let result = self.home.vector(&asked.supi_or_suci, &request).await?;
        let vector = result.authentication_vector;
        let supi = result.supi.unwrap_or(asked.supi_or_suci);
        let unreadable = || Problem::new(500, "AV_GENERATION_PROBLEM");
        let supi: Supi = supi.parse().map_err(|_| unreadable())?;
        let rand: Rand = vector.rand.parse().map_err(|_| unreadable())?;
        let expected: XresStar = vector.xres_star.parse().map_err(|_| unreadable())?;
        let kausf: Kausf = vector.kausf.parse().map_err(|_| unreadable())?;
        let id = random_id()?;
        let href = format!(
            "{}/nausf-auth/v1/ue-authentications/{id}/5g-aka-confirmation",
            self.api_root
        );
        let context = UeAuthenticationCtx {
            auth_type: "5G_AKA".to_owned(),
            auth_data: Av5gAka {
                hxres_star: HxresStar::of(&rand, &expected).to_hex(),
                rand: vector.rand,
                autn: vector.autn,
            },
            links: AuthenticationLinks {
                five_g_aka: Link { href },
            },
            serving_network_name: Some(asked.serving_network_name),
        };
        let authentication = Authentication {
            supi,
            expected,
            kausf,
            network,
        };
        self.contexts
            .begin(Instant::now(), id.clone(), authentication);
        Ok((id, context))
    }

    async fn confirm(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let id = exchange.param("authCtxId");
        if !self.contexts.has(id) {
            return Err(Problem::new(404, "CONTEXT_NOT_FOUND"));
        }
        let said: ConfirmationData = exchange.json()?;
        let answer = self.compare(id, said.res_star.as_deref())?;
        Ok(Reply::ok(&answer))
    }

    /// TS 33.501, 6.1.3.2.0, step 11. A wrong RES* is an answer, not an error (TS 29.509, 5.2.2.2.2).
    fn compare(&self, id: &str, said: Option<&str>) -> Result<ConfirmationDataResponse, Problem> {
        // Read first: an answer that is none does not end the authentication.
        let answer: Option<ResStar> = said
            .map(|text| {
                text.parse()
                    .map_err(|_| Problem::mandatory_incorrect("/resStar", "32 hexadecimal digits"))
            })
            .transpose()?;
        let authentication = self
            .contexts
            .take(id)
            .ok_or_else(|| Problem::new(404, "CONTEXT_NOT_FOUND"))?;
        let good = answer.is_some_and(|answer| authentication.expected.accepts(&answer));
        self.home.tell(
            &authentication.supi.to_string(),
            AuthEvent {
                nf_instance_id: self.instance.clone(),
                success: good,
                time_stamp: corewire_core5g_runtime::wall_clock().to_json_text(),
                auth_type: "5G_AKA".to_owned(),
                serving_network_name: authentication.network.to_string(),
                auth_removal_ind: None,
            },
        );
        if !good {
            return Ok(ConfirmationDataResponse {
                auth_result: AuthResult::AuthenticationFailure,
                supi: None,
                kseaf: None,
            });
        }
        let kseaf = authentication.kausf.kseaf(&authentication.network);
        Ok(ConfirmationDataResponse {
            auth_result: AuthResult::AuthenticationSuccess,
            supi: Some(authentication.supi.to_string()),
            kseaf: Some(kseaf.to_hex()),
        })
    }

    async fn delete(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let was = self.contexts.take(exchange.param("authCtxId"));
        was.map(|_| Reply::no_content())
            .ok_or_else(|| Problem::new(404, "CONTEXT_NOT_FOUND"))
    }

    /// Forgets a UE (TS 29.509, 5.2.2.4). Keys of those who are authenticated are not kept here, so
    /// only an authentication under way ends.
    async fn deregister(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let whose: DeregistrationInfo = exchange.json()?;
        let supi: Supi = whose
            .supi
            .parse()
            .map_err(|_| Problem::mandatory_incorrect("/supi", "no SUPI"))?;
        self.contexts.forget(&supi);
        Ok(Reply::no_content())
    }

    /// Source 3's (1) Authenticate: begins, and with an answer of the UE ends.
    async fn source3_authenticate(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        if let Ok(said) = exchange.json::<Source3Answer>() {
            let answer = self.compare(&said.auth_ctx_id, said.res_star.as_deref())?;
            return Ok(Reply::ok(&answer));
        }
        let (id, context) = self.begin(exchange.json()?).await?;
        let mut document =
            serde_json::to_value(&context).map_err(|error| Problem::failure(error.to_string()))?;
        document["authCtxId"] = Value::from(id);
        Ok(Reply::ok(&document))
    }

    /// Source 3's (2) LocationUpdate: where a UE is, which the UDM is told.
    async fn source3_location_update(
        self: Arc<Self>,
        exchange: Exchange,
    ) -> Result<Reply, Problem> {
        let whose: DeregistrationInfo = exchange.json()?;
        let supi: Supi = whose
            .supi
            .parse()
            .map_err(|_| Problem::mandatory_incorrect("/supi", "no SUPI"))?;
        self.home.locate(&exchange.json()?).await?;
        Ok(Reply::ok(&json!({"supi": supi.to_string()})))
    }
}

/// A name that nobody guesses.
fn random_id() -> Result<String, Problem> {
    let mut octets = [0; 16];
    getrandom::fill(&mut octets).map_err(|error| Problem::failure(error.to_string()))?;
    Ok(Rand::new(octets).to_hex())
}
