//! Filters of HTTP connection managers and what routes say in their place (gRFC A39, A33).

use super::matchers::header_matches;
use super::report::{Path, Report};
use super::scalar::{duration, fraction, positive_duration, runtime_fraction};
use crate::config::{
    FaultAbort, FaultAbortKind, FaultDelay, FaultDelayKind, FaultPolicy, Fraction, RateLimit,
};
use corewire_message::Code;
use corewire_xds::envoy::config::route::v3::FilterConfig;
use corewire_xds::envoy::extensions::filters::common::fault::v3 as common_fault;
use corewire_xds::envoy::extensions::filters::http::fault::v3 as fault;
use corewire_xds::envoy::extensions::filters::http::local_ratelimit::v3::LocalRateLimit;
use corewire_xds::envoy::extensions::filters::http::router::v3::Router;
use corewire_xds::envoy::extensions::filters::network::http_connection_manager::v3::{
    HttpFilter, http_filter,
};
use corewire_xds::{Any, Name, udpa, xds};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// Filters of one listener, by name, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Filters(pub(crate) Vec<Filter>);

/// A filter and what holds where a route says nothing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Filter {
    pub(crate) name: String,
    pub(crate) setting: Setting,
}

/// What a filter does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Setting {
    /// Nothing.
    Off,
    /// Injects faults.
    Fault(Arc<FaultPolicy>),
    /// Limits the rate.
    RateLimit(Arc<RateLimit>),
}

/// What routes say in place of filters' own settings, by the filters' names.
pub(crate) type Overrides = BTreeMap<String, Setting>;

/// The filters of a connection manager. The last must be the router.
pub(super) fn filters(messages: Vec<HttpFilter>, path: &Path<'_>, report: &mut Report) -> Filters {
    let mut filters = Filters::default();
    let count = messages.len();
    if count == 0 {
        report.fault(
            &path.field("http_filters"),
            "is empty: the last must be the router",
        );
    }
    let mut names = HashMap::with_capacity(count);
    for (at, message) in messages.into_iter().enumerate() {
        let path = path.index("http_filters", at);
        if message.name.is_empty() {
            report.fault(&path.field("name"), "is empty");
        }
        if let Some(first) = names.insert(message.name.clone(), at) {
            let reason = format!("{:?} is http_filters[{first}] already", message.name);
            report.fault(&path.field("name"), reason);
        }
        let last = at + 1 == count;
        match filter(message, &path, report) {
            Found::Filter(filter) => {
                filters.0.push(filter);
                if last {
                    report.fault(&path, "the last filter must be the router");
                }
            }
            Found::Router if !last => {
                report.fault(&path, "the router must be the last filter");
            }
            Found::LeftOut if last => report.fault(&path, "the last filter must be the router"),
            Found::Router | Found::LeftOut | Found::Unknown => {}
        }
    }
    filters
}

enum Found {
    Filter(Filter),
    Router,
    /// Optional and not known.
    LeftOut,
    /// Not known, which is a fault.
    Unknown,
}

fn filter(message: HttpFilter, path: &Path<'_>, report: &mut Report) -> Found {
    let HttpFilter {
        name,
        is_optional,
        disabled,
        config_type,
    } = message;
    let config = match config_type {
        Some(http_filter::ConfigType::TypedConfig(config)) => config,
        Some(http_filter::ConfigType::ConfigDiscovery(_)) => {
            let reason = "filters are not discovered here";
            return unknown(is_optional, &path.field("config_discovery"), reason, report);
        }
        None => {
            let reason = "has no typed_config";
            return unknown(is_optional, path, reason, report);
        }
    };
    let path = path.field("typed_config");
    if config.is::<Router>() {
        return Found::Router;
    }
    match setting(&config, &path, report) {
        Some(setting) => Found::Filter(Filter {
            name,
            setting: if disabled { Setting::Off } else { setting },
        }),
        None => {
            let reason = format!(
                "a filter of type {:?} is not known here",
                type_name(&config)
            );
            unknown(is_optional, &path, reason, report)
        }
    }
}

