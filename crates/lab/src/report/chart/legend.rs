//! The legend above a chart: number, swatch and name of each subject, wrapped to the width.

use super::Key;
use crate::report::svg::{Anchor, Rect, Svg, text_width};

const ROW: f64 = 19.0;
const SWATCH: f64 = 14.0;
const TEXT: f64 = 12.0;

/// How high the legend of `keys` is when it is `width` wide.
pub(in crate::report) fn height(keys: &[Key], width: f64) -> f64 {
    let rows = places(keys, width).last().map_or(0, |(_, row)| row + 1);
    rows as f64 * ROW
}

/// Draws it at `x`, `y`; `fills` are the paints of the keys, in order.
pub(in crate::report) fn draw(
    svg: &mut Svg,
    keys: &[Key],
    fills: &[String],
    (x, y): (f64, f64),
    width: f64,
) {
    for ((key, fill), (left, row)) in keys.iter().zip(fills).zip(places(keys, width)) {
        let (left, top) = (x + left, y + row as f64 * ROW);
        let swatch = Rect {
            x: left,
            y: top + 2.0,
            width: SWATCH,
            height: SWATCH - 3.0,
        };
        svg.rect(swatch, "bar", Some(fill));
        svg.text(
            (left + SWATCH + 5.0, top + 12.0),
            Anchor::Start,
            "legend",
            &label(key),
        );
    }
}

fn label(key: &Key) -> String {
    format!("{} {}", key.number, key.name)
}

/// Left edge and row of each entry.
fn places(keys: &[Key], width: f64) -> Vec<(f64, usize)> {
    let mut left = 0.0;
    let mut row = 0;
    keys.iter()
        .map(|key| {
            let entry = SWATCH + 5.0 + text_width(&label(key), TEXT) + 14.0;
            if left > 0.0 && left + entry > width {
                left = 0.0;
                row += 1;
            }
            let place = (left, row);
            left += entry;
            place
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_wrap_and_do_not_overlap() {
        let names: Vec<String> = (0..14).map(|n| format!("ADAPTER-{n}")).collect();
        let keys = Key::number_all(&names);
        let places = places(&keys, 500.0);
        for (pair, keys) in places.windows(2).zip(keys.windows(2)) {
            if pair[0].1 == pair[1].1 {
                let end = pair[0].0 + SWATCH + 5.0 + text_width(&label(&keys[0]), TEXT);
                assert!(end < pair[1].0);
            }
        }
        assert!(places.iter().all(|(left, _)| *left < 500.0));
        assert!(height(&keys, 500.0) > 2.0 * ROW);
    }
}
