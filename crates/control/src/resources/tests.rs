use super::*;
use crate::config::Config;
use crate::registry::Instance;
use corewire_xds::envoy::config::cluster::v3::Cluster;
use corewire_xds::envoy::config::core::v3::transport_socket;
use corewire_xds::envoy::config::listener::v3::Listener;
use corewire_xds::envoy::config::route::v3::RouteConfiguration;
use corewire_xds::envoy::config::route::v3::header_matcher::HeaderMatchSpecifier;
use corewire_xds::envoy::config::route::v3::route::Action;
use corewire_xds::envoy::extensions::transport_sockets::tls::v3 as tls;
use corewire_xds::{Any, Message, Name};

const WHOLE: &str = include_str!("../../../../deploy/control/control.toml");

fn unpack<M: Name + Default>(set: &TypeSet, name: &str) -> M {
    let resource = set.get(name).unwrap_or_else(|| panic!("no {name}"));
    Any::decode(resource.any.clone()).unwrap().unpack().unwrap()
}

fn view_of(view: &View, text: &str) -> ViewSet {
    let config = Config::parse(text).unwrap_or_else(|faults| panic!("{faults}"));
    let mut set = ViewSet::default();
    for service in config.services.values() {
        set.add_service(view, &config, service);
    }
    set
}

#[test]
fn the_same_configuration_has_the_same_versions() {
    let text = WHOLE.replace(
        "timeout = \"500ms\"",
        "timeout = \"500ms\"\nfault = { delay = \"1ms\" }\nrate-limit = { per-second = 30 }",
    );
    let (one, other) = (
        view_of(&View::Corewire, &text),
        view_of(&View::Corewire, &text),
    );
    for kind in ResourceType::ALL {
        let digest = |set: &ViewSet| set.of_type(kind).map(|set| set.digest());
        assert_eq!(digest(&one), digest(&other));
    }
    let changed = view_of(&View::Corewire, &WHOLE.replace("500ms", "501ms"));
    let before = view_of(&View::Corewire, WHOLE);
    assert_ne!(changed.routes.digest(), before.routes.digest());
    assert_eq!(changed.clusters.digest(), before.clusters.digest());
}

#[test]
fn header_matches_have_the_form_the_client_knows() {
    let text = r#"
[[service]]
name = "a"
[[route]]
service = "a"
headers = [{ name = "x", exact = "1" }, { name = "y", prefix = "a.b", ignore-case = true }]
"#;
    let matches = |view: &View| {
        let set = view_of(view, text);
        let config: RouteConfiguration = unpack(&set.routes, "a");
        let found = config.virtual_hosts[0].routes[0].r#match.clone().unwrap();
        let specifiers = found.headers.into_iter();
        specifiers
            .map(|header| header.header_match_specifier.unwrap())
            .collect::<Vec<_>>()
    };
    let newer = matches(&View::Corewire);
    assert!(
        newer
            .iter()
            .all(|m| matches!(m, HeaderMatchSpecifier::StringMatch(_)))
    );
    let older = matches(&View::Grpc);
    assert_eq!(older[0], HeaderMatchSpecifier::ExactMatch("1".into()));
    let HeaderMatchSpecifier::SafeRegexMatch(regex) = &older[1] else {
        panic!("{older:?}");
    };
    assert_eq!(regex.regex, r"(?i)a\.b.*");
}

#[test]
fn tls_is_asked_for_as_each_kind_of_client_does_it() {
    let text = r#"
[[service]]
name = "smf"
tls = { names = ["smf.core.example", "spiffe://example/sa/smf"], sni = "smf.core.example" }
[[sidecar]]
name = "with"
node = "with"
outbound = [{ listen = "127.0.0.1:1", services = ["smf"] }]
inbound = [{ listen = "127.0.0.1:2", to = "127.0.0.1:3" }]
tls = { certificate = "/c.pem", key = "/c.key", authorities = "/ca.pem" }
[[sidecar]]
name = "without"
node = "without"
outbound = [{ listen = "127.0.0.1:1", services = ["smf"] }]
"#;
    let context = |cluster: &Cluster| -> Option<tls::CommonTlsContext> {
        let socket = cluster.transport_socket.clone()?;
        let Some(transport_socket::ConfigType::TypedConfig(any)) = socket.config_type else {
            panic!("typed");
        };
        let upstream: tls::UpstreamTlsContext = any.unpack().unwrap();
        assert_eq!(upstream.sni, "smf.core.example");
        upstream.common_tls_context
    };
    for view in View::OF_APIS {
        let cluster: Cluster = unpack(&view_of(&view, text).clusters, "smf");
        let common = context(&cluster).expect("TLS");
        let own = common.tls_certificate_provider_instance.unwrap();
        assert_eq!(own.instance_name, "default");
        assert!(
            common.tls_certificates.is_empty(),
            "no files for who has a bootstrap"
        );
    }
    let config = Config::parse(text).unwrap();
    let of = |name: &str| {
        let sidecar = config.sidecars.iter().find(|it| &*it.name == name).unwrap();
        let view = View::Envoy(Some(name.into()));
        ViewSet::of_sidecar(&view, &config, sidecar)
    };
    let with = of("with");
    let common = context(&unpack(&with.clusters, "smf")).expect("TLS");
    assert_eq!(common.tls_certificates.len(), 1);
    assert!(
        common.tls_certificate_provider_instance.is_none(),
        "Envoy does not know it"
    );
    let inside: Cluster = unpack(&with.clusters, "inbound|127.0.0.1:3");
    assert!(
        inside.transport_socket.is_none(),
        "clear text to the function beside it"
    );
    let listener = |name: &str| -> Listener { unpack(&with.listeners, name) };
    let inbound = &listener("inbound|127.0.0.1:2").filter_chains[0];
    assert!(inbound.transport_socket.is_some());
    let outbound = &listener("outbound|127.0.0.1:1").filter_chains[0];
    assert!(outbound.transport_socket.is_none());
    let without = of("without");
    assert!(context(&unpack(&without.clusters, "smf")).is_none());
    assert!(
        without
            .notices
            .iter()
            .any(|it| it.contains("no certificate"))
    );
}

