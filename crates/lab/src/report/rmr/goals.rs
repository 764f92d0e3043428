//! What was required of this scenario, row by row, with the ratio in this run.

use std::fmt::Write as _;

use super::runs::{Metric, Runs, State};
use crate::report::escape::escape;
use crate::report::format;
use crate::rmr::{Condition, HIGH};
use crate::statistics::{Comparison, PAIRS_NEEDED, Verdict};

/// A comparison that a requirement names.
struct Goal {
    what: &'static str,
    metric: Metric,
    ours: (Condition, &'static str),
    theirs: (Condition, &'static str),
    must: f64,
    aim: Option<f64>,
    /// Whether a higher ratio is better.
    higher: bool,
}

const fn max(size: u64) -> Condition {
    Condition::plain(None, size)
}

const fn at(rate: u64) -> Condition {
    Condition::plain(Some(rate), 1000)
}

fn rate(
    what: &'static str,
    size: u64,
    ours: &'static str,
    theirs: &'static str,
    (must, aim): (f64, f64),
) -> Goal {
    Goal {
        what,
        metric: Metric::Rate,
        ours: (max(size), ours),
        theirs: (max(size), theirs),
        must,
        aim: Some(aim),
        higher: true,
    }
}

fn latency(what: &'static str, metric: Metric, ours: &'static str) -> Goal {
    Goal {
        what,
        metric,
        ours: (at(10_000), ours),
        theirs: (at(10_000), "rmr"),
        must: 1.0,
        aim: Some(0.7),
        higher: false,
    }
}

fn swapped(subject: &'static str) -> Goal {
    let table = |swaps_per_s| Condition {
        routes: 10_000,
        swaps_per_s,
        ..max(1000)
    };
    Goal {
        what: "rate while 10,000 entries are swapped 10 times a second, against none",
        metric: Metric::Rate,
        ours: (table(10), subject),
        theirs: (table(0), subject),
        must: 0.95,
        aim: Some(0.99),
        higher: true,
    }
}

fn fanned(receivers: u32, senders: u32, subject: &'static str) -> Goal {
    Goal {
        what: match (senders, receivers) {
            (1, 2) => "one sender to 2 receivers, against 1",
            (1, 4) => "one sender to 4 receivers, against 1",
            (1, 8) => "one sender to 8 receivers, against 1",
            _ => "8 senders to one receiver, against 1",
        },
        metric: Metric::Rate,
        ours: (
            Condition {
                receivers,
                senders,
                ..max(1000)
            },
            subject,
        ),
        theirs: (max(1000), subject),
        // "Grows, no collapse": on few cores there is nothing to grow with.
        must: 0.7,
        aim: Some(1.0),
        higher: true,
    }
}

/// The rate at which latencies are held against gRPC's flat out with its buffer hint: the lowest of
/// the high ones that is not below what gRPC reached here.
fn own_rate_of_grpc(runs: &Runs<'_>) -> u64 {
    let reached = runs.median(&max(1000), "grpc-hint", Metric::Rate);
    let at_least = |rate: &&u64| reached.is_none_or(|reached| **rate as f64 >= reached);
    *HIGH.iter().find(at_least).unwrap_or(&HIGH[HIGH.len() - 1])
}

fn all(runs: &Runs<'_>) -> Vec<Goal> {
    let own_rate = own_rate_of_grpc(runs);
    let mut goals = vec![
        rate(
            "rate, 1000 B, SI95 against real RMR",
            1000,
            "si95",
            "rmr",
            (1.0, 2.0),
        ),
        rate(
            "rate, 16 B, SI95 against real RMR",
            16,
            "si95",
            "rmr",
            (1.0, 2.5),
        ),
        rate(
            "rate, 1000 B, SI95 that gathers against real RMR",
            1000,
            "si95-gather",
            "rmr",
            (2.5, 6.0),
        ),
        rate(
            "rate, 16 B, SI95 that gathers against real RMR",
            16,
            "si95-gather",
            "rmr",
            (3.0, 10.0),
        ),
        rate(
            "rate, 1000 B, native against real RMR",
            1000,
            "native",
            "rmr",
            (4.0, 9.0),
        ),
        rate(
            "rate, 16 B, native against real RMR",
            16,
            "native",
            "rmr",
            (6.0, 15.0),
        ),
        rate(
            "rate, 1000 B, shared memory against real RMR",
            1000,
            "shm",
            "rmr",
            (8.0, 15.0),
        ),
        rate(
            "rate, 16 B, shared memory against real RMR",
            16,
            "shm",
            "rmr",
            (25.0, 60.0),
        ),
        latency(
            "median at 10,000/s, SI95 against real RMR",
            Metric::P50,
            "si95",
        ),
        latency(
            "99th percentile at 10,000/s, SI95 against real RMR",
            Metric::P99,
            "si95",
        ),
        latency(
            "99th percentile at 10,000/s, SI95 that gathers against real RMR",
            Metric::P99,
            "si95-gather",
        ),
        latency(
            "median at 10,000/s, native against real RMR",
            Metric::P50,
            "native",
        ),
        latency(
            "99th percentile at 10,000/s, native against real RMR",
            Metric::P99,
            "native",
        ),
    ];
    for mixed in ["rmr-to-si95", "si95-to-rmr"] {
        goals.push(Goal {
            what: if mixed == "rmr-to-si95" {
                "rate, real RMR sending to our receiver, against real RMR on both ends"
            } else {
                "rate, our sender to real RMR, against real RMR on both ends"
            },
            metric: Metric::Rate,
            ours: (max(1000), mixed),
            theirs: (max(1000), "rmr"),
            must: 1.0,
            aim: None,
            higher: true,
        });
    }
    for subject in ["si95-gather", "native"] {
        goals.push(rate(
            "rate, 1000 B, against gRPC with set_buffer_hint",
            1000,
            subject,
            "grpc-hint",
            (2.5, 6.0),
        ));
        goals.push(Goal {
            what: if own_rate == HIGH[0] {
                "99th percentile at 300,000/s against gRPC's with set_buffer_hint at its own rate"
            } else {
                "99th percentile at 600,000/s against gRPC's with set_buffer_hint at its own rate"
            },
            metric: Metric::P99,
            ours: (at(own_rate), subject),
            theirs: (max(1000), "grpc-hint"),
            must: 0.1,
            aim: Some(0.02),
            higher: false,
        });
        for metric in [Metric::SenderCpu, Metric::ReceiverCpu] {
            goals.push(Goal {
                what: if metric == Metric::SenderCpu {
                    "sender CPU a message, 1000 B, against real RMR"
                } else {
                    "receiver CPU a message, 1000 B, against real RMR"
                },
                metric,
                ours: (max(1000), subject),
                theirs: (max(1000), "rmr"),
                must: 0.5,
                aim: Some(0.15),
                higher: false,
            });
        }
    }
    for subject in ["si95", "native"] {
        goals.push(swapped(subject));
        for (senders, receivers) in [(1, 2), (1, 4), (1, 8), (8, 1)] {
            goals.push(fanned(receivers, senders, subject));
        }
    }
    goals
}

/// How a goal stands.
enum Standing {
    Aim,
    Must,
    /// "Not above" or "not below", where what was measured overlaps.
    Tie,
    Missed,
    /// Too few repetitions: by the medians alone.
    Hint(bool),
    /// Why there is nothing to compare.
    Open(String),
}

impl Goal {
    fn standing(&self, runs: &Runs<'_>) -> (Option<Comparison>, Standing) {
        for (condition, subject) in [&self.ours, &self.theirs] {
            match runs.state(condition, subject) {
                State::Measured => {}
                State::Failed(why) => {
                    return (
                        None,
                        Standing::Open(format!("{subject} did not run: {why}")),
                    );
                }
                State::NotRun => {
                    return (
                        None,
                        Standing::Open(format!("{subject}, {condition}: not run")),
                    );
                }
            }
        }
        let comparison = runs.compare(
            self.metric,
            (&self.ours.0, self.ours.1),
            (&self.theirs.0, self.theirs.1),
        );
        let Some(ratio) = comparison.ratio else {
            return (None, Standing::Open("no pair of runs".to_owned()));
        };
        let reached = |bound: f64| {
            if self.higher {
                ratio.median >= bound
            } else {
                ratio.median <= bound
            }
        };
        // Nothing is shown, neither "not above" nor its opposite, where the one is as high as the other.
        let tied = self.must == 1.0 && matches!(comparison.verdict, Verdict::NotShown(_));
        let standing = if !comparison.suffices {
            Standing::Hint(reached(self.must))
        } else if tied {
            Standing::Tie
        } else if self.aim.is_some_and(reached) {
            Standing::Aim
        } else if reached(self.must) {
            Standing::Must
        } else {
            Standing::Missed
        };
        (Some(comparison), standing)
    }
}

/// How many of the goals that could be judged are met: met, judged, those that are not shown.
pub(super) fn score(runs: &Runs<'_>) -> (usize, usize, usize) {
    let standings: Vec<Standing> = all(runs).iter().map(|goal| goal.standing(runs).1).collect();
    let reached = standings
        .iter()
        .filter(|one| matches!(one, Standing::Aim | Standing::Must))
        .count();
    let missed = standings
        .iter()
        .filter(|one| matches!(one, Standing::Missed))
        .count();
    let judged = reached + missed;
    (reached, judged, standings.len() - judged)
}

/// The table.
pub(super) fn table(runs: &Runs<'_>) -> String {
    let mut html = format!(
        "<p>The median of the ratio over the pairs of repetitions, and its quartiles. Below \
         {PAIRS_NEEDED} pairs there is a hint and no verdict. Beyond the 99th percentile nothing is \
         required: there a shared machine measures itself.</p><div class=\"scroll\"><table><thead>\
         <tr><th>Required</th><th>Subject</th><th>must</th><th>aim</th><th>ratio here</th>\
         <th>ours, theirs</th><th></th></tr></thead><tbody>"
    );
    for goal in all(runs) {
        let (comparison, standing) = goal.standing(runs);
        let sign = if goal.higher { "≥" } else { "≤" };
        let bound = |value: f64| format!("{sign} {}", format::ratio(value));
        let apart = comparison.as_ref().and_then(|one| one.apart.as_ref());
        let apart = apart.map_or_else(String::new, |apart| format!(" [{apart}]"));
        let ratio = comparison.as_ref().and_then(|one| one.ratio).map_or_else(
            || "–".to_owned(),
            |ratio| match ratio.count {
                1 => format::ratio(ratio.median),
                _ => format!(
                    "{} ({} to {}){apart}",
                    format::ratio(ratio.median),
                    format::ratio(ratio.q1),
                    format::ratio(ratio.q3)
                ),
            },
        );
        let median = |(condition, subject): &(Condition, &str)| {
            runs.median(condition, subject, goal.metric)
                .map_or_else(|| "–".to_owned(), |value| goal.metric.show(value))
        };
        let (class, words) = match standing {
            Standing::Aim => ("good", "met, and the aim".to_owned()),
            Standing::Must => ("good", "met".to_owned()),
            Standing::Tie => ("even", "not shown: not a difference".to_owned()),
            Standing::Missed => ("bad", "missed".to_owned()),
            Standing::Hint(true) => ("none", "not shown: hint of met".to_owned()),
            Standing::Hint(false) => ("none", "not shown: hint of missed".to_owned()),
            Standing::Open(why) => ("", format!("not shown: {}", short(&why))),
        };
        let mark = match class {
            // A reason, which may need more than a line.
            "" => format!("<small>{}</small>", escape(&words)),
            class => format!("<span class=\"mark {class}\">{}</span>", escape(&words)),
        };
        let _ = write!(
            html,
            "<tr><td>{}</td><th scope=\"row\">{}</th><td class=\"name\">{}</td><td \
             class=\"name\">{}</td><td class=\"name\">{ratio}</td><td class=\"name\">{}, {}</td>\
             <td>{mark}</td></tr>",
            escape(goal.what),
            escape(goal.ours.1),
            bound(goal.must),
            goal.aim.map_or_else(|| "–".to_owned(), bound),
            median(&goal.ours),
            median(&goal.theirs),
        );
    }
    html.push_str(&losses(runs));
    html.push_str("</tbody></table></div>");
    html.push_str(&run_by_run(runs));
    html
}

/// The 99th percentiles behind the verdicts, each run for itself.
fn run_by_run(runs: &Runs<'_>) -> String {
    let mut cells: Vec<(Condition, &str)> = Vec::new();
    for goal in all(runs)
        .into_iter()
        .filter(|goal| goal.metric == Metric::P99)
    {
        for (condition, subject) in [goal.ours, goal.theirs] {
            if !cells.contains(&(condition.clone(), subject)) {
                cells.push((condition, subject));
            }
        }
    }
    let mut html = String::new();
    for (condition, subject) in cells {
        let samples = runs.samples(&condition, subject, Metric::P99);
        let Some(summary) = samples.summary() else {
            continue;
        };
        let values: Vec<String> = samples
            .iter()
            .map(|(_, value)| format::micros(value))
            .collect();
        let _ = write!(
            html,
            "<tr><td>{}</td><th scope=\"row\">{}</th><td class=\"name\">{}</td><td \
             class=\"name\">{}</td><td class=\"name\">{} to {}</td></tr>",
            escape(&condition.to_string()),
            escape(subject),
            values.join(", "),
            format::micros(summary.median),
            format::micros(summary.min),
            format::micros(summary.max),
        );
    }
    if html.is_empty() {
        return html;
    }
    format!(
        "<p>The 99th percentile of each run. Where the middle halves of two rows overlap there is no \
         difference, whatever the medians say.</p><div class=\"scroll\"><table><thead><tr>\
         <th>Condition</th><th>Subject</th><th>99th percentile, run by run</th><th>median</th>\
         <th>range</th></tr></thead><tbody>{html}</tbody></table></div>"
    )
}

/// The row on messages that were lost without a word.
fn losses(runs: &Runs<'_>) -> String {
    let (mut runs_seen, mut lost) = (0, 0);
    for (_, subject, records) in runs.cells() {
        if super::is_ours(subject) {
            for record in records.iter().filter(|record| record.complete().is_some()) {
                runs_seen += 1;
                lost += super::runs::extra_count(record, "lost_silently").unwrap_or(0);
            }
        }
    }
    let (class, words) = match (runs_seen, lost) {
        (0, _) => ("none", "not shown: not run"),
        (_, 0) => ("good", "met"),
        _ => ("bad", "missed"),
    };
    format!(
        "<tr><td>messages lost without the sender being told</td><th scope=\"row\">ours, all runs\
         </th><td>0</td><td>0</td><td colspan=\"2\">{} lost in {runs_seen} runs</td><td><span \
         class=\"mark {class}\">{words}</span></td></tr>",
        format::count(lost)
    )
}

fn short(words: &str) -> String {
    const SHOWN: usize = 110;
    if words.chars().count() <= SHOWN {
        words.to_owned()
    } else {
        words.chars().take(SHOWN).chain("…".chars()).collect()
    }
}
