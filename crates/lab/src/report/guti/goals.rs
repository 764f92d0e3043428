//! The project's own goals for the GUTI evaluation, row by row, with what was measured here.

use std::fmt::Write as _;

use super::cells::Cells;
use super::metric::Metric;
use super::runs::{Condition, Runs};
use crate::record::Record;
use crate::report::escape::escape;
use crate::report::format;
use crate::statistics::{Apart, Better, Comparison, Summary, Verdict, compare_interleaved};

/// The thesis's eight adapters.
const EIGHT: &[&str] = &[
    "GRPC-S",
    "GRPC-AS",
    "GRPC-BI",
    "GRPC-ASBI",
    "THRIFT-S",
    "THRIFT-NB",
    "THRIFT-AS",
    "TCP-AS",
];
/// Those whose threads block.
const BLOCKING: &[&str] = &["TCP-AS", "THRIFT-S"];
/// Peers with raised malloc thresholds.
const TUNED: &[&str] = &["THRIFT-NB+malloc", "THRIFT-S+malloc", "TCP-AS+malloc"];
/// Ours over TCP, native.
const NATIVE: &[&str] = &["CW-S", "CW-AS", "CW-BI"];

/// A goal: the best of `ours` over the best of `theirs`, pair by pair.
#[derive(Clone, Copy, Debug)]
struct Goal {
    words: &'static str,
    ours: &'static [&'static str],
    theirs: &'static [&'static str],
    payload: u64,
    clients: u32,
    /// Clients of the others, where they are not as many.
    their_clients: u32,
    metric: Metric,
    must: f64,
    aim: Option<f64>,
}

const fn goal(
    words: &'static str,
    ours: &'static [&'static str],
    theirs: &'static [&'static str],
    (payload, clients): (u64, u32),
    must: f64,
    aim: Option<f64>,
) -> Goal {
    Goal {
        words,
        ours,
        theirs,
        payload,
        clients,
        their_clients: clients,
        metric: Metric::Qps,
        must,
        aim,
    }
}

const fn share(goal: Goal, metric: Metric) -> Goal {
    Goal { metric, ..goal }
}

const K10: u64 = 10_000;
const K100: u64 = 100_000;
/// All clients on one event loop.
const LOOP: &[&str] = &["CW-EL"];
/// All callers of one connection on one event loop.
const LOOP_SHARED: &[&str] = &["CW-EL on 1"];
const POLL: &[&str] = &["CW-S+poll"];
const SHARED: &[&str] = &["CW-S on 1"];
const SHARED_GRPC: &[&str] = &["GRPC-ASBI on 1"];

