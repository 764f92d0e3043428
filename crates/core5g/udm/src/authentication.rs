//! Nudm_UEAuthentication (TS 29.503, 5.4 and 6.3): vectors, and how authentications ended.

use super::store::UeState;
use super::{Udm, context_not_found, user_not_found};
use corewire_core5g_aka::{Auts, Rand, ServingNetwork, Supi};
use corewire_core5g_sbi::model::udm::{
    AuthEvent, AuthenticationInfoRequest, AuthenticationInfoResult, Av5gHeAka,
    ResynchronizationInfo,
};
use corewire_core5g_sbi::{Exchange, Problem, Reply, Router};
use corewire_core5g_subscribers::Material;
use std::sync::Arc;

impl Udm {
    pub(super) fn authentication_resources(router: Router<Self>) -> Router<Self> {
        router
            .post(
                "/nudm-ueau/v1/{supiOrSuci}/security-information/generate-auth-data",
                Self::generate_auth_data,
            )
            .post("/nudm-ueau/v1/{supi}/auth-events", Self::confirm_auth)
            .put(
                "/nudm-ueau/v1/{supi}/auth-events/{authEventId}",
                Self::delete_auth,
            )
    }

    async fn generate_auth_data(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let asked: AuthenticationInfoRequest = exchange.json()?;
        let result = self.vector(exchange.param("supiOrSuci"), &asked)?;
        Ok(Reply::ok(&result))
    }

    /// A vector for a UE that is named by SUPI or SUCI (TS 33.501, 6.1.3.2.0).
    ///
    /// # Errors
    /// As the operation answers.
    pub fn vector(
        &self,
        identity: &str,
        asked: &AuthenticationInfoRequest,
    ) -> Result<AuthenticationInfoResult, Problem> {
        let network: ServingNetwork = asked.serving_network_name.parse().map_err(|_| {
            let example = "5G:mnc001.mcc001.3gppnetwork.org is one";
            Problem::mandatory_incorrect("/servingNetworkName", example)
        })?;
        let supi = self.identified(identity)?;
        let entry = self.store.with_entry(&supi, |entry| {
            let material = entry.material();
            (material, entry.may_use(network.plmn()))
        });
        let (material, may_use) = entry.ok_or_else(user_not_found)?;
        if !may_use {
            return Err(Problem::new(403, "SERVING_NETWORK_NOT_AUTHORIZED"));
        }
        // Checked when it was provisioned.
        let material = material.map_err(Problem::failure)?;
        if let Some(info) = &asked.resynchronization_info {
            self.resynchronise(&supi, &material, info)?;
        }
        let sqn = self.store.next_sqn(&supi, material.sqn)?;
        let rand = Rand::random().map_err(|error| Problem::failure(error.to_string()))?;
        let vector = material
            .subscriber
            .vector(rand, sqn, &material.field, &network);
        Ok(AuthenticationInfoResult {
            auth_type: "5G_AKA".to_owned(),
            authentication_vector: Av5gHeAka {
                av_type: "5G_HE_AKA".to_owned(),
                rand: vector.rand.to_hex(),
                autn: vector.autn.to_hex(),
                xres_star: vector.xres_star.to_hex(),
                kausf: vector.kausf.to_hex(),
            },
            supi: Some(supi.to_string()),
        })
    }

    /// TS 33.102, 6.3.5: the USIM says where it is, and proves that it is the one who says it.
    fn resynchronise(
        &self,
        supi: &Supi,
        material: &Material,
        info: &ResynchronizationInfo,
    ) -> Result<(), Problem> {
        let wrong = |member: &str| {
            let param = format!("/resynchronizationInfo/{member}");
            Problem::mandatory_incorrect(&param, "hexadecimal digits of another number")
        };
        let rand: Rand = info.rand.parse().map_err(|_| wrong("rand"))?;
        let auts: Auts = info.auts.parse().map_err(|_| wrong("auts"))?;
        let at = material
            .subscriber
            .resynchronise(&rand, &auts)
            .map_err(|_| {
                Problem::new(403, "AUTHENTICATION_REJECTED").detail("the AUTS is not this USIM's")
            })?;
        self.store.resynchronise(supi, material.sqn, at)
    }

    async fn confirm_auth(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let supi = self.known(exchange.param("supi"))?;
        let event: AuthEvent = exchange.json()?;
        let ended = event.clone();
        let change = |state: &mut UeState| state.authentication = Some(ended);
        self.store.change(&supi, change).await?;
        let location = format!("{}{}/{EVENT}", self.api_root, exchange.path());
        Ok(Reply::created(&location, &event))
    }

    async fn delete_auth(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let supi = self.known(exchange.param("supi"))?;
        let _event: AuthEvent = exchange.json()?;
        if exchange.param("authEventId") != EVENT {
            return Err(context_not_found());
        }
        let was = self
            .store
            .change(&supi, |state| state.authentication.take())
            .await?;
        was.map(|_| Reply::no_content())
            .ok_or_else(context_not_found)
    }
}

/// A UE has one authentication at a time here: the last.
const EVENT: &str = "last";
