//! Who a certificate is for, beyond the host of an endpoint: names that a control plane or an
//! operator chose, SPIFFE identities among them.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::VerifierBuilderError,
};
use std::fmt;
use std::sync::Arc;

/// Whether a certificate with these names is the one that is expected. Called once a full handshake.
pub type AcceptNames = Arc<dyn Fn(&[String]) -> bool + Send + Sync>;

/// The names that a certificate (DER) is for: its subject alternative names that are DNS names or
/// URIs, as it has them. Empty when it has none or cannot be read.
///
/// It is not checked here who issued it: ask this of certificates that a handshake accepted.
#[must_use]
pub fn certificate_names(der: &[u8]) -> Vec<String> {
    let der = CertificateDer::from(der);
    let Ok(certificate) = webpki::EndEntityCert::try_from(&der) else {
        return Vec::new();
    };
    let names = certificate.valid_dns_names();
    let names = names.chain(certificate.valid_uri_names());
    names.map(ToOwned::to_owned).collect()
}

/// Accepts what an authority issued for names that somebody chose, whatever the endpoint is called.
pub(super) struct NamedVerifier {
    chain: Arc<WebPkiServerVerifier>,
    roots: Arc<RootCertStore>,
    provider: Arc<CryptoProvider>,
    accept: AcceptNames,
}

impl NamedVerifier {
    pub(super) fn new(
        roots: RootCertStore,
        provider: Arc<CryptoProvider>,
        accept: AcceptNames,
    ) -> Result<Self, VerifierBuilderError> {
        let roots = Arc::new(roots);
        let chain =
            WebPkiServerVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
        Ok(Self {
            chain: chain.build()?,
            roots,
            provider,
            accept,
        })
    }
}

impl ServerCertVerifier for NamedVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let certificate = ParsedCertificate::try_from(end_entity)?;
        verify_server_cert_signed_by_trust_anchor(
            &certificate,
            &self.roots,
            intermediates,
            now,
            self.provider.signature_verification_algorithms.all,
        )?;
        if !(self.accept)(&certificate_names(end_entity)) {
            return Err(Error::InvalidCertificate(CertificateError::NotValidForName));
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls12_signature(message, cert, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls13_signature(message, cert, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}

impl fmt::Debug for NamedVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedVerifier").finish_non_exhaustive()
    }
}