/// In the order of the project's page of goals.
fn goals() -> Vec<Goal> {
    let mut all = vec![
        goal(
            "1 client, blocking, 0 B, against the best blocking one",
            &["CW-S"],
            BLOCKING,
            (0, 1),
            1.15,
            Some(1.25),
        ),
        goal(
            "the same, 10 kB",
            &["CW-S"],
            BLOCKING,
            (K10, 1),
            1.12,
            Some(1.2),
        ),
        goal(
            "1 client, never asking before it sleeps, 0 B, the same",
            &["CW-S+sleep"],
            BLOCKING,
            (0, 1),
            1.15,
            Some(1.25),
        ),
        goal(
            "1 client, polling, 0 B, against the best of the eight",
            POLL,
            EIGHT,
            (0, 1),
            2.0,
            Some(2.5),
        ),
        goal("the same, 10 kB", POLL, EIGHT, (K10, 1), 1.6, Some(1.9)),
        goal("the same, 100 kB", POLL, EIGHT, (K100, 1), 1.5, Some(1.7)),
        share(
            goal("the same, 0 B, mean", POLL, EIGHT, (0, 1), 0.5, None),
            Metric::Mean,
        ),
        share(
            goal(
                "the same, 0 B, 99th percentile",
                POLL,
                EIGHT,
                (0, 1),
                0.5,
                None,
            ),
            Metric::P99,
        ),
        goal(
            "1 client, blocking, 100 kB, against THRIFT-NB",
            &["CW-S"],
            &["THRIFT-NB"],
            (K100, 1),
            1.3,
            Some(1.4),
        ),
        goal(
            "16 clients, 0 B, against the best of the eight",
            NATIVE,
            EIGHT,
            (0, 16),
            1.3,
            Some(1.5),
        ),
        goal("the same, 10 kB", NATIVE, EIGHT, (K10, 16), 1.35, Some(1.6)),
        goal(
            "the same, 100 kB",
            NATIVE,
            EIGHT,
            (K100, 16),
            2.2,
            Some(2.6),
        ),
        share(
            goal(
                "the same, 0 B, server CPU a request",
                NATIVE,
                EIGHT,
                (0, 16),
                0.65,
                None,
            ),
            Metric::ServerCpuPerRequest,
        ),
        goal(
            "16 clients on one event loop, 0 B, against the best of the eight",
            LOOP,
            EIGHT,
            (0, 16),
            1.3,
            Some(2.0),
        ),
        goal("the same, 10 kB", LOOP, EIGHT, (K10, 16), 1.35, Some(1.6)),
        goal("the same, 100 kB", LOOP, EIGHT, (K100, 16), 2.2, Some(2.6)),
        goal(
            "16 clients, 100 kB, against peers with raised malloc thresholds",
            NATIVE,
            TUNED,
            (K100, 16),
            1.3,
            Some(1.6),
        ),
        goal(
            "16 callers on 1 connection, 0 B, against GRPC-ASBI",
            SHARED,
            SHARED_GRPC,
            (0, 16),
            3.5,
            Some(6.0),
        ),
        share(
            goal(
                "the same, server CPU a request",
                SHARED,
                SHARED_GRPC,
                (0, 16),
                0.25,
                Some(0.1),
            ),
            Metric::ServerCpuPerRequest,
        ),
    ];
    for (payload, words) in [
        (
            0,
            "99th percentile, 16 clients, 0 B, against the best of the eight",
        ),
        (K10, "the same, 10 kB"),
        (K100, "the same, 100 kB"),
    ] {
        let at = (payload, 16);
        all.push(share(
            goal(words, NATIVE, EIGHT, at, 1.0, Some(0.7)),
            Metric::P99,
        ));
    }
    all.extend([
        Goal {
            their_clients: 1,
            ..goal(
                "1 connection, 64 outstanding, 0 B, one thread at each end, against bare sockets",
                LOOP_SHARED,
                &["FLOOR-PIPE-64"],
                (0, 64),
                0.3,
                Some(0.5),
            )
        },
        Goal {
            their_clients: 1,
            ..goal(
                "the same by 64 blocking threads",
                SHARED,
                &["FLOOR-PIPE-64"],
                (0, 64),
                0.3,
                Some(0.5),
            )
        },
        goal(
            "shared memory, 0 B, against TCP-AS",
            &["CW-SHM"],
            &["TCP-AS"],
            (0, 1),
            5.0,
            Some(20.0),
        ),
        goal(
            "mutual TLS, 0 B, against our own clear text",
            &["CW-S+mtls"],
            &["CW-S"],
            (0, 1),
            0.8,
            Some(0.9),
        ),
        goal(
            "the same, 10 kB",
            &["CW-S+mtls"],
            &["CW-S"],
            (K10, 1),
            0.6,
            Some(0.7),
        ),
        goal(
            "CW-GRPC against GRPC-ASBI, 1 client, 0 B",
            &["CW-GRPC"],
            &["GRPC-ASBI"],
            (0, 1),
            1.3,
            Some(2.0),
        ),
        goal(
            "the same, 16 clients",
            &["CW-GRPC"],
            &["GRPC-ASBI"],
            (0, 16),
            1.3,
            Some(2.0),
        ),
        goal(
            "CW-GRPC against GRPC-S, 1 client, 0 B",
            &["CW-GRPC"],
            &["GRPC-S"],
            (0, 1),
            2.5,
            Some(4.0),
        ),
        goal(
            "the same, 16 clients",
            &["CW-GRPC"],
            &["GRPC-S"],
            (0, 16),
            2.5,
            Some(4.0),
        ),
        goal(
            "CW-REST against nghttpd and h2load, 16 clients, 0 B",
            &["CW-REST"],
            &["NGHTTPD"],
            (0, 16),
            1.0,
            Some(1.2),
        ),
    ]);
    all
}

/// How a goal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Aim,
    Must,
    Missed,
    /// Fewer pairs than a verdict needs.
    Hint(bool),
    NotRun,
}

impl Standing {
    const fn mark(self) -> (&'static str, &'static str) {
        match self {
            Self::Aim => ("good", "aim reached"),
            Self::Must => ("good", "as it must be"),
            Self::Missed => ("bad", "missed"),
            Self::Hint(true) => ("none", "would hold, too few pairs"),
            Self::Hint(false) => ("none", "would miss, too few pairs"),
            Self::NotRun => ("none", "not run"),
        }
    }
}

