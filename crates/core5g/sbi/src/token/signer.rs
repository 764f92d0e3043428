//! The private half of the key: the NRF's, and the operator's commands'.

use anyhow::anyhow;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde_json::{Value, json};
use siphasher::sip::SipHasher13;
use std::hash::Hasher as _;

/// What tokens are signed with. Holds a key: no `Debug`.
pub struct Signer {
    key: EcdsaKeyPair,
    random: SystemRandom,
    key_id: String,
}

impl Signer {
    /// A new key for P-256, as PKCS #8 in DER.
    ///
    /// # Errors
    /// When the system gives no random octets.
    pub fn draw() -> anyhow::Result<Vec<u8>> {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new())
            .map_err(|_| anyhow!("no key can be drawn"))?;
        Ok(document.as_ref().to_vec())
    }

    /// With a new key, or one of PKCS #8 in DER.
    ///
    /// # Errors
    /// When the key is none for P-256.
    pub fn new(key: Option<&[u8]>) -> anyhow::Result<Self> {
        let document = match key {
            Some(key) => key.to_vec(),
            None => Self::draw()?,
        };
        let (algorithm, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let key = EcdsaKeyPair::from_pkcs8(algorithm, &document)
            .map_err(|error| anyhow!("no P-256 key in PKCS #8 (DER): {error}"))?;
        let mut hasher = SipHasher13::new();
        hasher.write(key.public_key().as_ref());
        Ok(Self {
            key_id: format!("{:016x}", hasher.finish()),
            key,
            random,
        })
    }

    /// The public half, as a set of one (RFC 7518, 6.2.1).
    pub fn public(&self) -> Value {
        // Uncompressed: 4, then both coordinates.
        let point = self.key.public_key().as_ref();
        let (x, y) = point[1..].split_at(32);
        json!({"keys": [{
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.key_id,
            "x": BASE64.encode(x), "y": BASE64.encode(y),
        }]})
    }

    /// A token that says this.
    ///
    /// # Errors
    /// When the system gives no random octets.
    pub fn sign(&self, claims: &Value) -> anyhow::Result<String> {
        let header = json!({"typ": "JWT", "alg": "ES256", "kid": self.key_id});
        let part = |value: &Value| BASE64.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(claims));
        let signature = self
            .key
            .sign(&self.random, signed.as_bytes())
            .map_err(|_| anyhow!("the token cannot be signed"))?;
        Ok(format!("{signed}.{}", BASE64.encode(signature)))
    }
}
