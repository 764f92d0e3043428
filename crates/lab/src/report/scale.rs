//! Scales: from a value to a pixel, with ticks at round values.

use super::format;

/// How a value becomes a height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// From zero, in proportion.
    Linear,
    /// By powers of ten.
    Log,
}

/// A tick of an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    /// Empty for the ticks in between on a logarithmic axis.
    pub(super) label: String,
}

/// A vertical scale: values to pixels, upwards.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
    /// Between the ticks of a linear scale.
    step: f64,
    bottom: f64,
    top: f64,
}

impl Scale {
    /// A scale that holds every value from `low` to `high` and ends at round values.
    ///
    /// A linear scale begins at zero. A logarithmic one takes only what is above zero.
    pub(super) fn new(kind: Kind, low: f64, high: f64, bottom: f64, top: f64) -> Self {
        let (low, high, step) = match kind {
            Kind::Linear => linear_domain(high),
            Kind::Log => {
                let (low, high) = log_domain(low, high);
                (low, high, high)
            }
        };
        Self {
            kind,
            low,
            high,
            step,
            bottom,
            top,
        }
    }

    /// The pixel of `value`; what is outside is drawn at the edge.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Log => {
                let value = value.max(self.low);
                (value / self.low).log10() / (self.high / self.low).log10()
            }
        };
        self.bottom - share.clamp(0.0, 1.0) * (self.bottom - self.top)
    }

    /// Whether `value` is above the upper end.
    pub(super) fn is_beyond(&self, value: f64) -> bool {
        value > self.high
    }

    /// The title of the axis, which says when it is logarithmic.
    pub(super) fn title(&self, title: &str) -> String {
        match self.kind {
            Kind::Linear => title.to_owned(),
            Kind::Log => format!("{title}, logarithmic"),
        }
    }

    /// The pixel of the lower end.
    pub(super) fn bottom(&self) -> f64 {
        self.bottom
    }

    /// The pixel of the upper end.
    pub(super) fn top(&self) -> f64 {
        self.top
    }

    /// Ticks from the lower to the upper end.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        match self.kind {
            Kind::Linear => self.linear_ticks(),
            Kind::Log => self.log_ticks(),
        }
    }

    fn linear_ticks(&self) -> Vec<Tick> {
        let count = ((self.high - self.low) / self.step).round() as usize;
        (0..=count)
            .map(|index| {
                let value = self.low + self.step * index as f64;
                Tick {
                    value,
                    label: format::tick(value, self.step),
                }
            })
            .collect()
    }

    fn log_ticks(&self) -> Vec<Tick> {
        let decades = (self.high / self.low).log10();
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        let mut ticks = Vec::new();
        for decade in first..=last {
            for multiple in 1..=9 {
                let value = f64::from(multiple) * 10_f64.powi(decade);
                if value < self.low * 0.999_999 || value > self.high * 1.000_001 {
                    continue;
                }
                // A short axis needs more labels than its powers of ten.
                let labelled = match multiple {
                    1 => true,
                    2 | 5 => decades <= 3.2,
                    _ => false,
                };
                let label = if labelled {
                    format::tick(value, value)
                } else {
                    String::new()
                };
                ticks.push(Tick { value, label });
            }
        }
        ticks
    }
}

/// Linear if the values are of one size, logarithmic if a linear axis would flatten most of them.
///
/// `values` are the heights to be compared; those not above zero do not count.
pub(super) fn fitting_kind(values: impl Iterator<Item = f64>) -> Kind {
    let mut values: Vec<f64> = values.filter(|value| *value > 0.0).collect();
    values.sort_by(f64::total_cmp);
    let Some(highest) = values.last() else {
        return Kind::Linear;
    };
    let lower_quarter = values[values.len() / 4];
    // Below a twentieth of the plot a bar has about ten pixels.
    if highest / lower_quarter > 20.0 {
        Kind::Log
    } else {
        Kind::Linear
    }
}

/// Lower end, upper end and step.
fn linear_domain(high: f64) -> (f64, f64, f64) {
    if !(high.is_finite() && high > 0.0) {
        return (0.0, 1.0, 0.2);
    }
    let step = nice_step(high);
    (0.0, (high / step - 1e-9).ceil() * step, step)
}

