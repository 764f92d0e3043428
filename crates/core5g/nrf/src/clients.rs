//! Which network functions may register and have access tokens, where no certificate names them.
//!
//! TS 33.501, 13.3.1 has mutual TLS for this. Where its certificates stand, in a mesh or a proxy around
//! the NRF, no secret is needed. The secret is shown as OAuth has it: as `client_secret` when a token is
//! asked for (RFC 6749, 2.3.1), as initial access token when an NF registers (RFC 7591, 3).
//!
//! | option | who | as what |
//! |---|---|---|
//! | none | every peer | any type |
//! | `--client-secret FILE` | a peer that shows the secret | any type |
//! | `--allow-nf TYPE:FILE` | a peer that shows the secret of this file | TYPE |
//! | `--allow-nf TYPE:loopback` | every peer at a loopback address | TYPE |

use anyhow::Context as _;
use aws_lc_rs::digest::{SHA256, digest};
use corewire::{Headers, Peer};
use corewire_core5g_runtime::secret_in;
use corewire_core5g_sbi::{Exchange, Problem, is_loopback};
use std::path::Path;
use std::str::FromStr;

/// In place of a type: every type.
const ANY: &str = "ANY";
/// In place of a file: no secret, from loopback addresses.
const LOOPBACK: &str = "loopback";

/// `--allow-nf`: network functions of other operators' or vendors' making that may register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    nf_type: String,
    shows: Shows,
}

/// What identifies a network function.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shows {
    /// The secret of this file.
    SecretOf(String),
    /// That it is on this host.
    Loopback,
}

impl FromStr for Allowed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (nf_type, shows) = text
            .split_once(':')
            .filter(|(nf_type, shows)| !nf_type.is_empty() && !shows.is_empty())
            .ok_or_else(|| format!("{text:?} is not TYPE:FILE or TYPE:{LOOPBACK}"))?;
        let is_type = |octet: u8| {
            octet.is_ascii_uppercase() || octet.is_ascii_digit() || octet == b'_' || octet == b'-'
        };
        if nf_type.len() > 64 || !nf_type.bytes().all(is_type) {
            return Err(format!(
                "{nf_type:?} is no NF type: SMF, AUSF, ... or {ANY}"
            ));
        }
        Ok(Self {
            nf_type: nf_type.to_owned(),
            shows: match shows {
                LOOPBACK => Shows::Loopback,
                file => Shows::SecretOf(file.to_owned()),
            },
        })
    }
}

/// The network functions that may register.
pub(super) struct Clients {
    /// The digest of the secret for every type; none where every peer is let in.
    secret: Option<[u8; 32]>,
    allowed: Vec<Client>,
}

struct Client {
    nf_type: String,
    /// `None`: it is on this host.
    secret: Option<[u8; 32]>,
}

/// As what a peer may register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rights {
    Any,
    /// As one of these types.
    Types(Vec<String>),
}

impl Rights {
    pub(super) fn may_be_of(&self, nf_type: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Types(types) => types.iter().any(|one| one == nf_type),
        }
    }
}

impl Clients {
    /// Those that show this secret; all where there is none.
    pub(super) fn with_secret(secret: Option<&str>) -> Self {
        Self {
            secret: secret.map(of),
            allowed: Vec::new(),
        }
    }

    /// These as well.
    ///
    /// # Errors
    /// When a file of a secret cannot be read, or holds none.
    pub(super) fn and(mut self, allowed: &[Allowed]) -> anyhow::Result<Self> {
        for one in allowed {
            let secret = match &one.shows {
                Shows::Loopback => None,
                Shows::SecretOf(file) => {
                    let secret = secret_in(Path::new(file)).context("--allow-nf")?;
                    Some(of(&secret))
                }
            };
            self.allowed.push(Client {
                nf_type: one.nf_type.clone(),
                secret,
            });
        }
        Ok(self)
    }

    /// What a peer may register as that shows this; `None`: nothing. Digests are compared: how long that
    /// takes says nothing of a secret.
    pub(super) fn rights(&self, shown: Option<&str>, is_loopback: bool) -> Option<Rights> {
        let Some(secret) = &self.secret else {
            return Some(Rights::Any);
        };
        let shown = shown.map(of);
        if shown.as_ref() == Some(secret) {
            return Some(Rights::Any);
        }
        let types: Vec<String> = self
            .allowed
            .iter()
            .filter(|client| match &client.secret {
                Some(secret) => shown.as_ref() == Some(secret),
                None => is_loopback,
            })
            .map(|client| client.nf_type.clone())
            .collect();
        if types.is_empty() {
            None
        } else if types.iter().any(|one| one == ANY) {
            Some(Rights::Any)
        } else {
            Some(Rights::Types(types))
        }
    }

