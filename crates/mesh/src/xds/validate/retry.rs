//! Tries after a failure (gRFC A44, and what Envoy has beyond it).

use super::report::{Path, Report};
use super::scalar::positive_duration;
use crate::config::{Backoff, RetryOn, RetryPolicy};
use corewire_xds::envoy::config::route::v3 as route;
use std::sync::Arc;
use std::time::Duration;

/// The policy; `None` when it says nothing that leads to another try.
pub(super) fn retry_policy(
    message: route::RetryPolicy,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<Arc<RetryPolicy>> {
    let route::RetryPolicy {
        retry_on,
        num_retries,
        per_try_timeout,
        retriable_status_codes,
        retry_back_off,
        // Another try always prefers an endpoint that was not tried, as the usual predicate asks.
        ..
    } = message;
    let on = conditions(&retry_on, &path.field("retry_on"), report);
    let per_try_timeout = per_try_timeout.filter(|it| it.seconds != 0 || it.nanos != 0);
    let policy = RetryPolicy {
        on,
        statuses: statuses(&retriable_status_codes, path, report),
        num_retries: num_retries.unwrap_or(1),
        per_try_timeout: positive_duration(per_try_timeout, &path.field("per_try_timeout"), report),
        backoff: backoff(retry_back_off, &path.field("retry_back_off"), report),
        avoid_tried_endpoints: true,
        repeatable: false,
    };
    (!policy.on.is_empty() && policy.num_retries > 0).then(|| Arc::new(policy))
}

fn conditions(text: &str, path: &Path<'_>, report: &mut Report) -> RetryOn {
    let mut on = RetryOn::NONE;
    let names = text.split(',').map(str::trim);
    for name in names.filter(|name| !name.is_empty()) {
        match RetryOn::by_name(name) {
            Some(condition) => on = on | condition,
            None => report.notice(path, format!("{name:?} is no condition known here")),
        }
    }
    on
}

fn statuses(codes: &[u32], path: &Path<'_>, report: &mut Report) -> Vec<u16> {
    let mut statuses = Vec::with_capacity(codes.len());
    for (at, code) in codes.iter().enumerate() {
        match u16::try_from(*code) {
            Ok(status) if (100..=599).contains(&status) => statuses.push(status),
            _ => report.fault(
                &path.index("retriable_status_codes", at),
                format!("{code} is no HTTP status"),
            ),
        }
    }
    statuses
}

fn backoff(
    message: Option<route::retry_policy::RetryBackOff>,
    path: &Path<'_>,
    report: &mut Report,
) -> Backoff {
    let Some(message) = message else {
        return Backoff::default();
    };
    let base_path = path.field("base_interval");
    if message.base_interval.is_none() {
        report.fault(&base_path, "is missing");
    }
    let base = positive_duration(message.base_interval, &base_path, report)
        .unwrap_or_else(|| Backoff::default().base)
        // "If an interval is less than 1 ms, it is rounded up" (RetryBackOff).
        .max(Duration::from_millis(1));
    let path = path.field("max_interval");
    let max = positive_duration(message.max_interval, &path, report)
        .unwrap_or_else(|| base.saturating_mul(10));
    if max < base {
        report.fault(&path, "is shorter than base_interval");
    }
    Backoff {
        base,
        max: max.max(base),
    }
}
