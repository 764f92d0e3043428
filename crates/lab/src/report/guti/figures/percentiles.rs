//! Not in the thesis: the whole tail, from the fine histograms of all repetitions together.

use super::{Figure, failed_throughout};
use crate::record::{HistogramError, LatencyHistogram, Mode};
use crate::report::chart::lines::{Lines, Point};
use crate::report::chart::{Key, Slot};
use crate::report::format;
use crate::report::guti::runs::{Condition, Runs, State};
use crate::report::guti::thesis::TABLE_PAYLOADS;

/// Shares and their labels.
const SHARES: [(f64, &str); 7] = [
    (0.5, "p50"),
    (0.75, "p75"),
    (0.9, "p90"),
    (0.95, "p95"),
    (0.99, "p99"),
    (0.999, "p99.9"),
    (0.9999, "p99.99"),
];

/// One figure for each payload of the tables, at the highest number of clients that was run.
pub(super) fn all(runs: &Runs<'_>, keys: &[Key]) -> Vec<Figure> {
    TABLE_PAYLOADS
        .into_iter()
        .filter_map(|payload| {
            let clients = runs
                .values(
                    |condition| condition.mode == Mode::NoRate && condition.payload == payload,
                    |condition| condition.clients,
                )
                .into_iter()
                .next_back()?;
            Some(figure(runs, keys, Condition::no_rate(payload, clients)))
        })
        .collect()
}

fn figure(runs: &Runs<'_>, keys: &[Key], condition: Condition) -> Figure {
    let mut drawn = Vec::new();
    let mut series = Vec::new();
    let mut unreadable = Vec::new();
    for key in keys {
        match merged(runs, condition, &key.name) {
            Ok(histogram) => {
                drawn.push(key.clone());
                series.push(SHARES.map(|(share, _)| point(&histogram, share)).to_vec());
            }
            // Those without a run are named by `failed_throughout`.
            Err(Some(reason)) => unreadable.push(format!("{} ({reason})", key.name)),
            Err(None) => {}
        }
    }
    let mut missing = failed_throughout(runs, keys, &[condition]);
    if !unreadable.is_empty() {
        missing.push_str(&format!("Unreadable: {}.", unreadable.join("; ")));
    }
    let title = format!("Latency by percentile, {}, no-rate mode", condition.words());
    let file = format!(
        "percentiles-{}-bytes-{}-clients",
        condition.payload, condition.clients
    );
    let drawing = (!drawn.is_empty()).then(|| {
        Lines {
            id: file.clone(),
            title: title.clone(),
            value_title: "latency, µs".to_owned(),
            position_title: "share of requests answered within".to_owned(),
            keys: drawn,
            positions: SHARES
                .iter()
                .enumerate()
                .map(|(index, (_, label))| (index as f64, (*label).to_owned()))
                .collect(),
            series,
            kind: None,
        }
        .draw()
    });
    Figure {
        number: "percentiles",
        title,
        file,
        drawing,
        caption: "Lower is better. From the fine histograms of all repetitions added up. Beyond \
                  the 99th percentile a machine that is shared with others measures itself as \
                  much as the adapter."
            .to_owned(),
        findings: format!(
            "<p class=\"finding\">The thesis has no such figure; its histogram ends at 20 ms, and \
             it shows the 99th percentile only (figure {}).</p>",
            match condition.payload {
                0 => "5.11a",
                10_000 => "5.11b",
                _ => "5.11c",
            }
        ),
        missing,
    }
}

/// All repetitions as one histogram, or why they cannot be read; `None` when there are none.
fn merged(
    runs: &Runs<'_>,
    condition: Condition,
    subject: &str,
) -> Result<LatencyHistogram, Option<String>> {
    if runs.state(condition, subject) != State::Measured {
        return Err(None);
    }
    let unreadable = |error: HistogramError| Some(error.to_string());
    // Begun empty, because one that was read from a file does not grow.
    let mut sum = LatencyHistogram::from_counts(std::iter::empty()).map_err(unreadable)?;
    for record in runs.records(condition, subject) {
        if let Some(measured) = record.complete() {
            let histogram = measured.histogram().map_err(unreadable)?;
            sum.add(&histogram).map_err(unreadable)?;
        }
    }
    Ok(sum)
}

fn point(histogram: &LatencyHistogram, share: f64) -> Slot<Point> {
    // With so few requests that percentile would only be the maximum.
    if (histogram.count() as f64) * (1.0 - share) < 1.0 {
        return Slot::NotRun;
    }
    let value = histogram.quantile_us(share);
    let point = Point {
        value,
        spread: None,
    };
    Slot::Mark(point, format::micros(value))
}
