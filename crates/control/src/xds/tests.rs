use super::*;
use crate::config::Config;
use crate::resources::{Resource, TypeSet, View, ViewSet};
use crate::snapshot::Snapshot;
use corewire_xds::envoy::config::core::v3::Node;
use corewire_xds::envoy::config::endpoint::v3::ClusterLoadAssignment;
use corewire_xds::envoy::service::discovery::v3::{
    DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
};
use corewire_xds::google::rpc;
use corewire_xds::{Message, ResourceType};
use std::sync::Arc;
use std::time::Instant;

const LDS: ResourceType = ResourceType::Listener;
const RDS: ResourceType = ResourceType::Route;
const CDS: ResourceType = ResourceType::Cluster;
const EDS: ResourceType = ResourceType::Endpoints;

/// A state of services `s0` … with this endpoint each; `changed` ones have another.
fn snapshot(services: usize, changed: &[usize]) -> Arc<Snapshot> {
    let text: String = (0..services)
        .map(|n| format!("[[service]]\nname = \"s{n}\"\n"))
        .chain([OUTBOUND.replace("NAMES", &names_of(services))])
        .collect();
    let config = Config::parse(&text).unwrap_or_else(|faults| panic!("{faults}"));
    let mut snapshot = Snapshot {
        sidecars: config.sidecars.clone().into(),
        ..Snapshot::default()
    };
    let mut endpoints = TypeSet::default();
    let mut views = View::OF_APIS.map(|view| (view, ViewSet::default()));
    for (n, service) in (0..services).map(|n| (n, &config.services[&*format!("s{n}")])) {
        let cla = ClusterLoadAssignment {
            cluster_name: format!("s{n}"),
            policy: changed.contains(&n).then(Default::default),
            ..ClusterLoadAssignment::default()
        };
        endpoints.put(Arc::new(Resource::new(&cla.cluster_name, &cla)));
        for (view, set) in &mut views {
            set.add_service(view, &config, service);
        }
    }
    snapshot.endpoints = Arc::new(endpoints);
    snapshot.views = views
        .into_iter()
        .map(|(view, set)| (view, Arc::new(set)))
        .collect();
    for sidecar in &config.sidecars {
        let view = View::Envoy(Some(Arc::clone(&sidecar.name)));
        let set = ViewSet::of_sidecar(&view, &config, sidecar);
        snapshot.views.insert(view, Arc::new(set));
    }
    Arc::new(snapshot)
}

const OUTBOUND: &str = r#"
[[sidecar]]
name = "gateway"
node = "gateway"
outbound = [{ listen = "127.0.0.1:1", services = [NAMES] }]
"#;

fn names_of(services: usize) -> String {
    (0..services).map(|n| format!("\"s{n}\",")).collect()
}

/// A client and the core it talks to.
struct Talk {
    stream: AdsStream,
    now: Instant,
    agent: &'static str,
}

impl Talk {
    fn new(variant: Variant, agent: &'static str, snapshot: &Arc<Snapshot>) -> Self {
        let now = Instant::now();
        Self {
            stream: AdsStream::new(variant, now, Arc::clone(snapshot)),
            now,
            agent,
        }
    }

    fn sotw(agent: &'static str, snapshot: &Arc<Snapshot>) -> Self {
        Self::new(Variant::Sotw, agent, snapshot)
    }

    fn delta(agent: &'static str, snapshot: &Arc<Snapshot>) -> Self {
        Self::new(Variant::Delta, agent, snapshot)
    }

    fn node(&self) -> Option<Node> {
        Some(Node {
            id: "gateway".into(),
            user_agent_name: self.agent.into(),
            ..Node::default()
        })
    }

    fn say(&mut self, message: &impl Message) -> Result<(), StreamFault> {
        let octets = message.encode_to_vec().into();
        self.stream.handle_event(self.now, Input::Message(octets))
    }

    fn ask(&mut self, kind: ResourceType, names: &[&str], version: &str, nonce: &str) {
        let request = DiscoveryRequest {
            version_info: version.into(),
            node: self.node(),
            resource_names: names.iter().map(ToString::to_string).collect(),
            type_url: kind.type_url().into(),
            response_nonce: nonce.into(),
            ..DiscoveryRequest::default()
        };
        self.say(&request).unwrap();
    }

