//! Access tokens (TS 33.501, 13.4.1; TS 29.510, 6.3): JWTs with ES256 (RFC 7519, RFC 7518, 3.4).
//!
//! ```text
//!   NRF: Signer ── signs Claims ──▶ consumer ── "Bearer ..." ──▶ producer: KeySet verifies
//!        └── public half at /oauth2/jwks (RFC 7517) ───────────────▲
//! ```
//!
//! No clock here: who checks a token compares `exp` with its own.

mod key_set;
mod signer;

pub use key_set::{Claims, KeySet, TokenFault};
pub use signer::Signer;

/// The paths of services whose first segment is not their name: callbacks belong to the service of
/// who asked for them, source 3's operations to the service that does the same.
const OTHER_NAMES: [(&str, &str); 5] = [
    ("namf-callback/", "namf-comm"),
    ("nsmf-callback/", "corewire-pdu-session"),
    ("source3/v1/nudm-ueauthentication/", "nudm-ueau"),
    ("source3/v1/nudm-uecm/", "nudm-uecm"),
    ("source3/v1/nausf-ueauthentication/", "nausf-auth"),
];

/// The service that a path belongs to: what a token's scope names.
pub fn service_of(path: &str) -> &str {
    let path = path.trim_start_matches('/');
    let other = OTHER_NAMES
        .iter()
        .find(|(prefix, _)| path.starts_with(prefix));
    match other {
        Some((_, service)) => service,
        None => path.split('/').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_belongs_to_a_service() {
        for (path, service) in [
            ("/nudm-sdm/v2/imsi-1/am-data", "nudm-sdm"),
            ("namf-callback/v1/imsi-1/dereg-notify", "namf-comm"),
            ("source3/v1/nudm-uecm/set-auth", "nudm-uecm"),
            ("", ""),
        ] {
            assert_eq!(service_of(path), service);
        }
    }

    #[test]
    fn who_has_the_public_half_takes_what_the_other_half_signed_and_nothing_else() {
        let (signer, other) = (Signer::new(None).unwrap(), Signer::new(None).unwrap());
        let claims = json!({"iss": "nrf", "sub": "a", "aud": "UDM", "scope": "nudm-sdm nudm-ueau",
                            "exp": 2_000_000_000_u64});
        let token = signer.sign(&claims).unwrap();
        let keys = KeySet::read(signer.public().to_string().as_bytes()).unwrap();
        let read = keys.verify(&token).unwrap();
        assert_eq!(read.exp, 2_000_000_000);
        assert!(read.is_for("UDM", "u-1") && !read.is_for("AMF", "u-1"));
        assert!(read.allows("nudm-sdm") && read.allows("nudm-ueau"));
        assert!(!read.allows("nudm") && !read.allows("nudm-sdm nudm-ueau"));
        let one = json!({"sub": "a", "aud": ["u-1"], "scope": "nudm-sdm", "exp": 1});
        let read = keys.verify(&signer.sign(&one).unwrap()).unwrap();
        assert!(read.is_for("UDM", "u-1") && !read.is_for("UDM", "u-2"));

        let forged = other.sign(&claims).unwrap();
        assert_eq!(keys.verify(&forged), Err(TokenFault::UnknownKey));
        // Every octet matters: each is turned into another of the alphabet.
        for at in 0..token.len() {
            let mut octets = token.clone().into_bytes();
            octets[at] = if octets[at] == b'A' { b'B' } else { b'A' };
            let spoilt = String::from_utf8(octets).unwrap();
            // The last two bits of the last letter are no part of a signature of 64 octets.
            if at + 1 < token.len() {
                assert!(keys.verify(&spoilt).is_err(), "octet {at}");
            }
        }
        for wrong in ["", ".", "..", "a.b.c", "a.b", &"A".repeat(20_000)] {
            assert_eq!(
                keys.verify(wrong),
                Err(TokenFault::Malformed),
                "{wrong:.20}"
            );
        }
    }

    #[test]
    fn another_algorithm_or_none_is_not_taken() {
        use base64::Engine as _;
        use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
        let signer = Signer::new(None).unwrap();
        let keys = KeySet::read(signer.public().to_string().as_bytes()).unwrap();
        let claims = BASE64.encode(r#"{"sub":"a","aud":"UDM","scope":"x","exp":9999999999}"#);
        for header in [
            r#"{"alg":"none"}"#,
            r#"{"alg":"HS256"}"#,
            r#"{"alg":"ES256","crit":["b64"]}"#,
        ] {
            let token = format!("{}.{claims}.", BASE64.encode(header));
            assert_eq!(keys.verify(&token), Err(TokenFault::Malformed), "{header}");
        }
    }

    #[test]
    fn a_key_is_kept_by_its_document() {
        let document = Signer::draw().unwrap();
        let (one, same) = (
            Signer::new(Some(&document)).unwrap(),
            Signer::new(Some(&document)).unwrap(),
        );
        assert_eq!(one.public(), same.public());
        assert!(Signer::new(Some(b"no key")).is_err());
        assert!(KeySet::read(b"{}").is_none());
        let empty = KeySet::read(br#"{"keys":[{"kty":"RSA"}]}"#).unwrap();
        assert_eq!(
            empty.verify(&one.sign(&json!({})).unwrap()),
            Err(TokenFault::UnknownKey)
        );
    }
}
