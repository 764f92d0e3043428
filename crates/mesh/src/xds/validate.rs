//! From the messages of xDS to values that hold: everything that is wrong is found, and everything
//! that is asked for and not carried out is noticed.

mod cluster;
mod endpoints;
mod fields;
mod filters;
mod health_check;
mod lb_policy;
mod listener;
mod matchers;
mod metadata;
mod report;
mod retry;
mod route_action;
mod routes;
mod scalar;
mod tls;

#[cfg(test)]
mod tests;

pub(crate) use cluster::{ClusterData, Discovery};
pub(crate) use filters::{Filters, Overrides, Setting};
pub(crate) use listener::{ListenerData, RouteSource};
pub(crate) use routes::RouteData;

use crate::config::{Endpoints, FieldFault};
use bytes::Bytes;
use corewire_xds::envoy::config::cluster::v3::Cluster;
use corewire_xds::envoy::config::endpoint::v3::ClusterLoadAssignment;
use corewire_xds::envoy::config::listener::v3::Listener;
use corewire_xds::envoy::config::route::v3::RouteConfiguration;
use corewire_xds::{Message, ResourceType};
use report::{Path, Report};
use std::sync::Arc;

/// A resource that can be used.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Listener(Arc<ListenerData>),
    Routes(Arc<RouteData>),
    Cluster(ClusterData),
    Endpoints(Arc<Endpoints>),
}

/// What became of a resource's octets.
#[derive(Debug)]
pub(crate) struct Decoded {
    /// Its name; empty when it could not be read.
    pub(crate) name: String,
    /// The resource, or everything that is wrong with it.
    pub(crate) value: Result<Value, Vec<FieldFault>>,
    /// What it asks for that is not carried out.
    pub(crate) notices: Vec<FieldFault>,
}

/// Reads a resource of this kind.
pub(crate) fn decode(kind: ResourceType, octets: &Bytes) -> Decoded {
    let mut report = Report::default();
    let (name, value) = match kind {
        ResourceType::Listener => read(kind, octets, &mut report, |message: Listener, report| {
            let name = message.name.clone();
            let data = listener::listener(message, &Path::ROOT, report);
            (name, data.map(|it| Value::Listener(Arc::new(it))))
        }),
        ResourceType::Route => read(
            kind,
            octets,
            &mut report,
            |message: RouteConfiguration, report| {
                let name = message.name.clone();
                let data = routes::route_config(message, &Path::ROOT, report);
                (name, Some(Value::Routes(Arc::new(data))))
            },
        ),
        ResourceType::Cluster => read(kind, octets, &mut report, |message: Cluster, report| {
            let name = message.name.clone();
            let data = cluster::cluster(message, &Path::ROOT, report);
            (name, data.map(Value::Cluster))
        }),
        ResourceType::Endpoints => read(
            kind,
            octets,
            &mut report,
            |message: ClusterLoadAssignment, report| {
                let name = message.cluster_name.clone();
                let data = endpoints::endpoints(message, &Path::ROOT, report);
                (name, Some(Value::Endpoints(Arc::new(data))))
            },
        ),
    };
    let (mut faults, notices) = report.finish();
    let value = match value {
        Some(value) if faults.is_empty() => Ok(value),
        _ => {
            if faults.is_empty() {
                // A part that cannot be carried out left nothing behind.
                faults.push(FieldFault {
                    path: String::new(),
                    reason: "holds nothing that can be used".into(),
                });
            }
            Err(faults)
        }
    };
    Decoded {
        name,
        value,
        notices,
    }
}

fn read<M: Message + Default>(
    kind: ResourceType,
    octets: &Bytes,
    report: &mut Report,
    validate: impl FnOnce(M, &mut Report) -> (String, Option<Value>),
) -> (String, Option<Value>) {
    match M::decode(octets.clone()) {
        Ok(message) => {
            let found = validate(message, report);
            fields::check(kind, octets, report);
            found
        }
        Err(error) => {
            report.fault(&Path::ROOT, format!("cannot be decoded: {error}"));
            (String::new(), None)
        }
    }
}

/// The name of a resource without decoding it, when it stands first, as it usually does. It is the
/// field of number 1 in all four kinds.
pub(crate) fn peek_name(octets: &[u8]) -> Option<&str> {
    let (tag, rest) = octets.split_first()?;
    if *tag != 0x0a {
        return None;
    }
    let (length, rest) = match rest {
        [short, rest @ ..] if *short < 0x80 => (usize::from(*short), rest),
        [low, high, rest @ ..] if *high < 0x80 => {
            (usize::from(low & 0x7f) | usize::from(*high) << 7, rest)
        }
        _ => return None,
    };
    std::str::from_utf8(rest.get(..length)?).ok()
}