    fn ack(&mut self, names: &[&str], response: &DiscoveryResponse) {
        let kind = ResourceType::from_type_url(&response.type_url).unwrap();
        self.ask(kind, names, &response.version_info, &response.nonce);
    }

    fn nack(&mut self, names: &[&str], response: &DiscoveryResponse) {
        let request = DiscoveryRequest {
            node: self.node(),
            resource_names: names.iter().map(ToString::to_string).collect(),
            type_url: response.type_url.clone(),
            response_nonce: response.nonce.clone(),
            error_detail: Some(rpc::Status {
                code: 3,
                message: "does not please me".into(),
                ..rpc::Status::default()
            }),
            ..DiscoveryRequest::default()
        };
        self.say(&request).unwrap();
    }

    fn serve(&mut self, snapshot: &Arc<Snapshot>) {
        let input = Input::Snapshot(Arc::clone(snapshot));
        self.stream.handle_event(self.now, input).unwrap();
    }

    fn wait(&mut self, span: Duration) {
        self.now += span;
        self.stream.handle_timeout(self.now).unwrap();
    }

    fn hear(&mut self) -> Option<DiscoveryResponse> {
        let octets = self.stream.poll_transmit(self.now)?;
        Some(DiscoveryResponse::decode(octets).unwrap())
    }

    fn hear_delta(&mut self) -> Option<DeltaDiscoveryResponse> {
        let octets = self.stream.poll_transmit(self.now)?;
        Some(DeltaDiscoveryResponse::decode(octets).unwrap())
    }

    fn hear_of(&mut self, kind: ResourceType) -> DiscoveryResponse {
        let response = self.hear().unwrap_or_else(|| panic!("no {kind}"));
        assert_eq!(response.type_url, kind.type_url());
        response
    }

    fn delta_say(&mut self, request: DeltaDiscoveryRequest) {
        let request = DeltaDiscoveryRequest {
            node: self.node(),
            ..request
        };
        self.say(&request).unwrap();
    }
}

