//! TLS sockets: what a cluster's connections begin with, and a sidecar's inbound listeners.
//!
//! Our client and gRPC find certificates by the name of a provider in their bootstrap (gRFC A29);
//! an Envoy is given the names of files.

use super::view::View;
use crate::config::{ServiceTls, TlsFiles};
use corewire_xds::Any;
use corewire_xds::envoy::config::core::v3::{
    DataSource, TransportSocket, data_source, transport_socket,
};
use corewire_xds::envoy::extensions::transport_sockets::tls::v3 as tls;
use corewire_xds::envoy::r#type::matcher::v3::{StringMatcher, string_matcher};
use tls::common_tls_context::ValidationContextType;
use tls::subject_alt_name_matcher::SanType;

const SOCKET: &str = "envoy.transport_sockets.tls";
const HTTP2: &str = "h2";
/// `TlsParameters` with TLS 1.3 as the lowest and the highest version (fields 1 and 2, value 4): our
/// servers speak no older one, and Envoy's own default for clients has been 1.2.
const TLS_1_3: [u8; 4] = [0x08, 4, 0x10, 4];

/// The socket of a client of a service with this TLS; an Envoy's files are its sidecar's.
pub(super) fn upstream(
    view: &View,
    service: &ServiceTls,
    files: Option<&TlsFiles>,
) -> Option<TransportSocket> {
    let mut common = tls::CommonTlsContext::default();
    let validation = match (view.is_envoy(), files) {
        (true, None) => return None,
        (true, Some(files)) => {
            of_files(&mut common, files);
            tls::CertificateValidationContext {
                trusted_ca: files.authorities.as_deref().map(file),
                match_typed_subject_alt_names: typed(service),
                ..tls::CertificateValidationContext::default()
            }
        }
        (false, _) => {
            let provider = || tls::CertificateProviderPluginInstance {
                instance_name: service.provider.to_string(),
                certificate_name: String::new(),
            };
            common.tls_certificate_provider_instance = Some(provider());
            tls::CertificateValidationContext {
                ca_certificate_provider_instance: Some(provider()),
                match_subject_alt_names: service.names.iter().map(|it| exact(it)).collect(),
                ..tls::CertificateValidationContext::default()
            }
        }
    };
    common.validation_context_type = Some(ValidationContextType::ValidationContext(validation));
    Some(socket(Any::pack(&tls::UpstreamTlsContext {
        common_tls_context: Some(common),
        sni: service.sni.to_string(),
        ..tls::UpstreamTlsContext::default()
    })))
}

/// The socket of a sidecar's port for other sidecars: mutual TLS.
pub(super) fn downstream(files: &TlsFiles) -> TransportSocket {
    let mut common = tls::CommonTlsContext::default();
    of_files(&mut common, files);
    let validation = tls::CertificateValidationContext {
        trusted_ca: files.authorities.as_deref().map(file),
        ..tls::CertificateValidationContext::default()
    };
    common.validation_context_type = Some(ValidationContextType::ValidationContext(validation));
    socket(Any::pack(&tls::DownstreamTlsContext {
        common_tls_context: Some(common),
        require_client_certificate: Some(true),
        ..tls::DownstreamTlsContext::default()
    }))
}

fn of_files(common: &mut tls::CommonTlsContext, files: &TlsFiles) {
    common.tls_params = Some(TLS_1_3.to_vec());
    common.tls_certificates = vec![tls::TlsCertificate {
        certificate_chain: Some(file(&files.certificate)),
        private_key: Some(file(&files.key)),
        ..tls::TlsCertificate::default()
    }];
    common.alpn_protocols = vec![HTTP2.into()];
}

/// Envoy tells kinds of names apart.
fn typed(service: &ServiceTls) -> Vec<tls::SubjectAltNameMatcher> {
    let matcher = |name: &str| {
        let kind = if name.contains("://") {
            SanType::Uri
        } else {
            SanType::Dns
        };
        tls::SubjectAltNameMatcher {
            san_type: kind.into(),
            matcher: Some(exact(name)),
            ..tls::SubjectAltNameMatcher::default()
        }
    };
    service.names.iter().map(|name| matcher(name)).collect()
}

fn exact(name: &str) -> StringMatcher {
    StringMatcher {
        match_pattern: Some(string_matcher::MatchPattern::Exact(name.to_owned())),
        ..StringMatcher::default()
    }
}

fn file(path: &std::path::Path) -> DataSource {
    let name = path.to_string_lossy().into_owned();
    DataSource {
        specifier: Some(data_source::Specifier::Filename(name)),
        ..DataSource::default()
    }
}

fn socket(config: Any) -> TransportSocket {
    TransportSocket {
        name: SOCKET.into(),
        config_type: Some(transport_socket::ConfigType::TypedConfig(config)),
    }
}
