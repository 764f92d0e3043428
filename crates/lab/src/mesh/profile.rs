//! The three profiles of the mesh: what is run when nothing else is asked for, and for how long.

use std::time::Duration;

use crate::args::Profile;

/// The paper's rates, requests a second: figures 11 and 12.
const PAPER_RATES: [u64; 8] = [100, 300, 500, 700, 900, 1_100, 1_300, 1_500];

/// A part of a profile's grid: the product of its lists.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    /// Empty: every path.
    pub(super) paths: &'static [&'static str],
    /// `None` is saturation.
    pub(super) rates: Vec<Option<u64>>,
    pub(super) replicas: &'static [u32],
    pub(super) hops: &'static [u32],
    pub(super) gateways: &'static [u32],
    pub(super) repetitions: u32,
}

/// A profile in figures.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) warmup: Duration,
    pub(super) window: Duration,
    pub(super) baseline: Duration,
    /// Where the grid is the user's.
    pub(super) repetitions: u32,
    pub(super) grids: Vec<Grid>,
    /// How many times a route is changed in one run of the policy update; zero: not measured.
    pub(super) updates: u32,
    pub(super) update_repetitions: u32,
    pub(super) note: &'static str,
}

const CURVES: &[&str] = &[
    "direct-rest",
    "inline-rest",
    "inline-grpc",
    "inline-native",
    "shim-grpc",
    "envoy-2-rest",
    "envoy-2-grpc",
    "grpc-xds",
];
const CHAINS: &[&str] = &["inline-rest", "inline-native", "envoy-2-rest"];
const CONNECTIONS: &[&str] = &["inline-rest", "inline-grpc", "envoy-2-rest", "envoy-2-grpc"];

impl Spec {
    pub(super) fn of(profile: Profile) -> Self {
        match profile {
            Profile::Smoke => smoke(),
            Profile::Quick => quick(),
            // `run` refuses the last two, which are guti's.
            Profile::Full | Profile::Cells | Profile::Floor => full(),
        }
    }
}

fn grid(paths: &'static [&'static str], rates: Vec<Option<u64>>, repetitions: u32) -> Grid {
    Grid {
        paths,
        rates,
        replicas: &[30],
        hops: &[1],
        gateways: &[1],
        repetitions,
    }
}

/// Does everything work? No figure of it means much.
fn smoke() -> Spec {
    Spec {
        warmup: Duration::from_millis(200),
        window: Duration::from_millis(500),
        baseline: Duration::from_millis(100),
        repetitions: 1,
        grids: vec![Grid {
            replicas: &[3],
            ..grid(&[], vec![Some(1_000), None], 1)
        }],
        updates: 3,
        update_repetitions: 1,
        note: "smoke shows that everything works; it names no winner",
    }
}

/// The figures in about ten minutes.
fn quick() -> Spec {
    Spec {
        warmup: Duration::from_millis(300),
        window: Duration::from_millis(1_200),
        baseline: Duration::from_millis(100),
        repetitions: 5,
        grids: vec![
            grid(&[], vec![Some(1_500), None], 5),
            grid(CURVES, vec![Some(100), Some(500), Some(1_000)], 1),
            Grid {
                hops: &[2, 4],
                ..grid(CHAINS, vec![Some(1_000)], 1)
            },
            Grid {
                replicas: &[1, 10, 60],
                ..grid(CONNECTIONS, vec![Some(1_500)], 1)
            },
            Grid {
                gateways: &[2, 4],
                ..grid(CHAINS, vec![Some(1_500), None], 1)
            },
        ],
        updates: 30,
        update_repetitions: 5,
        note: "quick is thinned: the paper's rates, chains, gateways and numbers of connections in full are in \
               --profile full; chains, gateways, numbers of connections and rates below 1500/s are run \
               once, so no winner is named there. mTLS is a session of its own: --mtls on",
    }
}

fn full() -> Spec {
    let mut rates: Vec<Option<u64>> = PAPER_RATES.map(Some).to_vec();
    rates.push(None);
    Spec {
        warmup: Duration::from_secs(1),
        window: Duration::from_secs(6),
        baseline: Duration::from_millis(500),
        repetitions: 5,
        grids: vec![
            grid(&[], rates, 5),
            Grid {
                hops: &[2, 4, 8],
                ..grid(CHAINS, vec![Some(1_000)], 5)
            },
            Grid {
                replicas: &[1, 5, 10, 20, 60, 120],
                ..grid(CONNECTIONS, vec![Some(1_500)], 5)
            },
            Grid {
                gateways: &[2, 4],
                ..grid(CONNECTIONS, vec![Some(1_500), None], 5)
            },
        ],
        updates: 200,
        update_repetitions: 5,
        note: "full takes hours; stopped, it goes on with --resume",
    }
}
