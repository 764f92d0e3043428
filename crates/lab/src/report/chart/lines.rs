//! Lines over a number (clients) or a share (percentiles): a marker at each point, the spread over
//! the repetitions as a thin vertical line, and the name at the end of each line.

use super::{Key, Slot, legend, swatch};
use crate::report::palette::Texture;
use crate::report::scale::{Kind, Scale, fitting_kind};
use crate::report::svg::{Anchor, Drawing, Svg, text_width};

/// One point: a value with the ends of its spread.
#[derive(Clone, Copy, Debug)]
pub(in crate::report) struct Point {
    pub(in crate::report) value: f64,
    pub(in crate::report) spread: Option<(f64, f64)>,
}

/// A line chart.
#[derive(Clone, Debug)]
pub(in crate::report) struct Lines {
    /// Unique in the page; names the patterns.
    pub(in crate::report) id: String,
    pub(in crate::report) title: String,
    pub(in crate::report) value_title: String,
    pub(in crate::report) position_title: String,
    pub(in crate::report) keys: Vec<Key>,
    /// Where along the horizontal axis (in any unit, ascending) and its label.
    pub(in crate::report) positions: Vec<(f64, String)>,
    /// For each key, a slot for each position.
    pub(in crate::report) series: Vec<Vec<Slot<Point>>>,
    /// `None` chooses by the values.
    pub(in crate::report) kind: Option<Kind>,
}

const WIDTH: f64 = 1120.0;
const LEFT: f64 = 74.0;
const TITLE: f64 = 28.0;
const PLOT: f64 = 380.0;
const FOOT: f64 = 64.0;
const LABEL: f64 = 12.0;
const LABEL_ROW: f64 = 14.0;

impl Lines {
    /// Draws the chart.
    pub(in crate::report) fn draw(&self) -> Drawing {
        let longest = self
            .keys
            .iter()
            .zip(&self.series)
            .filter_map(|(key, slots)| self.end_label(key, last_point(slots)?))
            .map(|label| text_width(&label, LABEL))
            .fold(60.0, f64::max);
        // The leaders on the left, a little air on the right.
        let right = longest + 30.0;
        let plot_width = WIDTH - LEFT - right;
        let full_width = WIDTH - LEFT - 12.0;
        let mut svg = Svg::default();
        let fills = swatch::define(&mut svg, &self.id, &self.keys);
        svg.text((LEFT, 18.0), Anchor::Start, "figure-title", &self.title);
        legend::draw(&mut svg, &self.keys, &fills, (LEFT, TITLE), full_width);
        let top = TITLE + legend::height(&self.keys, full_width) + 12.0;

        let scale = self.scale(top);
        self.axes(&mut svg, &scale, plot_width);
        for (key, slots) in self.keys.iter().zip(&self.series) {
            self.one(&mut svg, key, slots, &scale, plot_width);
        }
        self.failures(&mut svg, &scale, plot_width);
        self.end_labels(&mut svg, &scale, plot_width);
        svg.finish(WIDTH, top + PLOT + FOOT, &self.title)
    }

    fn scale(&self, top: f64) -> Scale {
        let points = || self.series.iter().flatten().filter_map(Slot::mark);
        let kind = self
            .kind
            .unwrap_or_else(|| fitting_kind(points().map(|point| point.value)));
        let low = points()
            .map(|point| point.spread.map_or(point.value, |(lower, _)| lower))
            .filter(|value| *value > 0.0)
            .fold(f64::INFINITY, f64::min);
        let high = points()
            .map(|point| point.spread.map_or(point.value, |(_, upper)| upper))
            .fold(0.0, f64::max);
        Scale::new(kind, low, high, top + PLOT, top)
    }

    /// The pixel of a position. With a single one, the middle.
    fn x(&self, position: f64, plot_width: f64) -> f64 {
        let (first, last) = match (self.positions.first(), self.positions.last()) {
            (Some((first, _)), Some((last, _))) if last > first => (*first, *last),
            _ => return LEFT + plot_width / 2.0,
        };
        // Half a marker of room at both ends.
        LEFT + 14.0 + (position - first) / (last - first) * (plot_width - 28.0)
    }

