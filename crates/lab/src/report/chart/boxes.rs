//! Box plots as the thesis draws them: a box from the first to the third quartile, whiskers of one
//! and a half times its height on both sides, the median white, the mean half-transparent black.

use super::grouped::Mark;
use crate::report::scale::Scale;
use crate::report::svg::{Rect, Svg};

/// What one box shows, in the unit of the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::report) struct BoxStatistics {
    pub(in crate::report) first_quartile: f64,
    pub(in crate::report) median: f64,
    pub(in crate::report) third_quartile: f64,
    pub(in crate::report) mean: f64,
}

impl BoxStatistics {
    /// The lower and the upper end of the whiskers: Q1 - 1.5 IQR and Q3 + 1.5 IQR.
    ///
    /// As in the thesis these are not drawn in to the outermost sample, so the lower one may be
    /// below zero.
    pub(in crate::report) fn whiskers(&self) -> (f64, f64) {
        let reach = 1.5 * (self.third_quartile - self.first_quartile);
        (self.first_quartile - reach, self.third_quartile + reach)
    }
}

impl Mark for BoxStatistics {
    fn extent(&self) -> (f64, f64) {
        let (_, upper) = self.whiskers();
        (self.first_quartile, upper.max(self.mean))
    }

    fn size(&self) -> f64 {
        self.third_quartile.max(self.mean)
    }

    fn draw(&self, svg: &mut Svg, x: f64, width: f64, scale: &Scale, fill: &str) {
        let (lower, upper) = self.whiskers();
        let middle = x + width / 2.0;
        let bottom = scale.at(self.first_quartile);
        let top = scale.at(self.third_quartile);
        svg.line(
            (middle, scale.at(lower.max(0.0))),
            (middle, bottom),
            "whisker",
        );
        svg.line((middle, top), (middle, scale.at(upper)), "whisker");
        let body = Rect {
            x,
            // A box without height would not be seen at all.
            y: top.min(bottom - 1.5),
            width,
            height: (bottom - top).max(1.5),
        };
        svg.rect(body, "bar", Some(fill));
        // The halo is seen on dark paper only, where black alone would be lost.
        for (value, class) in [
            (self.median, "median"),
            (self.mean, "mean-halo"),
            (self.mean, "mean"),
        ] {
            let y = scale.at(value);
            svg.line((x, y), (x + width, y), class);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whiskers_reach_one_and_a_half_quartile_ranges_beyond_the_box() {
        let statistics = BoxStatistics {
            first_quartile: 40.0,
            median: 50.0,
            third_quartile: 80.0,
            mean: 90.0,
        };
        assert_eq!(statistics.whiskers(), (-20.0, 140.0));
        assert_eq!(statistics.extent(), (40.0, 140.0));
    }

    #[test]
    fn a_mean_above_the_whisker_is_still_on_the_axis() {
        let statistics = BoxStatistics {
            first_quartile: 40.0,
            median: 41.0,
            third_quartile: 42.0,
            mean: 900.0,
        };
        assert_eq!(statistics.extent().1, 900.0);
    }
}
