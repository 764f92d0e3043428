//! The record of one run: one JSON line of `results.jsonl`, the same shape for every scenario.
//!
//! The page for readers of the file is `docs/results-schema.md`; this module is its other half. A
//! record holds its own inputs (options, versions, machine) and the raw histogram, so that any
//! figure can be made again from the file alone.

mod histogram;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value};

pub use histogram::{BINS_50US, HistogramError, LatencyHistogram};

/// The version of the shape below; raised when a reader of the old shape would go wrong.
pub const SCHEMA: u32 = 1;

/// Where a record that holds a verdict instead of figures names what was checked.
pub(crate) const QUALITY: &str = "quality";

/// How requests are generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::exhaustive_enums, reason = "closed: with a rate or without")]
pub enum Mode {
    /// Closed loop: each client sends its next request when the answer to the last one is there.
    NoRate,
    /// Open loop: requests are due at fixed times; latency counts from the time they were due.
    Rate,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoRate => "no-rate",
            Self::Rate => "rate",
        })
    }
}

/// What was measured: everything that must be equal for two runs to be repetitions of each other,
/// and the key by which `--resume` and `compare` find a run again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cell {
    /// The scenario: `guti`, ...
    pub scenario: String,
    /// Adapter, transport or path under test.
    pub subject: String,
    /// With a rate or without.
    pub mode: Mode,
    /// Offered requests a second, of all clients together; `None` (JSON `null`) without a rate.
    pub rate: Option<u64>,
    /// Payload of the request, and of the answer, in bytes.
    pub payload_bytes: u64,
    /// Clients at work at the same time.
    pub clients: u32,
    /// Connections asked for: one a client, or one that all clients share.
    pub connections: u32,
    /// Whatever else of this scenario must be equal, by name; empty for most.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            subject,
            payload_bytes,
            clients,
            connections,
            settings,
            ..
        } = self;
        let plural = if *clients == 1 { "" } else { "s" };
        write!(f, "{subject}, {payload_bytes} B, {clients} client{plural}")?;
        if connections != clients {
            write!(f, " on {connections}")?;
        }
        if let Some(rate) = self.rate {
            write!(f, ", {rate}/s")?;
        }
        for (name, value) in settings {
            write!(f, ", {name} {value}")?;
        }
        Ok(())
    }
}

/// Whether the run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(
    clippy::exhaustive_enums,
    reason = "closed: readers must decide on each"
)]
pub enum Status {
    /// Measured to the planned end.
    Complete,
    /// Stopped early (Ctrl-C); the figures are true for the shorter window.
    Partial,
    /// Nothing to show; see [`Record::error`].
    Failed,
}

/// One run.
///
/// `measured` is there exactly when `status` is not [`Status::Failed`] and something was to be
/// measured; its fields stand flat beside the others in the JSON line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What was measured.
    #[serde(flatten)]
    pub cell: Cell,
    /// Which of the interleaved repetitions, from 1.
    pub repetition: u32,
    /// Place of the run in the order of the whole session, from 1: shows the interleaving.
    pub sequence: u32,
    /// Start of the run, RFC 3339, UTC.
    pub started_at: String,
    /// Whether the run came to its end.
    pub status: Status,
    /// Why it did not, when it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// The figures, unless it failed or was a check (`extra.quality`).
    #[serde(flatten)]
    pub measured: Option<Measured>,
    /// The network alone: one byte there and back over TCP, same pinning, just before this
    /// series; `None` when that could not be measured.
    pub baseline_us: Option<Baseline>,
    /// What else the machine did meanwhile.
    pub machine_load: Option<MachineLoad>,
    /// How far apart the cores were; `None` where that was not asked, or could not be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_ns: Option<LineNs>,
    /// The scenario's own figures.
    pub extra: Map<String, Value>,
    /// Every option, given or resolved.
    pub options: Map<String, Value>,
    /// Name to version, of Corewire and of the programs and libraries under test.
    pub versions: BTreeMap<String, String>,
    /// The machine.
    pub host: Host,
}

impl Record {
    /// The figures of a run that can stand in a table: complete ones.
    ///
    /// Partial runs are left out, since their window is shorter than that of their neighbours.
    #[must_use]
    pub fn complete(&self) -> Option<&Measured> {
        match self.status {
            Status::Complete => self.measured.as_ref(),
            Status::Partial | Status::Failed => None,
        }
    }
}

