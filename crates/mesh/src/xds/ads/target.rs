//! What a target name stands for: a listener and its routes made one.

use crate::config::{ClusterChoice, FaultPolicy, RateLimit, RouteAction, RouteConfig, Target};
use crate::xds::validate::{Filters, ListenerData, Overrides, RouteData, Setting};
use std::sync::Arc;

/// The target of this listener with these routes.
pub(super) fn target(name: &Arc<str>, listener: &ListenerData, routes: &RouteData) -> Target {
    let routes = if listener.filters.0.is_empty() && listener.max_stream_duration.is_none() {
        // Nothing to add: shared with every other listener of these routes.
        without_filters(routes)
    } else {
        Arc::new(with_filters(listener, routes))
    };
    Target {
        name: Arc::clone(name),
        routes,
    }
}

/// Without filters only the longest stream of routes themselves is left to fold in.
fn without_filters(routes: &RouteData) -> Arc<RouteConfig> {
    let lasting = |route: &crate::config::Route| match &route.action {
        RouteAction::Forward(forward) => forward.max_stream_duration.is_some(),
        _ => false,
    };
    let hosts = &routes.config.virtual_hosts;
    if hosts.iter().flat_map(|host| &host.routes).any(lasting) {
        let mut config = (*routes.config).clone();
        fold(&mut config, None, &Filters::default(), routes);
        Arc::new(config)
    } else {
        Arc::clone(&routes.config)
    }
}

fn with_filters(listener: &ListenerData, routes: &RouteData) -> RouteConfig {
    let mut config = (*routes.config).clone();
    let longest = listener.max_stream_duration;
    fold(&mut config, longest, &listener.filters, routes);
    config
}

fn fold(
    config: &mut RouteConfig,
    longest: Option<std::time::Duration>,
    filters: &Filters,
    routes: &RouteData,
) {
    let own = &routes.own;
    for (host, of_host) in config.virtual_hosts.iter_mut().zip(&own.hosts) {
        for (route, of_route) in host.routes.iter_mut().zip(&of_host.routes) {
            // The most specific that says something holds.
            let levels = [&of_route.filters, &of_host.filters, &own.filters];
            (route.fault, route.rate_limit) = settled(filters, &levels);
            let RouteAction::Forward(forward) = &mut route.action else {
                continue;
            };
            if !of_route.says_stream_duration {
                forward.max_stream_duration = longest;
            }
            // It bounds calls of one message too (gRFC A31).
            if let Some(longest) = forward.max_stream_duration {
                forward.timeout = Some(forward.timeout.map_or(longest, |it| it.min(longest)));
            }
            if let ClusterChoice::Weighted { clusters, .. } = &mut forward.clusters {
                for (cluster, of_cluster) in clusters.iter_mut().zip(&of_route.clusters) {
                    if !of_cluster.is_empty() {
                        let levels = [of_cluster, levels[0], levels[1], levels[2]];
                        (cluster.fault, cluster.rate_limit) = settled(filters, &levels);
                    }
                }
            }
        }
    }
}

type Settled = (Option<Arc<FaultPolicy>>, Option<Arc<RateLimit>>);

/// What the filters do for a route; of several of a kind, the last.
fn settled(filters: &Filters, levels: &[&Overrides]) -> Settled {
    let (mut fault, mut rate_limit) = (None, None);
    for filter in &filters.0 {
        let said = levels.iter().find_map(|level| level.get(&filter.name));
        match said.unwrap_or(&filter.setting) {
            Setting::Off => {}
            Setting::Fault(policy) => fault = Some(Arc::clone(policy)),
            Setting::RateLimit(limit) => rate_limit = Some(Arc::clone(limit)),
        }
    }
    (fault, rate_limit)
}
