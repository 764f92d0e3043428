//! The answer: each goal with what was measured in this run, and the answer in plain words.

use std::fmt::Write as _;

use super::metric::Metric;
use super::runs::{Condition, Runs};
use crate::report::escape::escape;
use crate::report::format;
use crate::statistics::{PAIRS_NEEDED, Summary, Verdict};

/// Where a goal is measured.
#[derive(Clone, Copy, Debug)]
enum Where {
    AtRate,
    Saturated,
    Updates,
    Refusals,
}

/// How a goal is judged.
#[derive(Clone, Copy, Debug)]
enum Bound {
    /// Ours over theirs, pair by pair, at most.
    Share(&'static str),
    /// Ours over theirs, at least.
    Times(&'static str),
    /// Ours less theirs, medians, at most.
    Above(&'static str),
    /// Ours alone, at most.
    AtMost,
    /// Ours alone, at least.
    AtLeast,
}

/// A goal.
#[derive(Clone, Copy, Debug)]
struct Goal {
    words: &'static str,
    at: Where,
    ours: &'static str,
    metric: Metric,
    bound: Bound,
    must: Option<f64>,
    aim: Option<f64>,
}

const fn goal(
    words: &'static str,
    at: Where,
    ours: &'static str,
    metric: Metric,
    bound: Bound,
    must: Option<f64>,
    aim: Option<f64>,
) -> Goal {
    Goal {
        words,
        at,
        ours,
        metric,
        bound,
        must,
        aim,
    }
}

use Bound::{Above, AtLeast, AtMost, Share, Times};
use Where::{AtRate, Refusals, Saturated, Updates};

/// What the project has set itself, in the order of its performance goals.
const GOALS: [Goal; 37] = [
    goal(
        "99th percentile, inline HTTP/2 as a share of two Envoys",
        AtRate,
        "inline-rest",
        Metric::P99,
        Share("envoy-2-rest"),
        Some(1.0 / 5.0),
        Some(1.0 / 6.0),
    ),
    goal(
        "99th percentile, inline native as a share of two Envoys",
        AtRate,
        "inline-native",
        Metric::P99,
        Share("envoy-2-rest"),
        Some(1.0 / 5.0),
        Some(1.0 / 10.0),
    ),
    goal(
        "99th percentile, inline gRPC as a share of two Envoys",
        AtRate,
        "inline-grpc",
        Metric::P99,
        Share("envoy-2-grpc"),
        Some(1.0 / 5.0),
        Some(1.0 / 6.0),
    ),
    goal(
        "median, inline HTTP/2 as a share of two Envoys",
        AtRate,
        "inline-rest",
        Metric::P50,
        Share("envoy-2-rest"),
        None,
        None,
    ),
    goal(
        "one way, 99th percentile, as the paper takes it",
        AtRate,
        "inline-rest",
        Metric::OneWayP99,
        Share("envoy-2-rest"),
        None,
        None,
    ),
    goal(
        "CPU of all processes, inline HTTP/2 as a share of two Envoys",
        AtRate,
        "inline-rest",
        Metric::CpuAll,
        Share("envoy-2-rest"),
        Some(1.0 / 4.0),
        Some(1.0 / 5.0),
    ),
    goal(
        "CPU of all processes, inline native as a share of two Envoys",
        AtRate,
        "inline-native",
        Metric::CpuAll,
        Share("envoy-2-rest"),
        Some(1.0 / 4.0),
        Some(1.0 / 8.0),
    ),
    goal(
        "the inline stages against no mesh, REST: median",
        AtRate,
        "inline-rest",
        Metric::P50,
        Above("direct-rest"),
        Some(15.0),
        Some(3.0),
    ),
    goal(
        "the inline stages against no mesh, REST: CPU",
        AtRate,
        "inline-rest",
        Metric::CpuAll,
        Share("direct-rest"),
        Some(1.2),
        Some(1.05),
    ),
    goal(
        "the inline stages against no mesh, gRPC: median",
        AtRate,
        "inline-grpc",
        Metric::P50,
        Above("direct-grpc"),
        Some(15.0),
        Some(3.0),
    ),
    goal(
        "the inline stages against no mesh, gRPC: CPU",
        AtRate,
        "inline-grpc",
        Metric::CpuAll,
        Share("direct-grpc"),
        Some(1.2),
        Some(1.05),
    ),
    goal(
        "the inline stages against no mesh, native: median",
        AtRate,
        "inline-native",
        Metric::P50,
        Above("direct-native"),
        Some(15.0),
        Some(3.0),
    ),
    goal(
        "the inline stages against no mesh, native: CPU",
        AtRate,
        "inline-native",
        Metric::CpuAll,
        Share("direct-native"),
        Some(1.2),
        Some(1.05),
    ),
    goal(
        "against gRPC C++ proxyless: median, gRPC",
        AtRate,
        "inline-grpc",
        Metric::P50,
        Share("grpc-xds"),
        Some(0.6),
        Some(0.4),
    ),
    goal(
        "against gRPC C++ proxyless: CPU, gRPC",
        AtRate,
        "inline-grpc",
        Metric::CpuAll,
        Share("grpc-xds"),
        Some(0.6),
        Some(0.4),
    ),
    goal(
        "against gRPC C++ proxyless: median, REST",
        AtRate,
        "inline-rest",
        Metric::P50,
        Share("grpc-xds"),
        Some(0.6),
        Some(0.4),
    ),
    goal(
        "against gRPC C++ proxyless: CPU, REST",
        AtRate,
        "inline-rest",
        Metric::CpuAll,
        Share("grpc-xds"),
        Some(0.6),
        Some(0.4),
    ),
    goal(
        "against gRPC C++ proxyless: median, native",
        AtRate,
        "inline-native",
        Metric::P50,
        Share("grpc-xds"),
        Some(0.6),
        Some(0.25),
    ),
    goal(
        "against gRPC C++ proxyless: CPU, native",
        AtRate,
        "inline-native",
        Metric::CpuAll,
        Share("grpc-xds"),
        Some(0.6),
        Some(0.25),
    ),
    goal(
        "against the paper's shim: 99th percentile, gRPC",
        AtRate,
        "inline-grpc",
        Metric::P99,
        Share("shim-grpc"),
        None,
        None,
    ),
    goal(
        "saturation, all on the cores of this machine",
        Saturated,
        "inline-rest",
        Metric::Qps,
        AtLeast,
        Some(80_000.0),
        Some(120_000.0),
    ),
    goal(
        "saturation against one Envoy",
        Saturated,
        "inline-rest",
        Metric::Qps,
        Times("envoy-1-rest"),
        Some(5.0),
        None,
    ),
    goal(
        "saturation: the inline stages against no mesh",
        Saturated,
        "inline-rest",
        Metric::Qps,
        Times("direct-rest"),
        None,
        None,
    ),
    goal(
        "policy update in effect, 99th percentile",
        Updates,
        "inline-rest",
        Metric::P99,
        AtMost,
        Some(150_000.0),
        Some(20_000.0),
    ),
    goal(
        "policy update in effect, median",
        Updates,
        "inline-rest",
        Metric::P50,
        AtMost,
        None,
        None,
    ),
    goal(
        "first request after start with a control plane",
        AtRate,
        "inline-rest",
        Metric::FirstAnswer,
        AtMost,
        Some(20.0),
        Some(10.0),
    ),
    goal(
        "memory of a process with its endpoints",
        AtRate,
        "inline-rest",
        Metric::GatewayMemory,
        AtMost,
        Some(15e6),
        Some(8e6),
    ),
    goal(
        "REST without a mesh against the nghttp2 C++ reference: CPU",
        AtRate,
        "direct-rest",
        Metric::CpuAll,
        Share("ref-nghttp2"),
        Some(1.15),
        Some(1.0),
    ),
    goal(
        "the same, saturated",
        Saturated,
        "direct-rest",
        Metric::CpuAll,
        Share("ref-nghttp2"),
        Some(1.15),
        Some(1.0),
    ),
    goal(
        "gRPC without a mesh against gRPC C++: CPU",
        AtRate,
        "direct-grpc",
        Metric::CpuAll,
        Share("ref-grpc"),
        Some(0.5),
        Some(0.4),
    ),
    goal(
        "gRPC without a mesh against gRPC C++: median",
        AtRate,
        "direct-grpc",
        Metric::P50,
        Share("ref-grpc"),
        Some(0.5),
        Some(0.4),
    ),
    goal(
        "gRPC without a mesh against gRPC C++: saturated rate",
        Saturated,
        "direct-grpc",
        Metric::Qps,
        Times("ref-grpc"),
        Some(5.0),
        Some(7.0),
    ),
    goal(
        "policy update in effect, native: 99th percentile",
        Updates,
        "inline-native",
        Metric::P99,
        AtMost,
        Some(150_000.0),
        Some(20_000.0),
    ),
    goal(
        "policy update in effect through two Envoys: 99th percentile",
        Updates,
        "envoy-2-rest",
        Metric::P99,
        AtMost,
        None,
        None,
    ),
    goal(
        "policy update in effect, a share of two Envoys: median",
        Updates,
        "inline-rest",
        Metric::P50,
        Share("envoy-2-rest"),
        None,
        None,
    ),
    goal(
        "refusals a second of what is sent again at once",
        Refusals,
        "inline-rest",
        Metric::RefusalRate,
        AtMost,
        Some(1.0),
        None,
    ),
    goal(
        "refusals a second of gRPC C++",
        Refusals,
        "grpc-xds",
        Metric::RefusalRate,
        AtMost,
        None,
        None,
    ),
];

/// What came of a goal.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    value: Summary,
    /// Whether pairs agree on a difference; `None` where nothing is compared.
    shown: Option<bool>,
    /// Repetitions.
    count: usize,
}

/// Where the goal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    NotRun,
    Aim,
    Must,
    Missed,
    NoGoal,
}

impl Standing {
    const fn mark(self) -> (&'static str, &'static str) {
        match self {
            Self::NotRun => ("none", "not run"),
            Self::Aim => ("good", "aim met"),
            Self::Must => ("good", "must met"),
            Self::Missed => ("bad", "missed"),
            Self::NoGoal => ("none", "no goal"),
        }
    }
}

impl Goal {
    fn condition<'r>(&self, runs: &'r Runs<'_>) -> Option<&'r Condition> {
        match self.at {
            AtRate => runs.at_rate(),
            Saturated => runs.saturated(),
            Updates => runs.measure("policy-update"),
            Refusals => runs.measure("refusals"),
        }
    }

