//! Where requests go: replicas by address, or a service by name in a mesh. What sends does not
//! know which.

use anyhow::{Context as _, bail};
use corewire::mesh::config::Transport;
use corewire::{
    CallError, CallStream, Caller, Client, ClientOptions, Endpoint, Event, LoopHandle, Request,
    Response, parse_address,
};
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How names of a mesh begin.
const XDS: &str = "xds:///";
/// How lists begin that go through the mesh's stages.
const FIXED: &str = "fixed:";
/// The transport's own setting, for when no option names one.
const TRANSPORT: &str = "COREWIRE_TRANSPORT";

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// Replicas at these addresses, in turn.
    Addresses(Vec<String>),
    /// Replicas at these addresses, chosen by the mesh's stages without a control plane.
    Fixed(Vec<String>),
    /// A service of this name; the mesh knows where.
    Service(String),
}

impl FromStr for Target {
    type Err = anyhow::Error;

    /// Reads `HOST:PORT,HOST:PORT,...`, `fixed:HOST:PORT,...` or `xds:///SERVICE`.
    fn from_str(text: &str) -> anyhow::Result<Self> {
        if let Some(service) = text.strip_prefix(XDS) {
            if service.is_empty() {
                bail!("{text:?} names no service: write {XDS}SERVICE");
            }
            return Ok(Self::Service(service.to_owned()));
        }
        let (list, is_fixed) = match text.strip_prefix(FIXED) {
            Some(list) => (list, true),
            None => (text, false),
        };
        let addresses: Vec<String> = list.split(',').map(|part| part.trim().to_owned()).collect();
        for address in &addresses {
            parse_address(address).with_context(|| format!("in the target {text:?}"))?;
        }
        Ok(if is_fixed {
            Self::Fixed(addresses)
        } else {
            Self::Addresses(addresses)
        })
    }
}

/// The transport that `option` names, else the environment, else REST.
pub(crate) fn transport(option: Option<&str>) -> anyhow::Result<Transport> {
    let name = match option {
        Some(name) => name.to_owned(),
        None => std::env::var(TRANSPORT).unwrap_or_else(|_| Transport::Rest.name().to_owned()),
    };
    Ok(name.parse()?)
}

/// Replicas that take turns: no mesh, the bare floor that a mesh is measured against.
#[derive(Debug)]
pub(crate) struct RoundRobin {
    clients: Vec<Client>,
    next: AtomicUsize,
}

impl RoundRobin {
    /// A client for each address, all driven by one loop.
    pub(crate) fn new(
        addresses: &[String],
        transport: Transport,
        options: &ClientOptions,
        event_loop: &LoopHandle,
    ) -> anyhow::Result<Self> {
        let clients = addresses
            .iter()
            .map(|address| {
                let endpoint: Endpoint = format!("{transport}://{address}").parse()?;
                Ok(event_loop.connect(endpoint, options.clone()))
            })
            .collect::<anyhow::Result<_>>()?;
        Ok(Self {
            clients,
            next: AtomicUsize::new(0),
        })
    }

    /// One for each address.
    pub(crate) fn clients(&self) -> &[Client] {
        &self.clients
    }

    fn pick(&self) -> &Client {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        &self.clients[turn % self.clients.len()]
    }
}

impl Caller for RoundRobin {
    fn call(&self, request: Request) -> impl Future<Output = Result<Response, CallError>> + Send {
        self.pick().call(request)
    }

    fn send(&self, event: Event) -> impl Future<Output = Result<(), CallError>> + Send {
        self.pick().send(event)
    }

    fn open(&self, request: Request) -> impl Future<Output = Result<CallStream, CallError>> + Send {
        self.pick().open(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_lists_or_names() {
        let list: Target = "127.0.0.1:1, 127.0.0.1:2".parse().expect("a list");
        assert_eq!(
            list,
            Target::Addresses(vec!["127.0.0.1:1".into(), "127.0.0.1:2".into()])
        );
        let name: Target = "xds:///smf-pdu-session".parse().expect("a name");
        assert_eq!(name, Target::Service("smf-pdu-session".into()));
        let fixed: Target = "fixed:127.0.0.1:1".parse().expect("a list");
        assert_eq!(fixed, Target::Fixed(vec!["127.0.0.1:1".into()]));
        for wrong in ["", "fixed:", "xds:///", "127.0.0.1", "127.0.0.1:1,,"] {
            assert!(wrong.parse::<Target>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn transports_are_named_or_refused_with_those_there_are() {
        assert_eq!(transport(Some("shm")).expect("known"), Transport::Shm);
        assert_eq!(transport(Some("grpc")).expect("known"), Transport::Grpc);
        let error = transport(Some("soap")).expect_err("unknown").to_string();
        assert!(error.contains("native"), "{error}");
    }
}