fn log_domain(low: f64, high: f64) -> (f64, f64) {
    let high = if high.is_finite() && high > 0.0 {
        high
    } else {
        1.0
    };
    let low = if low.is_finite() && low > 0.0 && low <= high {
        low
    } else {
        high / 10.0
    };
    let low = round_down(low);
    let high = round_up(high);
    if high / low < 1.5 {
        (low / 2.0, high * 2.0)
    } else {
        (low, high)
    }
}

/// The largest of 1, 2 and 5 times a power of ten that is not above `value`.
fn round_down(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let lead = value / power;
    let step = if lead >= 5.0 {
        5.0
    } else if lead >= 2.0 {
        2.0
    } else {
        1.0
    };
    step * power
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below `value`.
fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let lead = value / power;
    let step = if lead <= 1.0 {
        1.0
    } else if lead <= 2.0 {
        2.0
    } else if lead <= 5.0 {
        5.0
    } else {
        10.0
    };
    step * power
}

/// A step of 1, 2 or 5 times a power of ten that cuts `span` in four to nine.
fn nice_step(span: f64) -> f64 {
    let rough = span / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let lead = rough / power;
    let step = if lead < 1.5 {
        1.0
    } else if lead < 3.5 {
        2.0
    } else if lead < 7.5 {
        5.0
    } else {
        10.0
    };
    step * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<String> {
        let ticks = scale.ticks();
        ticks
            .into_iter()
            .map(|tick| tick.label)
            .filter(|label| !label.is_empty())
            .collect()
    }

    #[test]
    fn a_linear_axis_has_round_ticks_and_holds_its_values() {
        let scale = Scale::new(Kind::Linear, 0.0, 437.0, 100.0, 0.0);
        assert_eq!(labels(&scale), ["0", "100", "200", "300", "400", "500"]);
        assert_eq!(scale.at(0.0), 100.0);
        assert_eq!(scale.at(500.0), 0.0);
        assert_eq!(scale.at(250.0), 50.0);
    }

    #[test]
    fn small_and_large_spans_have_four_to_ten_ticks() {
        for high in [0.003, 0.9, 1.0, 1.01, 2.5, 7.0, 17.4, 99.0, 12_345.0, 3.2e9] {
            let scale = Scale::new(Kind::Linear, 0.0, high, 100.0, 0.0);
            let ticks = scale.ticks();
            assert!((4..=10).contains(&ticks.len()), "{high}: {ticks:?}");
            assert!(ticks.last().unwrap().value >= high * 0.999_999, "{high}");
        }
    }

    #[test]
    fn a_log_axis_spans_many_decades_with_a_label_at_each() {
        let scale = Scale::new(Kind::Log, 12_000.0, 3.1e9, 100.0, 0.0);
        assert_eq!(
            labels(&scale),
            ["10k", "100k", "1M", "10M", "100M", "1G"],
            "the ends are 10 k and 5 G"
        );
        assert_eq!(scale.at(1.0), 100.0, "below the axis is drawn at its end");
        assert!(scale.at(1e6) > scale.at(1e7));
    }

    #[test]
    fn a_short_log_axis_still_has_several_labels() {
        let scale = Scale::new(Kind::Log, 30.0, 90.0, 100.0, 0.0);
        assert_eq!(labels(&scale), ["20", "50", "100"]);
    }

    #[test]
    fn an_axis_without_values_is_still_an_axis() {
        for kind in [Kind::Linear, Kind::Log] {
            let scale = Scale::new(kind, f64::INFINITY, f64::NEG_INFINITY, 100.0, 0.0);
            assert!(scale.ticks().len() >= 2, "{kind:?}");
            assert!(scale.at(0.5).is_finite());
        }
    }

    #[test]
    fn values_of_very_different_size_ask_for_a_log_axis() {
        assert_eq!(fitting_kind([20.0, 30.0, 200.0].into_iter()), Kind::Linear);
        let tails = [60.0, 70.0, 80.0, 90.0, 20_000.0];
        assert_eq!(fitting_kind(tails.into_iter()), Kind::Log);
        assert_eq!(fitting_kind(std::iter::empty()), Kind::Linear);
    }
}
