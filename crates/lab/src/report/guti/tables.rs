//! Tables 5.5 to 5.7: our winners beside the thesis's.

use std::fmt::Write as _;

use super::findings;
use super::metric::Metric;
use super::runs::{Condition, Runs};
use super::thesis::{ADAPTERS, Place, TABLE_PAYLOADS, TABLES, WinnerTable};
use crate::report::escape::escape;
use crate::report::format;
use crate::statistics::{PAIRS_NEEDED, Ranking};

/// How our winner of a cell stands to the thesis's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// The same names.
    Same,
    /// Some name in common: a tie on one side or on both.
    Shared,
    /// No name in common.
    Other,
    /// Too few repetitions to name a winner; whether the best median is one of the thesis's.
    Hint(bool),
    /// Only one adapter has figures: no contest.
    Alone,
    /// Not run.
    Missing,
}

impl Match {
    fn mark(self) -> (&'static str, &'static str) {
        match self {
            Self::Same => ("good", "same"),
            Self::Shared => ("even", "shared"),
            Self::Other => ("bad", "other"),
            Self::Hint(true) => ("none", "hint: same"),
            Self::Hint(false) => ("none", "hint: other"),
            Self::Alone => ("none", "alone"),
            Self::Missing => ("none", "not run"),
        }
    }
}

/// One cell of one table.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) condition: Condition,
    pub(super) thesis: &'static [&'static str],
    /// Among the thesis's eight.
    pub(super) comparable: Option<Ranking>,
    /// Among all that speak over TCP and in clear text.
    pub(super) everyone: Option<Ranking>,
    pub(super) agreement: Match,
}

/// All three tables with their sentences.
pub(super) fn section(runs: &Runs<'_>) -> String {
    let mut html = format!(
        "<p>A winner is named where at least {PAIRS_NEEDED} interleaved repetitions show a \
         difference; adapters whose spreads overlap tie, as in the thesis. Marks compare our \
         winner among the thesis's eight adapters with the thesis's own.</p>"
    );
    for table in &TABLES {
        let cells = cells(runs, table);
        let _ = write!(
            html,
            "<h3 id=\"table-{}\">Table {}: {}</h3>",
            table.number, table.number, table.caption
        );
        let _ = write!(
            html,
            "<p class=\"finding\">{}</p>",
            escape(&sentence(&cells))
        );
        let statements = findings::at(runs, Place::Table(table.number));
        if !statements.is_empty() {
            html.push_str(&findings::markup(&statements, "table"));
        }
        html.push_str(&grid(runs, table, &cells));
    }
    html
}

/// Every cell of `table`, row by row.
pub(super) fn cells(runs: &Runs<'_>, table: &WinnerTable) -> Vec<Cell> {
    let eight: Vec<String> = ADAPTERS.iter().map(|name| (*name).to_owned()).collect();
    table
        .rows
        .iter()
        .flat_map(|(clients, winners)| {
            TABLE_PAYLOADS
                .into_iter()
                .zip(winners)
                .map(|(payload, winners)| (Condition::no_rate(payload, *clients), *winners))
        })
        .map(|(condition, thesis)| {
            let comparable = runs.rank(condition, &eight, table.metric);
            let everyone = runs.rank(condition, &runs.contenders(), table.metric);
            let rivals = eight
                .iter()
                .filter(|name| !runs.samples(condition, name, table.metric).is_empty())
                .count();
            let agreement = agreement(comparable.as_ref(), rivals, thesis);
            Cell {
                condition,
                thesis,
                comparable,
                everyone,
                agreement,
            }
        })
        .collect()
}

fn agreement(ours: Option<&Ranking>, rivals: usize, thesis: &[&str]) -> Match {
    let Some(ours) = ours else {
        return Match::Missing;
    };
    if rivals < 2 {
        return Match::Alone;
    }
    let shared = ours
        .best
        .iter()
        .filter(|name| thesis.contains(&name.as_str()))
        .count();
    if !ours.decided {
        Match::Hint(shared > 0)
    } else if shared == 0 {
        Match::Other
    } else if shared == ours.best.len() && shared == thesis.len() {
        Match::Same
    } else {
        Match::Shared
    }
}

