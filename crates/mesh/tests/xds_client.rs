//! The xDS client over the real transport: first configuration, changes, a control plane that is
//! gone and comes back, a bootstrap that comes late.
#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own: it reads its clock"
)]

#[path = "support/resources.rs"]
mod resources;
#[path = "support/xds_server.rs"]
mod xds_server;

use corewire_mesh::config::{Resolution, Snapshot, SnapshotSource};
use corewire_mesh::xds::{Bootstrap, BootstrapSource, Client, ClientOptions};
use corewire_transport::{Address, parse_address};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use xds_server::Shared;

const LONG: Duration = Duration::from_secs(30);

/// Any port of a loopback address that no other test has: a control plane that was gone finds its port
/// free when it comes back.
fn loopback() -> Address {
    static NUMBER: AtomicU8 = AtomicU8::new(1);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    parse_address(&format!("127.78.0.{number}:0")).unwrap()
}

fn text_for(address: &Address) -> String {
    let Address::Tcp(address) = address else {
        panic!("TCP was asked for")
    };
    format!(
        r#"{{"xds_servers": [{{"server_uri": "{address}", "channel_creds": [{{"type": "insecure"}}]}}],
            "node": {{"id": "test"}}}}"#
    )
}

fn client_of(address: &Address) -> Client {
    let source = BootstrapSource::Text(text_for(address));
    Client::start(source, ClientOptions::default()).unwrap()
}