    fn find(&self, runs: &Runs<'_>) -> Option<Found> {
        let condition = self.condition(runs)?;
        match self.bound {
            Share(theirs) | Times(theirs) => {
                let compared = runs.compare(condition, self.ours, theirs, self.metric)?;
                let value = compared.ratio?;
                Some(Found {
                    value,
                    shown: Some(!matches!(compared.verdict, Verdict::NotShown(_))),
                    count: value.count,
                })
            }
            Above(theirs) => {
                let ours = runs.samples(condition, self.ours, self.metric);
                let theirs = runs.samples(condition, theirs, self.metric);
                let above = ours.iter().filter_map(|(repetition, ours)| {
                    let (_, theirs) = theirs.iter().find(|(other, _)| *other == repetition)?;
                    Some(ours - theirs)
                });
                let value = Summary::of(above)?;
                Some(Found {
                    value,
                    shown: None,
                    count: value.count,
                })
            }
            AtMost | AtLeast => {
                let value = runs.summary(condition, self.ours, self.metric)?;
                Some(Found {
                    value,
                    shown: None,
                    count: value.count,
                })
            }
        }
    }

    fn holds(&self, bound: Option<f64>, value: f64) -> bool {
        bound.is_some_and(|bound| match self.bound {
            Share(_) | Above(_) | AtMost => value <= bound,
            Times(_) | AtLeast => value >= bound,
        })
    }

