//! The AMF of a transcript, in its world.

use super::gnb::World;
use crate::context::gnbs::Gnbs;
use crate::context::network::Network;
use crate::context::releases::Releases;
use crate::context::silence::{Patience, Silence};
use crate::context::ue::{Amf, Gutis, Numbers, Own};
use crate::context::ues::Ues;
use crate::task;
use corewire_core5g_nas::{Ciphering, Integrity};
use corewire_core5g_runtime::due::Due;
use corewire_core5g_runtime::{Flow, Gauge};
use corewire_core5g_transcripts::args::{Args, tac};
use corewire_guti::{Allocator, Capacity, Guami, Plmn, TmsiKey};
use std::sync::Arc;
use std::time::Duration;

/// The network of all transcripts.
pub(super) fn plmn() -> Plmn {
    Plmn::new(1, 1, 2).unwrap()
}

/// An AMF as the settings of a transcript want it, in this world.
pub(super) fn amf_of(settings: &str, world: &World) -> Arc<Amf> {
    let args = Args::new(settings);
    let guami = Guami::from_amf_id(plmn(), [2, 0, 0x40]);
    let number = |key, default: u64| args.value(key).map_or(default, |v| v.parse().unwrap());
    let capacity = Capacity::try_from(number("gutis", 1000) as u32).unwrap();
    let tasks = world.clone();
    let ciphering = match args.value("nea") {
        Some("none") => Vec::new(),
        _ => vec![Ciphering::Nea2, Ciphering::Nea1, Ciphering::Nea0],
    };
    let amf = Arc::new(Amf {
        own: Own {
            instance: "amf-1".into(),
            api_root: "http://amf".into(),
            flow: match args.value("flow") {
                Some("source3") => Flow::Source3,
                _ => Flow::ThreeGpp,
            },
            event_loops: 1,
        },
        network: Network {
            name: "amf".into(),
            guami,
            tacs: args
                .value("tacs")
                .unwrap_or("1")
                .split(',')
                .map(tac)
                .collect(),
            slices: match args.value("slices") {
                Some(_) => args.slices("slices"),
                None => vec!["01".parse().unwrap()],
            },
            ciphering,
            integrity: vec![Integrity::Nia2, Integrity::Nia1],
        },
        clock: Arc::new(world.clone()),
        peers: Arc::new(world.clone()),
        start: Box::new(move |ue, event| tasks.spawn(task::run(ue, event))),
        gutis: Gutis::Own(Box::new(Allocator::with_key(
            guami,
            capacity,
            TmsiKey::from_bytes([7; TmsiKey::LEN]),
        ))),
        ues: Ues::default(),
        silence: Silence::new(Patience {
            t3512: Duration::from_secs(number("t3512", 3600)),
            grace: Duration::from_secs(number("grace", 240)),
        }),
        releases: Arc::new(Releases::new()),
        paged: Due::default(),
        gnbs: Gnbs::new(100, 100),
        numbers: Numbers {
            registered: Gauge::default(),
            connected: Gauge::default(),
            gnbs: Gauge::default(),
        },
    });
    world.spawn(task::watch_idle(Arc::clone(&amf), || false));
    let gauge = Gauge::default();
    world.spawn(task::work_off_releases(Arc::clone(&amf), gauge, || false));
    amf
}
