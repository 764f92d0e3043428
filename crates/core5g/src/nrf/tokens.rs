//! Nnrf_AccessToken (TS 29.510, 5.4 and 6.3; TS 33.501, 13.4.1): who may ask whom for what, signed.
//!
//! A token is a JWT with ES256. The key is drawn at the start, or read from a file that NRFs share;
//! who checks tokens gets its public half at `/oauth2/jwks` (RFC 7517).

use super::Nrf;
use crate::sbi::model::nrf::{AccessTokenErr, AccessTokenRsp};
use crate::sbi::{Exchange, HttpDate, Problem, Query, Reply, Router};
use anyhow::anyhow;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use std::sync::Arc;

/// Seconds that a token is good for.
const LIFETIME: u32 = 3600;
/// Octets of a form that are read.
const MAX_FORM: usize = 8192;

/// The key that tokens are signed with.
pub(super) struct Tokens {
    key: EcdsaKeyPair,
    random: SystemRandom,
    key_id: String,
    issuer: String,
}

impl Tokens {
    /// With a new key, or one of PKCS #8 in DER.
    ///
    /// # Errors
    /// When the key is none for P-256.
    pub(super) fn new(issuer: &str, key: Option<&[u8]>) -> anyhow::Result<Self> {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let drawn;
        let document = match key {
            Some(key) => key,
            None => {
                drawn = EcdsaKeyPair::generate_pkcs8(algorithm, &random)
                    .map_err(|_| anyhow!("no key can be drawn"))?;
                drawn.as_ref()
            }
        };
        let key = EcdsaKeyPair::from_pkcs8(algorithm, document, &random)
            .map_err(|error| anyhow!("no P-256 key in PKCS #8 (DER): {error}"))?;
        let key_id = super::book::tag_of(key.public_key().as_ref());
        Ok(Self {
            key,
            random,
            key_id,
            issuer: issuer.to_owned(),
        })
    }

    /// The public half, as a set of one (RFC 7518, 6.2.1).
    fn public(&self) -> Value {
        // Uncompressed: 4, then both coordinates.
        let point = self.key.public_key().as_ref();
        let (x, y) = point[1..].split_at(32);
        json!({"keys": [{
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.key_id,
            "x": BASE64.encode(x), "y": BASE64.encode(y),
        }]})
    }

    fn sign(&self, claims: &Value) -> Result<String, Problem> {
        let header = json!({"typ": "JWT", "alg": "ES256", "kid": self.key_id});
        let part = |value: &Value| BASE64.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(claims));
        let signature = self
            .key
            .sign(&self.random, signed.as_bytes())
            .map_err(|_| Problem::failure("the token cannot be signed"))?;
        Ok(format!("{signed}.{}", BASE64.encode(signature)))
    }
}

impl Nrf {
    pub(super) fn token_resources(router: Router<Self>) -> Router<Self> {
        router
            .post("/oauth2/token", Self::token)
            .get("/oauth2/jwks", Self::public_keys)
    }

    async fn public_keys(self: Arc<Self>, _exchange: Exchange) -> Result<Reply, Problem> {
        Ok(Reply::ok(&self.tokens.public()))
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
        let (Some(instance), Some(scope)) = (asked("nfInstanceId"), asked("scope")) else {
            return Ok(refused(
                "invalid_request",
                "nfInstanceId and scope are mandatory",
            ));
        };
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
        let now = HttpDate::now().seconds();
        let claims = json!({
            "iss": self.tokens.issuer, "sub": instance, "aud": audience, "scope": scope,
            "iat": now, "exp": now + u64::from(LIFETIME),
        });
        let answer = AccessTokenRsp {
            access_token: self.tokens.sign(&claims)?,
            token_type: "Bearer".to_owned(),
            expires_in: LIFETIME,
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
            .flat_map(|profile| profile.view.services())
            .filter(|offer| offer.service_name == service)
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
        if offers.any(|offer| allowed(&offer.allowed_nf_types)) {
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
