//! The quantities that paths are compared by.

use serde_json::Value;

use crate::record::Record;
use crate::report::format;

/// One quantity of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metric {
    /// Round trip from the time a request was due, microseconds.
    Mean,
    P50,
    P99,
    /// From sending to receiving, as the paper takes it, microseconds.
    OneWayMean,
    OneWayP50,
    OneWayP99,
    /// Standard deviation of it: jitter.
    OneWayJitter,
    Qps,
    /// CPU of every process a request, microseconds.
    CpuAll,
    /// CPU of the gateway's pod a request: the gateway and its sidecar, microseconds.
    CpuPod,
    /// The same in thousandths of a core, as the paper writes it.
    PodMilliCores,
    /// CPU of every process in thousandths of a core.
    AllMilliCores,
    /// Refusals of a configuration a second.
    RefusalRate,
    /// From the start of the gateway to its first answer, milliseconds.
    FirstAnswer,
    /// Resident memory of the gateway, bytes.
    GatewayMemory,
    /// Resident memory of the largest Envoy, bytes.
    SidecarMemory,
}

impl Metric {
    /// The figure of `record`, unless it failed or did not record it.
    pub(super) fn of(self, record: &Record) -> Option<f64> {
        let measured = record.complete()?;
        let latency = &measured.latency_us;
        let extra = |path: &[&str]| number(&record.extra, path);
        let one_way = |what: &str| extra(&["one_way_us", what]);
        let sum = |field: &str| {
            let sidecar = extra(&[field, "gateway_sidecar"]).unwrap_or(0.0);
            Some(extra(&[field, "gateway"])? + sidecar)
        };
        match self {
            Self::Mean => Some(latency.mean),
            Self::P50 => Some(latency.p50),
            Self::P99 => Some(latency.p99),
            Self::OneWayMean => one_way("mean"),
            Self::OneWayP50 => one_way("p50"),
            Self::OneWayP99 => one_way("p99"),
            Self::OneWayJitter => one_way("stddev"),
            // Who writes each request to a log is not judged by what that costs.
            Self::Qps => {
                let unlogged = record.extra.get("unlogged_qps");
                unlogged.and_then(Value::as_f64).or(Some(measured.qps))
            }
            Self::CpuAll => extra(&["role_cpu_us_per_request", "all"]),
            Self::CpuPod => sum("role_cpu_us_per_request"),
            Self::PodMilliCores => sum("role_cpu_milli"),
            Self::AllMilliCores => extra(&["role_cpu_milli", "all"]),
            Self::RefusalRate => extra(&["refusals_per_second"]),
            Self::FirstAnswer => extra(&["first_answer_ms"]),
            Self::GatewayMemory => extra(&["role_rss_bytes", "gateway", "largest"]),
            Self::SidecarMemory => {
                let gateway = extra(&["role_rss_bytes", "gateway_sidecar", "largest"]);
                let replica = extra(&["role_rss_bytes", "replica_sidecar", "largest"]);
                gateway.into_iter().chain(replica).reduce(f64::max)
            }
        }
    }

    /// Its name in a sentence.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean round trip",
            Self::P50 => "median round trip",
            Self::P99 => "99th percentile of the round trip",
            Self::OneWayMean => "mean one-way latency",
            Self::OneWayP50 => "median one-way latency",
            Self::OneWayP99 => "99th percentile of the one-way latency",
            Self::OneWayJitter => "jitter (standard deviation) of the one-way latency",
            Self::Qps => "requests a second",
            Self::CpuAll => "CPU of all processes a request",
            Self::CpuPod => "CPU of the gateway's pod a request",
            Self::PodMilliCores => "CPU of the gateway's pod",
            Self::AllMilliCores => "CPU of all processes",
            Self::RefusalRate => "refusals a second",
            Self::FirstAnswer => "first answer after the start",
            Self::GatewayMemory => "memory of the gateway",
            Self::SidecarMemory => "memory of an Envoy",
        }
    }

    /// A value with its unit.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Self::Qps | Self::RefusalRate => format!("{}/s", format::compact(value)),
            Self::PodMilliCores | Self::AllMilliCores => {
                format!("{} mCPU", format::significant(value))
            }
            Self::FirstAnswer => format!("{} ms", format::significant(value)),
            Self::GatewayMemory | Self::SidecarMemory => {
                format!("{} MB", format::significant(value / 1e6))
            }
            _ => format::micros(value),
        }
    }

    /// The title of an axis.
    pub(super) fn axis(self) -> String {
        let unit = match self {
            Self::Qps | Self::RefusalRate => "",
            Self::PodMilliCores | Self::AllMilliCores => ", thousandths of a core",
            Self::FirstAnswer => ", ms",
            Self::GatewayMemory | Self::SidecarMemory => ", bytes",
            _ => ", µs",
        };
        format!("{}{unit}", self.name())
    }
}

/// A number inside the scenario's own figures.
pub(super) fn number(extra: &serde_json::Map<String, Value>, path: &[&str]) -> Option<f64> {
    let (first, rest) = path.split_first()?;
    let mut value = extra.get(*first)?;
    for name in rest {
        value = value.get(name)?;
    }
    value.as_f64()
}
