//! What each end presents and what it accepts.

use super::files::{Files, Kept, TlsFault};
use super::peer_names::{AcceptNames, NamedVerifier};
use super::{ALPN_HTTP2, ALPN_NATIVE};
use crate::Protocol;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use rustls::server::WebPkiClientVerifier;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Whether a server asks its clients for certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientCertificates {
    /// Not at all.
    NotAsked,
    /// A client may present one; it must be good then.
    Optional,
    /// Who presents none is refused: mutual TLS.
    Required,
}

/// How a server proves who it is, and what it asks of its clients. Clones share the certificates.
#[derive(Clone)]
pub struct ServerTls {
    kept: Arc<Kept<rustls::ServerConfig>>,
    clear_text: bool,
}

impl ServerTls {
    /// A server with this identity. With authorities given, clients must present a certificate
    /// that one of them issued (mutual TLS); see [`with_clients`](Self::with_clients).
    ///
    /// # Errors
    /// When a file cannot be read or used: the error names it and what is wrong.
    pub fn new(files: Files) -> Result<Self, TlsFault> {
        let clients = match files.authorities {
            Some(_) => ClientCertificates::Required,
            None => ClientCertificates::NotAsked,
        };
        Self::with_clients(files, clients)
    }

    /// A server with this identity that asks its clients so.
    ///
    /// # Errors
    /// As [`new`](Self::new), and when clients are asked but no authorities are given.
    pub fn with_clients(files: Files, clients: ClientCertificates) -> Result<Self, TlsFault> {
        let kept = Kept::new(files, move |files| server_config(files, clients))?;
        Ok(Self {
            kept: Arc::new(kept),
            clear_text: false,
        })
    }

    /// Clients may speak clear text on the same port: for the time in which they change over.
    /// Without this, who does is turned away.
    #[must_use]
    pub const fn allowing_clear_text(mut self) -> Self {
        self.clear_text = true;
        self
    }

    pub(crate) const fn allows_clear_text(&self) -> bool {
        self.clear_text
    }

    /// Reads the files now; connections that begin later use them.
    ///
    /// # Errors
    /// When they cannot be used: the last good ones stay.
    pub fn reload(&self) -> Result<(), TlsFault> {
        self.kept.reload()
    }

    /// Why the files as they are now are not in use.
    #[must_use]
    pub fn fault(&self) -> Option<TlsFault> {
        self.kept.fault()
    }

    pub(crate) fn config(&self, now: Instant) -> Arc<rustls::ServerConfig> {
        self.kept.at(now)
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerTls({:?})", self.kept.files())
    }
}

/// Whom a client believes, and how it proves who it is. Clones share the certificates.
#[derive(Clone)]
pub struct ClientTls {
    kept: Arc<Kept<ClientConfigs>>,
    server_name: Option<Arc<str>>,
}

/// One for each name of a protocol in ALPN.
struct ClientConfigs {
    native: Arc<rustls::ClientConfig>,
    http2: Arc<rustls::ClientConfig>,
}

impl ClientTls {
    /// A client that believes servers whose certificate the files' authorities issued for the host
    /// of the endpoint, and presents the files' own certificate, if there is one, to a server that
    /// asks for it.
    ///
    /// # Errors
    /// When a file cannot be read or used (the error names it and what is wrong), or no
    /// authorities are given.
    pub fn new(files: Files) -> Result<Self, TlsFault> {
        let kept = Kept::new(files, |files| client_configs(files, None))?;
        Ok(Self {
            kept: Arc::new(kept),
            server_name: None,
        })
    }

    /// The same, but a server's certificate must have the names that `accept` wants instead of the
    /// endpoint's host: those that a control plane demands, SPIFFE identities among them.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_names(files: Files, accept: AcceptNames) -> Result<Self, TlsFault> {
        let make = move |files: &Files| client_configs(files, Some(Arc::clone(&accept)));
        Ok(Self {
            kept: Arc::new(Kept::new(files, make)?),
            server_name: None,
        })
    }

    /// Expects the server's certificate to be for this name (or address) instead of the
    /// endpoint's host. After [`with_names`](Self::with_names): only asks for it (SNI).
    ///
    /// # Errors
    /// When it is neither a host name nor an address.
    pub fn with_server_name(mut self, name: &str) -> Result<Self, TlsFault> {
        server_name(name)?;
        self.server_name = Some(name.into());
        Ok(self)
    }

    /// As [`ServerTls::reload`].
    ///
    /// # Errors
    /// When they cannot be used: the last good ones stay.
    pub fn reload(&self) -> Result<(), TlsFault> {
        self.kept.reload()
    }

    /// As [`ServerTls::fault`].
    #[must_use]
    pub fn fault(&self) -> Option<TlsFault> {
        self.kept.fault()
    }

    pub(crate) fn session(
        &self,
        protocol: Protocol,
        authority: &str,
        now: Instant,
    ) -> Result<rustls::ClientConnection, TlsFault> {
        let configs = self.kept.at(now);
        let config = match protocol {
            Protocol::Native => &configs.native,
            _ => &configs.http2,
        };
        let name = match &self.server_name {
            Some(name) => server_name(name)?,
            None => server_name(host(authority))?,
        };
        rustls::ClientConnection::new(Arc::clone(config), name)
            .map_err(|error| TlsFault::new(Path::new(""), error.to_string()))
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientTls({:?})", self.kept.files())
    }
}

