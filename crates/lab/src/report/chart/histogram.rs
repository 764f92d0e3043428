//! Distributions of latency in the bins of the RMR brief: ten microseconds wide up to one
//! millisecond, one millisecond wide after that. Each subject is a stepped line, so that several
//! can be laid over each other; the axis is logarithmic, since the tail is what is looked for.

use super::Key;
use super::legend;
use crate::report::palette::Texture;
use crate::report::scale::{Kind, Scale};
use crate::report::svg::{Anchor, Drawing, Rect, Svg};

/// Bins of 10 us.
pub(in crate::report) const FINE: usize = 100;
/// Bins of 1 ms after them; the last one holds everything above too.
pub(in crate::report) const COARSE: usize = 20;

/// One subject's distribution.
#[derive(Clone, Debug)]
pub(in crate::report) struct Distribution {
    pub(in crate::report) key: Key,
    /// Messages in each of the `FINE + COARSE` bins.
    pub(in crate::report) counts: Vec<u64>,
    /// Where its 99th percentile lies, in microseconds.
    pub(in crate::report) p99_us: f64,
}

/// A chart of distributions.
#[derive(Clone, Debug)]
pub(in crate::report) struct Histogram {
    pub(in crate::report) title: String,
    pub(in crate::report) distributions: Vec<Distribution>,
}

const WIDTH: f64 = 1120.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 12.0;
const TITLE: f64 = 28.0;
const PLOT: f64 = 210.0;
const FOOT: f64 = 46.0;
/// Between the two scales.
const GAP: f64 = 26.0;
/// What the fine bins take of the width.
const FINE_SHARE: f64 = 0.74;

/// Puts `(microseconds, count)` into the bins.
pub(in crate::report) fn bins(latencies: impl Iterator<Item = (f64, u64)>) -> Vec<u64> {
    let mut counts = vec![0; FINE + COARSE];
    for (micros, count) in latencies {
        counts[bin(micros)] += count;
    }
    counts
}

fn bin(micros: f64) -> usize {
    if micros < 1_000.0 {
        (micros.max(0.0) / 10.0) as usize
    } else {
        // The first coarse bin is that from 1 to 2 ms.
        FINE + ((micros / 1_000.0) as usize - 1).min(COARSE - 1)
    }
}

impl Histogram {
    /// Draws the chart.
    pub(in crate::report) fn draw(&self) -> Drawing {
        let width = WIDTH - LEFT - RIGHT;
        let keys: Vec<Key> = self
            .distributions
            .iter()
            .map(|one| one.key.clone())
            .collect();
        let fills: Vec<String> = keys.iter().map(|key| key.paint.colour.to_owned()).collect();
        let mut svg = Svg::default();
        svg.text((LEFT, 18.0), Anchor::Start, "figure-title", &self.title);
        legend::draw(&mut svg, &keys, &fills, (LEFT, TITLE), width);
        let top = TITLE + legend::height(&keys, width) + 10.0;
        let scale = self.scale(top);
        axis(&mut svg, &scale, width);
        for distribution in &self.distributions {
            draw_one(&mut svg, distribution, &scale);
        }
        svg.finish(WIDTH, top + PLOT + FOOT, &self.title)
    }

    fn scale(&self, top: f64) -> Scale {
        let shares = || self.distributions.iter().flat_map(shares);
        let low = shares()
            .filter(|share| *share > 0.0)
            .fold(f64::INFINITY, f64::min);
        let high = shares().fold(0.0, f64::max);
        Scale::new(Kind::Log, low * 0.8, high, top + PLOT, top)
    }
}

/// Percent of the messages in each bin.
fn shares(distribution: &Distribution) -> Vec<f64> {
    let all: u64 = distribution.counts.iter().sum();
    distribution
        .counts
        .iter()
        .map(|count| *count as f64 / all.max(1) as f64 * 100.0)
        .collect()
}

/// Left edge of a bin, and its width.
fn place(bin: usize) -> (f64, f64) {
    let width = WIDTH - LEFT - RIGHT - GAP;
    let fine = width * FINE_SHARE / FINE as f64;
    let coarse = width * (1.0 - FINE_SHARE) / COARSE as f64;
    if bin < FINE {
        (LEFT + fine * bin as f64, fine)
    } else {
        let begin = LEFT + width * FINE_SHARE + GAP;
        (begin + coarse * (bin - FINE) as f64, coarse)
    }
}

