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

impl Mark for Bar {
    fn extent(&self) -> (f64, f64) {
        let upper = self.deviation.map_or(self.value, |(_, upper)| upper);
        // The lower end of a deviation may reach zero, which a logarithmic axis cannot hold.
        let lowest = self.fog.unwrap_or(self.value).min(self.value);
        (lowest, upper.max(self.value))
    }

    fn size(&self) -> f64 {
        self.value
    }

    fn draw(&self, svg: &mut Svg, x: f64, width: f64, scale: &Scale, fill: &str) {
        svg.rect(column(x, width, scale, self.value), "bar", Some(fill));
        if let Some(fog) = self.fog {
            svg.rect(column(x, width, scale, fog.min(self.value)), "fog", None);
        }
        if let Some((lower, upper)) = self.deviation {
            let middle = x + width / 2.0;
            svg.line(
                (middle, scale.at(lower.max(0.0))),
                (middle, scale.at(upper)),
                "deviation",
            );
        }
    }
}
