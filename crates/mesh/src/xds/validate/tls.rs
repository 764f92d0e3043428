//! The TLS that a cluster demands (gRFC A29). Who cannot do it must not send in clear text.

use super::filters::unpacked;
use super::lb_policy::is_raw_buffer;
use super::report::{Path, Report};
use super::scalar::string_match;
use crate::config::TlsPolicy;
use corewire_xds::Message;
use corewire_xds::envoy::config::core::v3::{TransportSocket, transport_socket};
use corewire_xds::envoy::extensions::transport_sockets::tls::v3 as tls;
use std::sync::Arc;

/// What the transport socket demands; `None`: clear text.
pub(super) fn transport_socket(
    socket: Option<TransportSocket>,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<Arc<TlsPolicy>> {
    let path = path.field("transport_socket");
    let Some(transport_socket::ConfigType::TypedConfig(config)) = socket?.config_type else {
        report.fault(&path.field("typed_config"), "is missing");
        return None;
    };
    let path = path.field("typed_config");
    if is_raw_buffer(&config) {
        return None;
    }
    if !config.is::<tls::UpstreamTlsContext>() {
        let reason = format!(
            "a socket of type {:?} is not known here",
            config.full_name()
        );
        report.fault(&path, reason);
        return None;
    }
    let context: tls::UpstreamTlsContext = unpacked(&config, &path, report)?;
    Some(Arc::new(policy(context, &path, report)))
}

fn policy(context: tls::UpstreamTlsContext, path: &Path<'_>, report: &mut Report) -> TlsPolicy {
    let path = path.field("common_tls_context");
    let mut policy = TlsPolicy {
        sni: context.sni.into(),
        ..TlsPolicy::default()
    };
    let Some(common) = context.common_tls_context else {
        report.fault(&path, "is missing");
        return policy;
    };
    let identity = common.tls_certificate_provider_instance.or_else(|| {
        let octets = common.tls_certificate_certificate_provider_instance?;
        older_instance(
            &octets,
            "tls_certificate_certificate_provider_instance",
            &path,
            report,
        )
    });
    policy.identity_provider = identity.map(|it| it.instance_name.into());
    use tls::common_tls_context::ValidationContextType as Type;
    let validation = match common.validation_context_type {
        Some(Type::ValidationContext(context)) => Some(context),
        Some(Type::ValidationContextCertificateProviderInstance(octets)) => {
            let name = "validation_context_certificate_provider_instance";
            Some(tls::CertificateValidationContext {
                ca_certificate_provider_instance: older_instance(&octets, name, &path, report),
                ..tls::CertificateValidationContext::default()
            })
        }
        // Up to Istio 1.28 the instance stands beside the context, not within it.
        Some(Type::CombinedValidationContext(combined)) => {
            let mut context = combined.default_validation_context.unwrap_or_default();
            if context.ca_certificate_provider_instance.is_none()
                && let Some(octets) = combined.validation_context_certificate_provider_instance
            {
                let name = "combined_validation_context";
                context.ca_certificate_provider_instance =
                    older_instance(&octets, name, &path, report);
            }
            Some(context)
        }
        Some(_) => {
            let reason = "must name a certificate provider of the bootstrap";
            report.fault(&path.field("validation_context_type"), reason);
            return policy;
        }
        None => None,
    };
    let path = path.field("validation_context");
    let Some(validation) = validation else {
        report.fault(&path, "is missing: nobody would be trusted");
        return policy;
    };
    let roots = validation.ca_certificate_provider_instance;
    if roots.is_none() && validation.system_root_certs.is_none() {
        let reason = "is missing: nobody would be trusted";
        report.fault(&path.field("ca_certificate_provider_instance"), reason);
    }
    policy.root_provider = roots.map(|it| it.instance_name.into());
    let names = validation.match_subject_alt_names.into_iter().enumerate();
    for (at, name) in names {
        let path = path.index("match_subject_alt_names", at);
        policy
            .subject_alt_names
            .extend(string_match(name, &path, report));
    }
    policy
}

/// An instance in the form that it had before it was named `CertificateProviderPluginInstance`; its
/// fields are the same.
fn older_instance(
    octets: &[u8],
    field: &str,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<tls::CertificateProviderPluginInstance> {
    match tls::CertificateProviderPluginInstance::decode(octets) {
        Ok(instance) => Some(instance),
        Err(error) => {
            report.fault(&path.field(field), format!("cannot be read: {error}"));
            None
        }
    }
}
