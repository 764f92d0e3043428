//! From what the programs said to the figures of a record.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::core::failure;
use super::plan::Case;
use super::round::{AT_ONCE, Round, Times};
use super::run::Raw;
use super::usage::Cpu;
use crate::record::{
    BINS_50US, BothSides, Failure, Latency, LatencyHistogram, LatencyKind, Measured,
};

/// The figures of a run: a request is a UE that registered and opened a session, or a discovery; its
/// latency that of the registration, or of the discovery.
///
/// # Errors
/// When there are none.
pub(super) fn measured(raw: &Raw) -> Result<Measured, Failure> {
    let times = match &raw.discovery {
        Some(found) => found.took_us.clone(),
        None => all(raw, |round| &round.registration_us),
    };
    let requests = times.len() as u64;
    let seconds = match &raw.discovery {
        Some(_) => times.iter().sum::<f64>() / 1e6,
        None => attaching(raw),
    };
    if requests == 0 || seconds <= 0.0 {
        return Err(failure("no UE registered".to_owned(), "ran attach"));
    }
    let nanoseconds: Vec<u64> = times.iter().map(|us| (us * 1e3) as u64).collect();
    let contradiction =
        |error: crate::record::HistogramError| failure(error.to_string(), "figures");
    let histogram = LatencyHistogram::from_counts(nanoseconds.iter().map(|ns| (*ns, 1)))
        .map_err(contradiction)?;
    let mut bins = vec![0; BINS_50US];
    for ns in &nanoseconds {
        bins[(ns / 50_000).min(BINS_50US as u64 - 1) as usize] += 1;
    }
    let cpu: f64 = raw.cpu.iter().map(|(_, cpu)| cpu.as_secs_f64()).sum();
    Ok(Measured {
        duration_s: seconds,
        requests,
        errors: 0,
        qps: requests as f64 / seconds,
        bytes_per_s: 0.0,
        latency_us: latency(&times, &histogram),
        latency_kind: LatencyKind::RoundTrip,
        histogram_50us: bins,
        hdr: histogram.encode().map_err(contradiction)?,
        cpu_us_per_request: BothSides {
            server: Some(cpu * 1e6 / requests as f64),
            client: None,
        },
        cpu_percent: BothSides {
            server: Some(cpu * 100.0 / seconds),
            client: None,
        },
    })
}

/// Seconds in which UEs registered and opened sessions.
fn attaching(raw: &Raw) -> f64 {
    raw.rounds
        .iter()
        .map(|round| round.attaching.as_secs_f64())
        .sum()
}

/// The figures that only this scenario has.
pub(super) fn extra(raw: &Raw, case: &Case) -> Map<String, Value> {
    let mut extra = Map::new();
    if let Some(found) = &raw.discovery {
        let cpu = found.cpu.as_secs_f64() * 1e6 / found.took_us.len().max(1) as f64;
        extra.insert("profiles".into(), case.ues.into());
        extra.insert("discovery_cpu_us".into(), cpu.into());
        return extra;
    }
    let ues: u64 = raw.rounds.iter().map(|round| round.ues).sum();
    let each = |cpu: &Cpu| -> Value {
        let share = |cpu: Duration| cpu.as_secs_f64() * 1e6 / ues.max(1) as f64;
        let each = cpu.iter().map(|(nf, cpu)| (nf.clone(), share(*cpu).into()));
        each.collect::<Map<String, Value>>().into()
    };
    extra.insert("users".into(), case.ues.into());
    extra.insert("threads".into(), case.loops().into());
    extra.insert("at_once".into(), case.ues.min(AT_ONCE).into());
    extra.insert("rounds".into(), raw.rounds.len().into());
    extra.insert("cpu_us_per_ue".into(), each(&raw.cpu));
    extra.insert("detach_cpu_us_per_ue".into(), each(&raw.detach_cpu));
    extra.insert("wall_s".into(), raw.wall.as_secs_f64().into());
    let rate = ues as f64 / attaching(raw).max(1e-9);
    extra.insert("attached_per_s".into(), rate.into());
    if let Some(memory) = &raw.memory {
        let (mut empty, mut each) = (Map::new(), Map::new());
        for (nf, (before, full)) in memory {
            let more = full.saturating_sub(*before) as f64;
            empty.insert(nf.clone(), (*before).into());
            each.insert(nf.clone(), (more / f64::from(case.ues.max(1))).into());
        }
        extra.insert("memory_bytes_empty".into(), empty.into());
        extra.insert("memory_bytes_per_ue".into(), each.into());
    }
    if !raw.hops.is_empty() {
        extra.insert("hops".into(), raw.hops.clone().into());
    }
    for (name, of) in PROCEDURES {
        extra.insert(name.into(), summary(&all(raw, of)));
    }
    extra
}

type Of = fn(&Round) -> &Times;

const PROCEDURES: [(&str, Of); 3] = [
    ("registration_ms", |round| &round.registration_us),
    ("session_ms", |round| &round.session_us),
    ("detach_ms", |round| &round.detach_us),
];

fn all(raw: &Raw, of: Of) -> Vec<f64> {
    let values = raw.rounds.iter().flat_map(|round| of(round).values.iter());
    values.copied().collect()
}

/// Mean, median and 99th percentile in milliseconds.
fn summary(times_us: &[f64]) -> Value {
    if times_us.is_empty() {
        return Value::Null;
    }
    let mut sorted = times_us.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted[rank.clamp(1, sorted.len()) - 1] / 1e3
    };
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64 / 1e3;
    json!({"mean": mean, "p50": at(0.5), "p99": at(0.99)})
}

fn latency(times: &[f64], histogram: &LatencyHistogram) -> Latency {
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / count;
    let min = times.iter().copied().fold(f64::INFINITY, f64::min);
    let max = times.iter().copied().fold(0.0, f64::max);
    let quantile = |share| histogram.quantile_us(share).clamp(min, max.max(min));
    Latency {
        min,
        mean,
        stddev: variance.sqrt(),
        p25: quantile(0.25),
        p50: quantile(0.5),
        p75: quantile(0.75),
        p90: quantile(0.9),
        p95: quantile(0.95),
        p99: quantile(0.99),
        p999: quantile(0.999),
        p9999: quantile(0.9999),
        max,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_in_milliseconds() {
        let summary = summary(&[1000.0, 3000.0, 2000.0]);
        assert_eq!(summary["p50"], 2.0);
        assert_eq!(summary["p99"], 3.0);
        assert_eq!(summary["mean"], 2.0);
        assert_eq!(super::summary(&[]), Value::Null);
    }
}
