//! The public halves of keys, and what they verify.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::Deserialize;

/// Octets of a token that are looked at.
const MAX_TOKEN: usize = 8192;
/// Keys of one set that are kept: the one in use, and those before it.
const MAX_KEYS: usize = 16;

/// Keys by which tokens are verified (RFC 7517).
#[derive(Clone, Debug, Default)]
pub struct KeySet(Vec<Key>);

#[derive(Clone, Debug)]
struct Key {
    id: Option<String>,
    /// Uncompressed: 4, then both coordinates.
    point: Vec<u8>,
}

/// What a token says (AccessTokenClaims, TS 29.510, 6.3.5.2.4), as far as it is checked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Claims {
    aud: Audience,
    scope: String,
    /// Seconds since 1970 from which it is not valid any more.
    pub exp: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Audience {
    /// All NFs of a type.
    Type(String),
    /// These instances.
    Instances(Vec<String>),
}

/// Why a token is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenFault {
    /// It is no JWT with ES256, or does not say what it must.
    Malformed,
    /// It was signed with a key that is not in the set.
    UnknownKey,
    /// It was not signed with the key that it names.
    Signature,
}

impl TokenFault {
    /// What is wrong, for who sent it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "it is no JWT with ES256 and the claims of an access token",
            Self::UnknownKey => "it is not signed with a key of this NRF",
            Self::Signature => "its signature is wrong",
        }
    }
}

impl Claims {
    /// Whether it is meant for this network function.
    pub fn is_for(&self, nf_type: &str, instance: &str) -> bool {
        match &self.aud {
            Audience::Type(name) => name == nf_type,
            Audience::Instances(all) => all.iter().any(|one| one == instance),
        }
    }

    /// Whether it lets its holder use this service.
    pub fn allows(&self, service: &str) -> bool {
        self.scope
            .split_ascii_whitespace()
            .any(|one| one == service)
    }
}

impl KeySet {
    /// Reads a set; keys of other kinds are left out. `None` when it is no set.
    pub fn read(document: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Document {
            keys: Vec<Member>,
        }
        #[derive(Deserialize)]
        struct Member {
            kid: Option<String>,
            crv: Option<String>,
            x: Option<String>,
            y: Option<String>,
        }
        let document: Document = serde_json::from_slice(document).ok()?;
        let point = |member: &Member| {
            let coordinate = |text: &Option<String>| {
                let octets = BASE64.decode(text.as_deref()?).ok()?;
                (octets.len() == 32).then_some(octets)
            };
            if member.crv.as_deref() != Some("P-256") {
                return None;
            }
            Some([vec![4], coordinate(&member.x)?, coordinate(&member.y)?].concat())
        };
        let keys = document.keys.into_iter().filter_map(|member| {
            let point = point(&member)?;
            Some(Key {
                id: member.kid,
                point,
            })
        });
        Some(Self(keys.take(MAX_KEYS).collect()))
    }

    /// What a token says, when it was signed with one of these keys. Not whether it is still valid.
    ///
    /// # Errors
    /// Why it is not taken.
    pub fn verify(&self, token: &str) -> Result<Claims, TokenFault> {
        #[derive(Deserialize)]
        struct Header {
            alg: String,
            kid: Option<String>,
            /// What must be understood beside this (RFC 7515, 4.1.11): nothing is.
            crit: Option<serde_json::Value>,
        }
        let malformed = TokenFault::Malformed;
        if token.len() > MAX_TOKEN {
            return Err(malformed);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(malformed)?;
        let octets = |text: &str| BASE64.decode(text).map_err(|_| malformed);
        let header: Header = serde_json::from_slice(&octets(header)?).map_err(|_| malformed)?;
        if header.alg != "ES256" || header.crit.is_some() {
            return Err(malformed);
        }
        let (signature, claims) = (octets(signature)?, octets(claims)?);
        let named = |key: &&Key| header.kid.is_none() || key.id == header.kid;
        let mut keys = self.0.iter().filter(named).peekable();
        if keys.peek().is_none() {
            return Err(TokenFault::UnknownKey);
        }
        let mut verified = keys.map(|key| {
            let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &key.point);
            key.verify(signed.as_bytes(), &signature).is_ok()
        });
        if !verified.any(|is_right| is_right) {
            return Err(TokenFault::Signature);
        }
        serde_json::from_slice(&claims).map_err(|_| malformed)
    }
}
