//! Not in the thesis: the whole tail, from the fine histograms of all repetitions together.

use super::{Figure, keys_of};
use crate::record::{LatencyHistogram, Mode};
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
    let keys = keys_of(runs, keys, &[condition]);
    let series = keys
        .iter()
        .map(|key| {
            let histogram = merged(runs, condition, &key.name);
            SHARES
                .iter()
                .map(|(share, _)| match &histogram {
                    Ok(histogram) => point(histogram, *share),
                    Err(reason) => Slot::Failed(reason.clone()),
                })
                .collect()
        })
        .collect();
    let title = format!("Latency by percentile, {}, no-rate mode", condition.words());
    let file = format!(
        "percentiles-{}-bytes-{}-clients",
        condition.payload, condition.clients
    );
    let drawing = Lines {
        id: file.clone(),
        title: title.clone(),
        value_title: "latency, µs".to_owned(),
        position_title: "share of requests answered within".to_owned(),
        keys,
        positions: SHARES
            .iter()
            .enumerate()
            .map(|(index, (_, label))| (index as f64, (*label).to_owned()))
            .collect(),
        series,
        kind: None,
    }
    .draw();
    Figure {
        number: "percentiles",
        title,
        file,
        drawing: Some(drawing),
        caption: "Lower is better. From the fine histograms of all repetitions added up. Beyond \
                  the 99th percentile a machine that is shared with others measures itself as \
                  much as the adapter."
            .to_owned(),
        sentence: format!(
            "The thesis has no such figure; its histogram ends at 20 ms, and it shows the 99th \
             percentile only (figure {}).",
            match condition.payload {
                0 => "5.11a",
                10_000 => "5.11b",
                _ => "5.11c",
            }
        ),
        missing: String::new(),
    }
}

/// All repetitions as one histogram, or why there is none.
fn merged(
    runs: &Runs<'_>,
    condition: Condition,
    subject: &str,
) -> Result<LatencyHistogram, String> {
    let mut sum: Option<LatencyHistogram> = None;
    for record in runs.records(condition, subject) {
        let Some(measured) = record.complete() else {
            continue;
        };
        let histogram = measured.histogram().map_err(|error| error.to_string())?;
        match &mut sum {
            Some(sum) => sum.add(&histogram).map_err(|error| error.to_string())?,
            None => sum = Some(histogram),
        }
    }
    sum.ok_or_else(|| match runs.state(condition, subject) {
        State::Failed(reason) => reason,
        State::Measured | State::NotRun => "no complete run".to_owned(),
    })
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
