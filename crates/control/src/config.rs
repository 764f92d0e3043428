//! The configuration file: what an operator writes, read whole or refused whole.
//!
//! [`Config::parse`] gives either a configuration that holds together (every name that is used is
//! defined, every number is in its range) or *all* of its [`Faults`], each with line, column, path,
//! reason and what to do next. Nothing here knows xDS: `resources` turns it into that.

mod endpoint;
mod fault;
mod limits;
mod pattern;
mod re2;
mod reader;
mod route;
mod secure;
mod service;
mod sidecar;

pub use endpoint::{EndpointConfig, Metadata, Transport};
pub use fault::{Fault, Faults};
pub use limits::{Limits, RegistryConfig};
pub use pattern::Pattern;
pub use route::{
    Destination, FaultInjection, HashKey, HeaderMatch, HeaderTest, Mirror, PathMatch, RateLimit,
    Retry, Route,
};
pub use secure::{ControlTls, ServiceTls, TlsFiles};
pub use service::{
    Admission, Balance, Circuit, HealthCheck, Outlier, RetryBudget, Service, Subset,
};
pub use sidecar::{Inbound, Outbound, Sidecar};

use reader::Reader;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// The longest configuration file that is read, octets.
pub const MAX_CONFIG_OCTETS: usize = 16 << 20;

/// What the control plane serves, as its operator wants it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Where to listen, as written; empty when the file does not say.
    pub listen: Vec<String>,
    /// The folder that keeps what must outlive a restart, as written (relative to the file).
    pub state: Option<PathBuf>,
    /// TLS of its own port; `None`: clear text.
    pub tls: Option<ControlTls>,
    /// How instances register.
    pub registry: RegistryConfig,
    /// What clients may ask of this process.
    pub limits: Limits,
    /// Services by name.
    pub services: BTreeMap<Arc<str>, Arc<Service>>,
    /// Routes by the service they belong to, in the order of the file.
    pub routes: BTreeMap<Arc<str>, Arc<[Route]>>,
    /// Sidecars in the order of the file; the first that matches a node is used.
    pub sidecars: Vec<Arc<Sidecar>>,
}

impl Config {
    /// Reads the text of a configuration file.
    ///
    /// # Errors
    /// Every fault found in it; the caller keeps the configuration it had.
    pub fn parse(text: &str) -> Result<Self, Faults> {
        if text.len() > MAX_CONFIG_OCTETS {
            return Err(Faults::one(
                "the file is longer than 16 MiB",
                "let instances register instead of listing each of them",
            ));
        }
        let reader = Reader::new(text);
        let config = reader.document().map(|mut root| {
            let config = Self {
                listen: reader::strings(&mut root, "listen"),
                state: root.take("state").and_then(|v| v.string()).map(Into::into),
                tls: ControlTls::read(&mut root),
                registry: RegistryConfig::read(&mut root),
                limits: Limits::read(&mut root),
                services: service::read_all(&mut root),
                routes: BTreeMap::new(),
                sidecars: Vec::new(),
            };
            let asks = config
                .tls
                .as_ref()
                .is_some_and(|tls| tls.files.authorities.is_some());
            if config.registry.by_certificate && !asks {
                root.fault(
                    "registry.by-certificate is set, but nobody is asked for a certificate",
                    "write [tls] with certificate, key and authorities",
                );
            }
            let known = Known::of(&config.services);
            let routes = route::read_all(&mut root, &known);
            let sidecars = sidecar::read_all(&mut root, &known);
            root.finish();
            Self {
                routes,
                sidecars,
                ..config
            }
        });
        let faults = reader.into_faults();
        match config {
            Some(config) if faults.is_empty() => Ok(config),
            _ => Err(faults),
        }
    }
}

/// What names a route or a sidecar may use.
pub(crate) struct Known<'a> {
    services: &'a BTreeMap<Arc<str>, Arc<Service>>,
}

impl<'a> Known<'a> {
    const fn of(services: &'a BTreeMap<Arc<str>, Arc<Service>>) -> Self {
        Self { services }
    }

    pub(crate) fn service(&self, value: &reader::Value<'_, '_>) -> Option<Arc<str>> {
        let name = value.string()?;
        if let Some((name, _)) = self.services.get_key_value(name.as_str()) {
            return Some(Arc::clone(name));
        }
        let names: BTreeSet<&str> = self.services.keys().map(|name| &**name).collect();
        value.fault(
            format!("there is no service {name:?}"),
            reader::suggestion(&name, names)
                .unwrap_or_else(|| format!("define it: [[service]] name = {name:?}")),
        );
        None
    }

    pub(crate) fn subset(&self, service: &str, value: &reader::Value<'_, '_>) -> Option<Arc<str>> {
        let name = value.string()?;
        let subsets = &self.services.get(service)?.subsets;
        if let Some(subset) = subsets.iter().find(|subset| *subset.name == *name) {
            return Some(Arc::clone(&subset.name));
        }
        value.fault(
            format!("service {service:?} has no subset {name:?}"),
            format!(
                "define it in that service: subsets = [{{ name = {name:?}, match = {{ … }} }}]"
            ),
        );
        None
    }
}

#[cfg(test)]
mod tests;