/// What was measured for a goal.
struct Found {
    ours: String,
    theirs: String,
    ratio: Summary,
    /// Whether a difference is shown at all.
    shown: bool,
    /// Whether there are pairs enough.
    suffices: bool,
    /// Where pairs were left out.
    apart: Option<Apart>,
}

impl Goal {
    fn find(&self, runs: &Runs<'_>) -> Option<Found> {
        let ours = Condition::no_rate(self.payload, self.clients);
        let theirs = Condition::no_rate(self.payload, self.their_clients);
        let our = best(runs, ours, self.ours, self.metric)?;
        let their = best(runs, theirs, self.theirs, self.metric)?;
        let left = runs.samples(ours, our, self.metric);
        let right = runs.samples(theirs, their, self.metric);
        let Comparison {
            ratio,
            verdict,
            suffices,
            apart,
        } = compare_interleaved(&left, &right);
        Some(Found {
            ours: our.to_owned(),
            theirs: their.to_owned(),
            ratio: ratio?,
            shown: !matches!(verdict, Verdict::NotShown(_)),
            suffices,
            apart,
        })
    }

    fn holds(&self, bound: f64, value: f64) -> bool {
        match self.metric.better() {
            Better::Larger => value >= bound,
            Better::Smaller => value <= bound,
        }
    }

    fn standing(&self, found: Option<&Found>) -> Standing {
        let Some(found) = found else {
            return Standing::NotRun;
        };
        let value = found.ratio.median;
        if !found.suffices {
            Standing::Hint(self.holds(self.must, value))
        } else if self.aim.is_some_and(|aim| self.holds(aim, value)) {
            Standing::Aim
        } else if self.holds(self.must, value) {
            Standing::Must
        } else {
            Standing::Missed
        }
    }

    fn bound(&self, bound: f64) -> String {
        let sign = match self.metric.better() {
            Better::Larger => "at least",
            Better::Smaller => "at most",
        };
        format!("{sign} {}", format::ratio(bound))
    }
}

fn best(
    runs: &Runs<'_>,
    condition: Condition,
    names: &[&'static str],
    metric: Metric,
) -> Option<&'static str> {
    let found = names.iter().filter_map(|name| {
        let summary = runs.summary(condition, name, metric)?;
        Some((*name, summary.median))
    });
    let best = match metric.better() {
        Better::Smaller => found.min_by(|a, b| a.1.total_cmp(&b.1)),
        Better::Larger => found.max_by(|a, b| a.1.total_cmp(&b.1)),
    };
    best.map(|(name, _)| name)
}

/// How the goal of every cell stands: ours in all of them, at best outside the spread.
fn of_cells(cells: &Cells) -> Standing {
    if cells.judged() == 0 {
        Standing::NotRun
    } else if cells.ours() < cells.judged() {
        Standing::Missed
    } else if cells.judged() < cells.all() {
        Standing::Hint(true)
    } else if cells.outside() == cells.all() {
        Standing::Aim
    } else {
        Standing::Must
    }
}

/// The whole section; empty when nothing of it was run.
pub(super) fn section(runs: &Runs<'_>) -> String {
    let goals: Vec<(Goal, Option<Found>)> = goals()
        .into_iter()
        .map(|goal| (goal, goal.find(runs)))
        .collect();
    let mut html = String::from(
        "<p>Each row of the project's goals for this evaluation. Measured is the median over \
         interleaved pairs of the best of ours over the best of those named.</p>\
         <div class=\"scroll\"><table><thead><tr><th>Goal</th><th>Ours</th><th>Against</th>\
         <th>Of</th><th>Measured</th><th>Quartiles</th><th>Must</th><th>Aim</th><th>Standing</th>\
         <th>Pairs</th></tr></thead><tbody>",
    );
    for (goal, found) in &goals {
        row(goal, found.as_ref(), &mut html);
    }
    let cells = Cells::of(runs);
    let standing = of_cells(&cells);
    let (class, mut words) = standing.mark();
    if standing == Standing::Hint(true) {
        words = "all that were judged";
    }
    let _ = write!(
        html,
        "<tr><td>every cell of tables 5.5, 5.6, 5.7</td><td colspan=\"7\">{}</td>\
         <td><span class=\"mark {class}\">{words}</span></td><td></td></tr></tbody></table></div>",
        escape(&cells.words()),
    );
    html
}

