//! The SMF of a transcript, in its world.

use crate::context::commands::Commands;
use crate::context::gateway::Gateway;
use crate::context::pool::Pools;
use crate::context::replica::{Own, Replica};
use crate::context::sessions::Sessions;
use crate::task;
use corewire_core5g_nas::SessionOptions;
use corewire_core5g_runtime::{Flow, Gauge};
use corewire_core5g_transcripts::args::Args;
use corewire_core5g_transcripts::world;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

/// The ports of an SMF, which does nothing but ask and answer.
pub(super) type World = world::World<()>;

/// Where the replica of all transcripts is.
pub(super) fn maker() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7000))
}

/// A replica as the settings of a transcript want it, whose references have numbers behind `before`; it has
/// begun to read what is stored.
pub(super) fn replica_of(settings: &str, before: u64, world: &World) -> Arc<Replica> {
    let args = Args::new(settings);
    let pool = args.value("pool").unwrap_or("10.45.0.0/16");
    let pool = format!("internet={pool}").parse().unwrap();
    let part = args.value("part").unwrap_or("0/1").parse().unwrap();
    let tasks = world.clone();
    let replica = Arc::new(Replica {
        own: Own {
            instance: "smf-1".into(),
            api_root: "http://smf".into(),
            maker: maker(),
            flow: match args.value("flow") {
                Some("source3") => Flow::Source3,
                _ => Flow::ThreeGpp,
            },
            event_loops: 1,
        },
        clock: Arc::new(world.clone()),
        peers: Arc::new(world.clone()),
        start: Box::new(move |replica, event_loop, job| {
            tasks.spawn(task::run(replica, event_loop, job, || false));
        }),
        sessions: Sessions::default(),
        commands: Commands::default(),
        pools: Mutex::new(Pools::new(part, &[pool])),
        options: SessionOptions {
            dns_servers: vec![[10, 45, 0, 1].into()],
            link_mtu: Some(1400),
        },
        next: AtomicU64::new(before),
        turn: AtomicUsize::new(0),
        recovered: AtomicBool::new(false),
        held: Gauge::default(),
    });
    world.spawn(task::recover(Arc::clone(&replica), || false));
    world.spawn(task::watch_commands(Arc::clone(&replica), || false));
    replica
}

/// The gateway.
pub(super) fn gateway_of(world: &World) -> Arc<Gateway> {
    let tasks = world.clone();
    Arc::new(Gateway {
        api_root: "http://smf".into(),
        event_loops: 1,
        clock: Arc::new(world.clone()),
        peers: Arc::new(world.clone()),
        start: Box::new(move |gateway, _, release| {
            tasks.spawn(task::release_later(gateway, release, || false));
        }),
        turn: AtomicUsize::new(0),
        later: Gauge::default(),
    })
}