    fn axes(&self, svg: &mut Svg, scale: &Scale, plot_width: f64) {
        for tick in scale.ticks() {
            let y = scale.at(tick.value);
            let class = if tick.label.is_empty() {
                "grid-minor"
            } else {
                "grid"
            };
            svg.line((LEFT, y), (LEFT + plot_width, y), class);
            svg.text((LEFT - 6.0, y + 4.0), Anchor::End, "tick", &tick.label);
        }
        let bottom = scale.bottom();
        svg.line((LEFT, bottom), (LEFT + plot_width, bottom), "axis");
        for (position, label) in &self.positions {
            let x = self.x(*position, plot_width);
            svg.line((x, bottom), (x, bottom + 4.0), "axis");
            svg.text((x, bottom + 18.0), Anchor::Middle, "group", label);
        }
        svg.text(
            (LEFT + plot_width / 2.0, bottom + 50.0),
            Anchor::Middle,
            "axis-title",
            &self.position_title,
        );
        let middle = (15.0, scale.top() + PLOT / 2.0);
        svg.upward_text(middle, "axis-title", &scale.title(&self.value_title));
    }

    fn one(&self, svg: &mut Svg, key: &Key, slots: &[Slot<Point>], scale: &Scale, plot_width: f64) {
        let colour = key.paint.colour;
        let dashes = match key.paint.texture {
            Texture::Plain => "",
            Texture::Hatched => "7 3",
            Texture::Dotted => "2 3",
        };
        // A hole ends the line: what was not measured is not drawn through.
        for run in slots_in_runs(slots) {
            let points: Vec<(f64, f64)> = run
                .iter()
                .map(|(index, point)| {
                    let x = self.x(self.positions[*index].0, plot_width);
                    (x, scale.at(point.value))
                })
                .collect();
            if points.len() > 1 {
                svg.polyline(&points, "series", colour, dashes);
            }
        }
        for (slot, (position, label)) in slots.iter().zip(&self.positions) {
            let x = self.x(*position, plot_width);
            match slot {
                Slot::Mark(point, words) => {
                    let tooltip = format!("{}, {label}: {words}", key.name);
                    svg.with_tooltip(&tooltip, |svg| {
                        if let Some((lower, upper)) = point.spread {
                            let ends = ((x, scale.at(lower)), (x, scale.at(upper)));
                            svg.coloured_line(ends.0, ends.1, "spread", colour);
                        }
                        marker(svg, (x, scale.at(point.value)), key);
                    });
                }
                // Named below the axis.
                Slot::Failed(_) | Slot::NotRun => {}
            }
        }
    }

    /// Below each position the numbers of those that failed there.
    fn failures(&self, svg: &mut Svg, scale: &Scale, plot_width: f64) {
        for (index, (position, label)) in self.positions.iter().enumerate() {
            let failed: Vec<(&Key, &str)> = self
                .keys
                .iter()
                .zip(&self.series)
                .filter_map(|(key, slots)| match slots.get(index)? {
                    Slot::Failed(reason) => Some((key, reason.as_str())),
                    Slot::Mark(..) | Slot::NotRun => None,
                })
                .collect();
            if failed.is_empty() {
                continue;
            }
            let numbers: Vec<String> = failed
                .iter()
                .map(|(key, _)| key.number.to_string())
                .collect();
            let reasons: Vec<String> = failed
                .iter()
                .map(|(key, reason)| format!("{}, {label}: failed: {reason}", key.name))
                .collect();
            let at = (self.x(*position, plot_width), scale.bottom() + 32.0);
            svg.with_tooltip(&reasons.join("\n"), |svg| {
                let words = format!("× {}", numbers.join(", "));
                svg.text(at, Anchor::Middle, "hole", &words);
            });
        }
    }

    /// The name beside the last point of each line, moved apart where they would overlap.
    fn end_labels(&self, svg: &mut Svg, scale: &Scale, plot_width: f64) {
        let mut ends: Vec<(&Key, usize, f64)> = self
            .keys
            .iter()
            .zip(&self.series)
            .filter_map(|(key, slots)| {
                let last = last_point(slots)?;
                Some((key, last, scale.at(slots[last].mark()?.value)))
            })
            .collect();
        ends.sort_by(|a, b| a.2.total_cmp(&b.2));
        let wanted: Vec<f64> = ends.iter().map(|(.., y)| *y).collect();
        let placed = spread_out(&wanted, LABEL_ROW, scale.top(), scale.bottom());
        let left = LEFT + plot_width + 22.0;
        for ((key, last, y), label_y) in ends.iter().zip(placed) {
            // The leader of a line that ends elsewhere would read as part of the data.
            if last + 1 == self.positions.len() {
                let x = self.x(self.positions[*last].0, plot_width) + 6.0;
                svg.line((x, *y), (left - 4.0, label_y), "leader");
            }
            if let Some(label) = self.end_label(key, *last) {
                svg.text((left, label_y + 4.0), Anchor::Start, "legend", &label);
            }
        }
    }

