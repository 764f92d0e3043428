//! The answer: each goal with what was measured in this run, and the answer in plain words.

mod list;

use std::fmt::Write as _;

use self::list::Bound::{Above, AtLeast, AtMost, Share, Times};
use self::list::Where::{AtRate, Refusals, Saturated, Updates};
use self::list::{GOALS, Goal};

use super::metric::Metric;
use super::runs::{Condition, Runs};
use crate::report::escape::escape;
use crate::report::format;
use crate::statistics::{Apart, PAIRS_NEEDED, Summary, Verdict, counted_pairs};

/// What came of a goal.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    value: Summary,
    /// Whether pairs agree on a difference; `None` where nothing is compared.
    shown: Option<bool>,
    /// Whether there are repetitions enough.
    suffices: bool,
    /// Where pairs were left out.
    apart: Option<Apart>,
}

impl Found {
    /// Whether there are enough pairs and they agree.
    fn is_shown(&self) -> bool {
        self.suffices && self.shown != Some(false)
    }
}

/// Where the goal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    NotRun,
    Aim,
    Must,
    Missed,
    /// It looks met, but the pairs are too few or do not agree.
    NotShown,
    NoGoal,
}

impl Standing {
    const fn mark(self) -> (&'static str, &'static str) {
        match self {
            Self::NotRun => ("none", "not run"),
            Self::Aim => ("good", "aim met"),
            Self::Must => ("good", "must met"),
            Self::Missed => ("bad", "missed"),
            Self::NotShown => ("none", "not shown"),
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
                    suffices: compared.suffices,
                    apart: compared.apart,
                })
            }
            Above(theirs) => {
                let compared = runs.compare(condition, self.ours, theirs, self.metric)?;
                let ours = runs.samples(condition, self.ours, self.metric);
                let theirs = runs.samples(condition, theirs, self.metric);
                let pairs = counted_pairs(&ours, &theirs);
                let value = Summary::of(pairs.iter().map(|(ours, theirs)| ours - theirs))?;
                Some(Found {
                    value,
                    shown: None,
                    suffices: compared.suffices,
                    apart: compared.apart,
                })
            }
            AtMost | AtLeast => {
                let value = runs.summary(condition, self.ours, self.metric)?;
                Some(Found {
                    value,
                    shown: None,
                    suffices: value.count >= PAIRS_NEEDED,
                    apart: None,
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
        } else if self.holds(self.must.or(self.aim), found.value.median) && !found.is_shown() {
            Standing::NotShown
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
         and where pairs do not agree, nothing is shown to be met.</p>"
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
            let hint = if !found.suffices {
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
                found
                    .apart
                    .as_ref()
                    .map_or_else(|| found.value.count.to_string(), ToString::to_string),
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
        "Of {} goals, {} are met to the aim and {} more as they must be, {} are missed, {} look met \
         but are not shown by enough runs that agree, and {} could not be judged because their paths \
         were not run here.",
        goals.len(),
        count(Standing::Aim),
        count(Standing::Must),
        count(Standing::Missed),
        count(Standing::NotShown),
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
                "{:<64} {:>18}  {standing}{}",
                goal.words,
                goal.show(found.value.median),
                found
                    .apart
                    .map_or_else(String::new, |apart| format!(" [{apart}]")),
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
            suffices: true,
            apart: None,
        }
    }

    #[test]
    fn bounds_hold_on_their_own_side() {
        let share = GOALS[0];
        assert_eq!(share.standing(Some(&found(0.1))), Standing::Aim);
        assert_eq!(share.standing(Some(&found(0.19))), Standing::Must);
        assert_eq!(share.standing(Some(&found(0.3))), Standing::Missed);
        assert_eq!(share.standing(None), Standing::NotRun);
        let mut few = found(0.1);
        few.suffices = false;
        assert_eq!(share.standing(Some(&few)), Standing::NotShown);
        let mut divided = found(0.1);
        divided.shown = Some(false);
        assert_eq!(share.standing(Some(&divided)), Standing::NotShown);
        divided.value = Summary::of([0.9]).expect("one");
        assert_eq!(share.standing(Some(&divided)), Standing::Missed);
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
