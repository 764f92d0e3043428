//! How far ahead or behind, as tables of ratios.

use std::fmt::Write as _;

use super::{Condition, METRICS, Metric, Runs, table_conditions};
use crate::report::escape::escape;
use crate::report::guti::versus::{Standing, Versus, best_against_best};

/// The best of both sides, for the smallest and the largest number of clients.
pub(super) fn best_against_best_table(
    runs: &Runs<'_>,
    ours: &[&String],
    theirs: &[&String],
) -> String {
    let mut html = String::from(
        "<h3>The best Corewire adapter against the best other one</h3>\
         <p>Ratios are Corewire's figure over the other's, pair by pair of repetitions: the \
         median, with the quartiles in brackets. Above 1 is better for requests a second, below \
         1 for latency.</p>\
         <div class=\"scroll\"><table><thead><tr><th>Clients, payload</th>",
    );
    for (_, title) in METRICS {
        let _ = write!(html, "<th>{title}</th>");
    }
    html.push_str("</tr></thead><tbody>");
    for condition in edge_conditions(runs) {
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th>",
            escape(&condition.words())
        );
        for (metric, _) in METRICS {
            let ours = ours.iter().copied();
            let theirs = theirs.iter().copied();
            match best_against_best(runs, condition, metric, ours, theirs) {
                Some(versus) => html.push_str(&versus_cell(&versus, metric)),
                None => html.push_str("<td class=\"none\">no figures</td>"),
            }
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    html
}

fn versus_cell(versus: &Versus, metric: Metric) -> String {
    let standing = versus.standing;
    format!(
        "<td><span class=\"mark {}\">{}</span> <strong>{}</strong><br><small>{} {} against {} \
         {}</small></td>",
        standing.class(),
        standing.words(),
        escape(&versus.words()),
        escape(&versus.ours.name),
        escape(&metric.show(versus.ours.median)),
        escape(&versus.theirs.name),
        escape(&metric.show(versus.theirs.median)),
    )
}

/// Every Corewire adapter in requests a second over the best other adapter.
pub(super) fn each_adapter_table(runs: &Runs<'_>, ours: &[&String], theirs: &[&String]) -> String {
    let title = "<h3>Each Corewire adapter over TCP: requests a second over those of the best other \
                 adapter</h3>";
    adapter_table(runs, title, ours, theirs)
}

/// Shared memory beside the adapters over TCP. It is no contender: it works within one host only.
pub(super) fn shared_memory_table(
    runs: &Runs<'_>,
    memory: &[&String],
    theirs: &[&String],
) -> String {
    let title = "<h3>Shared memory: requests a second over those of the best other adapter, which \
                 uses TCP</h3><p>CW-SHM works between processes of one host only. It is no TCP \
                 adapter and counts in no winner, tie or ratio above.</p>";
    adapter_table(runs, title, memory, theirs)
}

fn adapter_table(runs: &Runs<'_>, title: &str, ours: &[&String], theirs: &[&String]) -> String {
    let conditions = edge_conditions(runs);
    let mut html = format!("{title}<div class=\"scroll\"><table><thead><tr><th>Adapter</th>",);
    for condition in &conditions {
        let _ = write!(html, "<th>{}</th>", escape(&condition.words()));
    }
    html.push_str("</tr></thead><tbody>");
    for subject in ours {
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escape(subject));
        for condition in &conditions {
            let theirs = theirs.iter().copied();
            match best_against_best(runs, *condition, Metric::Qps, [*subject], theirs) {
                Some(versus) => {
                    // Without a verdict the ratio stands alone; the table above says why.
                    let mark = match versus.standing {
                        Standing::Open => String::new(),
                        standing => format!(
                            "<span class=\"mark {}\">{}</span> ",
                            standing.class(),
                            standing.words()
                        ),
                    };
                    let _ = write!(
                        html,
                        "<td title=\"against {}\">{mark}{}</td>",
                        escape(&versus.theirs.name),
                        in_two_lines(&versus.words()),
                    );
                }
                None => html.push_str("<td class=\"none\">no figures</td>"),
            }
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    html
}

/// The ratio, and below it the quartiles in brackets.
fn in_two_lines(ratio: &str) -> String {
    let ratio = escape(ratio);
    match ratio.split_once(" (") {
        Some((ratio, spread)) => format!("{ratio}<br><small class=\"name\">({spread}</small>"),
        None => ratio,
    }
}

/// The conditions of the tables at the smallest and at the largest number of clients.
fn edge_conditions(runs: &Runs<'_>) -> Vec<Condition> {
    let mut conditions = table_conditions(runs);
    let clients = || conditions.iter().map(|condition| condition.clients);
    let (fewest, most) = (clients().min(), clients().max());
    conditions
        .retain(|condition| Some(condition.clients) == fewest || Some(condition.clients) == most);
    conditions.sort_by_key(|condition| (condition.clients, condition.payload));
    conditions
}