    fn standing(&self, found: Option<&Found>) -> Standing {
        let Some(found) = found else {
            return Standing::NotRun;
        };
        if self.must.is_none() && self.aim.is_none() {
            Standing::NoGoal
        } else if self.holds(self.aim, found.value.median) {
            Standing::Aim
        } else if self.holds(self.must, found.value.median) {
            Standing::Must
        } else {
            Standing::Missed
        }
    }

    fn show(&self, value: f64) -> String {
        match self.bound {
            Share(_) if value > 0.0 && value < 0.5 => {
                format!("{} (1/{:.1})", format::ratio(value), 1.0 / value).replace(".0)", ")")
            }
            Share(_) | Times(_) => format::ratio(value),
            Above(_) if value < 0.0 => format!("−{}", self.metric.show(-value)),
            Above(_) => format!("+{}", self.metric.show(value)),
            AtMost | AtLeast => self.metric.show(value),
        }
    }

    fn against(&self) -> &'static str {
        match self.bound {
            Share(theirs) | Times(theirs) | Above(theirs) => theirs,
            AtMost | AtLeast => "",
        }
    }
}

/// The whole section.
pub(super) fn section(runs: &Runs<'_>) -> String {
    let mut html = String::new();
    let _ = write!(html, "<p>{}</p>", escape(&what_was_measured(runs)));
    let _ = write!(html, "<p class=\"finding\">{}</p>", escape(&in_words(runs)));
    html.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>Goal</th><th>Ours</th><th>Against</th>\
         <th>Measured</th><th>Quartiles</th><th>Must</th><th>Aim</th><th>Standing</th>\
         <th>Pairs</th></tr></thead><tbody>",
    );
    for goal in GOALS {
        row(&goal, runs, &mut html);
    }
    let _ = write!(
        html,
        "</tbody></table></div><p>Shares and multiples are medians over interleaved pairs, at the \
         cell that comes nearest to the paper's (1500/s, 30 replicas). Below {PAIRS_NEEDED} pairs, \
         and where pairs do not agree, a standing is a hint and no verdict.</p>"
    );
    html
}

