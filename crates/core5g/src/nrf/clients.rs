//! Who may register and have tokens, where no TLS says who somebody is: who shows a secret that the
//! operator gave to the NRF and to every network function.
//!
//! TS 33.501, 13.3.1 has mutual TLS for this. Where its certificates stand, in a mesh or a proxy around
//! the NRF, no secret is needed; without either, everybody who reaches the NRF is somebody. It is shown
//! as OAuth has it: as `client_secret` when asking for a token (RFC 6749, 2.3.1), as initial access token
//! when registering (RFC 7591, 3).

use crate::sbi::Problem;
use aws_lc_rs::digest::{SHA256, digest};
use corewire::Headers;

/// The secret's digest; none where everybody is let in.
pub(super) struct Clients(Option<[u8; 32]>);

impl Clients {
    pub(super) fn with_secret(secret: Option<&str>) -> Self {
        Self(secret.map(of))
    }

    /// Whether they showed it. Digests are compared: how long that takes says nothing of the secret.
    pub(super) fn know(&self, shown: Option<&str>) -> bool {
        match (&self.0, shown) {
            (None, _) => true,
            (Some(wanted), Some(shown)) => *wanted == of(shown),
            (Some(_), None) => false,
        }
    }

    /// Whether this request may change who is registered.
    ///
    /// # Errors
    /// 401, when it does not show the secret.
    pub(super) fn admit(&self, path: &str, headers: &Headers) -> Result<(), Problem> {
        let registers = path.starts_with("nnrf-nfm/") || path.starts_with("v1/agent/service/");
        let shown = headers
            .get_str("authorization")
            .and_then(|value| value.strip_prefix("Bearer "));
        if !registers || self.know(shown) {
            return Ok(());
        }
        Err(Problem::new(401, "UNAUTHORIZED")
            .detail("this NRF registers who shows its secret (--client-secret)")
            .header("www-authenticate", "Bearer realm=\"nnrf-nfm\""))
    }
}

fn of(secret: &str) -> [u8; 32] {
    let mut octets = [0; 32];
    octets.copy_from_slice(digest(&SHA256, secret.as_bytes()).as_ref());
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shows_the_secret_may_register() {
        let clients = Clients::with_secret(Some("0123456789abcdef"));
        let with = |value: &str| {
            let mut headers = Headers::new();
            headers.append("authorization", value).unwrap();
            headers
        };
        let path = "nnrf-nfm/v1/nf-instances/a";
        assert!(
            clients
                .admit(path, &with("Bearer 0123456789abcdef"))
                .is_ok()
        );
        for wrong in [
            "Bearer 0123456789abcdeF",
            "Basic 0123456789abcdef",
            "Bearer ",
        ] {
            assert!(clients.admit(path, &with(wrong)).is_err(), "{wrong}");
        }
        assert!(clients.admit(path, &Headers::new()).is_err());
        let discovery = "nnrf-disc/v1/nf-instances";
        assert!(clients.admit(discovery, &Headers::new()).is_ok());
        assert!(
            Clients::with_secret(None)
                .admit(path, &Headers::new())
                .is_ok()
        );
    }
}
