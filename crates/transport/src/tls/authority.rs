//! An authority for programs that make their own certificates: a core on one machine, a measurement. Its
//! key lives in memory and dies with it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType, date_time_ymd,
};
use std::error::Error;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use zeroize::Zeroizing;

/// How much earlier a certificate begins: the peer's clock may be behind.
const BACKDATED: Duration = Duration::from_secs(3600);

/// Issues certificates for both ends of mutual TLS: ECDSA on P-256 (TS 33.310, 6.1.3a), for servers and
/// clients alike.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    organization: String,
    life: Duration,
}

/// Whom a certificate is for.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// Its common name.
    pub name: String,
    /// Names of hosts that it may answer for.
    pub hosts: Vec<String>,
    /// Addresses that it may answer for.
    pub addresses: Vec<IpAddr>,
    /// Who it is, as URIs: `spiffe://...`, `urn:uuid:...`.
    pub uris: Vec<String>,
    /// More extensions, not critical: object identifier and value in DER.
    pub extensions: Vec<(Vec<u64>, Vec<u8>)>,
}

/// A certificate with its key, both in PEM. The key is overwritten when it is dropped.
pub struct Issued {
    certificate: String,
    key: Zeroizing<String>,
}

/// A certificate cannot be made of this.
#[derive(Debug)]
pub struct AuthorityFault(rcgen::Error);

impl fmt::Display for AuthorityFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the certificate cannot be made")
    }
}

impl Error for AuthorityFault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

impl From<rcgen::Error> for AuthorityFault {
    fn from(error: rcgen::Error) -> Self {
        Self(error)
    }
}

impl Authority {
    /// A new one, of this organization. It and what it issues is valid from now on for `life`.
    ///
    /// # Errors
    /// When the organization's name cannot stand in a certificate, or no key can be drawn.
    pub fn new(organization: &str, life: Duration) -> Result<Self, AuthorityFault> {
        let mut wanted = params(organization, "authority", life);
        wanted.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        wanted.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let pem = pem("CERTIFICATE", wanted.self_signed(&key)?.der());
        Ok(Self {
            issuer: Issuer::new(wanted, key),
            pem,
            organization: organization.to_owned(),
            life,
        })
    }

    /// Its own certificate in PEM: what others have to trust.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Issues a certificate, with a new key.
    ///
    /// # Errors
    /// When a name or URI has characters that a certificate cannot hold, or no key can be drawn.
    pub fn issue(&self, subject: &Subject) -> Result<Issued, AuthorityFault> {
        let mut wanted = params(&self.organization, &subject.name, self.life);
        wanted.use_authority_key_identifier_extension = true;
        wanted.is_ca = IsCa::ExplicitNoCa;
        wanted.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        wanted.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        for host in &subject.hosts {
            wanted
                .subject_alt_names
                .push(SanType::DnsName(host.as_str().try_into()?));
        }
        for address in &subject.addresses {
            wanted.subject_alt_names.push(SanType::IpAddress(*address));
        }
        for uri in &subject.uris {
            wanted
                .subject_alt_names
                .push(SanType::URI(uri.as_str().try_into()?));
        }
        for (oid, value) in &subject.extensions {
            wanted
                .custom_extensions
                .push(CustomExtension::from_oid_content(oid, value.clone()));
        }
        let key = KeyPair::generate()?;
        let certificate = wanted.signed_by(&key, &self.issuer)?;
        Ok(Issued {
            certificate: pem("CERTIFICATE", certificate.der()),
            key: Zeroizing::new(pem("PRIVATE KEY", key.serialized_der())),
        })
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("organization", &self.organization)
            .finish_non_exhaustive()
    }
}

impl Issued {
    /// The certificate in PEM.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Writes certificate and key into these files, what was there before replaced. Only the owner may
    /// read the key.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn write(&self, certificate: &Path, key: &Path) -> io::Result<()> {
        fs::write(certificate, &self.certificate)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(key)?;
        // The mode above is for new files only.
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(self.key.as_bytes())
    }
}

impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Issued")
    }
}

fn params(organization: &str, name: &str, life: Duration) -> CertificateParams {
    let mut wanted = CertificateParams::default();
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let epoch = date_time_ymd(1970, 1, 1);
    wanted.not_before = epoch + now.saturating_sub(BACKDATED);
    wanted.not_after = epoch + now.saturating_add(life);
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::OrganizationName, organization);
    distinguished.push(DnType::CommonName, name);
    wanted.distinguished_name = distinguished;
    wanted
}

