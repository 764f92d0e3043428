//! Listeners: what a target name stands for (gRFC A27).

use super::filters::{Filters, filters, unpacked};
use super::report::{Path, Report};
use super::routes::{RouteData, route_config};
use super::scalar::{duration, not_empty};
use corewire_xds::envoy::config::core::v3::{ConfigSource, config_source};
use corewire_xds::envoy::config::listener::v3::Listener;
use corewire_xds::envoy::extensions::filters::network::http_connection_manager::v3 as manager;
use std::sync::Arc;
use std::time::Duration;

/// What a target name stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ListenerData {
    pub(crate) routes: RouteSource,
    pub(crate) filters: Filters,
    pub(crate) max_stream_duration: Option<Duration>,
}

/// Where a listener's routes are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RouteSource {
    /// In a route configuration of this name.
    Named(Arc<str>),
    /// In the listener itself.
    Inline(Arc<RouteData>),
}

pub(super) fn listener(
    message: Listener,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<ListenerData> {
    let Some(api_listener) = message.api_listener else {
        let reason = "is missing: this is a listener for servers, not for callers";
        report.fault(&path.field("api_listener"), reason);
        return None;
    };
    let path = path.field("api_listener");
    let path = path.field("api_listener");
    let Some(config) = api_listener.api_listener else {
        report.fault(&path, "is missing");
        return None;
    };
    let manager = unpacked::<manager::HttpConnectionManager>(&config, &path, report)?;
    connection_manager(manager, &path, report)
}

fn connection_manager(
    message: manager::HttpConnectionManager,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<ListenerData> {
    use manager::http_connection_manager::RouteSpecifier;
    let options_path = path.field("common_http_protocol_options");
    let options = message.common_http_protocol_options.unwrap_or_default();
    let longest = options.max_stream_duration;
    let longest = duration(longest, &options_path.field("max_stream_duration"), report);
    let filters = filters(message.http_filters, path, report);
    let routes = match message.route_specifier {
        Some(RouteSpecifier::Rds(rds)) => {
            let path = path.field("rds");
            from_the_same_stream(
                rds.config_source.as_ref(),
                &path.field("config_source"),
                report,
            );
            not_empty(rds.route_config_name, "route_config_name", &path, report)
                .map(RouteSource::Named)
        }
        Some(RouteSpecifier::RouteConfig(message)) => {
            let data = route_config(message, &path.field("route_config"), report);
            Some(RouteSource::Inline(Arc::new(data)))
        }
        // Refused by the table of fields.
        Some(RouteSpecifier::ScopedRoutes(_)) => None,
        None => {
            report.fault(path, "says no routes: rds or route_config");
            None
        }
    };
    Some(ListenerData {
        routes: routes?,
        filters,
        max_stream_duration: longest.filter(|it| !it.is_zero()),
    })
}

/// Resources come by the stream that named them: `ads`, or `self`, which means the same here.
pub(super) fn from_the_same_stream(
    source: Option<&ConfigSource>,
    path: &Path<'_>,
    report: &mut Report,
) {
    use config_source::ConfigSourceSpecifier as Specifier;
    let Some(source) = source else {
        report.fault(path, "is missing: ads");
        return;
    };
    match source.config_source_specifier {
        Some(Specifier::Ads(_) | Specifier::Self_(_)) => {}
        _ => report.fault(path, "must be ads: other sources are not asked"),
    }
}
