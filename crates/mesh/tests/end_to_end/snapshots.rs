use crate::bench::*;
use corewire_mesh::config::{
    Address, ClusterEntry, Endpoints, Notice, Resolution, ResourceId, Route, Snapshot,
    SnapshotSource, TlsPolicy, Transport,
};
use corewire_mesh::{Discovery, Mesh, MeshOptions};
use corewire_message::{Caller, Code, ErrorKind};
use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A control plane that says what the test says.
#[derive(Clone, Default)]
struct Told {
    source: SnapshotSource,
    asked: Arc<Mutex<Vec<String>>>,
}

struct Asked(Arc<Mutex<Vec<String>>>, String);

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.lock().unwrap().retain(|name| *name != self.1);
    }
}

impl Discovery for Told {
    fn source(&self) -> &SnapshotSource {
        &self.source
    }

    fn watch(&self, target: &str) -> Result<Box<dyn Any + Send + Sync>, String> {
        if target.contains("://") {
            return Err("no such authority".into());
        }
        self.asked.lock().unwrap().push(target.into());
        Ok(Box::new(Asked(Arc::clone(&self.asked), target.into())))
    }
}

#[test]
fn calls_wait_until_the_control_plane_has_said_and_targets_are_asked_for_while_used() {
    let servers = Running::several(1);
    let told = Told::default();
    let mesh = Mesh::start(told.clone(), MeshOptions::default()).unwrap();
    let channel = mesh.channel("xds:///test");
    assert_eq!(*told.asked.lock().unwrap(), ["test"]);
    let waiting = {
        let channel = channel.clone();
        std::thread::spawn(move || ask(&channel, request()))
    };
    // The target first, its cluster's endpoints later.
    let mut half = Snapshot::default();
    half.add_target("test", routes(vec![Route::to_cluster("test")]));
    half.clusters.insert("test".into(), ClusterEntry::default());
    told.source.publish(half);
    until("it is said what is missing", || {
        let early = request().with_deadline(Instant::now() + 50 * MILLI);
        let error = ask(&channel, early).unwrap_err();
        assert!(!error.may_have_executed());
        let said = error.to_string().contains("has not sent the endpoints");
        said && error.kind() == ErrorKind::NotSent
    });
    told.source.publish(simple(&servers));
    assert_eq!(waiting.join().unwrap().unwrap(), "replica-0");

    let other = mesh.channel("test");
    drop(channel);
    assert_eq!(
        *told.asked.lock().unwrap(),
        ["test"],
        "another channel uses it"
    );
    drop(other);
    until("nobody does", || told.asked.lock().unwrap().is_empty());
}

#[test]
fn a_missing_target_or_cluster_fails_at_once_with_the_reason() {
    let told = Told::default();
    let mesh = Mesh::start(told.clone(), MeshOptions::default()).unwrap();
    let channel = mesh.channel("test");
    let mut snapshot = Snapshot::default();
    let gone = Resolution::Missing("no such listener".into());
    snapshot.targets.insert("test".into(), gone);
    told.source.publish(snapshot);
    until("it is known to be missing", || {
        let early = request().with_deadline(Instant::now() + 20 * MILLI);
        let error = ask(&channel, early).unwrap_err();
        error.to_string().contains("no such listener")
    });
    let mut snapshot = Snapshot::default();
    snapshot.add_target("test", routes(vec![Route::to_cluster("nowhere")]));
    told.source.publish(snapshot);
    until("its cluster is", || {
        let error = ask(&channel, request()).unwrap_err();
        error.to_string().contains("cluster nowhere is not known")
    });
    let error = ask(&mesh.channel("xds://other/test"), request()).unwrap_err();
    assert!(error.to_string().contains("no such authority"), "{error}");
    let (_mesh, channel) = crate::bench::mesh(Snapshot::default());
    let error = ask(&channel, request()).unwrap_err();
    assert!(
        error.to_string().contains("target test is not known"),
        "{error}"
    );
}

#[test]
fn a_new_snapshot_is_obeyed_soon_and_without_a_failed_call() {
    let servers = Running::several(2);
    let source = SnapshotSource::new(simple(&servers[..1]));
    let mesh = Mesh::start(source.clone(), MeshOptions::default()).unwrap();
    let channel = mesh.channel("test");
    ready(&channel);
    let mut taken = Vec::new();
    for turn in 0..10 {
        let now = turn % 2;
        source.publish(simple(&servers[now..=now]));
        let began = Instant::now();
        let expected = format!("replica-{now}");
        while ask(&channel, request()).unwrap() != expected {
            assert!(began.elapsed() < PATIENCE);
        }
        taken.push(began.elapsed());
    }
    taken.sort_unstable();
    // Not when the keeper next looks around by itself, every 5 s.
    assert!(taken[5] < Duration::from_secs(2), "{taken:?}");
}

