//! The frame that bars and box plots share: groups along the horizontal axis, in each group one
//! place for every subject, wrapped onto several rows where one would be too narrow to read.

use super::{Key, Slot, legend, swatch};
use crate::report::scale::{Kind, Scale, fitting_kind};
use crate::report::svg::{Anchor, Drawing, Rect, Svg};

/// A figure that stands in one place of a grouped chart.
pub(in crate::report) trait Mark {
    /// The lowest and the highest value that the axis must hold.
    fn extent(&self) -> (f64, f64);

    /// The value that decides whether the axis has to be logarithmic.
    fn size(&self) -> f64;

    /// Draws it between `x` and `x + width`.
    fn draw(&self, svg: &mut Svg, x: f64, width: f64, scale: &Scale, fill: &str);
}

/// One group: a payload, a rate or a number of clients.
#[derive(Clone, Debug)]
pub(in crate::report) struct Group<M> {
    pub(in crate::report) label: String,
    /// One for each key of the chart, in that order.
    pub(in crate::report) slots: Vec<Slot<M>>,
}

/// A chart in groups.
#[derive(Clone, Debug)]
pub(in crate::report) struct Grouped<M> {
    /// Unique in the page; names the patterns.
    pub(in crate::report) id: String,
    pub(in crate::report) title: String,
    pub(in crate::report) value_title: String,
    pub(in crate::report) group_title: String,
    pub(in crate::report) keys: Vec<Key>,
    pub(in crate::report) groups: Vec<Group<M>>,
    /// `None` chooses by the values.
    pub(in crate::report) kind: Option<Kind>,
    /// A value across the whole chart, and what it is.
    pub(in crate::report) reference: Option<(f64, String)>,
}

const WIDTH: f64 = 1120.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 12.0;
const TITLE: f64 = 28.0;
const PLOT: f64 = 260.0;
/// Below the plot: the numbers of the subjects, then the name of the group.
const FOOT: f64 = 42.0;
const GAP: f64 = 14.0;
/// Two digits of a number fit under a place as wide as this.
const NARROWEST: f64 = 13.6;
const WIDEST: f64 = 34.0;

impl<M: Mark> Grouped<M> {
    /// Draws the chart.
    pub(in crate::report) fn draw(&self) -> Drawing {
        let plot_width = WIDTH - LEFT - RIGHT;
        let rows = self.rows(plot_width);
        let legend_height = legend::height(&self.keys, plot_width);
        let kind = self.kind.unwrap_or_else(|| {
            let marks = self.groups.iter().flat_map(|group| &group.slots);
            fitting_kind(marks.filter_map(Slot::mark).map(Mark::size))
        });

        let mut svg = Svg::default();
        let fills = swatch::define(&mut svg, &self.id, &self.keys);
        svg.text((LEFT, 18.0), Anchor::Start, "figure-title", &self.title);
        legend::draw(&mut svg, &self.keys, &fills, (LEFT, TITLE), plot_width);
        let mut top = TITLE + legend_height + 10.0;
        for row in &rows {
            self.row(&mut svg, row, kind, top, &fills);
            top += PLOT + FOOT;
        }
        let foot = match rows.len() {
            0 | 1 => self.group_title.clone(),
            _ => format!("{} (each row has its own scale)", self.group_title),
        };
        svg.text(
            (LEFT + plot_width / 2.0, top + 8.0),
            Anchor::Middle,
            "axis-title",
            &foot,
        );
        svg.finish(WIDTH, top + 18.0, &self.title)
    }

    /// Groups of each row: as few rows as leave each place wide enough, evenly filled.
    fn rows(&self, plot_width: f64) -> Vec<&[Group<M>]> {
        if self.groups.is_empty() {
            return Vec::new();
        }
        let group_width = self.keys.len() as f64 * NARROWEST + GAP;
        let fitting = ((plot_width / group_width) as usize).clamp(1, self.groups.len());
        let rows = self.groups.len().div_ceil(fitting);
        self.groups
            .chunks(self.groups.len().div_ceil(rows))
            .collect()
    }

