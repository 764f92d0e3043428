//! The profiles: how much of the thesis's evaluation is run, and for how long.

use std::time::Duration;

use crate::args::Profile;
use crate::record::Mode;

/// The thesis's payloads in bytes; k = 1000.
const PAYLOADS: [u64; 6] = [0, 10, 100, 1_000, 10_000, 100_000];
/// Those of its tables 5.5 to 5.7.
const KEY_PAYLOADS: [u64; 3] = [0, 10_000, 100_000];
/// Those that only its figures 5.2 to 5.6 show.
const BETWEEN_PAYLOADS: [u64; 3] = [10, 100, 1_000];
/// The thesis's rates, requests a second.
const RATES: [u64; 7] = [10, 20, 50, 100, 200, 500, 1_000];
/// The thesis's numbers of clients.
const CLIENTS: [u32; 9] = [1, 2, 4, 6, 8, 10, 12, 14, 16];

/// Runs that differ in the subject only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) mode: Mode,
    /// Requests a second of all clients; only in rate mode.
    pub(super) rate: Option<u64>,
    pub(super) payload: u64,
    pub(super) clients: u32,
    pub(super) repetitions: u32,
    pub(super) amount: Amount,
    /// Whether only subjects run whose own name says that they share a connection.
    pub(super) only_shared: bool,
}

/// How much a run measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Amount {
    /// An equal share of what the budget leaves.
    Share,
    /// So long, over all repetitions together.
    Total(Duration),
    /// So long.
    Each(Duration),
    /// So many requests, over all repetitions together.
    Requests(u64),
}

/// A profile in figures.
#[derive(Debug)]
pub(super) struct Spec {
    /// What the session promises to keep to; none for the full matrix.
    pub(super) budget: Option<Duration>,
    /// What is run when the command line names no adapter; none: all that are built.
    pub(super) adapters: &'static [&'static str],
    /// Bounds of a window that shares the budget.
    pub(super) longest_window: Duration,
    pub(super) warmup: Duration,
    pub(super) baseline: Duration,
    /// Default repetitions.
    pub(super) repetitions: u32,
    /// What stands in for the part of a grid that the user leaves open.
    pub(super) clients: Vec<u32>,
    pub(super) payloads: Vec<u64>,
    pub(super) rates: Vec<u64>,
    pub(super) no_rate: Amount,
    pub(super) rated: Amount,
    /// The profile's own grid.
    pub(super) groups: Vec<Group>,
    /// What is to be said of that grid.
    pub(super) grid_note: &'static str,
    /// What is to be said in any case.
    pub(super) note: Option<&'static str>,
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Spec {
    pub(super) fn of(profile: Profile) -> Self {
        match profile {
            Profile::Smoke => smoke(),
            Profile::Quick => quick(),
            Profile::Full => full(),
            Profile::Cells => cells(),
            Profile::Floor => floor(),
        }
    }
}

fn no_rate(payload: u64, clients: u32, repetitions: u32, amount: Amount) -> Group {
    Group {
        mode: Mode::NoRate,
        rate: None,
        payload,
        clients,
        repetitions,
        amount,
        only_shared: false,
    }
}

fn rated(rate: u64, payload: u64, repetitions: u32, amount: Amount) -> Group {
    Group {
        mode: Mode::Rate,
        rate: Some(rate),
        payload,
        clients: 1,
        repetitions,
        amount,
        only_shared: false,
    }
}

/// Does everything work? Under a minute; no figure of it means much.
fn smoke() -> Spec {
    let each = Amount::Each(millis(300));
    Spec {
        budget: Some(Duration::from_secs(55)),
        adapters: &[],
        longest_window: millis(300),
        warmup: millis(100),
        baseline: millis(200),
        repetitions: 1,
        clients: vec![1, 4],
        payloads: vec![0],
        rates: vec![1_000],
        no_rate: Amount::Share,
        rated: each,
        groups: vec![
            no_rate(0, 1, 1, Amount::Share),
            no_rate(0, 4, 1, Amount::Share),
            rated(1_000, 0, 1, each),
        ],
        grid_note: "smoke shows that everything works; it names no winner",
        note: None,
    }
}

/// The tables and figures in under six minutes, thinned.
fn quick() -> Spec {
    let each = Amount::Each(millis(400));
    let clients = [1, 4, 16];
    let rates = [50, 200, 1_000];
    let mut groups = Vec::new();
    for payload in PAYLOADS {
        if BETWEEN_PAYLOADS.contains(&payload) {
            groups.push(no_rate(payload, 1, 2, Amount::Share));
        } else {
            groups.extend(clients.map(|clients| no_rate(payload, clients, 5, Amount::Share)));
        }
    }
    groups.extend(rates.map(|rate| rated(rate, 0, 2, each)));
    Spec {
        budget: Some(Duration::from_secs(340)),
        adapters: &[],
        longest_window: millis(1_000),
        warmup: millis(60),
        baseline: millis(200),
        repetitions: 5,
        clients: clients.to_vec(),
        payloads: KEY_PAYLOADS.to_vec(),
        rates: rates.to_vec(),
        no_rate: Amount::Share,
        rated: each,
        groups,
        grid_note: "quick thins the grid: 1, 4 and 16 clients, rates 50, 200 and 1000/s at 0 B; \
                    payloads 10, 100 and 1k and all rates are repeated only twice, so no winner is \
                    named there",
        note: None,
    }
}

