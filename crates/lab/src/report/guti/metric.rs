//! The quantities that the GUTI evaluation compares.

use crate::record::Record;
use crate::report::format;
use crate::statistics::Better;

/// One quantity of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metric {
    /// Mean latency, microseconds.
    Mean,
    /// Median latency, microseconds.
    Median,
    /// First quartile of the latency, microseconds.
    FirstQuartile,
    /// Third quartile of the latency, microseconds.
    ThirdQuartile,
    /// 99th percentile of the latency, microseconds.
    P99,
    /// 99.9th percentile of the latency, microseconds.
    P999,
    /// Standard deviation of the latency, microseconds.
    Deviation,
    /// Mean round trip of the network alone, microseconds.
    Baseline,
    /// Requests a second.
    Qps,
    /// Bytes a second.
    BytesPerSecond,
    /// CPU of the server process, percent of one core.
    ServerCpu,
    /// CPU time of the server process for one request, microseconds.
    ServerCpuPerRequest,
    /// CPU time of the client process for one request, microseconds.
    ClientCpuPerRequest,
    /// Requests a second for each percent of server CPU.
    QpsPerCpu,
    /// Bytes a second for each percent of server CPU.
    BytesPerSecondPerCpu,
}

impl Metric {
    /// The figure of `record`, unless it failed or did not record it.
    pub(super) fn of(self, record: &Record) -> Option<f64> {
        let measured = record.complete()?;
        let latency = &measured.latency_us;
        let cpu = measured.cpu_percent.server;
        let per_cpu = |figure: f64| cpu.filter(|cpu| *cpu > 0.0).map(|cpu| figure / cpu);
        match self {
            Self::Mean => Some(latency.mean),
            Self::Median => Some(latency.p50),
            Self::FirstQuartile => Some(latency.p25),
            Self::ThirdQuartile => Some(latency.p75),
            Self::P99 => Some(latency.p99),
            Self::P999 => Some(latency.p999),
            Self::Deviation => Some(latency.stddev),
            Self::Baseline => record.baseline_us.map(|baseline| baseline.mean),
            Self::Qps => Some(measured.qps),
            Self::BytesPerSecond => Some(measured.bytes_per_s),
            Self::ServerCpu => cpu,
            Self::ServerCpuPerRequest => measured.cpu_us_per_request.server,
            Self::ClientCpuPerRequest => measured.cpu_us_per_request.client,
            Self::QpsPerCpu => per_cpu(measured.qps),
            Self::BytesPerSecondPerCpu => per_cpu(measured.bytes_per_s),
        }
    }

    /// Which way it is good.
    pub(super) fn better(self) -> Better {
        match self {
            Self::Qps | Self::BytesPerSecond | Self::QpsPerCpu | Self::BytesPerSecondPerCpu => {
                Better::Larger
            }
            _ => Better::Smaller,
        }
    }

    /// Its name in a sentence.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean latency",
            Self::Median => "median latency",
            Self::FirstQuartile => "first quartile of latency",
            Self::ThirdQuartile => "third quartile of latency",
            Self::P99 => "99th percentile latency",
            Self::P999 => "99.9th percentile latency",
            Self::Deviation => "standard deviation of latency",
            Self::Baseline => "network baseline",
            Self::Qps => "requests a second",
            Self::BytesPerSecond => "bytes a second",
            Self::ServerCpu => "server CPU",
            Self::ServerCpuPerRequest => "server CPU time a request",
            Self::ClientCpuPerRequest => "client CPU time a request",
            Self::QpsPerCpu => "requests a second for each percent of server CPU",
            Self::BytesPerSecondPerCpu => "bytes a second for each percent of server CPU",
        }
    }

    /// A value with its unit.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Self::Qps => format!("{}/s", format::compact(value)),
            Self::BytesPerSecond => format::bytes_per_second(value),
            Self::ServerCpu => format!("{} %", format::significant(value)),
            Self::QpsPerCpu => format!("{}/s per %", format::compact(value)),
            Self::BytesPerSecondPerCpu => format!("{} per %", format::bytes_per_second(value)),
            _ => format::micros(value),
        }
    }
}
