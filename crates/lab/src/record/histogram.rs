//! The fine latency histogram: nanoseconds, three significant digits, any range.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};

/// Bins of the thesis's histogram, each 50 us wide; the last holds all from 19.95 ms up.
pub const BINS_50US: usize = 400;

/// Three digits: a bin is at most a thousandth of its value wide.
const SIGNIFICANT_DIGITS: u8 = 3;

/// Latencies in nanoseconds.
///
/// A thin skin over `hdrhistogram`, so that its type does not become part of the lab's surface.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyHistogram(Histogram<u64>);

impl LatencyHistogram {
    /// A histogram of `(nanoseconds, count)` pairs, as a client program prints them.
    ///
    /// # Errors
    /// When the counts overflow.
    pub fn from_counts(
        counts: impl IntoIterator<Item = (u64, u64)>,
    ) -> Result<Self, HistogramError> {
        let mut histogram = Self::empty();
        for (nanoseconds, count) in counts {
            histogram
                .0
                .record_n(nanoseconds, count)
                .map_err(|error| HistogramError(error.to_string()))?;
        }
        Ok(histogram)
    }

    fn empty() -> Self {
        let mut histogram =
            Histogram::new(SIGNIFICANT_DIGITS).expect("three digits are in the range allowed");
        histogram.auto(true);
        Self(histogram)
    }

    /// Reads the base64 of the V2 form, deflated or not.
    ///
    /// # Errors
    /// When it is neither.
    pub fn decode(text: &str) -> Result<Self, HistogramError> {
        let bytes = STANDARD
            .decode(text)
            .map_err(|error| HistogramError(error.to_string()))?;
        let mut histogram = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| HistogramError(error.to_string()))?;
        // A decoded histogram has the range it was written with; others may be added to it.
        histogram.auto(true);
        Ok(Self(histogram))
    }

    /// The base64 of the deflated V2 form (it begins with `HISTFAAA`), which the `HdrHistogram`
    /// tools of every language read.
    ///
    /// # Errors
    /// When a count cannot be written, which is above 2^63.
    pub fn encode(&self) -> Result<String, HistogramError> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.0, &mut bytes)
            .map_err(|error| HistogramError(error.to_string()))?;
        Ok(STANDARD.encode(bytes))
    }

    /// Adds the other's counts: repetitions of one cell, to draw their distribution as one.
    ///
    /// # Errors
    /// When a count overflows.
    pub fn add(&mut self, other: &Self) -> Result<(), HistogramError> {
        self.0
            .add(&other.0)
            .map_err(|error| HistogramError(error.to_string()))
    }

    /// How many latencies it holds.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The latency in microseconds below or at which the given share (0 to 1) of them lie; 0 when
    /// there are none.
    #[must_use]
    pub fn quantile_us(&self, quantile: f64) -> f64 {
        self.0.value_at_quantile(quantile) as f64 / 1e3
    }

    /// `(microseconds, count)` of each bin that holds something, ascending.
    pub fn bins_us(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.0.iter_recorded().map(|bin| {
            (
                bin.value_iterated_to() as f64 / 1e3,
                bin.count_since_last_iteration(),
            )
        })
    }
}

/// A histogram that cannot be read or made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramError(String);

impl fmt::Display for HistogramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "histogram: {}", self.0)
    }
}

impl std::error::Error for HistogramError {}