fn axis(svg: &mut Svg, scale: &Scale, width: f64) {
    for tick in scale.ticks() {
        let y = scale.at(tick.value);
        let class = if tick.label.is_empty() {
            "grid-minor"
        } else {
            "grid"
        };
        svg.line((LEFT, y), (LEFT + width, y), class);
        svg.text((LEFT - 6.0, y + 4.0), Anchor::End, "tick", &tick.label);
    }
    let bottom = scale.bottom();
    let (coarse_begin, _) = place(FINE);
    let (fine_last, fine_width) = place(FINE - 1);
    svg.line((LEFT, bottom), (fine_last + fine_width, bottom), "axis");
    svg.line((coarse_begin, bottom), (LEFT + width, bottom), "axis");
    for step in 0..=10 {
        let x = LEFT + (fine_last + fine_width - LEFT) * f64::from(step) / 10.0;
        svg.line((x, bottom), (x, bottom + 4.0), "axis");
        let label = format!("{:.1}", f64::from(step) / 10.0);
        svg.text((x, bottom + 17.0), Anchor::Middle, "tick", &label);
    }
    for step in [0, 4, 9, 14, 19] {
        let (x, width) = place(FINE + step);
        let last = if step == COARSE - 1 { "+" } else { "" };
        let label = format!("{}{last}", step + 1);
        svg.text(
            (x + width / 2.0, bottom + 17.0),
            Anchor::Middle,
            "tick",
            &label,
        );
    }
    let middle = (LEFT + fine_last) / 2.0;
    svg.text(
        (middle, bottom + 36.0),
        Anchor::Middle,
        "axis-title",
        "latency, ms, in bins of 0.01 ms",
    );
    svg.text(
        ((coarse_begin + LEFT + width) / 2.0, bottom + 36.0),
        Anchor::Middle,
        "axis-title",
        "in bins of 1 ms, from",
    );
    let side = (15.0, scale.top() + PLOT / 2.0);
    svg.upward_text(side, "axis-title", "% of messages, logarithmic");
}

fn draw_one(svg: &mut Svg, distribution: &Distribution, scale: &Scale) {
    let key = &distribution.key;
    let colour = key.paint.colour;
    let dashes = match key.paint.texture {
        Texture::Plain => "",
        Texture::Hatched => "7 3",
        Texture::Dotted => "2 3",
    };
    let shares = shares(distribution);
    let (fine, coarse) = shares.split_at(FINE);
    svg.polyline(&steps(fine, 0, scale), "series", colour, dashes);
    svg.polyline(&steps(coarse, FINE, scale), "series", colour, dashes);
    for (at, (share, count)) in shares.iter().zip(&distribution.counts).enumerate() {
        if *count > 0 {
            let (x, width) = place(at);
            let area = Rect {
                x,
                y: scale.at(*share),
                width,
                height: 6.0,
            };
            let words = format!(
                "{}, {}: {share:.4} %, {count} messages",
                key.name,
                range(at)
            );
            svg.with_tooltip(&words, |svg| svg.rect(area, "touch", Some("transparent")));
        }
    }
    let (x, width) = place(bin(distribution.p99_us));
    let words = format!(
        "{}: 99th percentile {:.1} us",
        key.name, distribution.p99_us
    );
    svg.with_tooltip(&words, |svg| {
        let x = x + width / 2.0;
        svg.coloured_line((x, scale.top()), (x, scale.bottom()), "spread", colour);
        svg.text((x, scale.top() - 1.0), Anchor::Middle, "key", "p99");
    });
}

fn range(bin: usize) -> String {
    if bin < FINE {
        format!(
            "{:.2} to {:.2} ms",
            bin as f64 / 100.0,
            (bin + 1) as f64 / 100.0
        )
    } else if bin + 1 < FINE + COARSE {
        format!("{} to {} ms", bin - FINE + 1, bin - FINE + 2)
    } else {
        format!("{COARSE} ms and more")
    }
}

/// The outline of neighbouring bins, from the first to the last that holds something.
fn steps(shares: &[f64], first: usize, scale: &Scale) -> Vec<(f64, f64)> {
    let (Some(begin), Some(end)) = (
        shares.iter().position(|share| *share > 0.0),
        shares.iter().rposition(|share| *share > 0.0),
    ) else {
        return Vec::new();
    };
    let mut points = vec![(place(first + begin).0, scale.bottom())];
    for (at, share) in shares.iter().enumerate().take(end + 1).skip(begin) {
        let (x, width) = place(first + at);
        let y = if *share > 0.0 {
            scale.at(*share)
        } else {
            scale.bottom()
        };
        points.push((x, y));
        points.push((x + width, y));
    }
    let (x, width) = place(first + end);
    points.push((x + width, scale.bottom()));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_briefs_bins() {
        assert_eq!(bin(0.0), 0);
        assert_eq!(bin(9.99), 0);
        assert_eq!(bin(10.0), 1);
        assert_eq!(bin(999.9), FINE - 1);
        assert_eq!(bin(1_000.0), FINE);
        assert_eq!(bin(1_999.9), FINE);
        assert_eq!(bin(20_000.0), FINE + COARSE - 1);
        assert_eq!(bin(1e9), FINE + COARSE - 1, "everything above too");
        let counts = bins([(5.0, 2), (7.0, 1), (300_000.0, 4)].into_iter());
        assert_eq!((counts[0], counts[FINE + COARSE - 1]), (3, 4));
    }

    #[test]
    fn bins_stand_beside_each_other_with_a_gap_between_the_scales() {
        for at in 1..FINE + COARSE {
            let (before, width) = place(at - 1);
            let (x, _) = place(at);
            let gap = if at == FINE { GAP } else { 0.0 };
            assert!((x - before - width - gap).abs() < 1e-6, "bin {at}");
        }
        let (x, width) = place(FINE + COARSE - 1);
        assert!((x + width - (WIDTH - RIGHT)).abs() < 1e-6);
    }
}
