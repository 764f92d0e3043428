//! What clients may ask of the control plane, and how instances register: every limit has a name.

use super::reader::Table;
use std::time::Duration;

/// How instances register.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegistryConfig {
    /// How long an instance stays without a heartbeat when it does not say. Default 10 s.
    pub default_ttl: Duration,
    /// The shortest stay that is granted. Default 500 ms.
    pub min_ttl: Duration,
    /// The longest stay that is granted. Default 1 h.
    pub max_ttl: Duration,
    /// What instances get at least after a restart of the control plane, which was not there for
    /// their heartbeats. Default 30 s.
    pub restart_grace: Duration,
    /// Whether a service that is not in the file may be registered. Default yes.
    pub open: bool,
    /// Whether an instance may be registered, renewed and removed only by whom a certificate says
    /// that he stands for its service; needs TLS with authorities. Default no.
    pub by_certificate: bool,
    /// The file with the secret that those show who register (`authorization: Bearer SECRET`), relative
    /// to the configuration file. Default none.
    pub secret_file: Option<std::path::PathBuf>,
    /// Whether those who are not on this host may register without a secret or a certificate. Default
    /// no.
    pub anonymous: bool,
}

impl Default for RegistryConfig {
    fn default() -> Self {
        Self {
            default_ttl: Duration::from_secs(10),
            min_ttl: Duration::from_millis(500),
            max_ttl: Duration::from_secs(3600),
            restart_grace: Duration::from_secs(30),
            open: true,
            by_certificate: false,
            secret_file: None,
            anonymous: false,
        }
    }
}

impl RegistryConfig {
    pub(super) fn read(root: &mut Table<'_, '_>) -> Self {
        let mut config = Self::default();
        let Some(mut table) = root.take("registry").and_then(|value| value.table()) else {
            return config;
        };
        let range = Duration::from_millis(1)..=Duration::from_secs(30 * 86_400);
        for (name, place) in [
            ("default-ttl", &mut config.default_ttl),
            ("min-ttl", &mut config.min_ttl),
            ("max-ttl", &mut config.max_ttl),
            ("restart-grace", &mut config.restart_grace),
        ] {
            if let Some(read) = table.take(name).and_then(|v| v.duration(range.clone())) {
                *place = read;
            }
        }
        if let Some(open) = table.take("open").and_then(|value| value.boolean()) {
            config.open = open;
        }
        if let Some(asked) = table.take("by-certificate").and_then(|v| v.boolean()) {
            config.by_certificate = asked;
        }
        config.secret_file = table
            .take("secret-file")
            .and_then(|v| v.string())
            .map(Into::into);
        if let Some(anonymous) = table.take("anonymous").and_then(|v| v.boolean()) {
            config.anonymous = anonymous;
        }
        if config.anonymous && (config.by_certificate || config.secret_file.is_some()) {
            table.fault(
                "anonymous registration beside a secret or certificates",
                "remove anonymous = true",
            );
        }
        if config.min_ttl > config.max_ttl {
            table.fault(
                format!(
                    "min-ttl ({:?}) is longer than max-ttl ({:?})",
                    config.min_ttl, config.max_ttl
                ),
                "swap them, or leave one out",
            );
        }
        table.finish();
        config
    }
}

/// What one client, and all of them, may ask of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Services, of the file and registered. Default 20,000.
    pub services: usize,
    /// Registered instances. Default 200,000.
    pub instances: usize,
    /// xDS streams at a time. Default 4096.
    pub streams: usize,
    /// Resources one stream may name, of each type. Default 20,000.
    pub subscriptions: usize,
    /// Resources that all streams together may name. Default 1,000,000.
    pub total_subscriptions: usize,
    /// Requests a second one stream may send in the long run; more are read later. Default 500.
    pub requests_per_second: u32,
    /// While updates keep coming, clients get one push in this time at most. Default 50 ms.
    pub push_interval: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            services: 20_000,
            instances: 200_000,
            streams: 4096,
            subscriptions: 20_000,
            total_subscriptions: 1_000_000,
            requests_per_second: 500,
            push_interval: Duration::from_millis(50),
        }
    }
}

impl Limits {
    pub(super) fn read(root: &mut Table<'_, '_>) -> Self {
        let mut limits = Self::default();
        let Some(mut table) = root.take("limits").and_then(|value| value.table()) else {
            return limits;
        };
        for (name, place) in [
            ("services", &mut limits.services),
            ("instances", &mut limits.instances),
            ("streams", &mut limits.streams),
            ("subscriptions", &mut limits.subscriptions),
            ("total-subscriptions", &mut limits.total_subscriptions),
        ] {
            let read = table.take(name).and_then(|v| v.integer(1..=10_000_000));
            if let Some(read) = read.and_then(|number| usize::try_from(number).ok()) {
                *place = read;
            }
        }
        let requests = table.take("requests-per-second");
        if let Some(read) = requests.and_then(|v| v.integer32(1..=1_000_000)) {
            limits.requests_per_second = read;
        }
        let range = Duration::ZERO..=Duration::from_secs(60);
        if let Some(read) = table.take("push-interval").and_then(|v| v.duration(range)) {
            limits.push_interval = read;
        }
        table.finish();
        limits
    }
}
