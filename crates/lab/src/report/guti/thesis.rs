//! What the thesis says: its adapters, its matrix, the winners that its tables print and the
//! findings that its text states, each with a test over measured data.
//!
//! Source: *Evaluating RPC for Cloud-Native 5G Mobile Network Applications* (Chalmers University of
//! Technology and University of Gothenburg, 2020), chapters 5 to 7. Data only: `claims.rs` holds
//! the tests, `tables.rs` the comparison of winners. Where the text uses a word for which a test
//! needs a number ("similar", "a lot"), `reading` says which number was taken; that is ours.

use super::metric::Metric;
use super::runs::Condition;
use crate::record::Mode;

/// The eight adapters (table 4.1).
pub(super) const ADAPTERS: [&str; 8] = [
    "TCP-AS",
    "THRIFT-S",
    "THRIFT-NB",
    "THRIFT-AS",
    "GRPC-S",
    "GRPC-AS",
    "GRPC-BI",
    "GRPC-ASBI",
];

/// All but the TCP baseline.
const RPC: [&str; 7] = [
    "THRIFT-S",
    "THRIFT-NB",
    "THRIFT-AS",
    "GRPC-S",
    "GRPC-AS",
    "GRPC-BI",
    "GRPC-ASBI",
];
const GRPC: [&str; 4] = ["GRPC-S", "GRPC-AS", "GRPC-BI", "GRPC-ASBI"];
const THRIFT: [&str; 3] = ["THRIFT-S", "THRIFT-NB", "THRIFT-AS"];

/// Payloads in bytes (section 4.1.3; k = 1000).
pub(super) const PAYLOADS: [u64; 6] = [0, 10, 100, 1_000, 10_000, 100_000];
/// Rates in requests a second (section 4.1.3).
pub(super) const RATES: [u64; 7] = [10, 20, 50, 100, 200, 500, 1_000];
/// Numbers of clients (section 4.1.3, and one from the single-client runs).
pub(super) const CLIENTS: [u32; 9] = [1, 2, 4, 6, 8, 10, 12, 14, 16];
/// Payloads of the runs with several clients, and of the tables.
pub(super) const TABLE_PAYLOADS: [u64; 3] = [0, 10_000, 100_000];

/// A printed table of winners.
#[derive(Debug)]
pub(super) struct WinnerTable {
    /// `5.5`.
    pub(super) number: &'static str,
    pub(super) metric: Metric,
    pub(super) caption: &'static str,
    /// For each number of clients the winners at each of [`TABLE_PAYLOADS`]; several are a tie.
    pub(super) rows: [(u32, [&'static [&'static str]; 3]); 9],
}

const T: &[&str] = &["TCP-AS"];
const NB: &[&str] = &["THRIFT-NB"];
const ASBI: &[&str] = &["GRPC-ASBI"];
const T_NB: &[&str] = &["TCP-AS", "THRIFT-NB"];

/// Tables 5.5, 5.6 and 5.7 as printed.
pub(super) const TABLES: [WinnerTable; 3] = [
    WinnerTable {
        number: "5.5",
        metric: Metric::Mean,
        caption: "Adapter with the lowest mean latency",
        rows: [
            (1, [T, NB, NB]),
            (2, [&["THRIFT-S", "THRIFT-NB"], T, T]),
            (4, [T, T, &["TCP-AS", "THRIFT-S"]]),
            (6, [T, NB, T]),
            (8, [T, NB, T]),
            (10, [T_NB, NB, T]),
            (12, [NB, NB, NB]),
            (14, [NB, NB, NB]),
            (16, [NB, NB, NB]),
        ],
    },
    WinnerTable {
        number: "5.6",
        metric: Metric::P99,
        caption: "Adapter with the lowest tail latency (99th percentile)",
        rows: [
            (1, [T_NB, T_NB, NB]),
            (2, [&["TCP-AS", "THRIFT-S", "THRIFT-NB"], T, T]),
            (4, [T, T, T]),
            (6, [T, ASBI, T]),
            (8, [NB, ASBI, NB]),
            (10, [NB, ASBI, NB]),
            (12, [NB, ASBI, NB]),
            (14, [NB, ASBI, NB]),
            (16, [NB, NB, NB]),
        ],
    },
    WinnerTable {
        number: "5.7",
        metric: Metric::Qps,
        caption: "Adapter with the highest throughput",
        rows: [
            (1, [T, NB, NB]),
            (2, [NB, T, T]),
            (4, [T, T, T]),
            (6, [T, NB, T]),
            (8, [T, NB, T]),
            (10, [NB, NB, T]),
            (12, [NB, NB, T]),
            (14, [NB, NB, NB]),
            (16, [NB, &["THRIFT-AS"], NB]),
        ],
    },
];