/// RFC 7468: base64 in lines of 64 characters.
fn pem(label: &str, der: &[u8]) -> String {
    let text = Zeroizing::new(STANDARD.encode(der));
    let mut pem = String::with_capacity(text.len() + text.len() / 64 + 2 * label.len() + 40);
    pem.push_str(&format!("-----BEGIN {label}-----\n"));
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        rest = more;
    }
    pem.push_str(&format!("-----END {label}-----\n"));
    pem
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::certificate_names;
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::server::WebPkiClientVerifier;
    use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};
    use std::sync::Arc;

    fn roots(pem: &str) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).expect("a certificate");
        roots.add(der).expect("an authority");
        roots
    }

    fn identity(issued: &Issued) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let certificate = CertificateDer::from_pem_slice(issued.certificate.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes());
        (vec![certificate.expect("one")], key.expect("its key"))
    }

    /// Whether both ends of mutual TLS believe each other; the client expects `name`.
    fn shake_hands(server: (&Issued, &str), client: (&Issued, &str), name: &'static str) -> bool {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(
            Arc::new(roots(server.1)),
            Arc::clone(&provider),
        );
        let (chain, key) = identity(server.0);
        let accepts = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_client_cert_verifier(verifier.build().expect("a verifier"))
            .with_single_cert(chain, key)
            .expect("an identity");
        let (chain, key) = identity(client.0);
        let connects = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots(client.1))
            .with_client_auth_cert(chain, key)
            .expect("an identity");
        let name = name.try_into().expect("a name");
        let mut client = ClientConnection::new(Arc::new(connects), name).expect("a client");
        let mut server = ServerConnection::new(Arc::new(accepts)).expect("a server");
        for _ in 0..10 {
            let mut octets = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut octets).expect("memory");
            }
            let mut rest = &octets[..];
            while !rest.is_empty() {
                server.read_tls(&mut rest).expect("memory");
                if server.process_new_packets().is_err() {
                    return false;
                }
            }
            octets.clear();
            while server.wants_write() {
                server.write_tls(&mut octets).expect("memory");
            }
            let mut rest = &octets[..];
            while !rest.is_empty() {
                client.read_tls(&mut rest).expect("memory");
                if client.process_new_packets().is_err() {
                    return false;
                }
            }
        }
        !client.is_handshaking() && !server.is_handshaking()
    }

    fn subject() -> Subject {
        Subject {
            name: "amf".into(),
            hosts: vec!["amf.core.corewire.test".into()],
            addresses: vec!["127.0.0.1".parse().expect("an address")],
            uris: vec!["urn:uuid:4947a69a-f61b-4bc1-b9da-47c9c5d14b64".into()],
            extensions: vec![(vec![1, 3, 6, 1, 5, 5, 7, 1, 34], vec![0x30, 0])],
        }
    }

    #[test]
    fn both_ends_of_mutual_tls_believe_what_was_issued_and_nothing_else() {
        let day = Duration::from_secs(86_400);
        let [own, other] = [(), ()].map(|()| Authority::new("Core", day).expect("an authority"));
        let issued = own.issue(&subject()).expect("issued");
        let forged = other.issue(&subject()).expect("issued");
        let name = "amf.core.corewire.test";
        let believed = (&issued, own.pem());
        assert!(shake_hands(believed, believed, name));
        assert!(shake_hands(believed, believed, "127.0.0.1"));
        assert!(!shake_hands(believed, believed, "smf.core.corewire.test"));
        assert!(!shake_hands((&forged, own.pem()), believed, name));
        assert!(!shake_hands(believed, (&forged, own.pem()), name));
        // A certificate that was issued is no authority.
        let again = (&issued, issued.certificate());
        assert!(!shake_hands(believed, again, name));
    }

    #[test]
    fn what_has_run_out_is_not_believed() {
        let own = Authority::new("Core", Duration::ZERO).expect("an authority");
        let issued = own.issue(&subject()).expect("issued");
        // Certificates know seconds.
        std::thread::sleep(Duration::from_millis(1100));
        assert!(!shake_hands(
            (&issued, own.pem()),
            (&issued, own.pem()),
            "127.0.0.1"
        ));
    }

    #[test]
    fn names_and_extensions_are_those_that_were_asked_for() {
        let own = Authority::new("Core", Duration::from_secs(60)).expect("an authority");
        let issued = own.issue(&subject()).expect("issued");
        let (chain, _) = identity(&issued);
        let named = certificate_names(&chain[0]);
        let wanted = subject();
        let all: Vec<&String> = wanted.hosts.iter().chain(&wanted.uris).collect();
        assert_eq!(named.iter().collect::<Vec<_>>(), all);
        let extension = [0x2b, 6, 1, 5, 5, 7, 1, 34, 4, 2, 0x30, 0];
        assert!(
            chain[0]
                .windows(extension.len())
                .any(|part| part == extension)
        );
        let odd = Subject {
            hosts: vec!["künstlich".into()],
            ..subject()
        };
        assert!(own.issue(&odd).is_err());
    }

    #[test]
    fn a_key_is_its_owners_also_where_a_file_was_open_to_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let [certificate, key] = ["a.pem", "a.key"].map(|name| folder.path().join(name));
        fs::write(&key, "something longer ".repeat(1000)).expect("written");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("open");
        let own = Authority::new("Core", Duration::from_secs(60)).expect("an authority");
        let issued = own.issue(&subject()).expect("issued");
        issued.write(&certificate, &key).expect("written");
        let mode = fs::metadata(&key).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&key).expect("there"), *issued.key);
        PrivateKeyDer::from_pem_file(&key).expect("a key");
        CertificateDer::from_pem_file(&certificate).expect("a certificate");
    }
}
