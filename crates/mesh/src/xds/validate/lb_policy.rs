//! Balancing: the older enumeration and the list of extensions (gRFC A52).

use super::filters::unpacked;
use super::report::{Path, Report};
use crate::config::LbPolicy;
use corewire_xds::Any;
use corewire_xds::envoy::config::cluster::v3::cluster;
use corewire_xds::envoy::config::cluster::v3::{Cluster, LoadBalancingPolicy};
use corewire_xds::envoy::extensions::load_balancing_policies as policies;

/// The ring that nothing more was said about (gRFC A42).
pub(super) const DEFAULT_RING: LbPolicy = LbPolicy::RingHash {
    min_size: 1024,
    max_size: MAX_RING,
};
/// The largest ring, in places (gRFC A42).
const MAX_RING: u32 = 8 * 1024 * 1024;
/// How deep a list of policies may be within another.
const MAX_DEPTH: usize = 8;

/// What a cluster says of balancing.
pub(super) fn lb_policy(message: &Cluster, path: &Path<'_>, report: &mut Report) -> LbPolicy {
    use cluster::LbConfig;
    // The list goes before the enumeration, whatever that says.
    if let Some(list) = &message.load_balancing_policy {
        let path = path.field("load_balancing_policy");
        return from_list(list, MAX_DEPTH, &path, report).unwrap_or(LbPolicy::RoundRobin);
    }
    match cluster::LbPolicy::try_from(message.lb_policy) {
        Ok(cluster::LbPolicy::RoundRobin) => LbPolicy::RoundRobin,
        Ok(cluster::LbPolicy::LeastRequest) => {
            let path = path.field("least_request_lb_config");
            let Some(LbConfig::LeastRequestLbConfig(config)) = &message.lb_config else {
                return LbPolicy::LeastRequest { choices: 2 };
            };
            least_request(config.choice_count, &path, report)
        }
        Ok(cluster::LbPolicy::RingHash) => {
            let path = path.field("ring_hash_lb_config");
            let Some(LbConfig::RingHashLbConfig(config)) = &message.lb_config else {
                return DEFAULT_RING;
            };
            if config.hash_function != 0 {
                report.fault(&path.field("hash_function"), "only XX_HASH is known here");
            }
            let sizes = (config.minimum_ring_size, config.maximum_ring_size);
            ring(sizes, &path, report)
        }
        Ok(cluster::LbPolicy::Random) => LbPolicy::Random,
        Ok(cluster::LbPolicy::Maglev) => {
            report.notice(&path.field("lb_policy"), "MAGLEV: a ring is used instead");
            DEFAULT_RING
        }
        Ok(cluster::LbPolicy::ClusterProvided) => LbPolicy::RoundRobin,
        Ok(cluster::LbPolicy::LoadBalancingPolicyConfig) => {
            report.fault(&path.field("load_balancing_policy"), "is missing");
            LbPolicy::RoundRobin
        }
        Err(_) => {
            let reason = format!("{} is no policy known here", message.lb_policy);
            report.fault(&path.field("lb_policy"), reason);
            LbPolicy::RoundRobin
        }
    }
}

