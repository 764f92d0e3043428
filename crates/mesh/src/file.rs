//! Targets from a small JSON file, for where there is no control plane.
//!
//! ```json
//! {
//!   "targets": {
//!     "smf-pdu-session": {
//!       "endpoints": ["127.0.0.1:9001", "127.0.0.1:9002", "unix:/run/smf.sock"],
//!       "transport": "native",
//!       "balance": "ring-hash",
//!       "hash_header": "supi",
//!       "timeout_ms": 200,
//!       "retries": 2
//!     }
//!   }
//! }
//! ```
//!
//! Only `endpoints` is needed. `repeatable` declares that calls may be repeated although they may have
//! been executed; without it only GET, PUT and DELETE are. What a control plane can say beyond this is said by a control plane.

use crate::config::{
    Cluster, Endpoints, Forward, HashPolicy, HashSource, LbPolicy, RetryOn, RetryPolicy, Route,
    RouteAction, RouteConfig, Snapshot, Transport, VirtualHost,
};
use corewire_transport::parse_address;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    targets: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    endpoints: Vec<String>,
    transport: Option<String>,
    #[serde(default)]
    balance: Balance,
    hash_header: Option<String>,
    timeout_ms: Option<u64>,
    #[serde(default)]
    retries: u32,
    #[serde(default)]
    repeatable: bool,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Balance {
    #[default]
    RoundRobin,
    LeastRequest,
    LatencyAware,
    RingHash,
    Random,
    PickFirst,
}

impl Balance {
    const fn policy(self) -> LbPolicy {
        match self {
            Self::RoundRobin => LbPolicy::RoundRobin,
            Self::LeastRequest => LbPolicy::LeastRequest { choices: 2 },
            Self::LatencyAware => LbPolicy::LatencyAware,
            Self::RingHash => LbPolicy::RingHash {
                min_size: 1024,
                max_size: 4096,
            },
            Self::Random => LbPolicy::Random,
            Self::PickFirst => LbPolicy::PickFirst,
        }
    }
}

/// A snapshot of the targets that a JSON document names; the module's documentation has an example.
///
/// # Errors
/// With everything that is wrong with it; a document that is no JSON of this shape with its line
/// and column.
pub fn from_json(text: &str) -> Result<Snapshot, FileFaults> {
    let file: File =
        serde_json::from_str(text).map_err(|error| FileFaults(vec![error.to_string()]))?;
    let (mut snapshot, mut faults) = (Snapshot::default(), Vec::new());
    for (name, entry) in &file.targets {
        add(name, entry, &mut snapshot, &mut faults);
    }
    if faults.is_empty() {
        Ok(snapshot)
    } else {
        Err(FileFaults(faults))
    }
}

fn add(name: &str, entry: &Entry, snapshot: &mut Snapshot, faults: &mut Vec<String>) {
    let mut addresses = Vec::new();
    for (number, text) in entry.endpoints.iter().enumerate() {
        match parse_address(text) {
            Ok(address) => addresses.push(address),
            Err(error) => faults.push(format!("targets.{name}.endpoints[{number}]: {error}")),
        }
    }
    if entry.endpoints.is_empty() {
        faults.push(format!("targets.{name}.endpoints: at least one is needed"));
    }
    let mut cluster = Cluster::new(name);
    cluster.lb = entry.balance.policy();
    if let Some(transport) = &entry.transport {
        match transport.parse::<Transport>() {
            Ok(transport) => cluster.transport = Some(transport),
            Err(error) => faults.push(format!("targets.{name}.transport: {error}")),
        }
    }
    let mut forward = Forward::to_cluster(name);
    forward.timeout = entry.timeout_ms.map(Duration::from_millis);
    if entry.retries > 0 {
        forward.retry = Some(Arc::new(RetryPolicy {
            on: RetryPolicy::default().on | RetryOn::UNAVAILABLE,
            num_retries: entry.retries,
            repeatable: entry.repeatable,
            ..RetryPolicy::default()
        }));
    }
    if let Some(header) = &entry.hash_header {
        forward.hash.push(HashPolicy {
            source: HashSource::Header {
                name: header.to_ascii_lowercase().into(),
                rewrite: None,
            },
            terminal: true,
        });
    }
    let mut route = Route::to_cluster(name);
    route.action = RouteAction::Forward(Box::new(forward));
    let routes = RouteConfig {
        name: name.into(),
        virtual_hosts: vec![VirtualHost {
            name: "any".into(),
            domains: vec!["*".into()],
            routes: vec![route],
        }],
    };
    snapshot.add_cluster(cluster, Endpoints::at(addresses));
    snapshot.add_target(name, routes);
}

/// All that is wrong with a file of targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFaults(Vec<String>);

impl FileFaults {
    /// Each fault, with where it is.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for FileFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

impl std::error::Error for FileFaults {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_targets_and_how_they_are_called() {
        let snapshot = from_json(
            r#"{"targets": {
                "smf": {"endpoints": ["127.0.0.1:9001", "unix:/run/smf.sock"], "transport": "native",
                    "balance": "ring-hash", "hash_header": "SUPI", "timeout_ms": 200, "retries": 2},
                "amf": {"endpoints": ["127.0.0.1:9002"]}
            }}"#,
        )
        .unwrap();
        assert_eq!(snapshot.targets.len(), 2);
        let entry = snapshot.cluster("smf").unwrap();
        let cluster = entry.cluster.ready().unwrap();
        assert_eq!(cluster.transport, Some(Transport::Native));
        assert!(matches!(cluster.lb, LbPolicy::RingHash { .. }));
        assert_eq!(entry.endpoints.ready().unwrap().len(), 2);
        let target = snapshot.target("smf").unwrap().ready().unwrap();
        let RouteAction::Forward(forward) = &target.routes.virtual_hosts[0].routes[0].action else {
            panic!("it goes to a cluster");
        };
        assert_eq!(forward.timeout, Some(Duration::from_millis(200)));
        assert_eq!(forward.retry.as_ref().unwrap().num_retries, 2);
        assert_eq!(forward.hash.len(), 1);
    }

    #[test]
    fn every_fault_is_told_with_its_place() {
        let faults = from_json(
            r#"{"targets": {"a": {"endpoints": ["nowhere"], "transport": "soap"},
                "b": {"endpoints": []}}}"#,
        )
        .unwrap_err();
        let told: Vec<_> = faults.iter().collect();
        assert_eq!(told.len(), 3, "{faults}");
        for place in [
            "targets.a.endpoints[0]",
            "targets.a.transport",
            "targets.b.endpoints",
        ] {
            assert!(
                told.iter().any(|fault| fault.starts_with(place)),
                "{faults}"
            );
        }
        let shape = from_json("{\"targets\": {\"a\": {\"endpoint\": []}}}").unwrap_err();
        assert!(shape.to_string().contains("line 1 column"), "{shape}");
        assert!(from_json(r#"{"targets": {"a": {"endpoints": [], "balance": "best"}}}"#).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text: String, endpoint: String, balance: String) {
            let _refused = from_json(&text);
            let entry = serde_json::json!({"endpoints": [endpoint.replace(':', "")], "balance": balance});
            let targets = serde_json::json!({"targets": {"a": entry}});
            // Without a port no endpoint is one: nothing is looked up.
            assert!(from_json(&targets.to_string()).is_err());
        }
    }
}