fn unknown(
    is_optional: bool,
    path: &Path<'_>,
    reason: impl Into<String>,
    report: &mut Report,
) -> Found {
    if is_optional {
        report.notice(path, reason);
        Found::LeftOut
    } else {
        report.fault(path, reason);
        Found::Unknown
    }
}

/// What routes say in place of filters' settings.
pub(super) fn overrides(
    messages: BTreeMap<String, Any>,
    path: &Path<'_>,
    report: &mut Report,
) -> Overrides {
    let mut overrides = Overrides::new();
    for (name, mut config) in messages {
        let path = path.key("typed_per_filter_config", &name);
        let mut optional = false;
        if config.is::<FilterConfig>() {
            let Some(wrapped) = unpacked::<FilterConfig>(&config, &path, report) else {
                continue;
            };
            if wrapped.disabled {
                overrides.insert(name, Setting::Off);
                continue;
            }
            optional = wrapped.is_optional;
            let Some(inner) = wrapped.config else {
                report.fault(&path.field("config"), "is missing");
                continue;
            };
            config = inner;
        }
        match setting(&config, &path, report) {
            Some(setting) => {
                overrides.insert(name, setting);
            }
            None => {
                let reason = format!(
                    "a filter of type {:?} is not known here",
                    type_name(&config)
                );
                if optional {
                    report.notice(&path, reason);
                } else {
                    report.fault(&path, reason);
                }
            }
        }
    }
    overrides
}

/// What this configuration asks for; `None` when its type is not known. Faults switch it off.
fn setting(config: &Any, path: &Path<'_>, report: &mut Report) -> Option<Setting> {
    if config.is::<fault::HttpFault>() {
        let faults = unpacked(config, path, report);
        let policy = faults.and_then(|message| fault_policy(message, path, report));
        return Some(policy.map_or(Setting::Off, |it| Setting::Fault(Arc::new(it))));
    }
    if config.is::<LocalRateLimit>() {
        let limit = unpacked(config, path, report);
        let limit = limit.and_then(|message| rate_limit(message, path, report));
        return Some(limit.map_or(Setting::Off, |it| Setting::RateLimit(Arc::new(it))));
    }
    None
}

/// The type of a configuration, also of one that comes as a structure.
fn type_name(config: &Any) -> String {
    let inner = if config.is::<xds::r#type::v3::TypedStruct>() {
        let unpacked = config.unpack::<xds::r#type::v3::TypedStruct>();
        unpacked.ok().map(|it| it.type_url)
    } else if config.is::<udpa::r#type::v1::TypedStruct>() {
        let unpacked = config.unpack::<udpa::r#type::v1::TypedStruct>();
        unpacked.ok().map(|it| it.type_url)
    } else {
        None
    };
    let url = inner.unwrap_or_else(|| config.type_url.clone());
    url.rsplit('/').next().unwrap_or_default().to_owned()
}