/// Conditions: every combination of these.
#[derive(Clone, Copy, Debug)]
pub(super) struct Over {
    pub(super) mode: Mode,
    /// Used in rate mode only.
    pub(super) rates: &'static [u64],
    pub(super) payloads: &'static [u64],
    pub(super) clients: &'static [u32],
}

const AT_RATES: Over = Over {
    mode: Mode::Rate,
    rates: &RATES,
    payloads: &[0],
    clients: &[1],
};

const fn no_rate(payloads: &'static [u64], clients: &'static [u32]) -> Over {
    Over {
        mode: Mode::NoRate,
        rates: &[],
        payloads,
        clients,
    }
}

const SINGLE: Over = no_rate(&PAYLOADS, &[1]);
const SEVERAL: &[u32] = &[2, 4, 6, 8, 10, 12, 14, 16];
const MANY: &[u32] = &[12, 14, 16];
const MULTI: Over = no_rate(&TABLE_PAYLOADS, SEVERAL);

/// One step of a single client from a payload to the next.
const PAYLOAD_STEPS: &[(Condition, Condition)] = &[
    (Condition::no_rate(10, 1), Condition::no_rate(100, 1)),
    (Condition::no_rate(100, 1), Condition::no_rate(1_000, 1)),
    (Condition::no_rate(1_000, 1), Condition::no_rate(10_000, 1)),
    (
        Condition::no_rate(10_000, 1),
        Condition::no_rate(100_000, 1),
    ),
];
const ZERO_TO_10K: &[(Condition, Condition)] =
    &[(Condition::no_rate(0, 1), Condition::no_rate(10_000, 1))];
const TEN_TO_100K: (Condition, Condition) = (
    Condition::no_rate(10_000, 1),
    Condition::no_rate(100_000, 1),
);
const TWO_TO_FOUR: &[(Condition, Condition)] = &[
    (Condition::no_rate(0, 2), Condition::no_rate(0, 4)),
    (Condition::no_rate(10_000, 2), Condition::no_rate(10_000, 4)),
    (
        Condition::no_rate(100_000, 2),
        Condition::no_rate(100_000, 4),
    ),
];

/// A statement in a form that data can be held against.
#[derive(Clone, Copy, Debug)]
pub(super) enum Claim {
    /// The first of each pair is better than the second.
    Better {
        metric: Metric,
        pairs: &'static [(&'static str, &'static str)],
        over: Over,
    },
    /// Each of `who` is better than each other of `among`.
    Lead {
        metric: Metric,
        who: &'static [&'static str],
        among: &'static [&'static str],
        over: Over,
    },
    /// The best of the first is better than the best of the second.
    BestOf {
        metric: Metric,
        first: &'static [&'static str],
        second: &'static [&'static str],
        over: Over,
    },
    /// The largest of `who` is at most `within` times the smallest.
    Alike {
        metric: Metric,
        who: &'static [&'static str],
        within: f64,
        over: Over,
    },
    /// From one condition to the other the quantity changes by a factor within these bounds.
    Change {
        metric: Metric,
        who: &'static [&'static str],
        steps: &'static [(Condition, Condition)],
        at_least: f64,
        at_most: f64,
    },
    /// From one condition to the other, each of `who` grows by a larger factor than each other of
    /// `among`.
    GrowsMost {
        metric: Metric,
        who: &'static [&'static str],
        among: &'static [&'static str],
        step: (Condition, Condition),
    },
    /// The quantity reaches a value.
    Reaches {
        metric: Metric,
        who: &'static [&'static str],
        value: f64,
        over: Over,
    },
    /// For at least one of `who` the mean latency is `factor` times the median.
    MeanAboveMedian {
        who: &'static [&'static str],
        factor: f64,
        over: Over,
    },
    /// The range between the quartiles is at most this share of the median.
    Compact {
        who: &'static [&'static str],
        share: f64,
        over: Over,
    },
}