#[test]
fn what_a_client_would_refuse_is_left_out_and_said() {
    let text = r#"
[[service]]
name = "a"
balance = "least-request"
admission = { soft-limit = 1, hard-limit = 2 }
[[route]]
service = "a"
rate-limit = { per-second = 10 }
mirror = [{ service = "a" }]
retry = { on = ["5xx"], per-try-timeout = "1ms" }
"#;
    let grpc = view_of(&View::Grpc, text);
    let cluster: Cluster = unpack(&grpc.clusters, "a");
    assert_eq!(cluster.lb_policy, 0);
    let said = grpc.notices.iter().cloned().collect::<Vec<_>>().join("\n");
    for word in [
        "least-request",
        "admission",
        "rate limit",
        "mirror",
        "one try",
        "status codes",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let own = view_of(&View::Corewire, text);
    assert!(own.notices.is_empty(), "{:?}", own.notices);
    let cluster: Cluster = unpack(&own.clusters, "a");
    assert_eq!(cluster.lb_policy, 1);
}

#[test]
fn limits_of_time_are_as_the_client_counts_them() {
    let text = |timeout: &str| {
        format!("[[service]]\nname = \"a\"\n[[route]]\nservice = \"a\"\ntimeout = \"{timeout}\"\n")
    };
    let limit = |view: &View, timeout: &str| {
        let set = view_of(view, &text(timeout));
        let config: RouteConfiguration = unpack(&set.routes, "a");
        let Some(Action::Route(action)) = config.virtual_hosts[0].routes[0].action.clone() else {
            panic!("no action");
        };
        let stream = action
            .max_stream_duration
            .and_then(|d| d.max_stream_duration);
        let seconds = |d: corewire_xds::Duration| d.seconds;
        (
            action.timeout.map(seconds),
            stream.map(seconds),
            set.notices.len(),
        )
    };
    let envoy = View::Envoy(None);
    assert_eq!(limit(&View::Corewire, "1s"), (Some(1), None, 0));
    assert_eq!(limit(&envoy, "1s"), (Some(1), None, 0));
    assert_eq!(limit(&View::Grpc, "1s"), (Some(1), Some(1), 0));
    // It would end every call at once.
    assert_eq!(limit(&View::GrpcCore, "1s"), (Some(1), None, 1));
    assert_eq!(limit(&View::GrpcCore, "5s"), (Some(5), Some(5), 0));
}

#[test]
fn an_envoy_gets_what_its_listeners_reach_and_no_more() {
    let config = Config::parse(WHOLE).unwrap();
    let sidecar = |name: &str| {
        let sidecar = config
            .sidecars
            .iter()
            .find(|sidecar| *sidecar.name == *name)
            .unwrap();
        ViewSet::of_sidecar(&View::Envoy(Some(name.into())), &config, sidecar)
    };
    let gateway = sidecar("smf-gateway");
    assert_eq!(gateway.listeners.len(), 2);
    let listener: Listener = unpack(&gateway.listeners, "outbound|127.0.0.1:15001");
    assert!(listener.api_listener.is_none());
    assert!(gateway.clusters.get("smf-pdu-session|canary").is_some());
    let both: RouteConfiguration = unpack(&gateway.routes, "outbound|127.0.0.1:15002");
    assert_eq!(both.virtual_hosts[1].domains, ["udm", "udm:*"]);

    let server = sidecar("smf-pdu-session");
    assert_eq!(server.listeners.len(), 4);
    assert_eq!(server.clusters.len(), 4);
    assert_eq!(server.routes.len(), 0);
}

#[test]
fn endpoints_are_grouped_sorted_and_without_gaps() {
    let config = Config::parse(
        r#"
[[service]]
name = "a"
endpoints = ["127.0.0.1:2", { address = "127.0.0.1:1", priority = 5, zone = "z" }]
subsets = [{ name = "new", match = { version = "v2" } }]
"#,
    )
    .unwrap();
    let service = &config.services["a"];
    let mut moved = Instance::new("a", "i", "127.0.0.1:2".parse().unwrap());
    moved.weight = 3;
    let mut new = Instance::new("a", "j", "127.0.0.1:3".parse().unwrap());
    new.metadata.insert("version".into(), "v2".into());
    let registered = [Arc::new(moved), Arc::new(new)];
    let made = endpoints_of(service, registered.iter());
    let again = endpoints_of(service, registered.iter().rev());
    assert_eq!(made, again);
    let [all, subset] = &made[..] else {
        panic!("two assignments");
    };
    assert_eq!(all.cluster_name, "a");
    let shape: Vec<_> = all
        .endpoints
        .iter()
        .map(|group| {
            (
                group.priority,
                group.lb_endpoints.len(),
                group.load_balancing_weight,
            )
        })
        .collect();
    assert_eq!(shape, [(0, 2, Some(4)), (1, 1, Some(1))]);
    assert_eq!(subset.cluster_name, "a|new");
    assert_eq!(subset.endpoints.len(), 1);
}
