//! The TLS that a cluster demands (gRFC A29). Who cannot do it must not send in clear text.

use super::filters::unpacked;
use super::lb_policy::is_raw_buffer;
use super::report::{Path, Report};
use super::scalar::string_match;
use crate::config::TlsPolicy;
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
    let identity = common.tls_certificate_provider_instance;
    policy.identity_provider = identity.map(|it| it.instance_name.into());
    report.not_done(
        &path,
        &[
            ("tls_certificates", !common.tls_certificates.is_empty()),
            (
                "tls_certificate_sds_secret_configs",
                !common.tls_certificate_sds_secret_configs.is_empty(),
            ),
            ("custom_handshaker", common.custom_handshaker.is_some()),
        ],
    );
    use tls::common_tls_context::ValidationContextType as Type;
    let validation = match common.validation_context_type {
        Some(Type::ValidationContext(context)) => Some(context),
        Some(Type::CombinedValidationContext(combined)) => combined.default_validation_context,
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
    for (name, present) in [
        (
            "match_typed_subject_alt_names",
            !validation.match_typed_subject_alt_names.is_empty(),
        ),
        (
            "verify_certificate_spki",
            !validation.verify_certificate_spki.is_empty(),
        ),
        (
            "verify_certificate_hash",
            !validation.verify_certificate_hash.is_empty(),
        ),
        ("crl", validation.crl.is_some()),
        (
            "custom_validator_config",
            validation.custom_validator_config.is_some(),
        ),
    ] {
        if present {
            // Unlike a missing balancing policy, a check that is not made is a hole.
            report.fault(&path.field(name), "cannot be checked here");
        }
    }
    policy
}