fn row(goal: &Goal, runs: &Runs<'_>, html: &mut String) {
    let found = goal.find(runs);
    let (class, words) = goal.standing(found.as_ref()).mark();
    let sign = match goal.bound {
        Share(_) | Above(_) | AtMost => "at most",
        Times(_) | AtLeast => "at least",
    };
    let bound = |bound: Option<f64>| {
        bound.map_or_else(String::new, |value| format!("{sign} {}", goal.show(value)))
    };
    let _ = write!(
        html,
        "<tr><td>{}</td><td>{}</td><td>{}</td>",
        escape(goal.words),
        escape(goal.ours),
        escape(goal.against()),
    );
    match &found {
        Some(found) => {
            let hint = if found.count < PAIRS_NEEDED {
                ", a hint"
            } else if found.shown == Some(false) {
                ", no difference shown"
            } else {
                ""
            };
            let _ = write!(
                html,
                "<td>{}</td><td>{} to {}</td><td>{}</td><td>{}</td>\
                 <td><span class=\"mark {class}\">{words}</span></td><td>{}{hint}</td></tr>",
                escape(&goal.show(found.value.median)),
                escape(&goal.show(found.value.q1)),
                escape(&goal.show(found.value.q3)),
                escape(&bound(goal.must)),
                escape(&bound(goal.aim)),
                found.count,
            );
        }
        None => {
            let _ = write!(
                html,
                "<td class=\"none\">–</td><td class=\"none\">–</td><td>{}</td><td>{}</td>\
                 <td><span class=\"mark {class}\">{words}</span></td><td>0</td></tr>",
                escape(&bound(goal.must)),
                escape(&bound(goal.aim)),
            );
        }
    }
}

