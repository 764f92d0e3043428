//! What the gateway measures.

use hdrhistogram::Histogram;
use serde_json::{Value, json};

/// Bins of the coarse histogram, 50 us each, the last one open.
const BINS: usize = 400;
const BIN_NS: u64 = 50_000;

/// Latencies: a fine and a coarse histogram, and exact sums.
#[derive(Debug)]
pub(super) struct Latencies {
    fine: Histogram<u64>,
    coarse: Vec<u64>,
    min: u64,
    max: u64,
    sum: f64,
    squares: f64,
}

impl Latencies {
    pub(super) fn new() -> Self {
        // Up to 100 s with three digits: in range, so this cannot fail; all memory is taken here.
        let fine = Histogram::new_with_bounds(1, 100_000_000_000, 3).expect("fixed bounds");
        Self {
            fine,
            coarse: vec![0; BINS],
            min: u64::MAX,
            max: 0,
            sum: 0.0,
            squares: 0.0,
        }
    }

    pub(super) fn record(&mut self, ns: u64) {
        self.fine.saturating_record(ns);
        let bin = usize::try_from(ns / BIN_NS).unwrap_or(BINS);
        self.coarse[bin.min(BINS - 1)] += 1;
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        self.sum += ns as f64;
        self.squares += ns as f64 * ns as f64;
    }

    pub(super) fn count(&self) -> u64 {
        self.fine.len()
    }

    /// `min`, `max`, `mean`, `stddev` of the population, nanoseconds.
    pub(super) fn moments(&self) -> Value {
        let count = self.count().max(1) as f64;
        let mean = self.sum / count;
        let variance = (self.squares / count - mean * mean).max(0.0);
        json!({
            "min": if self.count() == 0 { 0 } else { self.min },
            "max": self.max,
            "mean": mean,
            "stddev": variance.sqrt(),
        })
    }

    /// `[nanoseconds, count]` of each bin that holds something.
    pub(super) fn hdr(&self) -> Value {
        self.fine
            .iter_recorded()
            .map(|bin| {
                let value = bin.value_iterated_to().min(self.max);
                json!([value, bin.count_since_last_iteration()])
            })
            .collect()
    }

    pub(super) fn histogram_50us(&self) -> &[u64] {
        &self.coarse
    }
}

/// Everything of one run.
#[derive(Debug)]
pub(super) struct Measured {
    /// From the time a request was due (open loop) or sent (closed loop) to its answer.
    pub(super) round_trip: Latencies,
    /// From the time a request was sent to the time it was received: one a hop.
    pub(super) one_way: Vec<Latencies>,
    /// Requests that were not answered, or wrongly.
    pub(super) errors: u64,
    pub(super) error_sample: String,
    /// How late requests left.
    pub(super) lag_sum: f64,
    pub(super) lag_max: u64,
    pub(super) sent: u64,
    /// Requests that were due and never left.
    pub(super) unsent: u64,
    pub(super) warmup_errors: u64,
}

impl Measured {
    pub(super) fn new() -> Self {
        Self {
            round_trip: Latencies::new(),
            one_way: Vec::new(),
            errors: 0,
            error_sample: String::new(),
            lag_sum: 0.0,
            lag_max: 0,
            sent: 0,
            unsent: 0,
            warmup_errors: 0,
        }
    }

    pub(super) fn lag(&mut self, ns: u64) {
        self.lag_sum += ns as f64;
        self.lag_max = self.lag_max.max(ns);
        self.sent += 1;
    }

    pub(super) fn answered(&mut self, round_trip_ns: u64, one_way_ns: &[u64]) {
        self.round_trip.record(round_trip_ns);
        for (hop, ns) in one_way_ns.iter().enumerate() {
            if hop == self.one_way.len() {
                self.one_way.push(Latencies::new());
            }
            self.one_way[hop].record(*ns);
        }
    }

    pub(super) fn failed(&mut self, why: String) {
        self.errors += 1;
        if self.error_sample.is_empty() {
            self.error_sample = why;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_exact_and_histograms_agree() {
        let mut latencies = Latencies::new();
        for ns in [10_000, 10_000, 40_000, 70_000_000_000] {
            latencies.record(ns);
        }
        let moments = latencies.moments();
        assert_eq!(
            (moments["min"].as_u64(), moments["max"].as_u64()),
            (Some(10_000), Some(70_000_000_000))
        );
        assert!((moments["mean"].as_f64().unwrap() - 17_500_015_000.0).abs() < 1.0);
        assert_eq!(latencies.histogram_50us()[0], 3);
        assert_eq!(latencies.histogram_50us()[399], 1);
        let hdr = latencies.hdr();
        let counted: u64 = hdr
            .as_array()
            .unwrap()
            .iter()
            .map(|bin| bin[1].as_u64().unwrap())
            .sum();
        assert_eq!(counted, 4);
        assert_eq!(hdr[0][1], 2);
    }

    #[test]
    fn hops_are_kept_apart() {
        let mut measured = Measured::new();
        measured.answered(100, &[10, 20]);
        measured.answered(100, &[30]);
        assert_eq!(measured.one_way.len(), 2);
        assert_eq!(measured.one_way[0].count(), 2);
        assert_eq!(measured.one_way[1].count(), 1);
        measured.failed("first".into());
        measured.failed("second".into());
        assert_eq!(
            (measured.errors, measured.error_sample.as_str()),
            (2, "first")
        );
    }
}