    /// The name at the end of a line whose last point is the `last` position: with that position,
    /// if the line ends before the others.
    fn end_label(&self, key: &Key, last: usize) -> Option<String> {
        let label = format!("{} {}", key.number, key.name);
        let (_, position) = self.positions.get(last)?;
        if last + 1 == self.positions.len() {
            Some(label)
        } else {
            Some(format!("{label} (to {position})"))
        }
    }
}

/// The place of the last point that there is.
fn last_point(slots: &[Slot<Point>]) -> Option<usize> {
    slots.iter().rposition(|slot| slot.mark().is_some())
}

/// Neighbouring points, with their places, between holes.
fn slots_in_runs(slots: &[Slot<Point>]) -> Vec<Vec<(usize, Point)>> {
    let mut runs: Vec<Vec<(usize, Point)>> = vec![Vec::new()];
    for (index, slot) in slots.iter().enumerate() {
        match slot {
            Slot::Mark(point, _) => {
                if let Some(run) = runs.last_mut() {
                    run.push((index, *point));
                }
            }
            // Not asked for at this position: the line goes on. Failed: it does not.
            Slot::NotRun => {}
            Slot::Failed(_) => runs.push(Vec::new()),
        }
    }
    runs
}

/// Moves ascending positions apart to at least `row`, as little as possible, between two bounds.
fn spread_out(wanted: &[f64], row: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut placed: Vec<f64> = Vec::with_capacity(wanted.len());
    for want in wanted {
        let lowest = placed.last().map_or(top, |previous| previous + row);
        placed.push(want.max(lowest));
    }
    // What ran over the lower end pushes its neighbours back up.
    let mut limit = bottom;
    for place in placed.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - row;
    }
    placed
}

/// The marker of a subject; the form changes with its number, so that it does not rest on colour.
fn marker(svg: &mut Svg, (x, y): (f64, f64), key: &Key) {
    let r = 4.6;
    let path = match key.number % 5 {
        0 => format!(
            "M{} {}h{d}v{d}h-{d}z",
            x - r + 0.6,
            y - r + 0.6,
            d = 2.0 * r - 1.2
        ),
        1 => format!(
            "M{} {y}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z",
            x - r,
            d = 2.0 * r
        ),
        2 => format!("M{x} {}L{} {}H{}z", y - r - 0.6, x + r, y + r - 0.8, x - r),
        3 => format!(
            "M{x} {}L{} {y}L{x} {}L{} {y}z",
            y - r - 1.0,
            x + r + 1.0,
            y + r + 1.0,
            x - r - 1.0
        ),
        _ => format!("M{x} {}L{} {}H{}z", y + r + 0.6, x + r, y - r + 0.8, x - r),
    };
    svg.path(&path, "marker", key.paint.colour);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_moved_apart_and_stay_inside() {
        let placed = spread_out(&[10.0, 11.0, 12.0, 95.0, 99.0], 14.0, 0.0, 100.0);
        for pair in placed.windows(2) {
            assert!(pair[1] - pair[0] >= 13.999, "{placed:?}");
        }
        assert!(placed.iter().all(|place| (0.0..=100.0).contains(place)));
        assert_eq!(placed[0], 10.0, "the first has no reason to move");
    }

    #[test]
    fn a_line_stops_at_a_failure_and_passes_over_what_was_not_asked_for() {
        let point = |value| {
            let point = Point {
                value,
                spread: None,
            };
            Slot::Mark(point, String::new())
        };
        let slots = [
            point(1.0),
            Slot::NotRun,
            point(2.0),
            Slot::Failed("x".into()),
            point(3.0),
        ];
        let runs: Vec<usize> = slots_in_runs(&slots).iter().map(Vec::len).collect();
        assert_eq!(runs, [2, 1]);
    }
}