pub(super) fn unpacked<M: Name + Default>(
    config: &Any,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<M> {
    match config.unpack() {
        Ok(message) => Some(message),
        Err(error) => {
            report.fault(path, error.to_string());
            None
        }
    }
}

fn fault_policy(
    message: fault::HttpFault,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<FaultPolicy> {
    let fault::HttpFault {
        delay,
        abort,
        upstream_cluster,
        headers,
        downstream_nodes,
        max_active_faults,
        ..
    } = message;
    let policy = FaultPolicy {
        headers: header_matches(headers, "headers", path, report),
        delay: delay.and_then(|it| fault_delay(it, &path.field("delay"), report)),
        abort: abort.and_then(|it| fault_abort(it, &path.field("abort"), report)),
        max_active: max_active_faults,
    };
    let mut restricted = false;
    for (name, present) in [
        ("upstream_cluster", !upstream_cluster.is_empty()),
        ("downstream_nodes", !downstream_nodes.is_empty()),
    ] {
        if present {
            restricted = true;
            let reason = "is not looked at: these faults are not injected at all";
            report.notice(&path.field(name), reason);
        }
    }
    let does_something = policy.delay.is_some() || policy.abort.is_some();
    (does_something && !restricted).then_some(policy)
}

fn fault_delay(
    message: common_fault::FaultDelay,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<FaultDelay> {
    use common_fault::fault_delay::FaultDelaySecifier as Specifier;
    let fraction = fraction(message.percentage, &path.field("percentage"), report);
    let kind = match message.fault_delay_secifier {
        Some(Specifier::FixedDelay(delay)) => {
            FaultDelayKind::Fixed(duration(Some(delay), &path.field("fixed_delay"), report)?)
        }
        Some(Specifier::HeaderDelay(_)) => FaultDelayKind::Header,
        None => {
            report.fault(path, "says no delay: fixed_delay or header_delay");
            return None;
        }
    };
    Some(FaultDelay { kind, fraction })
}

fn fault_abort(
    message: fault::FaultAbort,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<FaultAbort> {
    use fault::fault_abort::ErrorType;
    let fraction = fraction(message.percentage, &path.field("percentage"), report);
    let kind = match message.error_type {
        Some(ErrorType::HttpStatus(status)) => {
            FaultAbortKind::Http(http_status(status, &path.field("http_status"), report)?)
        }
        Some(ErrorType::GrpcStatus(number)) => {
            if !(1..=16).contains(&number) {
                let reason = format!("{number} is no code of a failure");
                report.fault(&path.field("grpc_status"), reason);
                return None;
            }
            FaultAbortKind::Grpc(Code::from_number(number))
        }
        Some(ErrorType::HeaderAbort(_)) => FaultAbortKind::Header,
        None => {
            let reason = "says no failure: http_status, grpc_status or header_abort";
            report.fault(path, reason);
            return None;
        }
    };
    Some(FaultAbort { kind, fraction })
}

/// A status that can be answered with: 200 to 599.
pub(super) fn http_status(status: u32, path: &Path<'_>, report: &mut Report) -> Option<u16> {
    match u16::try_from(status) {
        Ok(status) if (200..=599).contains(&status) => Some(status),
        _ => {
            report.fault(path, format!("{status} is no status from 200 to 599"));
            None
        }
    }
}

fn rate_limit(message: LocalRateLimit, path: &Path<'_>, report: &mut Report) -> Option<RateLimit> {
    let LocalRateLimit {
        status,
        token_bucket,
        filter_enabled,
        filter_enforced,
        ..
    } = message;
    // Without the two fractions the filter does nothing (local_rate_limit.proto).
    let enabled = runtime_fraction(filter_enabled, &path.field("filter_enabled"), report);
    let enforced = runtime_fraction(filter_enforced, &path.field("filter_enforced"), report);
    let bucket_path = path.field("token_bucket");
    let bucket = token_bucket?;
    if bucket.max_tokens == 0 {
        report.fault(&bucket_path.field("max_tokens"), "must be at least 1");
    }
    if bucket.tokens_per_fill == Some(0) {
        report.fault(&bucket_path.field("tokens_per_fill"), "must be at least 1");
    }
    let interval_path = bucket_path.field("fill_interval");
    let fill_interval = positive_duration(bucket.fill_interval, &interval_path, report);
    if bucket.fill_interval.is_none() {
        report.fault(&interval_path, "is missing");
    }
    let code = status.map_or(429, |it| it.code.unsigned_abs());
    // A status below 400 is no refusal: the filter answers 429 then (local_rate_limit.proto).
    let code = if code < 400 { 429 } else { code };
    let status = http_status(code, &path.field("status"), report)?;
    let both = share(
        enabled.unwrap_or(Fraction::NEVER),
        enforced.unwrap_or(Fraction::NEVER),
    );
    (both != Fraction::NEVER).then_some(RateLimit {
        max_tokens: bucket.max_tokens,
        tokens_per_fill: bucket.tokens_per_fill.unwrap_or(1),
        fill_interval: fill_interval?.max(Duration::from_millis(1)),
        status,
        enforced: both,
    })
}

/// One share of another.
fn share(of: Fraction, part: Fraction) -> Fraction {
    let product = u64::from(of.parts()) * u64::from(part.parts()) / 1_000_000;
    Fraction::per_million(u32::try_from(product).unwrap_or(u32::MAX))
}