/// Waits until a snapshot is as it should be.
fn until(source: &SnapshotSource, what: &str, holds: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
    let (sender, receiver) = mpsc::channel();
    let _subscription = source.on_change(move |_| {
        let _gone = sender.send(());
    });
    let deadline = Instant::now() + LONG;
    loop {
        let snapshot = source.load_full();
        if holds(&snapshot) {
            return snapshot;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if receiver.recv_timeout(left).is_err() {
            panic!("{what}: {snapshot:#?}");
        }
    }
}

fn endpoints_of(snapshot: &Snapshot, cluster: &str) -> Vec<String> {
    let entry = snapshot.cluster(cluster);
    let endpoints = entry.and_then(|it| it.endpoints.ready());
    let endpoints = endpoints.into_iter().flat_map(|it| it.iter());
    endpoints.map(|it| it.address.to_string()).collect()
}

const SMF: [&str; 4] = [
    "listener smf rds smf",
    "route smf cluster smf",
    "cluster smf eds smf",
    "endpoints smf 10.0.0.1:80 10.0.0.2:80",
];

#[test]
fn a_target_is_known_soon_and_changes_follow() {
    let shared = Arc::new(Shared::default());
    shared.set(&SMF);
    let server = xds_server::start(&shared, &loopback());
    let client = client_of(&server.addresses()[0]);
    let watch = client.watch("xds:///smf").unwrap();
    assert!(watch.wait(LONG).ready().is_some());
    let snapshot = client.source().load_full();
    assert_eq!(
        endpoints_of(&snapshot, "smf"),
        ["10.0.0.1:80", "10.0.0.2:80"]
    );

    shared.set(&[SMF[0], SMF[1], SMF[2], "endpoints smf 10.0.0.3:80"]);
    until(client.source(), "other endpoints", |it| {
        endpoints_of(it, "smf") == ["10.0.0.3:80"]
    });

    // Who asks is said once, and every response was accepted.
    let requests = shared.requests();
    assert_eq!(requests.iter().filter(|it| it.node.is_some()).count(), 1);
    assert_eq!(
        requests[0].node.as_ref().unwrap().user_agent_name,
        "corewire"
    );
    assert!(requests.iter().all(|it| it.error_detail.is_none()));
    let status = client.status().unwrap();
    assert_eq!(status.ads.counters.refused, 0);
    assert!(status.ads.servers[0].is_active);
    assert_eq!(status.ads.resources.len(), 4);

    drop(watch);
    until(client.source(), "nothing is asked for", |it| {
        it.targets.is_empty() && it.clusters.is_empty()
    });
}

#[test]
fn what_is_known_outlives_the_control_plane() {
    let shared = Arc::new(Shared::default());
    shared.set(&SMF);
    let server = xds_server::start(&shared, &loopback());
    let address = server.addresses()[0].clone();
    let client = client_of(&address);
    let watch = client.watch("smf").unwrap();
    assert!(watch.wait(LONG).ready().is_some());
    let before = client.source().load_full();

    drop(server);
    // A target that nobody knows yet fails soon: it does not wait for ever.
    let other = client.watch("udm").unwrap();
    let Resolution::Missing(why) = other.wait(LONG) else {
        panic!("nobody can be asked")
    };
    assert!(why.contains("no control plane can be reached"), "{why}");
    let without = client.source().load_full();
    assert_eq!(endpoints_of(&without, "smf"), endpoints_of(&before, "smf"));

    shared.set(&[
        SMF[0],
        SMF[1],
        SMF[2],
        SMF[3],
        "listener udm inline cluster smf",
    ]);
    let _server = xds_server::start(&shared, &address);
    until(client.source(), "the other target", |it| {
        it.target("udm").is_some_and(|it| it.ready().is_some())
    });
    let after = client.source().load_full();
    let same = |snapshot: &Snapshot| {
        let entry = snapshot.cluster("smf").unwrap().clone();
        entry.endpoints.ready().cloned().unwrap()
    };
    assert!(
        Arc::ptr_eq(&same(&before), &same(&after)),
        "unchanged: the same"
    );
}

#[test]
fn a_bootstrap_may_come_late() {
    let shared = Arc::new(Shared::default());
    shared.set(&SMF);
    let server = xds_server::start(&shared, &loopback());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bootstrap.json");
    let client = Client::start(
        BootstrapSource::File(file.clone()),
        ClientOptions::default(),
    )
    .unwrap();
    let watch = client.watch("smf").unwrap();
    until(client.source(), "it is asked for", |it| {
        it.target("smf").is_some()
    });
    assert!(watch.state().is_pending());
    std::fs::write(&file, text_for(&server.addresses()[0])).unwrap();
    assert!(watch.wait(LONG).ready().is_some());
}

#[test]
fn a_bootstrap_that_never_comes_is_told() {
    let mut options = ClientOptions::default();
    options.bootstrap.interval = Duration::from_millis(5);
    options.bootstrap.attempts = 3;
    let source = BootstrapSource::File("/nonexistent/bootstrap.json".into());
    let client = Client::start(source, options).unwrap();
    let watch = client.watch("smf").unwrap();
    let Resolution::Missing(why) = watch.wait(LONG) else {
        panic!("there is no bootstrap")
    };
    assert!(why.contains("cannot be read"), "{why}");
    assert!(client.status().is_some());
    // One that is there and wrong is told at once.
    let wrong = BootstrapSource::Text("{}".into());
    assert!(Client::start(wrong, ClientOptions::default()).is_err());
    assert!(Bootstrap::of_server("127.0.0.1:1", "node").is_ok());
}

#[test]
fn ten_thousand_endpoints_pass_the_stream() {
    let shared = Arc::new(Shared::default());
    let many: Vec<String> = (0..10_000)
        .map(|at| format!("10.{}.{}.{}:80", at / 65_536, at / 256 % 256, at % 256))
        .collect();
    let line = format!("endpoints smf {}", many.join(" "));
    shared.set(&[SMF[0], SMF[1], SMF[2], &line]);
    let server = xds_server::start(&shared, &loopback());
    let client = client_of(&server.addresses()[0]);
    let watch = client.watch("smf").unwrap();
    assert!(watch.wait(LONG).ready().is_some());
    let snapshot = client.source().load_full();
    let entry = snapshot.cluster("smf").unwrap();
    assert_eq!(entry.endpoints.ready().unwrap().len(), 10_000);
}

#[test]
fn a_target_of_an_unknown_authority_says_so() {
    let client = client_of(&parse_address("127.0.0.1:1").unwrap());
    let watch = client.watch("xds://elsewhere/smf").unwrap();
    let Resolution::Missing(why) = watch.wait(LONG) else {
        panic!("the authority is not known")
    };
    assert!(why.contains("elsewhere"), "{why}");
    assert!(client.watch("http://smf").is_err());
}

/// Everything together has a limit too: what goes beyond is refused, the last good state holds.
#[test]
fn resources_together_are_bounded() {
    let shared = Arc::new(Shared::default());
    shared.set(&SMF);
    let server = xds_server::start(&shared, &loopback());
    let mut options = ClientOptions::default();
    options.ads.max_octets = 2_000;
    let text = BootstrapSource::Text(text_for(&server.addresses()[0]));
    let client = Client::start(text, options).unwrap();
    let watch = client.watch("xds:///smf").unwrap();
    assert!(watch.wait(LONG).ready().is_some());
    until(client.source(), "endpoints", |it| {
        endpoints_of(it, "smf").len() == 2
    });

    let many: Vec<String> = (0..200).map(|n| format!("10.0.1.{n}:80")).collect();
    let many = format!("endpoints smf {}", many.join(" "));
    shared.set(&[SMF[0], SMF[1], SMF[2], &many]);
    let snapshot = until(client.source(), "a refusal", |it| !it.refused.is_empty());
    assert!(snapshot.refused[0].to_string().contains("max_octets"));
    assert_eq!(
        endpoints_of(&snapshot, "smf").len(),
        2,
        "the last good state"
    );
    shared.set(&[SMF[0], SMF[1], SMF[2], "endpoints smf 10.0.0.9:80"]);
    let snapshot = until(client.source(), "recovery", |it| it.refused.is_empty());
    assert_eq!(endpoints_of(&snapshot, "smf"), ["10.0.0.9:80"]);
}
