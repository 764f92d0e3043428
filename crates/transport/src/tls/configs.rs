//! What rustls is told, made of an end's files.

use super::files::{Files, TlsFault};
use super::peer_names::{AcceptNames, NamedVerifier};
use super::resumption::{Proving, Sessions, Tickets};
use super::{ALPN_HTTP2, ALPN_NATIVE};
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, VerifierBuilderError, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::time_provider::TimeProvider;
use std::path::Path;
use std::sync::Arc;

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

/// By which certificates and sessions end.
pub(super) type Clock = Arc<dyn TimeProvider>;

/// The cryptography: AWS-LC's, the shorter key of AES first. Given by name everywhere, because a
/// default for the whole process could be set by somebody else.
fn provider() -> Arc<CryptoProvider> {
    let mut provider = aws_lc_rs::default_provider();
    let short = aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
    provider
        .cipher_suites
        .sort_by_key(|suite| suite.suite() != short.suite());
    Arc::new(provider)
}

/// What a server's connections begin with.
///
/// # Errors
/// When the files cannot be used.
pub(super) fn server_config(
    files: &Files,
    clients: ClientCertificates,
    clock: &Clock,
) -> Result<rustls::ServerConfig, TlsFault> {
    let nowhere = Path::new("");
    let (chain, key) = files
        .identity()?
        .ok_or_else(|| TlsFault::new(nowhere, "a TLS server needs a certificate and its key"))?;
    let builder = rustls::ServerConfig::builder_with_details(provider(), Arc::clone(clock))
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
            builder.with_client_cert_verifier(Arc::new(Proving(verifier)))
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(|error| {
        let path = files.certificate.as_deref().unwrap_or(nowhere);
        TlsFault::new(path, format!("does not go with its key: {error}"))
    })?;
    config.alpn_protocols = vec![ALPN_NATIVE.to_vec(), ALPN_HTTP2.to_vec()];
    let no_tickets = |error: rustls::Error| TlsFault::new(nowhere, error.to_string());
    config.ticketer = Arc::new(Tickets::new(Arc::clone(clock)).map_err(no_tickets)?);
    // A connection uses one up at most.
    config.send_tls13_tickets = 1;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(config)
}

/// One for each name of a protocol in ALPN.
pub(super) struct ClientConfigs {
    pub(super) native: Arc<rustls::ClientConfig>,
    pub(super) http2: Arc<rustls::ClientConfig>,
}

/// What a client's connections begin with.
///
/// # Errors
/// When the files cannot be used.
pub(super) fn client_configs(
    files: &Files,
    accept: Option<AcceptNames>,
    clock: &Clock,
) -> Result<ClientConfigs, TlsFault> {
    let nowhere = Path::new("");
    let roots = files.roots()?.ok_or_else(|| {
        let text = "a TLS client needs the authorities that it believes";
        TlsFault::new(nowhere, text)
    })?;
    let no_verifier = |error: VerifierBuilderError| {
        let path = files.authorities.as_deref().unwrap_or(nowhere);
        TlsFault::new(path, error.to_string())
    };
    let verifier: Arc<dyn ServerCertVerifier> = match accept {
        Some(accept) => {
            Arc::new(NamedVerifier::new(roots, provider(), accept).map_err(no_verifier)?)
        }
        None => WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider())
            .build()
            .map_err(no_verifier)?,
    };
    let builder = rustls::ClientConfig::builder_with_details(provider(), Arc::clone(clock))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| TlsFault::new(nowhere, error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Proving(verifier)));
    let mut config = match files.identity()? {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => builder.with_client_auth_cert(chain, key).map_err(|error| {
            let path = files.certificate.as_deref().unwrap_or(nowhere);
            TlsFault::new(path, format!("does not go with its key: {error}"))
        })?,
    };
    config.resumption = Resumption::store(Arc::new(Sessions::new(Arc::clone(clock))));
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
