//! What a run's latencies are kept in: exact moments, the thesis's bins, and buckets of three digits.

use serde_json::{Value, json};

const BIN_NS: u64 = 50_000;
const BINS: usize = 400;
/// A bucket is at most 2^-10 of its value wide.
const HALF_BITS: u32 = 10;
const HIGHEST: u64 = 100_000_000_000;

#[derive(Debug)]
pub(crate) struct Recorder {
    fine: Vec<u64>,
    bins: [u64; BINS],
    count: u64,
    min: u64,
    max: u64,
    sum: f64,
    squares: f64,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            fine: vec![0; index_of(HIGHEST) + 1],
            bins: [0; BINS],
            count: 0,
            min: u64::MAX,
            max: 0,
            sum: 0.0,
            squares: 0.0,
        }
    }

    pub(crate) fn record(&mut self, ns: u64) {
        self.fine[index_of(ns.min(HIGHEST))] += 1;
        let bin = usize::try_from(ns / BIN_NS).unwrap_or(BINS - 1);
        self.bins[bin.min(BINS - 1)] += 1;
        self.count += 1;
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        self.sum += ns as f64;
        self.squares += ns as f64 * ns as f64;
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn moments(&self) -> Value {
        let count = self.count.max(1) as f64;
        let mean = self.sum / count;
        let variance = (self.squares / count - mean * mean).max(0.0);
        let min = if self.count == 0 { 0 } else { self.min };
        json!({"min": min, "max": self.max, "mean": mean, "stddev": variance.sqrt()})
    }

    pub(crate) fn bins(&self) -> Value {
        json!(self.bins.as_slice())
    }

    pub(crate) fn fine(&self) -> Value {
        let buckets = self
            .fine
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        buckets
            .map(|(index, count)| json!([lowest_of(index), count]))
            .collect()
    }
}

/// Values below 2^11 each have a bucket; from there on each power of two has 2^10.
fn index_of(value: u64) -> usize {
    let bits = u64::BITS - value.leading_zeros();
    let shift = bits.saturating_sub(HALF_BITS + 1);
    ((shift as usize) << HALF_BITS) + (value >> shift) as usize
}

fn lowest_of(index: usize) -> u64 {
    if index < 2 << HALF_BITS {
        return index as u64;
    }
    let shift = (index >> HALF_BITS) - 1;
    ((index - (shift << HALF_BITS)) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lies_in_its_bucket_and_a_bucket_is_narrow() {
        for value in [0, 1, 2047, 2048, 4095, 4096, 50_000, 1_234_567, HIGHEST] {
            let index = index_of(value);
            let (low, next) = (lowest_of(index), lowest_of(index + 1));
            assert!((low..next).contains(&value), "{low} {value} {next}");
            assert!(
                next - low <= (value >> HALF_BITS) + 1,
                "{low} {value} {next}"
            );
        }
    }

    #[test]
    fn what_is_recorded_is_told() {
        let mut recorder = Recorder::new();
        recorder.record(10_000);
        recorder.record(30_000_000);
        assert_eq!(recorder.count(), 2);
        assert_eq!(recorder.moments()["max"], 30_000_000);
        assert_eq!(recorder.bins()[0], 1);
        assert_eq!(recorder.bins()[BINS - 1], 1);
        let counted: u64 = recorder
            .fine()
            .as_array()
            .expect("a list")
            .iter()
            .map(|b| b[1].as_u64().expect("a count"))
            .sum();
        assert_eq!(counted, 2);
    }
}