fn server_name(name: &str) -> Result<ServerName<'static>, TlsFault> {
    ServerName::try_from(name.to_owned()).map_err(|_| {
        let text = format!("{name:?} is no name that a certificate can be for");
        TlsFault::new(Path::new(""), text)
    })
}

/// `host:port` and `[::1]:port` without the port and the brackets.
fn host(authority: &str) -> &str {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|octet| octet.is_ascii_digit()) => host,
        _ => authority,
    };
    host.trim_start_matches('[').trim_end_matches(']')
}

/// The cryptography: ring's, the shorter key of AES first. Given by name everywhere, because a
/// default for the whole process could be set by somebody else.
fn provider() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    let short = ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
    provider
        .cipher_suites
        .sort_by_key(|suite| suite.suite() != short.suite());
    Arc::new(provider)
}

fn server_config(
    files: &Files,
    clients: ClientCertificates,
) -> Result<rustls::ServerConfig, TlsFault> {
    let nowhere = Path::new("");
    let (chain, key) = files
        .identity()?
        .ok_or_else(|| TlsFault::new(nowhere, "a TLS server needs a certificate and its key"))?;
    let builder = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| TlsFault::new(nowhere, error.to_string()))?;
    let builder = match clients {
        ClientCertificates::NotAsked => builder.with_no_client_auth(),
        asked => {
            let roots = files.roots()?.ok_or_else(|| {
                let text = "to check the certificates of clients, authorities must be given";
                TlsFault::new(nowhere, text)
            })?;
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
            let verifier = match asked {
                ClientCertificates::Optional => verifier.allow_unauthenticated(),
                _ => verifier,
            };
            let verifier = verifier.build().map_err(|error| {
                TlsFault::new(
                    files.authorities.as_deref().unwrap_or(nowhere),
                    error.to_string(),
                )
            })?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(|error| {
        let path = files.certificate.as_deref().unwrap_or(nowhere);
        TlsFault::new(path, format!("does not go with its key: {error}"))
    })?;
    config.alpn_protocols = vec![ALPN_NATIVE.to_vec(), ALPN_HTTP2.to_vec()];
    Ok(config)
}

fn client_configs(files: &Files, accept: Option<AcceptNames>) -> Result<ClientConfigs, TlsFault> {
    let nowhere = Path::new("");
    let roots = files.roots()?.ok_or_else(|| {
        let text = "a TLS client needs the authorities that it believes";
        TlsFault::new(nowhere, text)
    })?;
    let builder = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| TlsFault::new(nowhere, error.to_string()))?;
    let builder = match accept {
        None => builder.with_root_certificates(roots),
        Some(accept) => {
            let verifier = NamedVerifier::new(roots, provider(), accept).map_err(|error| {
                let path = files.authorities.as_deref().unwrap_or(nowhere);
                TlsFault::new(path, error.to_string())
            })?;
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
        }
    };
    let config = match files.identity()? {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => builder.with_client_auth_cert(chain, key).map_err(|error| {
            let path = files.certificate.as_deref().unwrap_or(nowhere);
            TlsFault::new(path, format!("does not go with its key: {error}"))
        })?,
    };
    let with_alpn = |name: &[u8]| {
        let mut config = config.clone();
        config.alpn_protocols = vec![name.to_vec()];
        Arc::new(config)
    };
    Ok(ClientConfigs {
        native: with_alpn(ALPN_NATIVE),
        http2: with_alpn(ALPN_HTTP2),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_in_every_form_of_an_authority() {
        for (authority, expected) in [
            ("amf.local:80", "amf.local"),
            ("127.0.0.1:7000", "127.0.0.1"),
            ("[::1]:7000", "::1"),
            ("localhost", "localhost"),
        ] {
            assert_eq!(host(authority), expected);
            server_name(host(authority)).unwrap();
        }
    }
}
