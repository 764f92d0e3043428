//! Nnrf_AccessToken (TS 29.510, 5.4 and 6.3; TS 33.501, 13.4.1): who may ask whom for what, signed.
//!
//! A token is a JWT with ES256. The key is drawn at the start, or read from a file that NRFs share;
//! who checks tokens gets its public half at `/oauth2/jwks` (RFC 7517).

use super::Nrf;
use corewire_core5g_runtime::wall_clock;
use corewire_core5g_sbi::model::nrf::{AccessTokenErr, AccessTokenRsp};
use corewire_core5g_sbi::{Exchange, Problem, Query, Reply, Router};
use serde_json::json;
use std::sync::Arc;

/// Octets of a form that are read.
const MAX_FORM: usize = 8192;

impl Nrf {
    pub(super) fn token_resources(router: Router<Self>) -> Router<Self> {
        router
            .post("/oauth2/token", Self::token)
            .get("/oauth2/jwks", Self::public_keys)
    }

    async fn public_keys(self: Arc<Self>, _exchange: Exchange) -> Result<Reply, Problem> {
        Ok(Reply::ok(&self.issuer.signer.public()))
    }

    async fn token(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let body = exchange.body();
        let text = std::str::from_utf8(body)
            .ok()
            .filter(|text| text.len() <= MAX_FORM);
        let Some(Ok(form)) = text.map(Query::parse_form) else {
            return Ok(refused("invalid_request", "no form that can be read"));
        };
        let asked = |name: &str| form.one(name).filter(|value| !value.is_empty());
        if asked("grant_type") != Some("client_credentials") {
            return Ok(refused(
                "unsupported_grant_type",
                "client_credentials is taken here",
            ));
        }
        let rights = self
            .clients
            .rights(asked("client_secret"), exchange.is_from_loopback());
        let Some(rights) = rights else {
            return Ok(refused(
                "invalid_client",
                "client_secret is not what this NRF was started with (--client-secret, --allow-nf)",
            ));
        };
        let (Some(instance), Some(scope)) = (asked("nfInstanceId"), asked("scope")) else {
            return Ok(refused(
                "invalid_request",
                "nfInstanceId and scope are mandatory",
            ));
        };
        let holder = exchange.holder();
        if !holder.may_be(instance) {
            return Ok(refused(
                "invalid_client",
                "the certificate is not for this instance",
            ));
        }
        let requester = match self.book().find(instance) {
            Ok(profile) => profile.view.nf_type.clone(),
            Err(_) => return Ok(refused("invalid_client", "the instance is not registered")),
        };
        if asked("nfType").is_some_and(|said| said != requester) {
            return Ok(refused(
                "invalid_client",
                "the instance is registered as another type",
            ));
        }
        if !rights.may_be_of(&requester) {
            return Ok(refused(
                "invalid_client",
                "client_secret is not for this type (--allow-nf)",
            ));
        }
        if !holder.may_be_of(&requester) {
            return Ok(refused(
                "invalid_client",
                "the certificate is not for this type",
            ));
        }
        let (target, one) = (asked("targetNfType"), asked("targetNfInstanceId"));
        if target.is_none() && one.is_none() {
            return Ok(refused(
                "invalid_request",
                "targetNfType or targetNfInstanceId is needed",
            ));
        }
        for service in scope.split_ascii_whitespace() {
            if let Err(why) = self.may_use(&requester, target, one, service) {
                return Ok(why);
            }
        }
        let audience = match (one, target) {
            (Some(instance), _) => json!([instance]),
            (None, target) => json!(target),
        };
        let now = wall_clock().seconds();
        let claims = json!({
            "iss": self.issuer.name, "sub": instance, "aud": audience, "scope": scope,
            "iat": now, "exp": now + u64::from(self.issuer.lifetime),
        });
        let answer = AccessTokenRsp {
            access_token: self
                .issuer
                .signer
                .sign(&claims)
                .map_err(|error| Problem::failure(error.to_string()))?,
            token_type: "Bearer".to_owned(),
            expires_in: self.issuer.lifetime,
            scope: scope.to_owned(),
        };
        // RFC 6749, 5.1.
        Ok(Reply::ok(&answer)
            .header("cache-control", "no-store")
            .header("pragma", "no-cache"))
    }

    /// Whether somebody of this type may use a service of the target: somebody must offer it to it.
    fn may_use(
        &self,
        requester: &str,
        target: Option<&str>,
        instance: Option<&str>,
        service: &str,
    ) -> Result<(), Reply> {
        let book = self.book();
        let mut offers = book
            .iter()
            .filter(|profile| target.is_none_or(|target| profile.view.nf_type == target))
            .filter(|profile| instance.is_none_or(|id| profile.view.nf_instance_id == id))
            .flat_map(|profile| profile.view.services().map(|offer| (&profile.view, offer)))
            .filter(|(_, offer)| offer.service_name == service)
            .peekable();
        if offers.peek().is_none() {
            return Err(refused(
                "invalid_scope",
                "nobody of the target offers this service",
            ));
        }
        let allowed = |types: &Option<Vec<String>>| {
            types
                .as_ref()
                .is_none_or(|types| types.iter().any(|one| one == requester))
        };
        // As discovery has it: both the network function and its service say to whom.
        if offers
            .any(|(nf, offer)| allowed(&nf.allowed_nf_types) && allowed(&offer.allowed_nf_types))
        {
            Ok(())
        } else {
            Err(refused(
                "unauthorized_client",
                "the service is not for this type",
            ))
        }
    }
}

/// 400, as OAuth has it (RFC 6749, 5.2).
fn refused(error: &'static str, why: &'static str) -> Reply {
    Reply::json(
        400,
        &AccessTokenErr {
            error: error.to_owned(),
            error_description: Some(why.to_owned()),
        },
    )
    .header("cache-control", "no-store")
}
