//! Figures 5.1 to 5.6: one client, by rate or by payload.

use super::{Figure, failed_throughout, findings_of, keys_of, not_run, slots, words};
use crate::record::Mode;
use crate::report::chart::Key;
use crate::report::chart::bars::Bar;
use crate::report::chart::grouped::{Group, Grouped};
use crate::report::format;
use crate::report::guti::metric::Metric;
use crate::report::guti::runs::{Condition, Runs};
use crate::report::guti::thesis;
use crate::report::scale::Kind;
use crate::statistics::compare_interleaved;

const BASELINE: &str = "TCP-AS";

/// Figure 5.1: mean latency relative to that of TCP-AS, by rate, without payload.
pub(super) fn relative_to_tcp(runs: &Runs<'_>, keys: &[Key]) -> Figure {
    let rates = runs.values(
        |condition| condition.mode == Mode::Rate && is_small_and_single(condition),
        |condition| condition.rate.unwrap_or_default(),
    );
    let conditions: Vec<Condition> = rates.iter().map(|rate| Condition::rate(*rate, 0)).collect();
    let ratio = |condition: Condition, subject: &str| {
        let own = runs.samples(condition, subject, Metric::Mean);
        let baseline = runs.samples(condition, BASELINE, Metric::Mean);
        let ratio = compare_interleaved(&own, &baseline).ratio?;
        let words = format!(
            "{} the mean latency of {BASELINE} ({})",
            format::ratio(ratio.median),
            words(runs, condition, subject, Metric::Mean)?,
        );
        let bar = Bar {
            value: ratio.median,
            deviation: (ratio.count > 1).then_some((ratio.q1, ratio.q3)),
            fog: None,
        };
        Some((bar, words))
    };
    let chart = Chart {
        number: "5.1",
        title: "Mean latency relative to TCP-AS, rate mode, 0 B",
        value_title: "mean latency / that of TCP-AS",
        caption: "Lower is better. Each bar is the median over the repetitions of the ratio to \
                  TCP-AS in the same repetition; the black line spans its quartiles. The dashed \
                  line is TCP-AS itself. Latency counts from the time at which a request was due.",
        groups: rates.iter().map(|rate| format!("{rate}/s")).collect(),
        group_title: "offered requests a second",
        missing: not_run(&thesis::RATES, &rates, |rate| format!("{rate}/s")),
        reference: Some((1.0, "TCP-AS".to_owned())),
        kind: None,
        smallest_payload: 0,
    };
    chart.figure(runs, keys, &conditions, ratio)
}

/// Figure 5.2: mean latency by payload, with its deviation, over the network baseline.
pub(super) fn mean_latency(runs: &Runs<'_>, keys: &[Key]) -> Figure {
    let bar = |condition: Condition, subject: &str| {
        let mean = runs.summary(condition, subject, Metric::Mean)?.median;
        let deviation = runs.summary(condition, subject, Metric::Deviation)?.median;
        let fog = runs.summary(condition, subject, Metric::Baseline);
        let baseline = fog.map_or_else(
            || "no baseline".to_owned(),
            |fog| format!("network alone {}", format::micros(fog.median)),
        );
        let words = format!(
            "{}, standard deviation {}, {baseline}",
            words(runs, condition, subject, Metric::Mean)?,
            format::micros(deviation),
        );
        let bar = Bar {
            value: mean,
            deviation: Some((mean - deviation, mean + deviation)),
            fog: fog.map(|fog| fog.median),
        };
        Some((bar, words))
    };
    by_payload(
        runs,
        keys,
        Chart {
            number: "5.2",
            title: "Mean latency by payload, one client, no-rate mode",
            value_title: "mean latency, µs",
            caption: "Lower is better. The white fogged part is the network alone (one byte there \
                      and back over TCP, same pinning); the black vertical line is the standard \
                      deviation of the latency. A line that leaves the plot is cut at its edge \
                      with an arrow; the number is in the tooltip and in the table below.",
            ..Chart::default()
        },
        bar,
    )
}

/// Figure 5.3: tail latency by payload.
pub(super) fn tail_latency(runs: &Runs<'_>, keys: &[Key]) -> Figure {
    plain(
        runs,
        keys,
        Chart {
            number: "5.3",
            title: "Tail latency (99th percentile) by payload, one client, no-rate mode",
            value_title: "99th percentile latency, µs",
            caption: "Lower is better. Medians over the repetitions; the black line spans their \
                      quartiles.",
            ..Chart::default()
        },
        (Metric::P99, 1.0),
    )
}

/// Figure 5.4a: bytes a second, logarithmic.
pub(super) fn bytes_per_second(runs: &Runs<'_>, keys: &[Key]) -> Figure {
    plain(
        runs,
        keys,
        Chart {
            number: "5.4a",
            title: "Throughput in bytes a second by payload, one client, no-rate mode",
            value_title: "bytes a second",
            caption: "Higher is better. Payload bytes of the requests, one way, so there is no bar for 0 B. \
                      Logarithmic, as in the thesis.",
            kind: Some(Kind::Log),
            smallest_payload: 1,
            ..Chart::default()
        },
        (Metric::BytesPerSecond, 1.0),
    )
}

/// Figure 5.4b: thousands of requests a second.
pub(super) fn requests_per_second(runs: &Runs<'_>, keys: &[Key]) -> Figure {
    plain(
        runs,
        keys,
        Chart {
            number: "5.4b",
            title: "Throughput in thousands of requests a second by payload, one client, no-rate",
            value_title: "kQPS",
            caption: "Higher is better. Medians over the repetitions; the black line spans their \
                      quartiles.",
            kind: Some(Kind::Linear),
            ..Chart::default()
        },
        (Metric::Qps, 1e-3),
    )
}