/// The first of a list that is known.
fn from_list(
    list: &LoadBalancingPolicy,
    depth: usize,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<LbPolicy> {
    let Some(depth) = depth.checked_sub(1) else {
        report.fault(path, "is nested too deeply");
        return None;
    };
    for (at, policy) in list.policies.iter().enumerate() {
        let path = path.index("policies", at);
        let path = path.field("typed_extension_config");
        let extension = policy.typed_extension_config.as_ref();
        let Some(config) = extension.and_then(|it| it.typed_config.as_ref()) else {
            report.fault(&path, "is missing");
            return None;
        };
        let faults = report.faults.len();
        if let Some(policy) = extension_policy(config, depth, &path, report) {
            return Some(policy);
        }
        if report.faults.len() > faults {
            return None;
        }
    }
    let known = list.policies.iter().filter_map(|policy| {
        let config = policy.typed_extension_config.as_ref()?;
        Some(config.typed_config.as_ref()?.full_name().to_owned())
    });
    let known: Vec<_> = known.take(8).collect();
    report.fault(
        path,
        format!("no policy of [{}] is known here", known.join(", ")),
    );
    None
}

fn extension_policy(
    config: &Any,
    depth: usize,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<LbPolicy> {
    let path = path.field("typed_config");
    if config.is::<policies::round_robin::v3::RoundRobin>() {
        let _config: policies::round_robin::v3::RoundRobin = unpacked(config, &path, report)?;
        return Some(LbPolicy::RoundRobin);
    }
    if config.is::<policies::least_request::v3::LeastRequest>() {
        let config: policies::least_request::v3::LeastRequest = unpacked(config, &path, report)?;
        if config.enable_full_scan == Some(true) {
            report.notice(&path.field("enable_full_scan"), "is not carried out");
        }
        return Some(least_request(config.choice_count, &path, report));
    }
    if config.is::<policies::ring_hash::v3::RingHash>() {
        let config: policies::ring_hash::v3::RingHash = unpacked(config, &path, report)?;
        if !matches!(config.hash_function, 0 | 1) {
            report.fault(&path.field("hash_function"), "only XX_HASH is known here");
        }
        let sizes = (config.minimum_ring_size, config.maximum_ring_size);
        return Some(ring(sizes, &path, report));
    }
    if config.is::<policies::maglev::v3::Maglev>() {
        report.notice(&path, "Maglev: a ring is used instead");
        return Some(DEFAULT_RING);
    }
    if config.is::<policies::random::v3::Random>() {
        return Some(LbPolicy::Random);
    }
    if config.is::<policies::pick_first::v3::PickFirst>() {
        let _config: policies::pick_first::v3::PickFirst = unpacked(config, &path, report)?;
        return Some(LbPolicy::PickFirst);
    }
    if config.is::<policies::client_side_weighted_round_robin::v3::ClientSideWeightedRoundRobin>() {
        let reason = "servers' load reports are not read: endpoints keep their given weights";
        report.notice(&path, reason);
        return Some(LbPolicy::RoundRobin);
    }
    if config.is::<policies::wrr_locality::v3::WrrLocality>() {
        let config: policies::wrr_locality::v3::WrrLocality = unpacked(config, &path, report)?;
        let path = path.field("endpoint_picking_policy");
        // Localities are always chosen by their weights.
        let Some(inner) = config.endpoint_picking_policy else {
            report.fault(&path, "is missing");
            return None;
        };
        return from_list(&inner, depth, &path, report);
    }
    None
}

fn least_request(choices: Option<u32>, path: &Path<'_>, report: &mut Report) -> LbPolicy {
    let choices = choices.unwrap_or(2);
    if choices < 2 {
        report.fault(&path.field("choice_count"), "must be at least 2");
    }
    LbPolicy::LeastRequest { choices }
}

fn ring(sizes: (Option<u64>, Option<u64>), path: &Path<'_>, report: &mut Report) -> LbPolicy {
    let mut size = |value: Option<u64>, default: u32, field: &str| match value {
        None => default,
        Some(value) => match u32::try_from(value) {
            Ok(size) if size <= MAX_RING => size,
            _ => {
                let reason = format!("{value} is more than {MAX_RING}");
                report.fault(&path.field(field), reason);
                default
            }
        },
    };
    let max_size = size(sizes.1, MAX_RING, "maximum_ring_size");
    let min_size = size(sizes.0, 1024.min(max_size), "minimum_ring_size");
    if min_size > max_size {
        let reason = format!("{min_size} is above maximum_ring_size, {max_size}");
        report.fault(&path.field("minimum_ring_size"), reason);
    }
    LbPolicy::RingHash { min_size, max_size }
}

/// Whether this is a configuration for connections in clear text.
pub(super) fn is_raw_buffer(config: &Any) -> bool {
    config.full_name() == "envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer"
}
