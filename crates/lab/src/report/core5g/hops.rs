//! Where the time of one registration and of one session goes, hop by hop: a waterfall, and the sum of
//! what each party had the procedure in hand.

use std::fmt::Write as _;

use serde_json::Value;

use super::cells::{Cells, Row};
use super::curves::Figure;
use crate::report::escape::escape;
use crate::report::format;
use crate::report::svg::{Anchor, Drawing, Rect, Svg, text_width};

const WIDTH: f64 = 1120.0;
const TOP: f64 = 58.0;
const LINE: f64 = 18.0;
const BAR: f64 = 12.0;
const FOOT: f64 = 40.0;
const LABEL: f64 = 12.0;
/// Letters of an operation that are shown: the rest is in its tooltip.
const SHOWN: usize = 52;
/// What is on the way, who serves, and what nobody waits for.
const COLOURS: [(&str, &str); 4] = [
    ("on the way", "#b9c2cd"),
    ("served", "#dc540f"),
    ("message on N2", "#2a62c0"),
    ("nobody waits for it", "#e3d9c6"),
];

/// The section: for each transport both steps, and tables of shares.
pub(super) fn section(cells: &Cells<'_>) -> (String, Vec<Figure>) {
    let runs = cells.hops();
    if runs.is_empty() {
        return (
            "<p>Not run: one UE was not among the runs.</p>".to_owned(),
            Vec::new(),
        );
    }
    let mut html = String::from(
        "<p>One UE, a core whose NFs write down every hop (<code>core up --trace</code>), the round with \
         the median registration of five. At every moment one party has the procedure in hand: the \
         innermost one that was asked and has not answered; between calls a message on N2; otherwise \
         whoever got the last of them. Writing the hops down costs a few microseconds each, so that \
         these runs are not those of the tables.</p>",
    );
    for step in ["registration", "session"] {
        html.push_str(&shares(&runs, step));
    }
    let mut figures = Vec::new();
    for (row, steps) in &runs {
        for step in *steps {
            figures.extend(waterfall(row, step));
        }
    }
    for figure in &figures {
        html.push_str(&figure.html());
    }
    (html, figures)
}

