//! Route configurations: which request goes where.

use super::filters::{Overrides, overrides};
use super::matchers::route_match;
use super::metadata;
use super::report::{Path, Report};
use super::retry::retry_policy;
use super::route_action::{Around, RouteOverrides, mirrors, route_action};
use crate::config::{Mirror, Route, RouteAction, RouteConfig, VirtualHost};
use corewire_xds::envoy::config::route::v3 as route;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Routes as they came: what filters do is decided with the listener that asks for them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RouteData {
    pub(crate) config: Arc<RouteConfig>,
    /// What is said in place of filters' settings, and of the listener's longest stream.
    pub(crate) own: ConfigOverrides,
}

/// What a route configuration says in place of a listener's settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ConfigOverrides {
    pub(crate) filters: Overrides,
    pub(crate) hosts: Vec<HostOverrides>,
}

/// The same for a virtual host.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HostOverrides {
    pub(crate) filters: Overrides,
    pub(crate) routes: Vec<RouteOverrides>,
}

pub(super) fn route_config(
    message: route::RouteConfiguration,
    path: &Path<'_>,
    report: &mut Report,
) -> RouteData {
    let route::RouteConfiguration {
        name,
        virtual_hosts,
        request_mirror_policies,
        typed_per_filter_config,
        ..
    } = message;
    let mut own = ConfigOverrides {
        filters: overrides(typed_per_filter_config, path, report),
        hosts: Vec::with_capacity(virtual_hosts.len()),
    };
    let mirrors = mirrors(request_mirror_policies, path, report);
    let mut domains = HashMap::new();
    let mut hosts = Vec::with_capacity(virtual_hosts.len());
    for (at, message) in virtual_hosts.into_iter().enumerate() {
        let path = path.index("virtual_hosts", at);
        let (host, overrides) = virtual_host(message, &mirrors, &path, report);
        for (number, domain) in host.domains.iter().enumerate() {
            if let Some(first) = domains.insert(Arc::clone(domain), at) {
                let reason = format!("{domain:?} belongs to virtual_hosts[{first}] already");
                report.fault(&path.index("domains", number), reason);
            }
        }
        hosts.push(host);
        own.hosts.push(overrides);
    }
    let config = RouteConfig {
        name: name.into(),
        virtual_hosts: hosts,
    };
    RouteData {
        config: Arc::new(config),
        own,
    }
}

fn virtual_host(
    message: route::VirtualHost,
    mirrors_around: &[Mirror],
    path: &Path<'_>,
    report: &mut Report,
) -> (VirtualHost, HostOverrides) {
    let route::VirtualHost {
        name,
        domains,
        routes,
        typed_per_filter_config,
        retry_policy: retry,
        request_mirror_policies,
        ..
    } = message;
    let mut own = HostOverrides {
        filters: overrides(typed_per_filter_config, path, report),
        routes: Vec::with_capacity(routes.len()),
    };
    let mirrors = mirrors(request_mirror_policies, path, report);
    let around = Around {
        retry: retry.and_then(|it| retry_policy(it, &path.field("retry_policy"), report)),
        mirrors: if mirrors.is_empty() {
            mirrors_around.to_vec()
        } else {
            mirrors
        },
    };
    let domains = host_domains(domains, path, report);
    let mut found = Vec::with_capacity(routes.len());
    for (at, message) in routes.into_iter().enumerate() {
        let path = path.index("routes", at);
        if let Some((route, overrides)) = one_route(message, &around, &path, report) {
            found.push(route);
            own.routes.push(overrides);
        }
    }
    let host = VirtualHost {
        name: name.into(),
        domains,
        routes: found,
    };
    (host, own)
}

fn host_domains(domains: Vec<String>, path: &Path<'_>, report: &mut Report) -> Vec<Arc<str>> {
    if domains.is_empty() {
        report.fault(&path.field("domains"), "is empty");
    }
    let mut found = Vec::with_capacity(domains.len());
    for (at, mut domain) in domains.into_iter().enumerate() {
        domain.make_ascii_lowercase();
        let wildcards = domain.matches('*').count();
        let at_an_end = domain.starts_with('*') || domain.ends_with('*');
        if domain.is_empty() || wildcards > 1 || (wildcards == 1 && !at_an_end) {
            let reason = format!("{domain:?} is no domain: a.b, *.b, a.* or *");
            report.fault(&path.index("domains", at), reason);
        } else {
            found.push(domain.into());
        }
    }
    found
}

fn one_route(
    message: route::Route,
    around: &Around,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<(Route, RouteOverrides)> {
    let route::Route {
        name,
        r#match,
        action,
        metadata,
        typed_per_filter_config,
        ..
    } = message;
    let mut own = RouteOverrides {
        filters: overrides(typed_per_filter_config, path, report),
        ..RouteOverrides::default()
    };
    let metadata_path = path.field("metadata");
    let (transport, repeatable) = metadata::of_route(metadata, &metadata_path, report);
    let match_path = path.field("match");
    let matcher = match r#match {
        Some(message) => route_match(message, &match_path, report),
        None => {
            report.fault(&match_path, "is missing");
            None
        }
    };
    let mut action = route_action(action, around, &mut own, path, report)?;
    if let RouteAction::Forward(forward) = &mut action {
        forward.transport = transport;
        if let (true, Some(retry)) = (repeatable, &mut forward.retry) {
            // The policy may be the virtual host's, which other routes share.
            Arc::make_mut(retry).repeatable = true;
        }
    }
    let route = Route {
        name: name.into(),
        matcher: matcher?,
        action,
        fault: None,
        rate_limit: None,
    };
    Some((route, own))
}

impl RouteData {
    /// Every cluster that a request may go to, or a copy of it.
    pub(crate) fn cluster_names(config: &RouteConfig) -> HashSet<Arc<str>> {
        let routes = config.virtual_hosts.iter().flat_map(|host| &host.routes);
        let mut names = HashSet::new();
        for route in routes {
            if let RouteAction::Forward(forward) = &route.action {
                names.extend(forward.clusters.names().cloned());
                names.extend(
                    forward
                        .mirrors
                        .iter()
                        .map(|mirror| Arc::clone(&mirror.cluster)),
                );
            }
        }
        names
    }
}
