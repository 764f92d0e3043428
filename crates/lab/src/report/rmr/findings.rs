//! What the brief says in words, held against these runs.

use std::fmt::Write as _;

use super::runs::{Metric, Runs};
use crate::report::escape::escape;
use crate::report::format;
use crate::rmr::{Condition, Nagle, Pin};
use crate::statistics::Verdict;

/// A statement that one cell's figure is above or below another's.
struct Statement {
    /// The table or figure that shows it.
    place: &'static str,
    says: &'static str,
    /// What it printed, as a ratio of the first to the second.
    printed: &'static str,
    metric: Metric,
    first: (Condition, &'static str),
    second: (Condition, &'static str),
    /// Whether the first is said to be the larger one.
    larger: bool,
}

fn all() -> Vec<Statement> {
    let max = |size| Condition::plain(None, size);
    let at = |rate| Condition::plain(Some(rate), 1000);
    let tuned = |nagle, pin| Condition {
        nagle,
        pin,
        ..max(1000)
    };
    let statement = |place, says, printed, metric, first, second, larger| Statement {
        place,
        says,
        printed,
        metric,
        first,
        second,
        larger,
    };
    vec![
        statement(
            "1",
            "RMR over SI95 carries more messages a second than gRPC",
            "230k against 35k: 6.6×",
            Metric::Rate,
            (max(1000), "rmr"),
            (max(1000), "grpc"),
            true,
        ),
        statement(
            "1",
            "gRPC carries more very small messages than usual ones",
            "40k against 35k: 1.15×",
            Metric::Rate,
            (max(16), "grpc"),
            (max(1000), "grpc"),
            true,
        ),
        statement(
            "1",
            "NNG by itself is faster than RMR over NNG",
            "52k against 38k: 1.37×",
            Metric::Rate,
            (max(1000), "nng-raw"),
            (max(1000), "rmr-nng"),
            true,
        ),
        statement(
            "1",
            "NNG is faster than gRPC",
            "52k against 35k: 1.49×",
            Metric::Rate,
            (max(1000), "nng-raw"),
            (max(1000), "grpc"),
            true,
        ),
        statement(
            "2",
            "gRPC's latency falls as the rate grows: 100/s against 10,000/s",
            "0.30 against 0.07 ms: 4.3×",
            Metric::P50,
            (at(100), "grpc"),
            (at(10_000), "grpc"),
            true,
        ),
        statement(
            "2",
            "at 10,000/s RMR's 99th percentile is below gRPC's",
            "0.01 to 0.04 against 0.13 ms",
            Metric::P99,
            (at(10_000), "rmr"),
            (at(10_000), "grpc"),
            false,
        ),
        statement(
            "4",
            "switching Nagle's algorithm off costs RMR more than half of its rate",
            "300k against 112k: 2.7×",
            Metric::Rate,
            (tuned(Nagle::On, Pin::None), "rmr"),
            (tuned(Nagle::Off, Pin::None), "rmr"),
            true,
        ),
        statement(
            "4",
            "and brings its 99th percentile down",
            "above 1 ms against 0.04 ms",
            Metric::P99,
            (tuned(Nagle::On, Pin::None), "rmr"),
            (tuned(Nagle::Off, Pin::None), "rmr"),
            true,
        ),
        statement(
            "4",
            "pinning the receiver raises the rate (Nagle's algorithm off)",
            "136k against 112k: 1.21×",
            Metric::Rate,
            (tuned(Nagle::Off, Pin::Receiver), "rmr"),
            (tuned(Nagle::Off, Pin::None), "rmr"),
            true,
        ),
        statement(
            "4",
            "pinning both raises it more, with Nagle's algorithm on",
            "367k against 300k: 1.22×",
            Metric::Rate,
            (tuned(Nagle::On, Pin::Both), "rmr"),
            (tuned(Nagle::On, Pin::None), "rmr"),
            true,
        ),
        statement(
            "5",
            "pinning shortens gRPC's tail",
            "99.99 %: 0.19 against 19 ms",
            Metric::P9999,
            (max(1000), "grpc"),
            (tuned(Nagle::Off, Pin::None), "grpc"),
            false,
        ),
        statement(
            "15",
            "two receivers lower the 99.9th percentile (Nagle's algorithm on)",
            "0.04 ms against above 1 ms",
            Metric::P999,
            (
                Condition {
                    receivers: 2,
                    ..tuned(Nagle::On, Pin::Both)
                },
                "rmr",
            ),
            (tuned(Nagle::On, Pin::Both), "rmr"),
            false,
        ),
    ]
}

/// What came of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Agrees,
    Differs,
    Tie,
    HintFor,
    HintAgainst,
    Untested,
}

impl Outcome {
    fn mark(self) -> (&'static str, &'static str) {
        match self {
            Self::Agrees => ("good", "agrees"),
            Self::Differs => ("bad", "does not agree"),
            Self::Tie => ("even", "no difference"),
            Self::HintFor => ("none", "hint: agrees"),
            Self::HintAgainst => ("none", "hint: does not agree"),
            Self::Untested => ("none", "not tested"),
        }
    }
}

fn judge(runs: &Runs<'_>, statement: &Statement) -> (Outcome, String) {
    let comparison = runs.compare(
        statement.metric,
        (&statement.first.0, statement.first.1),
        (&statement.second.0, statement.second.1),
    );
    let Some(ratio) = comparison.ratio else {
        return (Outcome::Untested, "no pair of runs".to_owned());
    };
    let show = |(condition, subject): &(Condition, &str)| {
        runs.median(condition, subject, statement.metric)
            .map_or_else(|| "–".to_owned(), |value| statement.metric.show(value))
    };
    let words = format!(
        "{} against {}: {}",
        show(&statement.first),
        show(&statement.second),
        format::ratio(ratio.median)
    );
    let as_said = (ratio.median > 1.0) == statement.larger;
    let outcome = match comparison.verdict {
        _ if !comparison.suffices && as_said => Outcome::HintFor,
        _ if !comparison.suffices => Outcome::HintAgainst,
        Verdict::NotShown(_) => Outcome::Tie,
        Verdict::Larger | Verdict::Smaller if as_said => Outcome::Agrees,
        Verdict::Larger | Verdict::Smaller => Outcome::Differs,
    };
    (outcome, words)
}

/// One sentence on all statements, for the first screen.
pub(super) fn sentence(runs: &Runs<'_>) -> String {
    let statements = all();
    summed_up(runs, &statements)
}

/// What this series shows of the statements that belong to one table, as a paragraph.
pub(super) fn about(runs: &Runs<'_>, table: &str) -> String {
    let statements: Vec<Statement> = all()
        .into_iter()
        .filter(|statement| statement.place == table)
        .collect();
    let mut html = format!(
        "<p class=\"finding\">{}</p><ul class=\"statements\">",
        escape(&summed_up(runs, &statements))
    );
    for statement in &statements {
        let (outcome, words) = judge(runs, statement);
        let (class, mark) = outcome.mark();
        let _ = write!(
            html,
            "<li><span class=\"mark {class}\">{mark}</span> {} <small>({}; here {})</small></li>",
            escape(statement.says),
            escape(statement.printed),
            escape(&words),
        );
    }
    html.push_str("</ul>");
    html
}

fn summed_up(runs: &Runs<'_>, statements: &[Statement]) -> String {
    let outcomes: Vec<Outcome> = statements.iter().map(|one| judge(runs, one).0).collect();
    let count = |wanted| outcomes.iter().filter(|one| **one == wanted).count();
    let parts: Vec<String> = [
        (Outcome::Agrees, "agree"),
        (Outcome::Differs, "do not agree"),
        (Outcome::Tie, "show no difference"),
        (Outcome::HintFor, "agree by a hint (too few repetitions)"),
        (Outcome::HintAgainst, "do not agree by a hint"),
        (Outcome::Untested, "could not be tested"),
    ]
    .into_iter()
    .filter(|(outcome, _)| count(*outcome) > 0)
    .map(|(outcome, words)| format!("{} {words}", count(outcome)))
    .collect();
    format!(
        "Of {} statement{} of the brief {}.",
        outcomes.len(),
        if outcomes.len() == 1 { "" } else { "s" },
        format::list(&parts)
    )
}

/// All of them, one by one.
pub(super) fn section(runs: &Runs<'_>) -> String {
    let mut html = String::from(
        "<div class=\"scroll\"><table><thead><tr><th>The brief says that</th><th>printed</th>\
         <th>here</th><th></th></tr></thead><tbody>",
    );
    for statement in all() {
        let (outcome, words) = judge(runs, &statement);
        let (class, mark) = outcome.mark();
        let _ = write!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td><span class=\"mark {class}\">{mark}</span>\
             </td></tr>",
            escape(statement.says),
            escape(statement.printed),
            escape(&words),
        );
    }
    html.push_str("</tbody></table></div>");
    html
}