/// By hand, because `flatten` on an `Option` would turn a damaged figure into a silent `None`.
impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Head {
            schema: u32,
            #[serde(flatten)]
            cell: Cell,
            repetition: u32,
            sequence: u32,
            started_at: String,
            status: Status,
            error: Option<Failure>,
            baseline_us: Option<Baseline>,
            machine_load: Option<MachineLoad>,
            line_ns: Option<LineNs>,
            extra: Map<String, Value>,
            options: Map<String, Value>,
            versions: BTreeMap<String, String>,
            host: Host,
        }
        let value = Value::deserialize(deserializer)?;
        if let Some(schema) = value.get("schema").and_then(Value::as_u64)
            && schema != u64::from(SCHEMA)
        {
            return Err(de::Error::custom(format_args!(
                "schema {schema}, but this program reads schema {SCHEMA}"
            )));
        }
        let head = Head::deserialize(&value).map_err(de::Error::custom)?;
        let measured = match head.status {
            Status::Failed => None,
            Status::Complete if head.extra.contains_key(QUALITY) => None,
            Status::Complete | Status::Partial => {
                Some(Measured::deserialize(&value).map_err(de::Error::custom)?)
            }
        };
        Ok(Self {
            schema: head.schema,
            cell: head.cell,
            repetition: head.repetition,
            sequence: head.sequence,
            started_at: head.started_at,
            status: head.status,
            error: head.error,
            measured,
            baseline_us: head.baseline_us,
            machine_load: head.machine_load,
            line_ns: head.line_ns,
            extra: head.extra,
            options: head.options,
            versions: head.versions,
            host: head.host,
        })
    }
}

/// Why a run has no figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What went wrong, in a sentence.
    pub what: String,
    /// Where: which process and which step.
    #[serde(rename = "where")]
    pub place: String,
    /// What the user can do next.
    pub next: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.place)?;
        if self.next.is_empty() {
            Ok(())
        } else {
            write!(f, "; {}", self.next)
        }
    }
}

/// What a latency counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::exhaustive_enums, reason = "closed: there and back, or there")]
pub enum LatencyKind {
    /// From the request (in rate mode: from the time it was due) to its answer.
    RoundTrip,
    /// From the sender to the receiver.
    OneWay,
}

/// The figures of one run, over the measured window only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Length of the measured window in seconds.
    pub duration_s: f64,
    /// Requests answered.
    pub requests: u64,
    /// Requests that were not, or wrongly; not part of the latencies.
    pub errors: u64,
    /// Answered requests a second.
    pub qps: f64,
    /// Payload bytes a second, requests and answers together.
    pub bytes_per_s: f64,
    /// Latency in microseconds.
    pub latency_us: Latency,
    /// What a latency counts.
    pub latency_kind: LatencyKind,
    /// The thesis's histogram: 400 bins of 50 us, the last one open at its upper end.
    pub histogram_50us: Vec<u64>,
    /// The fine histogram, in nanoseconds: [`LatencyHistogram::decode`] reads it.
    pub hdr: String,
    /// CPU time a request, in microseconds.
    pub cpu_us_per_request: BothSides,
    /// CPU time as a share of one core's time, in percent.
    pub cpu_percent: BothSides,
}

impl Measured {
    /// The fine histogram.
    ///
    /// # Errors
    /// When the field is not base64, or not a `HdrHistogram` of the V2 form.
    pub fn histogram(&self) -> Result<LatencyHistogram, HistogramError> {
        LatencyHistogram::decode(&self.hdr)
    }
}

/// Latencies in microseconds. `min`, `max`, `mean` and `stddev` come exact from the client's own
/// sums; percentiles from the fine histogram, whose steps are at most a thousandth wide.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the statistics")]
pub struct Latency {
    pub min: f64,
    pub mean: f64,
    pub stddev: f64,
    pub p25: f64,
    pub p50: f64,
    pub p75: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
    pub p9999: f64,
    pub max: f64,
}

/// A figure of the server process and the same of the client process; `None` where the process
/// could not be observed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct BothSides {
    pub server: Option<f64>,
    pub client: Option<f64>,
}

/// The network's own round trip in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the statistics")]
pub struct Baseline {
    pub mean: f64,
    pub p50: f64,
    pub p99: f64,
}

/// Work on the machine that was not ours, while the client process ran.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MachineLoad {
    /// Busy time of all cores less that of the server and client processes, in percent of one
    /// core. Above some 5 the sample is suspect. Kernel work that is charged to nobody
    /// (interrupts) counts as foreign.
    pub foreign_cpu_percent: f64,
    /// Time that the hypervisor gave to other guests, in percent of one core.
    pub steal_percent: f64,
    /// The kernel's load average over the last minute, at the end of the run.
    pub loadavg_1m: f64,
}

/// Nanoseconds that a line of cache needed from a client's core to a server's and back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LineNs {
    /// Just before the run.
    pub before: f64,
    /// Just after it.
    pub after: f64,
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Model name of the CPU.
    pub cpu_model: String,
    /// Cores online.
    pub cores: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
    /// Name of the distribution.
    pub distribution: String,
    /// Frequency governor of the first core; `None` where the machine has none to show.
    pub governor: Option<String>,
    /// Hypervisor or container by name; `None` when none was seen.
    pub virtualised: Option<String>,
}

#[cfg(test)]
pub(crate) mod tests;