/// Who had the step in hand for how long, by transport.
fn shares(runs: &[(Row, &Vec<Value>)], step: &str) -> String {
    let of_step = |steps: &&Vec<Value>| steps.iter().find(|found| found["step"] == step).cloned();
    let found: Vec<(&Row, Value)> = runs
        .iter()
        .filter_map(|(row, steps)| Some((row, of_step(steps)?)))
        .collect();
    let mut parties: Vec<String> = Vec::new();
    for share in found.iter().flat_map(|(_, step)| list(&step["shares"])) {
        let who = text(&share["who"]);
        if !parties.contains(&who) {
            parties.push(who);
        }
    }
    let mut html = format!(
        "<div class=\"scroll\"><table><caption>{step}, µs</caption><thead><tr><th>flow</th>\
         <th>between NFs</th><th>in all</th>"
    );
    for party in &parties {
        let _ = write!(html, "<th>{}</th>", escape(party));
    }
    html.push_str("</tr></thead><tbody>");
    for (row, step) in &found {
        let _ = write!(
            html,
            "<tr><td>{}</td><th scope=\"row\">{}</th><td>{:.0}</td>",
            escape(&row.flow),
            escape(&row.transport),
            step["took_us"].as_f64().unwrap_or_default()
        );
        for party in &parties {
            let share = list(&step["shares"])
                .find(|share| share["who"] == **party)
                .and_then(|share| share["us"].as_f64());
            let words = share.map_or_else(String::new, |us| format!("{us:.0}"));
            let _ = write!(html, "<td>{words}</td>");
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    html
}

fn waterfall(row: &Row, step: &Value) -> Option<Figure> {
    let rows: Vec<&Value> = list(&step["rows"]).collect();
    let whole = step["took_us"].as_f64().filter(|took| *took > 0.0)?;
    if rows.is_empty() {
        return None;
    }
    let name = text(&step["step"]);
    let title = format!(
        "One {name}, hop by hop: {}, flow {}, {}",
        row.transport,
        row.flow,
        format::micros(whole)
    );
    let drawing = draw(&rows, whole, &title);
    let file = format!("figure-core-hops-{}-{}-{name}", row.flow, row.transport);
    let caption = "A bar is a call from asking to having the answer, its dark part the time in which it \
                   was served; or a message on N2 from being handed over to being taken. What a bar \
                   holds of later ones the one who serves it asked others.";
    Some(Figure::new(&file, drawing, caption))
}

fn draw(rows: &[&Value], whole: f64, title: &str) -> Drawing {
    let label = |row: &Value| {
        let what: String = text(&row["what"]).chars().take(SHOWN).collect();
        format!("{} → {}  {what}", text(&row["from"]), text(&row["to"]))
    };
    let left = rows
        .iter()
        .map(|row| text_width(&label(row), LABEL))
        .fold(0.0, f64::max)
        + 16.0;
    let width = (WIDTH - left - 70.0).max(200.0);
    let x = |us: f64| left + us.clamp(0.0, whole) / whole * width;
    let bottom = TOP + rows.len() as f64 * LINE;
    let mut svg = Svg::default();
    svg.text((8.0, 18.0), Anchor::Start, "figure-title", title);
    let mut at = 8.0;
    for (words, colour) in COLOURS {
        let swatch = Rect {
            x: at,
            y: 30.0,
            width: 14.0,
            height: 11.0,
        };
        svg.rect(swatch, "bar", Some(colour));
        svg.text((at + 19.0, 40.0), Anchor::Start, "legend", words);
        at += 19.0 + text_width(words, LABEL) + 16.0;
    }
    let step = tick(whole);
    let mut tick = 0.0;
    while tick <= whole {
        svg.line((x(tick), TOP), (x(tick), bottom), "grid");
        let words = format!("{tick:.0}");
        svg.text((x(tick), bottom + 16.0), Anchor::Middle, "tick", &words);
        tick += step;
    }
    svg.text(
        (left + width / 2.0, bottom + 34.0),
        Anchor::Middle,
        "axis-title",
        "µs since the UE began",
    );
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + index as f64 * LINE;
        let number = |field: &str| row[field].as_f64().unwrap_or_default();
        let (begin, end) = (number("begin_us"), number("end_us"));
        let served = row["served_us"].as_array();
        let served = served.and_then(|ends| Some((ends[0].as_f64()?, ends[1].as_f64()?)));
        let words = format!(
            "{} → {} {}: {:.0} µs{}",
            text(&row["from"]),
            text(&row["to"]),
            text(&row["what"]),
            end - begin,
            served.map_or_else(String::new, |(from, to)| format!(
                ", {:.0} of them served",
                to - from
            )),
        );
        svg.text((left - 8.0, y + 11.0), Anchor::End, "note", &label(row));
        svg.with_tooltip(&words, |svg| {
            let colour = match (row["background"] == true, served) {
                (true, _) => COLOURS[3].1,
                (false, None) => COLOURS[2].1,
                (false, Some(_)) => COLOURS[0].1,
            };
            let mut bar = |from: f64, to: f64, colour| {
                let rect = Rect {
                    x: x(from),
                    y: y + 2.0,
                    // What took next to no time is still seen.
                    width: (x(to) - x(from)).max(1.0),
                    height: BAR,
                };
                svg.rect(rect, "bar", Some(colour));
            };
            bar(begin, end, colour);
            if let Some((from, to)) = served.filter(|_| row["background"] != true) {
                bar(from, to, COLOURS[1].1);
            }
        });
        let took = format!("{:.0}", end - begin);
        svg.text((x(end) + 5.0, y + 11.0), Anchor::Start, "tick", &took);
    }
    svg.finish(WIDTH, bottom + FOOT, title)
}

/// A round distance of ticks: about eight of them.
fn tick(whole: f64) -> f64 {
    let rough = whole / 8.0;
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let fitting = steps.into_iter().find(|step| step * power >= rough);
    fitting.unwrap_or(10.0) * power
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ticks_are_round() {
        assert_eq!(tick(1600.0), 200.0);
        assert_eq!(tick(900.0), 200.0);
        assert_eq!(tick(40.0), 5.0);
    }

    #[test]
    fn a_waterfall_has_a_bar_for_every_hop() {
        let step = json!({"step": "registration", "took_us": 500.0, "shares": [], "rows": [
            {"from": "UE, gNB", "to": "amf", "what": "InitialUEMessage", "begin_us": 1.0, "end_us": 9.0},
            {"from": "amf", "to": "ausf", "what": "nausf-auth/v1/<x>", "begin_us": 20.0,
             "end_us": 200.0, "served_us": [40.0, 180.0]},
        ]});
        let row = Row {
            flow: "3gpp".into(),
            threads: "1".into(),
            transport: "rest".into(),
        };
        let figure = waterfall(&row, &step).expect("a figure").html();
        assert!(figure.contains("180 µs, 140 of them served"), "{figure}");
        assert!(figure.contains("nausf-auth/v1/&lt;x&gt;"), "{figure}");
    }
}
