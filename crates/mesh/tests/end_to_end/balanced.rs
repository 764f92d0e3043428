//! Channels over servers that are written down.

use crate::bench::*;
use corewire_mesh::config::{Address, Endpoints, Transport};
use corewire_mesh::{MeshChannel, MeshOptions, blocking};
use corewire_message::blocking::Caller as _;
use corewire_message::{CallContext, Request, Response, Service};
use corewire_transport::{Server, ServerOptions};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

fn servers(running: &[Running], protocol: &str) -> Vec<String> {
    let endpoint = |server: &Running| format!("{protocol}://{}", server.address);
    running.iter().map(endpoint).collect()
}

/// Futures and threads, over every protocol, without a pause while each server in turn drains, is
/// gone for a moment and comes back: all servers are used, and not one call fails.
#[test]
fn servers_are_restarted_one_by_one_and_no_call_fails() {
    for protocol in ["native", "grpc", "rest"] {
        let mut running = Running::several(3);
        let list = servers(&running, protocol);
        let channel = MeshChannel::balanced(&list, MeshOptions::default()).unwrap();
        let waiting = blocking::MeshChannel::balanced(&list, MeshOptions::default()).unwrap();
        block_on(channel.ready(PATIENCE)).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let answered: [Arc<AtomicU64>; 4] = Default::default();
        let met: [Arc<AtomicUsize>; 4] = Default::default();
        let callers: Vec<_> = answered
            .iter()
            .zip(&met)
            .enumerate()
            .map(|(number, (answered, met))| {
                let (stop, answered) = (Arc::clone(&stop), Arc::clone(answered));
                let met = Arc::clone(met);
                let (channel, waiting) = (channel.clone(), waiting.clone());
                std::thread::spawn(move || {
                    let mut names = BTreeSet::new();
                    while !stop.load(Ordering::Relaxed) {
                        let name = if number % 2 == 0 {
                            ask(&channel, request())
                        } else {
                            let response = waiting.call(Request::new(CALL));
                            response.map(|it| String::from_utf8_lossy(&it.body.into_bytes()).into())
                        };
                        names.insert(name.map_err(|error| format!("{error:?}"))?);
                        met.store(names.len(), Ordering::Relaxed);
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok::<(), String>(())
                })
            })
            .collect();
        let go_on = || {
            let before = answered
                .each_ref()
                .map(|count| count.load(Ordering::Relaxed));
            until("all callers go on", || {
                let mut pairs = answered.iter().zip(before);
                pairs.all(|(count, before)| count.load(Ordering::Relaxed) > before + 20)
                    || callers.iter().any(|caller| caller.is_finished())
            });
        };
        go_on();
        for server in &mut running {
            server.drain();
            go_on();
            server.restart();
            let replica = Arc::clone(&server.replica);
            let before = replica.calls();
            until("it is used again", || {
                replica.calls() > before + 20 || callers.iter().any(|it| it.is_finished())
            });
        }
        until("each caller has met each server", || {
            met.iter().all(|met| met.load(Ordering::Relaxed) == 3)
                || callers.iter().any(|it| it.is_finished())
        });
        stop.store(true, Ordering::Relaxed);
        for caller in callers {
            caller
                .join()
                .unwrap()
                .unwrap_or_else(|error| panic!("{protocol}: {error}"));
        }
    }
}

#[test]
fn a_name_stands_for_all_its_addresses() {
    // localhost is 127.0.0.1 and often ::1 too, where nobody listens.
    let localhost = "127.0.0.1:0".parse().unwrap();
    let server = Running::at(&Address::Tcp(localhost), Replica::new("one"));
    let port = server.address.to_string();
    let port = port.rsplit(':').next().unwrap();
    let list = [format!("native://localhost:{port}")];
    let channel = MeshChannel::balanced(list, MeshOptions::default()).unwrap();
    for _ in 0..20 {
        assert_eq!(ask(&channel, request()).unwrap(), "one");
    }
}

/// Answers with its name.
struct Named(String);

impl Service for Named {
    async fn call(&self, _context: &CallContext, _request: Request) -> Response {
        Response::ok(self.0.clone())
    }
}

/// Servers that say that they do not serve get no calls, whatever they are spoken to by, and get them
/// again when they do.
#[test]
fn who_does_not_serve_gets_no_calls() {
    use corewire_mesh::config::HealthCheck;
    use corewire_message::health::{Health, Serving};
    for transport in [Transport::Native, Transport::Grpc, Transport::Rest] {
        let healths = [Health::new(), Health::new()];
        let servers: Vec<_> = healths
            .iter()
            .enumerate()
            .map(|(number, health)| {
                let service = Arc::new(health.around(Named(format!("replica-{number}"))));
                let mut options = ServerOptions::default();
                options.loops = 1;
                Server::start(&[anywhere()], service, options).unwrap()
            })
            .collect();
        let mut cluster = cluster("test");
        cluster.transport = Some(transport);
        cluster.health_check = Some(Arc::new(HealthCheck {
            interval: 20 * MILLI,
            jitter: 5 * MILLI,
            // Ill is who says so itself, not who is late.
            unhealthy: u32::MAX,
            ..HealthCheck::default()
        }));
        let addresses = servers.iter().map(|server| server.addresses()[0].clone());
        let mut snapshot = simple(&[]);
        snapshot.add_cluster(cluster, Endpoints::at(addresses));
        let (mesh, channel) = mesh(snapshot);
        all_connected(&mesh, "test");
        healths[0].set("", Serving::NotServing);
        let ill = || {
            mesh.state().clusters[0]
                .endpoints
                .iter()
                .filter(|it| it.ill)
                .count()
        };
        until("it is found", || ill() == 1);
        // By turns it would be asked again before four others are.
        until("calls go by what was found", || {
            (0..4).all(|_| ask(&channel, request()).unwrap() == "replica-1")
        });
        for _ in 0..50 {
            assert_eq!(
                ask(&channel, request()).unwrap(),
                "replica-1",
                "{transport}"
            );
        }
        assert!(mesh.state().to_text().contains(" ill"));
        healths[0].set("", Serving::Serving);
        until("it is used again", || {
            ask(&channel, request()).unwrap() == "replica-0"
        });
    }
}
