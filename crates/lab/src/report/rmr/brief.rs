//! What "Suitability of gRPC for RMR Communications" (revised 11 September 2020) prints. Rates in
//! messages a second, latencies in milliseconds, as they stand there; `None` where it prints nothing
//! or only "more than one millisecond".

/// A row of table 1: transport, messages a second, and which of our subjects it is.
pub(super) const TABLE_1: [(&str, f64, &[&str]); 4] = [
    ("gRPC", 35_000.0, &["grpc"]),
    ("NNG", 52_000.0, &["nng-raw"]),
    ("RMR/NNG", 38_000.0, &["rmr-nng", "nng"]),
    ("RMR/SI95", 230_000.0, &["rmr", "si95"]),
];

/// A row of tables 2 and 3, gRPC: rate, lowest, median, 95th, 99th percentile (`None`: above 1 ms),
/// highest, figure.
pub(super) struct Latency {
    pub(super) rate: u64,
    pub(super) min: f64,
    pub(super) p50: f64,
    pub(super) p95: f64,
    pub(super) p99: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) figure: &'static str,
}

const fn latency(
    rate: u64,
    min: f64,
    max: Option<f64>,
    (p50, p95, p99): (f64, f64, Option<f64>),
    figure: &'static str,
) -> Latency {
    Latency {
        rate,
        min,
        p50,
        p95,
        p99,
        max,
        figure,
    }
}

pub(super) const TABLE_2: [Latency; 9] = [
    latency(100, 0.21, Some(0.38), (0.30, 0.36, Some(0.38)), "4"),
    latency(850, 0.14, Some(0.60), (0.15, 0.25, Some(0.32)), ""),
    latency(850, 0.13, Some(0.89), (0.17, 0.20, Some(0.25)), "5"),
    latency(4_000, 0.07, None, (0.15, 0.18, Some(0.20)), "6"),
    latency(8_000, 0.05, Some(0.73), (0.09, 0.12, Some(0.15)), "7"),
    latency(10_000, 0.05, Some(0.75), (0.07, 0.12, Some(0.13)), "8"),
    latency(39_000, 0.03, None, (0.05, 0.08, Some(0.14)), "9"),
    latency(39_000, 0.03, None, (0.05, 0.08, None), "10"),
    latency(39_000, 0.03, None, (0.05, 0.08, Some(0.20)), "11"),
];

pub(super) const TABLE_3: [Latency; 3] = [
    latency(100, 0.20, Some(0.54), (0.31, 0.37, Some(0.39)), ""),
    latency(10, 0.20, Some(0.73), (0.32, 0.37, Some(0.40)), ""),
    latency(1, 0.18, Some(0.78), (0.27, 0.33, Some(0.38)), ""),
];

/// A row of table 4, RMR over SI95 at the highest rate.
pub(super) struct Tuning {
    pub(super) rate: f64,
    pub(super) mtu: u32,
    pub(super) nagle: &'static str,
    pub(super) pinned: &'static str,
    pub(super) p99: Option<f64>,
    pub(super) max: Option<f64>,
}

const fn tuning(
    rate: f64,
    mtu: u32,
    nagle: &'static str,
    pinned: &'static str,
    p99: Option<f64>,
    max: Option<f64>,
) -> Tuning {
    Tuning {
        rate,
        mtu,
        nagle,
        pinned,
        p99,
        max,
    }
}

pub(super) const TABLE_4: [Tuning; 8] = [
    tuning(300e3, 9000, "on", "none", None, None),
    tuning(112e3, 9000, "off", "none", Some(0.04), Some(0.82)),
    tuning(260e3, 9000, "on", "receiver", None, None),
    tuning(136e3, 9000, "off", "receiver", Some(0.02), Some(0.07)),
    tuning(367e3, 9000, "on", "both", None, None),
    tuning(138e3, 9000, "off", "both", Some(0.02), Some(0.20)),
    tuning(137e3, 1500, "on", "both", Some(0.05), Some(0.13)),
    tuning(137e3, 1500, "off", "both", Some(0.02), Some(0.22)),
];

/// A row of table 5, gRPC at the highest rate.
pub(super) struct Pinning {
    pub(super) rate: f64,
    pub(super) mtu: u32,
    /// "Small" is about 30 bytes there and 16 here.
    pub(super) size: u64,
    pub(super) pinned: bool,
    pub(super) p95: f64,
    pub(super) p9999: f64,
    pub(super) max: f64,
}

const fn pinning(
    rate: f64,
    mtu: u32,
    size: u64,
    pinned: bool,
    (p95, p9999, max): (f64, f64, f64),
) -> Pinning {
    Pinning {
        rate,
        mtu,
        size,
        pinned,
        p95,
        p9999,
        max,
    }
}

pub(super) const TABLE_5: [Pinning; 6] = [
    pinning(35.0e3, 1500, 16, true, (0.09, 0.47, 0.83)),
    pinning(31.8e3, 1500, 1000, true, (0.08, 0.20, 0.99)),
    pinning(29.5e3, 9000, 16, true, (0.08, 0.49, 1.00)),
    pinning(29.1e3, 9000, 1000, true, (0.07, 0.19, 0.71)),
    pinning(33.9e3, 9000, 16, false, (0.12, 41.0, 42.0)),
    pinning(30.2e3, 9000, 1000, false, (0.09, 19.0, 19.0)),
];

/// What it prints of the CPU, in percent of one core, flat out: sender, receiver.
pub(super) const CPU: [(&str, f64, f64, &[&str]); 2] = [
    ("gRPC", 100.0, 260.0, &["grpc"]),
    ("RMR/SI95", 100.0, 235.0, &["rmr", "si95"]),
];