    fn row(&self, svg: &mut Svg, groups: &[Group<M>], kind: Kind, top: f64, fills: &[String]) {
        let scale = self.scale(groups, kind, top);
        let plot_width = WIDTH - LEFT - RIGHT;
        axis(svg, &scale, plot_width);
        let title = scale.title(&self.value_title);
        svg.upward_text((15.0, top + PLOT / 2.0), "axis-title", &title);

        let share = plot_width / groups.len() as f64;
        let place = ((share - GAP) / self.keys.len().max(1) as f64).min(WIDEST);
        for (index, group) in groups.iter().enumerate() {
            let centre = LEFT + share * (index as f64 + 0.5);
            let left = centre - place * self.keys.len() as f64 / 2.0;
            for (slot_index, ((slot, key), fill)) in
                group.slots.iter().zip(&self.keys).zip(fills).enumerate()
            {
                let x = left + place * slot_index as f64;
                self.slot(svg, slot, (x, place), &scale, fill, (key, &group.label));
                svg.text(
                    (x + place / 2.0, scale.bottom() + 12.0),
                    Anchor::Middle,
                    "key",
                    &key.number.to_string(),
                );
            }
            svg.text(
                (centre, scale.bottom() + 29.0),
                Anchor::Middle,
                "group",
                &group.label,
            );
            if index > 0 {
                let x = LEFT + share * index as f64;
                svg.line((x, scale.top()), (x, scale.bottom() + 30.0), "grid");
            }
        }
        if let Some((value, name)) = &self.reference {
            let y = scale.at(*value);
            svg.with_tooltip(name, |svg| {
                svg.line((LEFT, y), (LEFT + plot_width, y), "reference");
            });
        }
    }

    fn slot(
        &self,
        svg: &mut Svg,
        slot: &Slot<M>,
        (x, place): (f64, f64),
        scale: &Scale,
        fill: &str,
        (key, group): (&Key, &str),
    ) {
        let width = place * 0.84;
        let x = x + (place - width) / 2.0;
        match slot {
            Slot::Mark(mark, words) => {
                let tooltip = format!("{}, {group}: {words}", key.name);
                svg.with_tooltip(&tooltip, |svg| mark.draw(svg, x, width, scale, fill));
            }
            Slot::Failed(reason) => {
                let tooltip = format!("{}, {group}: failed: {reason}", key.name);
                let at = (x + width / 2.0, scale.bottom() - 4.0);
                svg.with_tooltip(&tooltip, |svg| svg.text(at, Anchor::Middle, "hole", "×"));
            }
            Slot::NotRun => {
                let at = (x + width / 2.0, scale.bottom() - 4.0);
                let tooltip = format!("{}, {group}: not run", key.name);
                svg.with_tooltip(&tooltip, |svg| svg.text(at, Anchor::Middle, "key", "·"));
            }
        }
    }

    fn scale(&self, groups: &[Group<M>], kind: Kind, top: f64) -> Scale {
        let marks = groups.iter().flat_map(|group| &group.slots);
        let (mut low, mut high) = marks.filter_map(Slot::mark).map(Mark::extent).fold(
            (f64::INFINITY, 0.0_f64),
            |(low, high), (lower, upper)| {
                let lower = if lower > 0.0 { lower } else { low };
                (low.min(lower), high.max(upper))
            },
        );
        if kind == Kind::Log {
            // So that the lowest bar has a height.
            low *= 0.8;
        }
        if let Some((value, _)) = self.reference {
            (low, high) = (low.min(value), high.max(value));
        }
        Scale::new(kind, low, high, top + PLOT, top)
    }
}

/// The horizontal grid and the labels of the value axis.
fn axis(svg: &mut Svg, scale: &Scale, plot_width: f64) {
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
    svg.line(
        (LEFT, scale.bottom()),
        (LEFT + plot_width, scale.bottom()),
        "axis",
    );
}

/// A rectangle from the foot of the axis up to `value`.
pub(super) fn column(x: f64, width: f64, scale: &Scale, value: f64) -> Rect {
    let y = scale.at(value);
    Rect {
        x,
        y,
        width,
        height: scale.bottom() - y,
    }
}
