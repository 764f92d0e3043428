//! LDS: what a target name stands for, and what a sidecar listens at.

use super::cluster::{ads, inbound_name};
use super::endpoints::socket_address;
use super::secure;
use super::route::{FAULT, RATE_LIMIT, outbound_name, to_cluster};
use crate::config::{Config, Inbound, Outbound, Route, Sidecar, TlsFiles};
use corewire_xds::Any;
use corewire_xds::envoy::config::core::v3::TrafficDirection;
use corewire_xds::envoy::config::listener::v3::{
    ApiListener, Filter, FilterChain, Listener, filter,
};
use corewire_xds::envoy::extensions::filters::http::fault::v3::HttpFault;
use corewire_xds::envoy::extensions::filters::http::local_ratelimit::v3::LocalRateLimit;
use corewire_xds::envoy::extensions::filters::http::router::v3::Router;
use corewire_xds::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::RouteSpecifier;
use corewire_xds::envoy::extensions::filters::network::http_connection_manager::v3::{
    HttpConnectionManager, HttpFilter, Rds, http_filter,
};
use std::net::SocketAddr;

const ROUTER: &str = "envoy.filters.http.router";
const MANAGER: &str = "envoy.filters.network.http_connection_manager";

/// The listener of a target name: nothing is bound, an API asks for it.
pub(super) fn api(name: &str, routes: &[Route]) -> Listener {
    let manager = HttpConnectionManager {
        route_specifier: Some(rds(name)),
        http_filters: filters(routes, Client::Grpc),
        ..HttpConnectionManager::default()
    };
    Listener {
        name: name.into(),
        api_listener: Some(ApiListener {
            api_listener: Some(Any::pack(&manager)),
        }),
        ..Listener::default()
    }
}

/// A port for the network function beside a sidecar.
pub(super) fn outbound(sidecar: &Sidecar, outbound: &Outbound, config: &Config) -> Listener {
    let name = outbound_name(outbound);
    let routes = outbound.services.iter();
    let routes = routes.filter_map(|service| config.routes.get(service));
    let routes: Vec<Route> = routes.flat_map(|routes| routes.iter().cloned()).collect();
    let manager = HttpConnectionManager {
        stat_prefix: format!("outbound_{}", sidecar.name),
        route_specifier: Some(rds(&name)),
        http_filters: filters(&routes, Client::Envoy),
        ..HttpConnectionManager::default()
    };
    let direction = TrafficDirection::Outbound;
    socket_listener(name, outbound.listen, &manager, direction)
}

/// A port in front of the network function beside a sidecar.
pub(super) fn inbound(inbound: &Inbound, files: Option<&TlsFiles>) -> Listener {
    let name = format!("inbound|{}", inbound.listen);
    let routes = to_cluster(&name, &inbound_name(inbound.to));
    let manager = HttpConnectionManager {
        stat_prefix: "inbound".into(),
        route_specifier: Some(RouteSpecifier::RouteConfig(routes)),
        http_filters: filters(&[], Client::Envoy),
        ..HttpConnectionManager::default()
    };
    let direction = TrafficDirection::Inbound;
    let mut listener = socket_listener(name, inbound.listen, &manager, direction);
    for chain in &mut listener.filter_chains {
        chain.transport_socket = files.map(secure::downstream);
    }
    listener
}

fn socket_listener(
    name: String,
    listen: SocketAddr,
    manager: &HttpConnectionManager,
    direction: TrafficDirection,
) -> Listener {
    let manager = Filter {
        name: MANAGER.into(),
        config_type: Some(filter::ConfigType::TypedConfig(Any::pack(manager))),
    };
    Listener {
        name,
        address: Some(socket_address(listen)),
        filter_chains: vec![FilterChain {
            filters: vec![manager],
            ..FilterChain::default()
        }],
        traffic_direction: direction.into(),
        ..Listener::default()
    }
}

fn rds(name: &str) -> RouteSpecifier {
    RouteSpecifier::Rds(Rds {
        config_source: Some(ads()),
        route_config_name: name.into(),
    })
}

/// What carries a listener out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Client {
    /// A library without a proxy: gRPC's, or the mesh's.
    Grpc,
    Envoy,
}

/// Filters cost Envoy something for every request, so those that no route uses are left out; the
/// router is the last.
fn filters(routes: &[Route], client: Client) -> Vec<HttpFilter> {
    let filter = |name: &str, config: Any, is_optional| HttpFilter {
        name: name.into(),
        config_type: Some(http_filter::ConfigType::TypedConfig(config)),
        is_optional,
        ..HttpFilter::default()
    };
    let mut filters = Vec::new();
    if routes.iter().any(|route| route.fault.is_some()) {
        filters.push(filter(FAULT, Any::pack(&HttpFault::default()), false));
    }
    if routes.iter().any(|route| route.rate_limit.is_some()) {
        let none = LocalRateLimit {
            stat_prefix: "corewire".into(),
            ..LocalRateLimit::default()
        };
        // gRPC does not know it, and would refuse the listener if it had to.
        filters.push(filter(RATE_LIMIT, Any::pack(&none), client == Client::Grpc));
    }
    filters.push(filter(ROUTER, Any::pack(&Router::default()), false));
    filters
}