/// Connections are made with the settings that hold: another `connect_timeout` means other ones. What is
/// under way ends over the old ones, and nobody notices.
#[test]
fn another_connect_timeout_makes_connections_anew_and_fails_no_call() {
    let servers = Running::several(2);
    let source = SnapshotSource::new(simple(&servers));
    let mesh = Mesh::start(source.clone(), MeshOptions::default()).unwrap();
    let channel = mesh.channel("test");
    all_connected(&mesh, "test");
    for server in &servers {
        server.replica.hang();
    }
    let waiting = {
        let channel = channel.clone();
        std::thread::spawn(move || ask(&channel, request()))
    };
    let calls = || servers.iter().map(|it| it.replica.calls()).sum::<u64>();
    until("a call is under way", || calls() == 1);
    let mut other = cluster("test");
    other.connect_timeout = Duration::from_secs(20);
    source.publish(snapshot(other, &servers, vec![Route::to_cluster("test")]));
    // Counts are an endpoint's own: those of then are gone with their connections.
    until("endpoints are others", || {
        let state = mesh.state();
        let cluster = state.cluster("test").unwrap();
        state.version == 1 && cluster.endpoints.iter().all(|it| it.in_flight == 0)
    });
    for server in &servers {
        server.replica.answer(Code::Ok);
    }
    assert!(waiting.join().unwrap().is_ok());
    for _ in 0..10 {
        ask(&channel, request()).unwrap();
    }
    all_connected(&mesh, "test");
    assert_eq!(calls(), 11, "no call was made twice");
}

/// The control plane is gone: nothing is published any more. Calls go on, endpoints that are lost
/// come back.
#[test]
fn calls_go_on_without_the_control_plane() {
    let mut servers = Running::several(2);
    let source = SnapshotSource::new(simple(&servers));
    let mesh = Mesh::start(source.clone(), MeshOptions::default()).unwrap();
    let channel = mesh.channel("test");
    all_connected(&mesh, "test");
    drop(source);
    servers[0].kill();
    seen_gone(&mesh, &servers[0]);
    for _ in 0..10 {
        assert_eq!(ask(&channel, request()).unwrap(), "replica-1");
    }
    servers[0].restart();
    until("it is found again", || {
        ask(&channel, request()).unwrap() == "replica-0"
    });
}

#[test]
fn a_thousand_snapshots_and_many_endpoints_do_not_stop_calls() {
    let servers = Running::several(3);
    let source = SnapshotSource::new(simple(&servers));
    let mesh = Mesh::start(source.clone(), MeshOptions::default()).unwrap();
    let channel = mesh.channel("test");
    all_connected(&mesh, "test");
    let flapping = {
        let (source, snapshots) = (source.clone(), [simple(&servers), simple(&servers[..2])]);
        std::thread::spawn(move || {
            for number in 0..1000 {
                source.publish(snapshots[number % 2].clone());
                std::thread::sleep(MILLI);
            }
        })
    };
    let mut calls = 0;
    while calls <= 100 || !flapping.is_finished() {
        ask(&channel, request()).unwrap();
        calls += 1;
    }
    flapping.join().unwrap();
    assert_eq!(mesh.state().version, 1000);
}

#[test]
fn what_cannot_be_done_is_refused_with_the_reason_and_notices_are_shown() {
    let servers = Running::several(1);
    let mut demanding = cluster("test");
    demanding.tls = Some(Arc::new(TlsPolicy::default()));
    let mut snapshot = snapshot(demanding, &servers, vec![Route::to_cluster("test")]);
    snapshot.notices = Arc::new([Notice {
        resource: ResourceId {
            kind: "Cluster",
            name: "test".into(),
        },
        path: "dns_lookup_family".into(),
        reason: "names are not looked up".into(),
    }]);
    let (mesh, channel) = mesh(snapshot);
    let error = ask(&channel, request()).unwrap_err();
    assert!(error.to_string().contains("demands TLS"), "{error}");
    assert_eq!(servers[0].replica.calls(), 0, "nothing goes in clear text");
    let text = mesh.state().to_text();
    assert!(
        text.contains("not carried out: Cluster \"test\": dns_lookup_family"),
        "{text}"
    );
    let json = mesh.state().to_json();
    assert_eq!(json["clusters"][0]["name"], "test");
    assert!(
        json["notices"][0]
            .as_str()
            .unwrap()
            .contains("not looked up")
    );

    // Shared memory is offered beside TCP addresses.
    let mut shared_memory = cluster("test");
    shared_memory.transport = Some(Transport::Shm);
    let mut snapshot = simple(&[]);
    let unix = Address::Unix("/run/nobody.sock".into());
    snapshot.add_cluster(shared_memory, Endpoints::at([unix]));
    let (_mesh, channel) = crate::bench::mesh(snapshot);
    let error = ask(&channel, request()).unwrap_err();
    assert!(
        error.to_string().contains("beside a TCP address only"),
        "{error}"
    );
    let event = corewire_message::Event::new(CALL, String::new());
    assert!(block_on(channel.send(event)).is_err());
}
