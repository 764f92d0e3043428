//! Bars: a value, its deviation as a black vertical line, and a part of it under fog.

use super::grouped::{Mark, column};
use crate::report::scale::Scale;
use crate::report::svg::Svg;

/// One bar.
#[derive(Clone, Debug)]
pub(in crate::report) struct Bar {
    pub(in crate::report) value: f64,
    /// The ends of the black vertical line: a deviation or a spread.
    pub(in crate::report) deviation: Option<(f64, f64)>,
    /// How much of the value is the baseline's, shown under white fog.
    pub(in crate::report) fog: Option<f64>,
}

/// A deviation may lengthen the axis by this much over its bar; beyond, it is cut.
///
/// One late request in a million makes a deviation of many times the mean; drawn in full it would
/// press all bars to the floor.
const REACH: f64 = 1.8;

impl Mark for Bar {
    fn extent(&self) -> (f64, f64) {
        let upper = self.deviation.map_or(self.value, |(_, upper)| upper);
        // The lower end of a deviation may reach zero, which a logarithmic axis cannot hold.
        let lowest = self.fog.unwrap_or(self.value).min(self.value);
        (lowest, upper.clamp(self.value, REACH * self.value))
    }

    fn size(&self) -> f64 {
        self.value
    }

    fn draw(&self, svg: &mut Svg, x: f64, width: f64, scale: &Scale, fill: &str) {
        svg.rect(column(x, width, scale, self.value), "bar", Some(fill));
        if let Some(fog) = self.fog {
            svg.rect(column(x, width, scale, fog.min(self.value)), "fog", None);
        }
        let Some((lower, upper)) = self.deviation else {
            return;
        };
        let middle = x + width / 2.0;
        let end = scale.at(upper);
        let foot = scale.at(lower.max(0.0));
        svg.line((middle, foot), (middle, end), "deviation");
        if scale.is_beyond(upper) {
            for side in [-3.0, 3.0] {
                svg.line((middle + side, end + 5.0), (middle, end), "deviation");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::scale::Kind;

    fn drawn(bar: &Bar) -> String {
        let (low, high) = bar.extent();
        let scale = Scale::new(Kind::Linear, low, high, 100.0, 0.0);
        let mut svg = Svg::default();
        bar.draw(&mut svg, 0.0, 10.0, &scale, "#000000");
        svg.finish(10.0, 100.0, "").inline()
    }

    #[test]
    fn a_deviation_far_above_its_bar_is_cut_and_gets_an_arrow() {
        let mut bar = Bar {
            value: 20.0,
            deviation: Some((-480.0, 520.0)),
            fog: None,
        };
        assert_eq!(bar.extent(), (20.0, 36.0));
        assert_eq!(drawn(&bar).matches("<line").count(), 3);
        bar.deviation = Some((15.0, 25.0));
        assert_eq!(drawn(&bar).matches("<line").count(), 1);
    }

    #[test]
    fn fog_covers_no_more_than_the_bar() {
        let bar = Bar {
            value: 20.0,
            deviation: None,
            fog: Some(50.0),
        };
        let fog = drawn(&bar);
        let height = fog.split("class=\"fog\"").nth(1).expect("fog");
        assert!(height.contains("height=\"100\""), "{height}");
    }
}