fn what_was_measured(runs: &Runs<'_>) -> String {
    let measured: Vec<&str> = runs
        .subjects()
        .iter()
        .filter(|subject| {
            runs.conditions()
                .any(|condition| runs.summary(condition, subject, Metric::Mean).is_some())
        })
        .map(String::as_str)
        .collect();
    let place = runs.at_rate().map_or_else(String::new, |condition| {
        format!(" The table compares at {}.", condition.words())
    });
    format!(
        "One SMF gateway sends SM-Context-Create requests of 1 KB to SMF-PDU-Session replicas, which \
         answer with 256 B; {} paths between them were measured: {}.{place} Gateway, its sidecar and \
         the control plane are held to one set of cores, replicas and their sidecars to another.",
        measured.len(),
        format::list(&measured),
    )
}

fn in_words(runs: &Runs<'_>) -> String {
    let goals: Vec<&Goal> = GOALS
        .iter()
        .filter(|goal| goal.must.or(goal.aim).is_some())
        .collect();
    let count = |wanted: Standing| {
        let standing = |goal: &&&Goal| goal.standing(goal.find(runs).as_ref()) == wanted;
        goals.iter().filter(standing).count()
    };
    let mut sentence = String::new();
    if let Some(condition) = runs.at_rate()
        && let Some(compared) = runs.compare(condition, "inline-rest", "envoy-2-rest", Metric::P99)
        && let Some(ratio) = compared.ratio
    {
        let _ = write!(
            sentence,
            "At {} the inline mesh's 99th percentile is {} of that through two Envoys. ",
            condition.words(),
            format::ratio(ratio.median)
        );
    }
    let _ = write!(
        sentence,
        "Of {} goals, {} are met to the aim and {} more as they must be, {} are missed, and {} \
         could not be judged because their paths were not run here.",
        goals.len(),
        count(Standing::Aim),
        count(Standing::Must),
        count(Standing::Missed),
        count(Standing::NotRun),
    );
    sentence
}

/// The goals that were judged, one a line: for the terminal.
pub(super) fn lines(records: &[&crate::record::Record]) -> Vec<String> {
    let runs = Runs::new(records);
    GOALS
        .iter()
        .filter_map(|goal| {
            let found = goal.find(&runs)?;
            let (_, standing) = goal.standing(Some(&found)).mark();
            Some(format!(
                "{:<64} {:>18}  {standing}",
                goal.words,
                goal.show(found.value.median)
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(median: f64) -> Found {
        let value = Summary::of([median]).expect("one");
        Found {
            value,
            shown: None,
            count: 5,
        }
    }

    #[test]
    fn bounds_hold_on_their_own_side() {
        let share = GOALS[0];
        assert_eq!(share.standing(Some(&found(0.1))), Standing::Aim);
        assert_eq!(share.standing(Some(&found(0.19))), Standing::Must);
        assert_eq!(share.standing(Some(&found(0.3))), Standing::Missed);
        assert_eq!(share.standing(None), Standing::NotRun);
        let saturation = GOALS
            .iter()
            .find(|goal| goal.must == Some(80_000.0))
            .expect("there");
        assert_eq!(saturation.standing(Some(&found(130_000.0))), Standing::Aim);
        assert_eq!(
            saturation.standing(Some(&found(79_999.0))),
            Standing::Missed
        );
    }

    #[test]
    fn every_goal_names_paths_that_exist() {
        for goal in GOALS {
            for name in [goal.ours, goal.against()] {
                let known = crate::mesh::PATHS.iter().any(|path| path.name == name);
                assert!(known || name.is_empty(), "{name}");
            }
        }
    }
}