fn row(goal: &Goal, found: Option<&Found>, html: &mut String) {
    let (class, words) = goal.standing(found).mark();
    let _ = write!(html, "<tr><td>{}</td>", escape(goal.words));
    let aim = goal.aim.map_or_else(String::new, |aim| goal.bound(aim));
    let must = goal.bound(goal.must);
    let metric = goal.metric.name();
    match found {
        Some(found) => {
            let _ = write!(
                html,
                "<td>{}</td><td>{}</td><td>{metric}</td><td>{}</td><td>{} to {}</td><td>{must}</td>\
                 <td>{aim}</td><td><span class=\"mark {class}\">{words}</span></td><td>{}{}</td></tr>",
                escape(&found.ours),
                escape(&found.theirs),
                format::ratio(found.ratio.median),
                format::ratio(found.ratio.q1),
                format::ratio(found.ratio.q3),
                pairs_words(found),
                if found.shown {
                    ""
                } else {
                    ", no difference shown"
                },
            );
        }
        None => {
            let _ = write!(
                html,
                "<td>{}</td><td>{}</td><td>{metric}</td><td class=\"none\">–</td>\
                 <td class=\"none\">–</td><td>{must}</td><td>{aim}</td>\
                 <td><span class=\"mark {class}\">{words}</span></td><td>0</td></tr>",
                escape(&goal.ours.join(", ")),
                escape(&goal.theirs.join(", ")),
            );
        }
    }
}

fn pairs_words(found: &Found) -> String {
    match &found.apart {
        Some(apart) => apart.to_string(),
        None => found.ratio.count.to_string(),
    }
}

/// The goals that were judged, one a line: for the terminal.
pub(super) fn lines(records: &[&Record]) -> Vec<String> {
    let runs = Runs::new(records.iter().copied());
    let mut lines: Vec<String> = goals()
        .iter()
        .filter_map(|goal| {
            let found = goal.find(&runs)?;
            let (_, standing) = goal.standing(Some(&found)).mark();
            Some(format!(
                "{:<68} {:>7}  must {:>5}  {standing}{}",
                goal.words,
                format::ratio(found.ratio.median),
                format::ratio(goal.must),
                found
                    .apart
                    .map_or_else(String::new, |apart| format!(" [{apart}]")),
            ))
        })
        .collect();
    lines.extend(super::cells::lines(&runs));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::generated::Series;

    fn found(median: f64, count: u32) -> Found {
        Found {
            ours: "CW-S".to_owned(),
            theirs: "TCP-AS".to_owned(),
            ratio: Summary::of((0..count).map(|_| median)).expect("some"),
            shown: true,
            suffices: count >= 5,
            apart: None,
        }
    }

    #[test]
    fn bounds_hold_on_the_side_of_their_metric() {
        let all = goals();
        let rate = all[0];
        assert_eq!(rate.standing(Some(&found(1.3, 5))), Standing::Aim);
        assert_eq!(rate.standing(Some(&found(1.2, 5))), Standing::Must);
        assert_eq!(rate.standing(Some(&found(1.1, 5))), Standing::Missed);
        assert_eq!(rate.standing(Some(&found(1.3, 4))), Standing::Hint(true));
        assert_eq!(rate.standing(None), Standing::NotRun);
        let cpu = all
            .iter()
            .find(|goal| goal.metric == Metric::ServerCpuPerRequest && goal.must == 0.25)
            .expect("the shared connection's");
        assert_eq!(cpu.standing(Some(&found(0.2, 5))), Standing::Must);
        assert_eq!(cpu.standing(Some(&found(0.3, 5))), Standing::Missed);
    }

    #[test]
    fn what_was_run_is_judged_and_the_rest_is_named_as_not_run() {
        let records = Series {
            subjects: &["CW-S", "TCP-AS", "THRIFT-S"],
            payloads: &[0, 10_000],
            clients: &[1],
            rates: &[],
            repetitions: 5,
        }
        .records();
        let runs = Runs::new(&records);
        let html = section(&runs);
        assert!(
            html.contains("not run") && html.contains("FLOOR-PIPE-64"),
            "{html}"
        );
        let judged: Vec<bool> = goals()
            .iter()
            .map(|goal| goal.find(&runs).is_some())
            .collect();
        assert_eq!(judged.iter().filter(|judged| **judged).count(), 2);
        assert!(judged[0] && judged[1]);
        // Two conditions with three metrics each.
        assert_eq!(Cells::of(&runs).judged(), 6);
    }
}
