//! Health checks of a cluster: the first that asks gRPC's health service is carried out.

use super::report::{Path, Report};
use super::scalar::{duration, positive_duration};
use crate::config::HealthCheck;
use corewire_message::health::read_question;
use corewire_xds::envoy::config::core::v3::{self as core, health_check::HealthChecker};
use std::sync::Arc;

pub(super) fn health_check(
    checks: Vec<core::HealthCheck>,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<Arc<HealthCheck>> {
    let mut found = None;
    for (at, check) in checks.into_iter().enumerate() {
        let path = path.index("health_checks", at);
        let kind = match &check.health_checker {
            Some(HealthChecker::GrpcHealthCheck(octets)) if found.is_none() => {
                found = Some(Arc::new(read(&check, octets, &path, report)));
                continue;
            }
            Some(HealthChecker::GrpcHealthCheck(_)) => "another one is carried out",
            _ => "only gRPC's health service is asked (grpc_health_check)",
        };
        report.notice(&path, kind);
    }
    found
}

fn read(
    check: &core::HealthCheck,
    grpc: &[u8],
    path: &Path<'_>,
    report: &mut Report,
) -> HealthCheck {
    let defaults = HealthCheck::default();
    // Field 1 of a `GrpcHealthCheck` is the service's name, as in a `HealthCheckRequest`.
    let service = read_question(grpc);
    if service.is_none() {
        report.fault(&path.field("grpc_health_check"), "cannot be read");
    }
    let interval = positive_duration(check.interval, &path.field("interval"), report);
    let interval = interval.unwrap_or(defaults.interval);
    let timeout = positive_duration(check.timeout, &path.field("timeout"), report);
    let jitter = check.interval_jitter;
    let jitter = duration(jitter, &path.field("interval_jitter"), report).unwrap_or_default();
    let percent = check.interval_jitter_percent.min(100);
    if check.reuse_connection == Some(false) {
        report.notice(&path.field("reuse_connection"), "is not carried out");
    }
    HealthCheck {
        service: service.unwrap_or_default().into(),
        interval,
        jitter: jitter.saturating_add(interval.saturating_mul(percent) / 100),
        timeout: timeout.unwrap_or(defaults.timeout),
        unhealthy: check.unhealthy_threshold.unwrap_or(defaults.unhealthy),
        healthy: check.healthy_threshold.unwrap_or(defaults.healthy),
    }
}
