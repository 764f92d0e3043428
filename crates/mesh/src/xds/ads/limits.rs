//! What can be set of the client, and every limit it keeps, with their defaults.

use std::time::Duration;

/// Settings and limits of the xDS client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AdsOptions {
    /// How long a server that answers may leave a resource out before it counts as missing (gRFC
    /// A27: 15 s).
    pub resource_timeout: Duration,
    /// How long something may stay unknown while no server can be reached; its calls fail then
    /// instead of waiting. Default 3 s.
    pub unreachable_after: Duration,
    /// The least time between two refusals of a kind of resource, whatever the server does. Default
    /// 1 s.
    pub refusal_interval: Duration,
    /// The least time between two attempts to reach a server. Default 250 ms, at random up to a
    /// fifth more or less, 1.6 times as much after each that brought nothing.
    pub first_backoff: Duration,
    /// The longest. Default 30 s.
    pub longest_backoff: Duration,
    /// How long a server may say nothing before the next of the list is asked. Default 10 s.
    pub silence_timeout: Duration,
    /// How often the address of a host is looked up again. Default 30 s.
    pub dns_refresh: Duration,
    /// The longest response, octets. Default 16 MiB.
    pub max_response: usize,
    /// The most resources of a kind that are asked for; routes to more are refused. Default 10,000.
    pub max_resources: usize,
    /// The most targets that are watched at a time. Default 10,000.
    pub max_targets: usize,
    /// The most octets of all resources together that are kept; what goes beyond is refused, and
    /// the last good state of it holds. Default 256 MiB.
    pub max_octets: usize,
    /// The longest text of a refusal, octets. Default 16 KiB.
    pub max_refusal: usize,
}

impl Default for AdsOptions {
    fn default() -> Self {
        Self {
            resource_timeout: Duration::from_secs(15),
            unreachable_after: Duration::from_secs(3),
            refusal_interval: Duration::from_secs(1),
            first_backoff: Duration::from_millis(250),
            longest_backoff: Duration::from_secs(30),
            silence_timeout: Duration::from_secs(10),
            dns_refresh: Duration::from_secs(30),
            max_response: 16 << 20,
            max_resources: 10_000,
            max_targets: 10_000,
            max_octets: 256 << 20,
            max_refusal: 16 << 10,
        }
    }
}