/// The thesis's own matrix, about a day.
fn full() -> Spec {
    let two_minutes = Amount::Total(Duration::from_secs(120));
    let million = Amount::Requests(1_000_000);
    let repetitions = 5;
    let mut groups: Vec<Group> = PAYLOADS
        .iter()
        .map(|&payload| no_rate(payload, 1, repetitions, million))
        .collect();
    for payload in KEY_PAYLOADS {
        let several = CLIENTS.iter().filter(|&&clients| clients > 1);
        groups.extend(several.map(|&clients| no_rate(payload, clients, repetitions, two_minutes)));
    }
    for rate in RATES {
        groups.extend(PAYLOADS.map(|payload| rated(rate, payload, repetitions, two_minutes)));
    }
    Spec {
        budget: None,
        adapters: &[],
        longest_window: Duration::from_secs(120),
        warmup: Duration::from_secs(1),
        baseline: Duration::from_secs(1),
        repetitions,
        clients: CLIENTS.to_vec(),
        payloads: KEY_PAYLOADS.to_vec(),
        rates: RATES.to_vec(),
        no_rate: two_minutes,
        rated: two_minutes,
        groups,
        grid_note: "one client without a rate sends a million requests in all, at each payload",
        note: Some(
            "full measures each cell as long as the thesis, 120 s, but divided among interleaved \
             repetitions; --repeat 1 measures it in one piece, and then no winner can be named",
        ),
    }
}

/// How long a profile plans for itself; none where it is as long as it takes.
pub(crate) fn planned(profile: Profile) -> Option<Duration> {
    Spec::of(profile).budget
}

/// Tables 5.5 to 5.7, every cell, and the floor under each, in 38 minutes.
fn cells() -> Spec {
    let mut groups = Vec::new();
    for payload in KEY_PAYLOADS {
        groups.extend(CLIENTS.map(|clients| no_rate(payload, clients, 5, Amount::Share)));
    }
    let each = Amount::Each(millis(1_000));
    Spec {
        budget: Some(Duration::from_secs(38 * 60)),
        adapters: &[
            "TCP-AS",
            "THRIFT-S",
            "THRIFT-NB",
            "THRIFT-AS",
            "GRPC-S",
            "GRPC-AS",
            "GRPC-BI",
            "GRPC-ASBI",
            "GRPC-CB",
            "NNG",
            "CAPNP",
            "CW-S",
            "CW-AS",
            "CW-BI",
            "CW-EL",
            "FLOOR-TCP",
            "FLOOR-EPOLL",
            "FLOOR-EL",
        ],
        longest_window: millis(1_000),
        warmup: millis(60),
        baseline: millis(200),
        repetitions: 5,
        clients: CLIENTS.to_vec(),
        payloads: KEY_PAYLOADS.to_vec(),
        rates: RATES.to_vec(),
        no_rate: Amount::Share,
        rated: each,
        groups,
        grid_note: "cells runs the tables' 27 conditions, nine numbers of clients and three payloads, \
                    and nothing else: 81 cells with mean, 99th percentile and throughput, each \
                    window about 0.7 s, five interleaved repetitions",
        note: None,
    }
}

/// What bare sockets and bare memory can do, beside ours and the best of the others.
fn floor() -> Spec {
    let mut groups = Vec::new();
    for payload in KEY_PAYLOADS {
        groups.extend([1, 16].map(|clients| no_rate(payload, clients, 5, Amount::Share)));
    }
    // As many callers as the pipelined floor has requests outstanding.
    groups.push(Group {
        only_shared: true,
        ..no_rate(0, 64, 5, Amount::Share)
    });
    let each = Amount::Each(millis(400));
    Spec {
        budget: Some(Duration::from_secs(480)),
        adapters: &[
            "FLOOR-TCP",
            "FLOOR-EPOLL",
            "FLOOR-EL",
            "FLOOR-SPIN",
            "FLOOR-PIPE-64",
            "FLOOR-SHM-SPIN",
            "FLOOR-SHM-FUTEX",
            "TCP-AS",
            "THRIFT-S",
            "THRIFT-NB",
            "GRPC-ASBI+shared",
            "CW-S",
            "CW-S+sleep",
            "CW-S+poll",
            "CW-S+shared",
            "CW-BI",
            "CW-EL",
            "CW-SHM",
        ],
        longest_window: millis(1_000),
        warmup: millis(60),
        baseline: millis(200),
        repetitions: 5,
        clients: vec![1, 16],
        payloads: KEY_PAYLOADS.to_vec(),
        rates: vec![1_000],
        no_rate: Amount::Share,
        rated: each,
        groups,
        grid_note: "floor: who spins or pipelines runs with one client only, who shares a connection \
                    with sixteen",
        note: None,
    }
}