    /// The rights of the peer that asks for this; none is refused before it comes so far.
    pub(super) fn rights_of(&self, exchange: &Exchange) -> Rights {
        let shown = bearer(exchange.headers());
        let rights = self.rights(shown, exchange.is_from_loopback());
        rights.unwrap_or(Rights::Types(Vec::new()))
    }

    /// Whether this request may change which network functions are registered.
    ///
    /// # Errors
    /// 401, when it does not show a secret.
    pub(super) fn admit(&self, path: &str, headers: &Headers, peer: &Peer) -> Result<(), Problem> {
        let registers = path.starts_with("nnrf-nfm/") || path.starts_with("v1/agent/service/");
        if !registers || self.rights(bearer(headers), is_loopback(peer)).is_some() {
            return Ok(());
        }
        Err(Problem::new(401, "UNAUTHORIZED")
            .detail(
                "this NRF registers network functions that show its secret (--client-secret) or that --allow-nf names",
            )
            .header("www-authenticate", "Bearer realm=\"nnrf-nfm\""))
    }

    /// Whether this request may change the registry of the mesh: it has no types, so only a peer that
    /// may register as any.
    pub(super) fn may_change_registry(&self, headers: &Headers, peer: &Peer) -> bool {
        self.rights(bearer(headers), is_loopback(peer)) == Some(Rights::Any)
    }
}

fn bearer(headers: &Headers) -> Option<&str> {
    let value = headers.get_str("authorization")?;
    value.strip_prefix("Bearer ")
}

fn of(secret: &str) -> [u8; 32] {
    let mut octets = [0; 32];
    octets.copy_from_slice(digest(&SHA256, secret.as_bytes()).as_ref());
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef";
    const OTHER: &str = "fedcba9876543210";

    fn types(types: &[&str]) -> Option<Rights> {
        let types = types.iter().map(|one| (*one).to_owned());
        Some(Rights::Types(types.collect()))
    }

    #[test]
    fn admits_registrations_that_show_the_secret_and_discoveries_without_it() {
        let clients = Clients::with_secret(Some(SECRET));
        let peer = Peer::new("127.0.0.1:1", "http2");
        let with = |value: &str| {
            let mut headers = Headers::new();
            headers.append("authorization", value).unwrap();
            headers
        };
        let path = "nnrf-nfm/v1/nf-instances/a";
        let admits = |clients: &Clients, path: &str, headers: &Headers| {
            clients.admit(path, headers, &peer).is_ok()
        };
        assert!(admits(&clients, path, &with("Bearer 0123456789abcdef")));
        for wrong in [
            "Bearer 0123456789abcdeF",
            "Basic 0123456789abcdef",
            "Bearer ",
        ] {
            assert!(!admits(&clients, path, &with(wrong)), "{wrong}");
        }
        assert!(!admits(&clients, path, &Headers::new()));
        assert!(!admits(
            &clients,
            "v1/agent/service/register",
            &Headers::new()
        ));
        assert!(admits(
            &clients,
            "nnrf-disc/v1/nf-instances",
            &Headers::new()
        ));
        assert!(admits(&Clients::with_secret(None), path, &Headers::new()));
    }

    #[test]
    fn rights_follow_from_the_secret_that_is_shown_and_the_address() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("smf.secret");
        std::fs::write(&file, OTHER).unwrap();
        let allowed = [
            format!("SMF:{}", file.display()).parse().unwrap(),
            "AUSF:loopback".parse().unwrap(),
        ];
        let clients = Clients::with_secret(Some(SECRET)).and(&allowed).unwrap();
        let table = [
            (Some(SECRET), false, Some(Rights::Any)),
            (Some(OTHER), false, types(&["SMF"])),
            (Some(OTHER), true, types(&["SMF", "AUSF"])),
            (None, true, types(&["AUSF"])),
            (Some("wrong"), true, types(&["AUSF"])),
            (None, false, None),
            (Some("wrong"), false, None),
        ];
        for (shown, is_loopback, expected) in table {
            assert_eq!(clients.rights(shown, is_loopback), expected, "{shown:?}");
        }
        let rights = clients.rights(Some(OTHER), false).unwrap();
        assert!(rights.may_be_of("SMF") && !rights.may_be_of("AMF"));
        let any = ["ANY:loopback".parse().unwrap()];
        let clients = Clients::with_secret(Some(SECRET)).and(&any).unwrap();
        assert_eq!(clients.rights(None, true), Some(Rights::Any));
        assert_eq!(clients.rights(None, false), None);
    }

    #[test]
    fn refuses_options_that_name_no_type_or_no_secret() {
        for text in [
            "",
            "SMF",
            "SMF:",
            ":loopback",
            "smf:loopback",
            "S F:loopback",
        ] {
            assert!(text.parse::<Allowed>().is_err(), "{text:?}");
        }
        let missing = ["SMF:/nowhere/at/all".parse().unwrap()];
        assert!(Clients::with_secret(Some(SECRET)).and(&missing).is_err());
    }
}
