//! The inline mesh as the two halves use it: in their own process, on their own loop.

use crate::target::transport;
use anyhow::Context as _;
use corewire::mesh::config::{Cluster, Endpoints, RouteConfig, Snapshot};
use corewire::mesh::xds::{Client, ClientOptions as XdsOptions};
use corewire::mesh::{Mesh, MeshChannel, MeshOptions};
use corewire::{ClientOptions, LoopHandle, parse_address};

/// What a fixed list of replicas is called.
const SERVICE: &str = "smf-pdu-session";

/// A channel through the mesh's stages to these replicas; no control plane is asked.
pub(crate) fn fixed(
    addresses: &[String],
    protocol: Option<&str>,
    connections: ClientOptions,
    event_loop: &LoopHandle,
) -> anyhow::Result<MeshChannel> {
    let options = options(protocol, connections, event_loop)?;
    let addresses = addresses
        .iter()
        .map(|address| parse_address(address))
        .collect::<Result<Vec<_>, _>>()?;
    let mut snapshot = Snapshot::default();
    snapshot.add_target(SERVICE, RouteConfig::to_cluster(SERVICE));
    let mut cluster = Cluster::new(SERVICE);
    // The gateway's own limit holds: a stall of the machine must show as latency.
    cluster.circuit.max_requests = u32::MAX;
    snapshot.add_cluster(cluster, Endpoints::at(addresses));
    Ok(Mesh::fixed(snapshot, options)?.channel(SERVICE))
}

/// A channel to the service of this name, as the control plane says that `GRPC_XDS_BOOTSTRAP` leads
/// to.
pub(crate) fn named(
    service: &str,
    protocol: Option<&str>,
    connections: ClientOptions,
    event_loop: &LoopHandle,
) -> anyhow::Result<MeshChannel> {
    let client =
        Client::from_env(XdsOptions::default()).context("the inline mesh asks a control plane")?;
    let mesh = Mesh::start(client, options(protocol, connections, event_loop)?)?;
    Ok(mesh.channel(service))
}

fn options(
    protocol: Option<&str>,
    connections: ClientOptions,
    event_loop: &LoopHandle,
) -> anyhow::Result<MeshOptions> {
    let mut options = MeshOptions::from_env()?.with_loop(event_loop.clone());
    options.client = connections;
    if let Some(name) = protocol {
        options = options.with_transport(transport(Some(name))?);
    }
    Ok(options)
}