/// Figure 5.5: CPU of the server process.
pub(super) fn server_cpu(runs: &Runs<'_>, keys: &[Key]) -> Figure {
    plain(
        runs,
        keys,
        Chart {
            number: "5.5",
            title: "CPU usage of the server by payload, one client, no-rate mode",
            value_title: "server CPU, % of one core",
            caption: "CPU time of the server process in the measured window, as a share of one \
                      core. Low only means cheap together with figure 5.6: a slow adapter also \
                      uses little.",
            kind: Some(Kind::Linear),
            ..Chart::default()
        },
        (Metric::ServerCpu, 1.0),
    )
}

/// Figure 5.6a: bytes a second for the CPU used.
pub(super) fn bytes_per_cpu(runs: &Runs<'_>, keys: &[Key]) -> Figure {
    plain(
        runs,
        keys,
        Chart {
            number: "5.6a",
            title: "Throughput in bytes a second / server CPU by payload, one client, no-rate mode",
            value_title: "bytes a second / % CPU",
            caption: "Higher is better. No bar for 0 B, as in figure 5.4a.",
            kind: Some(Kind::Log),
            smallest_payload: 1,
            ..Chart::default()
        },
        (Metric::BytesPerSecondPerCpu, 1.0),
    )
}

/// Figure 5.6b: requests a second for the CPU used.
pub(super) fn requests_per_cpu(runs: &Runs<'_>, keys: &[Key]) -> Figure {
    plain(
        runs,
        keys,
        Chart {
            number: "5.6b",
            title: "Throughput in requests a second / server CPU by payload, one client, no-rate",
            value_title: "requests a second / % CPU",
            caption: "Higher is better.",
            ..Chart::default()
        },
        (Metric::QpsPerCpu, 1.0),
    )
}

/// What one of these charts does not share with the others.
#[derive(Debug, Default)]
struct Chart {
    number: &'static str,
    title: &'static str,
    value_title: &'static str,
    caption: &'static str,
    groups: Vec<String>,
    group_title: &'static str,
    missing: String,
    reference: Option<(f64, String)>,
    kind: Option<Kind>,
    /// One byte where the quantity counts bytes: without payload there are none.
    smallest_payload: u64,
}

impl Chart {
    fn figure(
        self,
        runs: &Runs<'_>,
        keys: &[Key],
        conditions: &[Condition],
        bar: impl Fn(Condition, &str) -> Option<(Bar, String)>,
    ) -> Figure {
        let missing = format!(
            "{}{}",
            failed_throughout(runs, keys, conditions),
            self.missing
        );
        let keys = keys_of(runs, keys, conditions);
        let file = format!("figure-{}", self.number);
        let groups: Vec<Group<Bar>> = conditions
            .iter()
            .zip(self.groups)
            .map(|(condition, label)| Group {
                label,
                slots: slots(runs, &keys, *condition, |subject| bar(*condition, subject)),
            })
            .collect();
        let drawing = (!groups.is_empty() && !keys.is_empty()).then(|| {
            Grouped {
                id: file.replace('.', "-"),
                title: format!("Figure {}: {}", self.number, self.title),
                value_title: self.value_title.to_owned(),
                group_title: self.group_title.to_owned(),
                keys,
                groups,
                kind: self.kind,
                reference: self.reference,
            }
            .draw()
        });
        Figure {
            number: self.number,
            title: self.title.to_owned(),
            file,
            drawing,
            caption: self.caption.to_owned(),
            findings: findings_of(runs, self.number),
            missing,
        }
    }
}

/// Bars of one quantity, times `factor`, with the spread over the repetitions.
fn plain(runs: &Runs<'_>, keys: &[Key], chart: Chart, (metric, factor): (Metric, f64)) -> Figure {
    by_payload(runs, keys, chart, |condition, subject| {
        let summary = runs.summary(condition, subject, metric)?;
        let bar = Bar {
            value: summary.median * factor,
            deviation: (summary.count > 1).then_some((summary.q1 * factor, summary.q3 * factor)),
            fog: None,
        };
        Some((bar, words(runs, condition, subject, metric)?))
    })
}

fn by_payload(
    runs: &Runs<'_>,
    keys: &[Key],
    chart: Chart,
    bar: impl Fn(Condition, &str) -> Option<(Bar, String)>,
) -> Figure {
    let payloads = runs.values(
        |condition| {
            condition.mode == Mode::NoRate
                && condition.clients == 1
                && condition.payload >= chart.smallest_payload
        },
        |condition| condition.payload,
    );
    let wanted: Vec<u64> = thesis::PAYLOADS
        .into_iter()
        .filter(|payload| *payload >= chart.smallest_payload)
        .collect();
    let conditions: Vec<Condition> = payloads
        .iter()
        .map(|payload| Condition::no_rate(*payload, 1))
        .collect();
    let chart = Chart {
        groups: payloads.iter().copied().map(format::bytes).collect(),
        group_title: "payload of request and response",
        missing: not_run(&wanted, &payloads, |bytes| format::bytes(*bytes)),
        ..chart
    };
    chart.figure(runs, keys, &conditions, bar)
}

fn is_small_and_single(condition: &Condition) -> bool {
    condition.payload == 0 && condition.clients == 1
}