/// What agrees with the printed table and what does not.
pub(super) fn sentence(cells: &[Cell]) -> String {
    let count = |wanted: &[Match]| {
        cells
            .iter()
            .filter(|cell| wanted.contains(&cell.agreement))
            .count()
    };
    let total = cells.len();
    let (same, shared, other) = (
        count(&[Match::Same]),
        count(&[Match::Shared]),
        count(&[Match::Other]),
    );
    let (hinted_same, hinted_other) = (count(&[Match::Hint(true)]), count(&[Match::Hint(false)]));
    let absent = count(&[Match::Missing, Match::Alone]);
    let mut parts = Vec::new();
    if same + shared + other > 0 {
        let mut part = format!(
            "of {} cells with a verdict {same} name the thesis's winner, {shared} share a name \
             with it in a tie, and {other} name another",
            same + shared + other
        );
        if let Some(cell) = cells.iter().find(|cell| cell.agreement == Match::Other) {
            let ours = cell
                .comparable
                .as_ref()
                .map_or_else(String::new, |ranking| format::list(&ranking.best));
            let _ = write!(
                part,
                " (for example {}: {ours} here, {} there)",
                cell.condition.words(),
                format::list(cell.thesis)
            );
        }
        parts.push(part);
    }
    if hinted_same + hinted_other > 0 {
        parts.push(format!(
            "in {} cells no winner is named for want of {PAIRS_NEEDED} repetitions (by the best \
             median alone {hinted_same} would agree and {hinted_other} would not)",
            hinted_same + hinted_other
        ));
    }
    if absent > 0 {
        parts.push(format!(
            "{absent} of the thesis's {total} cells were not run"
        ));
    }
    let text = parts.join("; ");
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        None => "No cell of this table was run.".to_owned(),
    }
}

fn grid(runs: &Runs<'_>, table: &WinnerTable, cells: &[Cell]) -> String {
    let mut html = String::from("<div class=\"scroll\"><table class=\"winners\"><thead><tr>");
    html.push_str("<th rowspan=\"2\">Clients</th>");
    for payload in TABLE_PAYLOADS {
        let _ = write!(html, "<th colspan=\"3\">{}</th>", format::bytes(payload));
    }
    html.push_str("</tr><tr>");
    for _ in TABLE_PAYLOADS {
        html.push_str("<th>thesis</th><th>here, its eight</th><th>here, all</th>");
    }
    html.push_str("</tr></thead><tbody>");
    for (row, cells) in table.rows.iter().zip(cells.chunks(TABLE_PAYLOADS.len())) {
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", row.0);
        for cell in cells {
            let (class, mark) = cell.agreement.mark();
            let _ = write!(
                html,
                "<td class=\"first\">{}</td><td>{}<span class=\"mark {class}\">{mark}</span></td>\
                 <td>{}</td>",
                joined(cell.thesis),
                names(runs, cell.condition, cell.comparable.as_ref(), table.metric),
                names(runs, cell.condition, cell.everyone.as_ref(), table.metric),
            );
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    html
}

/// The winner or the tie, with the best figure; or why there is none.
fn names(
    runs: &Runs<'_>,
    condition: Condition,
    ranking: Option<&Ranking>,
    metric: Metric,
) -> String {
    let Some(ranking) = ranking else {
        return String::new();
    };
    let value = ranking
        .best
        .first()
        .and_then(|best| runs.summary(condition, best, metric))
        .map_or_else(String::new, |summary| metric.show(summary.median));
    let joined = joined(&ranking.best);
    let value = format!("<small class=\"name\">{}</small>", escape(&value));
    if ranking.decided {
        format!("{joined} {value} ")
    } else {
        format!("<span class=\"hint\">no winner named</span> <small>{joined}</small> {value} ")
    }
}

/// `A = B`, each name unbroken.
fn joined<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<String> = names
        .iter()
        .map(|name| format!("<span class=\"name\">{}</span>", escape(name.as_ref())))
        .collect();
    names.join(" = ")
}