/// Where in this report a statement belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Figure(&'static str),
    Table(&'static str),
}

/// A statement of the thesis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statement {
    /// Its section there.
    pub(super) section: &'static str,
    /// To be read after "that".
    pub(super) text: &'static str,
    /// The number that a test takes for a word, where one was needed; else empty.
    pub(super) reading: &'static str,
    pub(super) places: &'static [Place],
    pub(super) claim: Claim,
}

use Place::{Figure, Table};

const FIGURES_5_7_TO_5_9: &[Place] = &[Figure("5.7"), Figure("5.8"), Figure("5.9")];
const FIGURES_5_10: &[Place] = &[Figure("5.10a"), Figure("5.10b"), Figure("5.10c")];

/// The findings that the text states about the quantities of figures 5.1 to 5.11 and the tables.
pub(super) const STATEMENTS: &[Statement] = &[
    Statement {
        section: "5.2.1",
        text: "streaming gRPC adapters have lower latency than single-request ones",
        reading: "",
        places: &[Figure("5.1")],
        claim: Claim::Better {
            metric: Metric::Mean,
            pairs: &[("GRPC-BI", "GRPC-S"), ("GRPC-ASBI", "GRPC-AS")],
            over: AT_RATES,
        },
    },
    Statement {
        section: "5.2.1",
        text: "asynchronous gRPC adapters have lower latency than their synchronous counterparts",
        reading: "",
        places: &[Figure("5.1")],
        claim: Claim::Better {
            metric: Metric::Mean,
            pairs: &[("GRPC-AS", "GRPC-S"), ("GRPC-ASBI", "GRPC-BI")],
            over: AT_RATES,
        },
    },
    Statement {
        section: "6.4.1",
        text: "in rate mode THRIFT-S and THRIFT-NB have the lowest mean latency of the RPC adapters",
        reading: "",
        places: &[Figure("5.1")],
        claim: Claim::Lead {
            metric: Metric::Mean,
            who: &["THRIFT-S", "THRIFT-NB"],
            among: &RPC,
            over: AT_RATES,
        },
    },
    Statement {
        section: "6.4.1",
        text: "with one client THRIFT-S and THRIFT-NB have the lowest mean latency of the RPC adapters",
        reading: "",
        places: &[Figure("5.2")],
        claim: Claim::Lead {
            metric: Metric::Mean,
            who: &["THRIFT-S", "THRIFT-NB"],
            among: &RPC,
            over: SINGLE,
        },
    },
    Statement {
        section: "6.1",
        text: "GRPC-ASBI has the lowest mean latency of the gRPC adapters",
        reading: "",
        places: &[Figure("5.2")],
        claim: Claim::Lead {
            metric: Metric::Mean,
            who: &["GRPC-ASBI"],
            among: &GRPC,
            over: SINGLE,
        },
    },
    Statement {
        section: "5.2.3",
        text: "THRIFT-NB has the lowest mean latency of all at 100 kB with one client",
        reading: "",
        places: &[Figure("5.2"), Table("5.5")],
        claim: Claim::Lead {
            metric: Metric::Mean,
            who: &["THRIFT-NB"],
            among: &ADAPTERS,
            over: no_rate(&[100_000], &[1]),
        },
    },
    Statement {
        section: "6.4.1",
        text: "up to 1 kB the tail latencies of all adapters are very similar",
        reading: "similar: the highest at most twice the lowest",
        places: &[Figure("5.3")],
        claim: Claim::Alike {
            metric: Metric::P99,
            who: &ADAPTERS,
            within: 2.0,
            over: no_rate(&[0, 10, 100, 1_000], &[1]),
        },
    },
    Statement {
        section: "6.4.1",
        text: "up to 1 kB TCP-AS and THRIFT-NB have the lowest tail latency",
        reading: "",
        places: &[Figure("5.3")],
        claim: Claim::Lead {
            metric: Metric::P99,
            who: &["TCP-AS", "THRIFT-NB"],
            among: &ADAPTERS,
            over: no_rate(&[0, 10, 100, 1_000], &[1]),
        },
    },
    Statement {
        section: "6.4.1",
        text: "towards high payloads the tail latency of GRPC-AS and THRIFT-AS grows more than that of the others",
        reading: "the factor from 10 kB to 100 kB",
        places: &[Figure("5.3")],
        claim: Claim::GrowsMost {
            metric: Metric::P99,
            who: &["GRPC-AS", "THRIFT-AS"],
            among: &ADAPTERS,
            step: TEN_TO_100K,
        },
    },
    Statement {
        section: "6.1",
        text: "GRPC-ASBI has lower tail latency than the other gRPC adapters",
        reading: "",
        places: &[Figure("5.3")],
        claim: Claim::Lead {
            metric: Metric::P99,
            who: &["GRPC-ASBI"],
            among: &GRPC,
            over: SINGLE,
        },
    },
    Statement {
        section: "5.2.1",
        text: "in bytes a second throughput rises with the payload",
        reading: "",
        places: &[Figure("5.4a")],
        claim: Claim::Change {
            metric: Metric::BytesPerSecond,
            who: &ADAPTERS,
            steps: PAYLOAD_STEPS,
            at_least: 1.0,
            at_most: f64::INFINITY,
        },
    },
    Statement {
        section: "5.2.1",
        text: "in requests a second throughput falls with the payload",
        reading: "falls, or stays within 5 %",
        places: &[Figure("5.4b")],
        claim: Claim::Change {
            metric: Metric::Qps,
            who: &ADAPTERS,
            steps: PAYLOAD_STEPS,
            at_least: 0.0,
            at_most: 1.05,
        },
    },
    Statement {
        section: "6.1",
        text: "GRPC-ASBI and GRPC-BI have the highest throughput of the gRPC adapters",
        reading: "",
        places: &[Figure("5.4b")],
        claim: Claim::Lead {
            metric: Metric::Qps,
            who: &["GRPC-ASBI", "GRPC-BI"],
            among: &GRPC,
            over: SINGLE,
        },
    },
    Statement {
        section: "6.4.1",
        text: "GRPC-ASBI, THRIFT-AS and THRIFT-NB have the lowest CPU usage of the RPC adapters",
        reading: "",
        places: &[Figure("5.5")],
        claim: Claim::Lead {
            metric: Metric::ServerCpu,
            who: &["GRPC-ASBI", "THRIFT-AS", "THRIFT-NB"],
            among: &RPC,
            over: SINGLE,
        },
    },
    Statement {
        section: "6.4.1",
        text: "CPU usage is consistent below 100 kB",
        reading: "consistent: at 10 kB within 15 % of that at 0 B",
        places: &[Figure("5.5")],
        claim: Claim::Change {
            metric: Metric::ServerCpu,
            who: &ADAPTERS,
            steps: ZERO_TO_10K,
            at_least: 0.85,
            at_most: 1.15,
        },
    },
    Statement {
        section: "6.4.1",
        text: "the step to 100 kB affects the CPU usage of the Thrift adapters most",
        reading: "the factor from 10 kB to 100 kB, of the RPC adapters",
        places: &[Figure("5.5")],
        claim: Claim::GrowsMost {
            metric: Metric::ServerCpu,
            who: &THRIFT,
            among: &RPC,
            step: TEN_TO_100K,
        },
    },
    Statement {
        section: "6.4.1",
        text: "for its CPU usage THRIFT-NB has the best throughput in bytes of the RPC adapters",
        reading: "",
        places: &[Figure("5.6a")],
        claim: Claim::Lead {
            metric: Metric::BytesPerSecondPerCpu,
            who: &["THRIFT-NB"],
            among: &RPC,
            over: no_rate(&[10, 100, 1_000, 10_000, 100_000], &[1]),
        },
    },
    Statement {
        section: "6.4.1",
        text: "for its CPU usage THRIFT-NB has the best throughput in requests of the RPC adapters",
        reading: "",
        places: &[Figure("5.6b")],
        claim: Claim::Lead {
            metric: Metric::QpsPerCpu,
            who: &["THRIFT-NB"],
            among: &RPC,
            over: SINGLE,
        },
    },
    Statement {
        section: "5.2.2",
        text: "some adapters have significant differences between mean and median latency",
        reading: "for at least one of the eight the mean is a quarter above the median",
        places: FIGURES_5_7_TO_5_9,
        claim: Claim::MeanAboveMedian {
            who: &ADAPTERS,
            factor: 1.25,
            over: MULTI,
        },
    },
    Statement {
        section: "5.2.2",
        text: "at 0 B the latencies of TCP-AS are very compact",
        reading: "the range between the quartiles is at most a fifth of the median",
        places: &[Figure("5.7")],
        claim: Claim::Compact {
            who: &["TCP-AS"],
            share: 0.2,
            over: no_rate(&[0], SEVERAL),
        },
    },
    Statement {
        section: "6.1",
        text: "with several clients GRPC-S and GRPC-BI have the lowest median latency of the gRPC adapters",
        reading: "",
        places: FIGURES_5_7_TO_5_9,
        claim: Claim::Lead {
            metric: Metric::Median,
            who: &["GRPC-S", "GRPC-BI"],
            among: &GRPC,
            over: MULTI,
        },
    },
    Statement {
        section: "6.1",
        text: "with several clients GRPC-ASBI has the lowest mean latency of the gRPC adapters",
        reading: "",
        places: FIGURES_5_7_TO_5_9,
        claim: Claim::Lead {
            metric: Metric::Mean,
            who: &["GRPC-ASBI"],
            among: &GRPC,
            over: MULTI,
        },
    },
    Statement {
        section: "6.2",
        text: "up to six clients THRIFT-S and THRIFT-NB have very similar mean latency",
        reading: "similar: within 15 %",
        places: FIGURES_5_7_TO_5_9,
        claim: Claim::Alike {
            metric: Metric::Mean,
            who: &["THRIFT-S", "THRIFT-NB"],
            within: 1.15,
            over: no_rate(&TABLE_PAYLOADS, &[1, 2, 4, 6]),
        },
    },
    Statement {
        section: "6.2",
        text: "beyond six clients THRIFT-NB has the lowest mean latency of the Thrift adapters",
        reading: "",
        places: FIGURES_5_7_TO_5_9,
        claim: Claim::Lead {
            metric: Metric::Mean,
            who: &["THRIFT-NB"],
            among: &THRIFT,
            over: no_rate(&TABLE_PAYLOADS, &[8, 10, 12, 14, 16]),
        },
    },
    Statement {
        section: "6.4.1",
        text: "the Thrift adapters outperform the gRPC adapters in mean latency",
        reading: "the best of each are compared",
        places: FIGURES_5_7_TO_5_9,
        claim: Claim::BestOf {
            metric: Metric::Mean,
            first: &THRIFT,
            second: &GRPC,
            over: no_rate(&[0, 10_000], SEVERAL),
        },
    },
    Statement {
        section: "6.4.1",
        text: "at 100 kB asynchronous gRPC and synchronous Thrift adapters perform very similarly",
        reading: "similar: the highest mean latency at most 1.5 times the lowest",
        places: &[Figure("5.9")],
        claim: Claim::Alike {
            metric: Metric::Mean,
            who: &["GRPC-AS", "GRPC-ASBI", "THRIFT-S", "THRIFT-NB"],
            within: 1.5,
            over: no_rate(&[100_000], SEVERAL),
        },
    },
    Statement {
        section: "6.4.1",
        text: "throughput increases a lot from two to four clients except for GRPC-S, GRPC-AS and GRPC-BI",
        reading: "a lot: by a fifth or more; tested on the other five",
        places: FIGURES_5_10,
        claim: Claim::Change {
            metric: Metric::Qps,
            who: &["TCP-AS", "THRIFT-S", "THRIFT-NB", "THRIFT-AS", "GRPC-ASBI"],
            steps: TWO_TO_FOUR,
            at_least: 1.2,
            at_most: f64::INFINITY,
        },
    },
    Statement {
        section: "6.1",
        text: "with several clients GRPC-AS has better throughput than GRPC-BI",
        reading: "",
        places: FIGURES_5_10,
        claim: Claim::Better {
            metric: Metric::Qps,
            pairs: &[("GRPC-AS", "GRPC-BI")],
            over: MULTI,
        },
    },
    Statement {
        section: "6.2",
        text: "beyond six clients THRIFT-NB has the highest throughput of the Thrift adapters",
        reading: "",
        places: FIGURES_5_10,
        claim: Claim::Lead {
            metric: Metric::Qps,
            who: &["THRIFT-NB"],
            among: &THRIFT,
            over: no_rate(&TABLE_PAYLOADS, &[8, 10, 12, 14, 16]),
        },
    },
    Statement {
        section: "5.2.3",
        text: "with many clients TCP-AS has more tail latency than THRIFT-NB",
        reading: "many: twelve or more",
        places: &[
            Figure("5.11a"),
            Figure("5.11b"),
            Figure("5.11c"),
            Table("5.6"),
        ],
        claim: Claim::Better {
            metric: Metric::P99,
            pairs: &[("THRIFT-NB", "TCP-AS")],
            over: no_rate(&TABLE_PAYLOADS, MANY),
        },
    },
    Statement {
        section: "6.4.1",
        text: "at 10 kB the tail latency of GRPC-S and GRPC-BI reaches 20 ms from six clients on",
        reading: "",
        places: &[Figure("5.11b")],
        claim: Claim::Reaches {
            metric: Metric::P99,
            who: &["GRPC-S", "GRPC-BI"],
            value: 20_000.0,
            over: no_rate(&[10_000], &[6, 8, 10, 12, 14, 16]),
        },
    },
    Statement {
        section: "6.4.1",
        text: "at 10 kB the tail latency of THRIFT-S and TCP-AS reaches 20 ms from twelve clients on",
        reading: "",
        places: &[Figure("5.11b")],
        claim: Claim::Reaches {
            metric: Metric::P99,
            who: &["THRIFT-S", "TCP-AS"],
            value: 20_000.0,
            over: no_rate(&[10_000], MANY),
        },
    },
    Statement {
        section: "6.4.1",
        text: "at 10 kB GRPC-ASBI, GRPC-AS and THRIFT-NB keep lower tail latency than the adapters with a thread a client",
        reading: "against GRPC-S, GRPC-BI, TCP-AS and THRIFT-S at six clients or more",
        places: &[Figure("5.11b")],
        claim: Claim::Lead {
            metric: Metric::P99,
            who: &["GRPC-ASBI", "GRPC-AS", "THRIFT-NB"],
            among: &[
                "GRPC-S",
                "GRPC-BI",
                "TCP-AS",
                "THRIFT-S",
                "GRPC-ASBI",
                "GRPC-AS",
                "THRIFT-NB",
            ],
            over: no_rate(&[10_000], &[6, 8, 10, 12, 14, 16]),
        },
    },
    Statement {
        section: "5.2.3",
        text: "at 0 B with many clients THRIFT-NB performs best",
        reading: "mean latency; many: twelve or more",
        places: &[Table("5.5")],
        claim: Claim::Lead {
            metric: Metric::Mean,
            who: &["THRIFT-NB"],
            among: &ADAPTERS,
            over: no_rate(&[0], MANY),
        },
    },
    Statement {
        section: "5.2.3",
        text: "at 10 kB GRPC-ASBI has the best tail latency",
        reading: "from six to fourteen clients, as its table 5.6 has it",
        places: &[Table("5.6")],
        claim: Claim::Lead {
            metric: Metric::P99,
            who: &["GRPC-ASBI"],
            among: &ADAPTERS,
            over: no_rate(&[10_000], &[6, 8, 10, 12, 14]),
        },
    },
    Statement {
        section: "7.1",
        text: "the RPC adapters have lower throughput than the TCP adapter",
        reading: "the best RPC adapter is compared with TCP-AS",
        places: &[Table("5.7")],
        claim: Claim::BestOf {
            metric: Metric::Qps,
            first: &["TCP-AS"],
            second: &RPC,
            over: no_rate(&TABLE_PAYLOADS, &CLIENTS),
        },
    },
];