fn delta_names(response: &DeltaDiscoveryResponse) -> Vec<&str> {
    let mut names: Vec<_> = response.resources.iter().map(|r| &*r.name).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_grpc_client_gets_what_it_names_and_silence_then() {
    let state = snapshot(3, &[]);
    let mut talk = Talk::sotw("gRPC C-core", &state);
    for (kind, name) in [(LDS, "s1"), (RDS, "s1"), (CDS, "s1"), (EDS, "s1")] {
        talk.ask(kind, &[name], "", "");
        let response = talk.hear_of(kind);
        assert_eq!(response.resources.len(), 1, "{kind}");
        talk.ack(&[name], &response);
        assert_eq!(talk.hear(), None, "an ACK is no question");
    }
    // Others change, this one does not.
    talk.serve(&snapshot(3, &[0, 2]));
    assert_eq!(talk.hear(), None);
    talk.serve(&snapshot(3, &[1]));
    let response = talk.hear_of(EDS);
    assert_eq!(response.resources.len(), 1);
    assert_eq!(talk.hear(), None);
}

#[test]
fn what_does_not_exist_is_told_where_the_protocol_can() {
    let state = snapshot(1, &[]);
    let mut talk = Talk::sotw("gRPC C-core", &state);
    talk.ask(LDS, &["nobody"], "", "");
    let response = talk.hear_of(LDS);
    assert!(response.resources.is_empty());
    talk.ack(&["nobody"], &response);
    talk.ask(EDS, &["nobody"], "", "");
    assert_eq!(talk.hear(), None, "EDS has no way to say it");

    let mut talk = Talk::delta("corewire", &state);
    talk.delta_say(DeltaDiscoveryRequest {
        type_url: EDS.type_url().into(),
        resource_names_subscribe: vec!["nobody".into(), "s0".into()],
        ..DeltaDiscoveryRequest::default()
    });
    let response = talk.hear_delta().unwrap();
    assert_eq!(response.removed_resources, ["nobody"]);
    assert_eq!(delta_names(&response), ["s0"]);
}

#[test]
fn an_envoy_gets_everything_and_clusters_first() {
    let state = snapshot(2, &[]);
    let mut talk = Talk::sotw("envoy", &state);
    talk.ask(CDS, &[], "", "");
    talk.ask(LDS, &[], "", "");
    let clusters = talk.hear_of(CDS);
    assert_eq!(clusters.resources.len(), 2);
    let listeners = talk.hear_of(LDS);
    assert_eq!(listeners.resources.len(), 1);
    talk.ack(&[], &clusters);
    talk.ack(&[], &listeners);
    talk.ask(EDS, &["s0", "s1"], "", "");
    let endpoints = talk.hear_of(EDS);
    talk.ack(&["s0", "s1"], &endpoints);
    talk.ask(RDS, &["outbound|127.0.0.1:1"], "", "");
    let routes = talk.hear_of(RDS);
    talk.ack(&["outbound|127.0.0.1:1"], &routes);
    assert_eq!(talk.hear(), None);

    // A third service: routes wait until its cluster and endpoints have been taken.
    talk.serve(&snapshot(3, &[]));
    let clusters = talk.hear_of(CDS);
    assert_eq!(talk.hear(), None);
    talk.ack(&[], &clusters);
    assert_eq!(talk.hear(), None, "its endpoints have not been asked for");
    talk.ask(
        EDS,
        &["s0", "s1", "s2"],
        &endpoints.version_info,
        &endpoints.nonce,
    );
    let endpoints = talk.hear_of(EDS);
    assert_eq!(endpoints.resources.len(), 1, "the new one only");
    assert_eq!(talk.hear(), None);
    talk.ack(&["s0", "s1", "s2"], &endpoints);
    let routes = talk.hear_of(RDS);
    assert_eq!(routes.resources.len(), 1);
    assert_eq!(talk.hear(), None);
}

#[test]
fn a_sidecar_that_is_defined_later_is_found() {
    let mut talk = Talk::sotw("envoy", &Arc::new(Snapshot::default()));
    talk.ask(LDS, &[], "", "");
    let nothing = talk.hear_of(LDS);
    assert!(nothing.resources.is_empty());
    talk.ack(&[], &nothing);
    assert_eq!(talk.stream.status(talk.now).notices.len(), 1);
    talk.serve(&snapshot(1, &[]));
    assert_eq!(talk.hear_of(LDS).resources.len(), 1);
    let status = talk.stream.status(talk.now);
    assert_eq!(
        (status.sidecar.as_str(), status.notices.len()),
        ("gateway", 0)
    );
}

#[test]
fn routes_do_not_wait_for_ever() {
    let mut talk = Talk::sotw("envoy", &snapshot(1, &[]));
    talk.ask(CDS, &[], "", "");
    let clusters = talk.hear_of(CDS);
    talk.ack(&[], &clusters);
    talk.ask(RDS, &["outbound|127.0.0.1:1"], "", "");
    let routes = talk.hear_of(RDS);
    talk.ack(&["outbound|127.0.0.1:1"], &routes);
    talk.serve(&snapshot(2, &[]));
    // It takes the clusters and never asks for endpoints.
    let clusters = talk.hear_of(CDS);
    talk.ack(&[], &clusters);
    assert_eq!(talk.hear(), None);
    assert_eq!(
        talk.stream.poll_timeout(),
        Some(talk.now + MAKE_BEFORE_BREAK)
    );
    talk.wait(MAKE_BEFORE_BREAK);
    talk.hear_of(RDS);
}

#[test]
fn what_was_refused_is_not_sent_again_and_the_next_waits() {
    let state = snapshot(2, &[]);
    let mut talk = Talk::sotw("gRPC C-core", &state);
    talk.ask(EDS, &["s0", "s1"], "", "");
    let good = talk.hear_of(EDS);
    talk.ack(&["s0", "s1"], &good);

    let bad = snapshot(2, &[0]);
    talk.serve(&bad);
    let response = talk.hear_of(EDS);
    talk.nack(&["s0", "s1"], &response);
    assert!(matches!(talk.stream.poll(), Some(Event::Identified)));
    assert!(matches!(
        talk.stream.poll(),
        Some(Event::Refused { kind: EDS, .. })
    ));
    // However often it says so, and however long it takes.
    for _ in 0..100 {
        talk.nack(&["s0", "s1"], &response);
        assert_eq!(talk.hear(), None);
    }
    talk.wait(Duration::from_secs(60));
    talk.serve(&snapshot(2, &[0]));
    assert_eq!(talk.hear(), None, "the same content in another snapshot");

    // The other one changes: that is sent alone.
    talk.serve(&snapshot(2, &[0, 1]));
    let response = talk.hear_of(EDS);
    assert_eq!(response.resources.len(), 1);
    talk.nack(&["s0", "s1"], &response);
    // Back to what it had: after the pause, and it is heard.
    talk.serve(&state);
    assert_eq!(talk.hear(), None);
    assert_eq!(talk.stream.poll_timeout(), Some(talk.now + NACK_PAUSE));
    talk.wait(NACK_PAUSE);
    let response = talk.hear_of(EDS);
    assert_eq!(response.resources.len(), 2);
    assert_eq!(response.version_info, good.version_info);
    let status = talk.stream.status(talk.now);
    assert_eq!((status.types[0].acks, status.types[0].nacks), (1, 2));
    assert_eq!(status.types[0].refusal, "does not please me");
}

#[test]
fn a_refused_type_is_pushed_once_a_second_however_fast_it_changes() {
    let mut talk = Talk::sotw("envoy", &snapshot(1, &[]));
    talk.ask(CDS, &[], "", "");
    let mut pushes = 0;
    // Ten seconds, an update every 10 ms, each of them refused.
    for step in 0..1000 {
        talk.serve(&snapshot(1 + step % 3, &[]));
        while let Some(response) = talk.hear() {
            pushes += 1;
            talk.nack(&[], &response);
        }
        talk.wait(Duration::from_millis(10));
    }
    assert!((9..=11).contains(&pushes), "{pushes}");
}

#[test]
fn a_slow_client_gets_the_last_state_not_every_one() {
    let mut talk = Talk::sotw("gRPC C-core", &snapshot(5, &[]));
    talk.ask(EDS, &["s0", "s1"], "", "");
    let first = talk.hear_of(EDS);
    for step in 0..1000 {
        talk.serve(&snapshot(5, &[step % 5]));
        assert_eq!(talk.hear(), None, "one is on its way");
    }
    talk.serve(&snapshot(5, &[0]));
    talk.ack(&["s0", "s1"], &first);
    let second = talk.hear_of(EDS);
    assert_eq!(second.resources.len(), 1);
    assert_eq!(talk.hear(), None);
    // One that never answers is told after all.
    talk.serve(&snapshot(5, &[]));
    assert_eq!(talk.hear(), None);
    talk.wait(ACK_PATIENCE);
    talk.hear_of(EDS);
}

#[test]
fn a_request_with_a_stale_nonce_still_says_what_is_wanted() {
    let mut talk = Talk::sotw("gRPC C-core", &snapshot(3, &[]));
    talk.ask(CDS, &["s0"], "", "");
    let first = talk.hear_of(CDS);
    // Crosses the response.
    talk.ask(CDS, &["s0", "s1"], "", "");
    assert_eq!(talk.hear(), None);
    talk.ack(&["s0", "s1"], &first);
    let second = talk.hear_of(CDS);
    assert_eq!(second.resources.len(), 2);
    talk.ack(&["s0", "s1"], &second);
    // Gives up everything, forgets its nonce (grpc-java#11232), and wants one again.
    talk.ask(CDS, &[], &second.version_info, &second.nonce);
    assert_eq!(talk.hear(), None);
    talk.ask(CDS, &["s1"], "", "");
    assert_eq!(talk.hear_of(CDS).resources.len(), 1);
}

#[test]
fn after_reconnecting_nothing_is_sent_that_is_there() {
    let state = snapshot(3, &[]);
    let mut versions = Vec::new();
    let mut talk = Talk::sotw("envoy", &state);
    let wanted: [(ResourceType, &[&str]); 4] = [
        (CDS, &[]),
        (EDS, &["s2", "s0", "s1"]),
        (LDS, &[]),
        (RDS, &["outbound|127.0.0.1:1"]),
    ];
    for (kind, names) in wanted {
        talk.ask(kind, names, "", "");
        let response = talk.hear_of(kind);
        talk.ack(names, &response);
        versions.push(response.version_info);
    }
    // Another process, the same state; and one where something changed meanwhile.
    let mut again = Talk::sotw("envoy", &snapshot(3, &[]));
    let mut changed = Talk::sotw("envoy", &snapshot(3, &[1]));
    for ((kind, names), version) in wanted.into_iter().zip(&versions) {
        again.ask(kind, names, version, "");
        assert_eq!(again.hear(), None, "{kind}");
        changed.ask(kind, names, version, "");
        if kind == EDS {
            changed.hear_of(EDS);
        } else {
            assert_eq!(changed.hear(), None, "{kind}");
        }
    }
    // It goes on from there.
    again.serve(&snapshot(3, &[2]));
    assert_eq!(again.hear_of(EDS).resources.len(), 1);
    // Another set under the same version is another version.
    let mut more = Talk::sotw("envoy", &state);
    more.ask(EDS, &["s0"], &versions[1], "");
    more.hear_of(EDS);
}

#[test]
fn incremental_streams_get_changes_only() {
    let mut talk = Talk::delta("envoy", &snapshot(3, &[]));
    talk.delta_say(DeltaDiscoveryRequest {
        type_url: CDS.type_url().into(),
        ..DeltaDiscoveryRequest::default()
    });
    let response = talk.hear_delta().unwrap();
    assert_eq!(delta_names(&response), ["s0", "s1", "s2"]);
    let ack = |response: &DeltaDiscoveryResponse| DeltaDiscoveryRequest {
        type_url: response.type_url.clone(),
        response_nonce: response.nonce.clone(),
        ..DeltaDiscoveryRequest::default()
    };
    talk.delta_say(ack(&response));
    assert_eq!(talk.hear_delta(), None);
    talk.serve(&snapshot(2, &[]));
    let response = talk.hear_delta().unwrap();
    assert!(response.resources.is_empty());
    assert_eq!(response.removed_resources, ["s2"]);
    talk.delta_say(ack(&response));

    // It asks for endpoints, drops one and wants it again: it is sent again.
    let subscribe = |names: &[&str]| DeltaDiscoveryRequest {
        type_url: EDS.type_url().into(),
        resource_names_subscribe: names.iter().map(ToString::to_string).collect(),
        ..DeltaDiscoveryRequest::default()
    };
    talk.delta_say(subscribe(&["s0", "s1"]));
    let response = talk.hear_delta().unwrap();
    talk.delta_say(ack(&response));
    talk.delta_say(subscribe(&["s1"]));
    assert_eq!(delta_names(&talk.hear_delta().unwrap()), ["s1"]);
}

/// A client that refuses a whole response for one bad resource, as gRPC C++ before gRFC A46 does.
#[test]
fn good_resources_get_through_to_who_refuses_whole_responses() {
    let names: Vec<String> = (0..8).map(|n| format!("s{n}")).collect();
    let mut talk = Talk::delta("gRPC C-core", &snapshot(8, &[]));
    talk.delta_say(DeltaDiscoveryRequest {
        type_url: EDS.type_url().into(),
        resource_names_subscribe: names.clone(),
        ..DeltaDiscoveryRequest::default()
    });
    let (mut taken, mut refusals) = (std::collections::BTreeSet::new(), 0);
    for _ in 0..100 {
        let Some(response) = talk.hear_delta() else {
            talk.wait(NACK_PAUSE);
            match talk.hear_delta() {
                Some(response) => refusals += answer(&mut talk, &response, &mut taken),
                None => break,
            }
            continue;
        };
        refusals += answer(&mut talk, &response, &mut taken);
    }
    assert_eq!(taken.len(), 7, "all but the bad one: {taken:?}");
    assert!(!taken.contains("s5"));
    assert_eq!(refusals, 4, "8, 4, 2, 1");
    // The bad one is known now: it is sent when it changes, alone.
    talk.serve(&snapshot(8, &[5]));
    assert_eq!(delta_names(&talk.hear_delta().unwrap()), ["s5"]);

    fn answer(
        talk: &mut Talk,
        response: &DeltaDiscoveryResponse,
        taken: &mut std::collections::BTreeSet<String>,
    ) -> u32 {
        let bad = delta_names(response).contains(&"s5");
        if !bad {
            taken.extend(delta_names(response).iter().map(ToString::to_string));
        }
        talk.delta_say(DeltaDiscoveryRequest {
            type_url: response.type_url.clone(),
            response_nonce: response.nonce.clone(),
            error_detail: bad.then(|| rpc::Status {
                message: "s5 does not please me".into(),
                ..rpc::Status::default()
            }),
            ..DeltaDiscoveryRequest::default()
        });
        u32::from(bad)
    }
}

/// Who refuses everything is not kept busy, and hears of changes at the same pace.
#[test]
fn suspects_do_not_hold_back_what_is_new() {
    let names: Vec<String> = (0..64).map(|n| format!("s{n}")).collect();
    let mut talk = Talk::delta("gRPC C-core", &snapshot(64, &[]));
    talk.delta_say(DeltaDiscoveryRequest {
        type_url: EDS.type_url().into(),
        resource_names_subscribe: names,
        ..DeltaDiscoveryRequest::default()
    });
    let refuse = |talk: &mut Talk, response: &DeltaDiscoveryResponse| {
        talk.delta_say(DeltaDiscoveryRequest {
            type_url: response.type_url.clone(),
            response_nonce: response.nonce.clone(),
            error_detail: Some(rpc::Status::default()),
            ..DeltaDiscoveryRequest::default()
        });
    };
    let first = talk.hear_delta().unwrap();
    refuse(&mut talk, &first);
    talk.serve(&snapshot(64, &[63]));
    let mut seconds = 0;
    loop {
        talk.wait(NACK_PAUSE);
        seconds += 1;
        let response = talk.hear_delta().unwrap();
        assert_eq!(talk.hear_delta(), None, "one a second");
        if delta_names(&response) == ["s63"] {
            break;
        }
        refuse(&mut talk, &response);
    }
    assert!(seconds <= 2, "{seconds} s behind suspects");
}

#[test]
fn initial_versions_are_honoured() {
    let state = snapshot(3, &[]);
    let mut talk = Talk::delta("corewire", &state);
    let all = DeltaDiscoveryRequest {
        type_url: EDS.type_url().into(),
        resource_names_subscribe: vec!["s0".into(), "s1".into(), "s2".into()],
        ..DeltaDiscoveryRequest::default()
    };
    talk.delta_say(all.clone());
    let response = talk.hear_delta().unwrap();
    let versions = response.resources.into_iter().map(|r| (r.name, r.version));
    let versions: std::collections::BTreeMap<_, _> = versions.collect();

    let mut again = Talk::delta("corewire", &snapshot(2, &[1]));
    again.delta_say(DeltaDiscoveryRequest {
        initial_resource_versions: versions,
        ..all
    });
    let response = again.hear_delta().unwrap();
    assert_eq!(delta_names(&response), ["s1"], "s0 is as it was");
    assert_eq!(response.removed_resources, ["s2"], "gone meanwhile");
    assert_eq!(again.hear_delta(), None);
}

#[test]
fn large_answers_come_in_parts() {
    let state = snapshot(20_000, &[]);
    let mut talk = Talk::sotw("gRPC C-core", &state);
    let names: Vec<String> = (0..20_000).map(|n| format!("s{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    talk.ask(EDS, &names, "", "");
    let mut seen = 0;
    let mut parts = 0;
    let mut last = String::new();
    while let Some(response) = talk.hear() {
        parts += 1;
        seen += response.resources.len();
        assert!(response.encoded_len() <= RESPONSE_OCTETS + (64 << 10));
        last.clone_from(&response.version_info);
        talk.ack(&names, &response);
    }
    assert_eq!(seen, 20_000);
    assert!(parts > 1);
    // The version of the last part stands for all of it.
    let mut again = Talk::sotw("gRPC C-core", &state);
    again.ask(EDS, &names, &last, "");
    assert_eq!(again.hear(), None);
}

#[test]
fn floods_are_read_slowly_and_too_much_is_refused() {
    let mut talk = Talk::sotw("gRPC C-core", &snapshot(1, &[]));
    for _ in 0..REQUEST_BURST {
        assert_eq!(talk.stream.reads_from(talk.now), None);
        talk.ask(CDS, &["s0"], "", "");
    }
    let later = talk.stream.reads_from(talk.now).expect("it has to wait");
    assert!(later <= talk.now + Duration::from_millis(10));
    talk.wait(later - talk.now);
    assert_eq!(talk.stream.reads_from(talk.now), None);

    let names: Vec<String> = (0..20_001).map(|n| n.to_string()).collect();
    let request = DiscoveryRequest {
        type_url: EDS.type_url().into(),
        resource_names: names,
        ..DiscoveryRequest::default()
    };
    let refused = talk.say(&request).unwrap_err();
    assert!(matches!(refused, StreamFault::TooManyNames { .. }));
    let request = DiscoveryRequest {
        type_url: EDS.type_url().into(),
        resource_names: vec!["x".repeat(MAX_RESOURCE_NAME + 1)],
        ..DiscoveryRequest::default()
    };
    assert_eq!(talk.say(&request), Err(StreamFault::Name { kind: EDS }));
}

#[test]
fn who_stays_silent_is_let_go() {
    let mut talk = Talk::sotw("", &snapshot(1, &[]));
    assert_eq!(talk.stream.poll_timeout(), Some(talk.now + IDENTIFY_WITHIN));
    talk.now += IDENTIFY_WITHIN;
    let now = talk.now;
    assert_eq!(talk.stream.handle_timeout(now), Err(StreamFault::Silent));
}

#[test]
fn other_types_are_passed_over() {
    let mut talk = Talk::sotw("envoy", &snapshot(1, &[]));
    let request = DiscoveryRequest {
        type_url: "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret".into(),
        node: talk.node(),
        ..DiscoveryRequest::default()
    };
    talk.say(&request).unwrap();
    assert_eq!(talk.hear(), None);
}

mod any {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Serve(usize, u8),
        Ask(u8, Vec<u8>, u8, bool),
        Wait(u64),
        Hear,
        Octets(Vec<u8>),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..4usize, any::<u8>()).prop_map(|(services, changed)| Step::Serve(services, changed)),
            (
                0..4u8,
                proptest::collection::vec(0..6u8, 0..4),
                0..8u8,
                any::<bool>()
            )
                .prop_map(|(kind, names, nonce, refuse)| Step::Ask(kind, names, nonce, refuse)),
            (0..20_000u64).prop_map(Step::Wait),
            Just(Step::Hear),
            proptest::collection::vec(any::<u8>(), 0..20).prop_map(Step::Octets),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Whatever a client does, it gets at most one response of a type at a time, and when it
        /// takes what it gets it ends with the last state.
        #[test]
        fn streams_bear_anything(delta in any::<bool>(), steps in proptest::collection::vec(step(), 0..40)) {
            let variant = if delta { Variant::Delta } else { Variant::Sotw };
            let mut talk = Talk::new(variant, "envoy", &snapshot(2, &[]));
            for step in steps {
                match step {
                    Step::Serve(services, changed) => {
                        let changed: Vec<usize> = (0..4).filter(|n| changed >> n & 1 == 1).collect();
                        talk.serve(&snapshot(services.max(1), &changed));
                    }
                    Step::Ask(kind, names, nonce, refuse) => {
                        let kind = ResourceType::ALL[usize::from(kind)];
                        let names: Vec<String> = names.iter().map(|n| match n { 5 => "*".into(), n => format!("s{n}") }).collect();
                        let error_detail = refuse.then(rpc::Status::default);
                        let (type_url, response_nonce) = (kind.type_url().into(), nonce.to_string());
                        let said = if delta {
                            talk.say(&DeltaDiscoveryRequest { type_url, response_nonce, error_detail, resource_names_subscribe: names, ..Default::default() })
                        } else {
                            talk.say(&DiscoveryRequest { type_url, response_nonce, error_detail, resource_names: names, ..Default::default() })
                        };
                        prop_assert_eq!(said, Ok(()));
                    }
                    Step::Wait(ms) => {
                        let now = talk.now + Duration::from_millis(ms);
                        talk.now = now;
                        if talk.stream.handle_timeout(now).is_err() {
                            return Ok(());
                        }
                    }
                    Step::Hear => drop(talk.stream.poll_transmit(talk.now)),
                    Step::Octets(octets) => drop(talk.stream.handle_event(talk.now, Input::Message(octets.into()))),
                }
            }
            // From here on it behaves: everything settles.
            let mut rounds = 0;
            loop {
                let now = talk.now;
                if let Some(octets) = talk.stream.poll_transmit(now) {
                    let (type_url, nonce) = if delta {
                        let read = DeltaDiscoveryResponse::decode(octets).unwrap();
                        (read.type_url, read.nonce)
                    } else {
                        let read = DiscoveryResponse::decode(octets).unwrap();
                        (read.type_url, read.nonce)
                    };
                    if delta {
                        talk.say(&DeltaDiscoveryRequest { type_url, response_nonce: nonce, ..Default::default() }).unwrap();
                    }
                } else {
                    match talk.stream.poll_timeout() {
                        Some(when) => {
                            talk.now = talk.now.max(when);
                            if talk.stream.handle_timeout(talk.now).is_err() {
                                break;
                            }
                        }
                        None => break,
                    }
                }
                rounds += 1;
                prop_assert!(rounds < 200, "it never settles");
            }
        }
    }
}
