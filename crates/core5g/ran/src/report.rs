//! What a run came to: for people a table, for programs one line of JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;

use super::gnb::Event;
use super::step::Step;

/// Reasons that are shown.
const SHOWN_REASONS: usize = 10;

/// How long steps took, and what failed.
#[derive(Debug, Default)]
pub(crate) struct Report {
    took: BTreeMap<Step, Vec<Duration>>,
    failed: BTreeMap<(Option<Step>, String), usize>,
    pub(crate) finished: usize,
    pub(crate) lasted: Duration,
    /// How long it took until the last UE came to the step that all wait before.
    pub(crate) before_pause: Option<Duration>,
    /// UEs that left because the run was stopped: detached, if they were registered.
    pub(crate) left: usize,
    /// UEs that are registered at the end.
    pub(crate) attached: usize,
    /// The run was stopped before its end.
    pub(crate) stopped: bool,
    /// What stopped a gNB.
    pub(crate) faults: Vec<String>,
}

impl Report {
    pub(crate) fn take(&mut self, event: Event) {
        match event {
            Event::Step(end) => self.took.entry(end.step).or_default().push(end.took),
            Event::Failed { failure, .. } => {
                *self.failed.entry((failure.step, failure.what)).or_default() += 1;
            }
            Event::Finished => self.finished += 1,
            Event::Paused => {}
            Event::Left { .. } => self.left += 1,
        }
    }

    /// A UE has come to the step that all wait before.
    pub(crate) fn came_so_far(&mut self, after: Duration) {
        self.before_pause = self.before_pause.max(Some(after));
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (step, took) in other.took {
            self.took.entry(step).or_default().extend(took);
        }
        for (why, count) in other.failed {
            *self.failed.entry(why).or_default() += count;
        }
        self.finished += other.finished;
        self.lasted = self.lasted.max(other.lasted);
        self.before_pause = self.before_pause.max(other.before_pause);
        self.left += other.left;
        self.attached += other.attached;
        self.stopped |= other.stopped;
        self.faults.extend(other.faults);
    }

    pub(crate) fn failed(&self) -> usize {
        self.failed.values().sum()
    }

    /// One line for programs. For each step there is `STEP_us`: how long it took, in microseconds,
    /// in `values` for each UE in the order in which they were done. `before_pause_ms` is when the last
    /// UE came to the step of `--pause-before`.
    pub(crate) fn json(&self, ues: usize) -> String {
        let errors: Vec<_> = self
            .failed
            .iter()
            .map(|((step, what), count)| {
                json!({ "step": step.map(Step::name), "reason": what, "ues": count })
            })
            .collect();
        let mut line = json!({
            "event": "result", "protocol": 1, "ues": ues, "finished": self.finished,
            "failed": self.failed(), "wall_ms": self.lasted.as_secs_f64() * 1e3,
            "errors": errors, "faults": self.faults, "attached": self.attached,
        });
        if self.stopped {
            line["stopped"] = true.into();
            line["left"] = self.left.into();
        }
        if let Some(before) = self.before_pause {
            line["before_pause_ms"] = (before.as_secs_f64() * 1e3).into();
        }
        for (step, took) in &self.took {
            let times = Times::of(took);
            let values: Vec<_> = took.iter().map(micros).collect();
            let name = format!("{}_us", step.name().replace('-', "_"));
            line[name] = json!({
                "count": took.len(), "mean": times.mean * 1e3, "p50": times.p50 * 1e3,
                "p99": times.p99 * 1e3, "max": times.max * 1e3, "values": values,
            });
        }
        line.to_string()
    }

    /// The table for people.
    pub(crate) fn table(&self, ues: usize) -> String {
        let mut text = format!(
            "{:<16}{:>8}{:>11}{:>11}{:>11}{:>11}\n",
            "step", "UEs", "mean ms", "p50 ms", "p99 ms", "max ms"
        );
        for (step, took) in &self.took {
            let Times {
                mean,
                p50,
                p99,
                max,
            } = Times::of(took);
            let _ = writeln!(
                text,
                "{:<16}{:>8}{mean:>11.2}{p50:>11.2}{p99:>11.2}{max:>11.2}",
                step.name(),
                took.len()
            );
        }
        let seconds = self.lasted.as_secs_f64();
        let rate = self.finished as f64 / seconds.max(1e-9);
        let _ = writeln!(
            text,
            "\n{} of {ues} UEs did it all in {seconds:.2} s ({rate:.0}/s)",
            self.finished
        );
        if self.stopped {
            let _ = writeln!(
                text,
                "  stopped: {} UEs left, {} are still attached",
                self.left, self.attached
            );
        }
        for ((step, what), count) in self.failed.iter().take(SHOWN_REASONS) {
            let step = step.map_or("start", Step::name);
            let _ = writeln!(text, "  {count} failed at {step}: {what}");
        }
        if self.failed.len() > SHOWN_REASONS {
            let more = self.failed.len() - SHOWN_REASONS;
            let _ = writeln!(text, "  and for {more} more reasons (--json has them all)");
        }
        for fault in &self.faults {
            let _ = writeln!(text, "  {fault}");
        }
        text
    }
}

fn micros(duration: &Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Milliseconds.
struct Times {
    mean: f64,
    p50: f64,
    p99: f64,
    max: f64,
}

impl Times {
    fn of(took: &[Duration]) -> Self {
        let mut sorted = took.to_vec();
        sorted.sort_unstable();
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        // Nearest rank: the smallest that this share of all does not exceed.
        let rank = |percent: usize| {
            let at = (sorted.len() * percent).div_ceil(100).max(1) - 1;
            sorted.get(at).copied().map_or(0.0, ms)
        };
        let sum: Duration = sorted.iter().sum();
        Self {
            mean: ms(sum) / sorted.len().max(1) as f64,
            p50: rank(50),
            p99: rank(99),
            max: rank(100),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ue::{Failure, StepEnd};

    #[test]
    fn times_are_nearest_ranks() {
        let took: Vec<_> = (1..=200).map(Duration::from_millis).collect();
        let times = Times::of(&took);
        assert_eq!(
            (times.mean, times.p50, times.p99, times.max),
            (100.5, 100.0, 198.0, 200.0)
        );
    }

    #[test]
    fn the_report_counts_what_was_done_and_why_it_was_not() {
        let mut report = Report::default();
        let took = Duration::from_millis(3);
        let step = Step::Registration;
        let began = std::time::Instant::now();
        report.take(Event::Step(StepEnd { step, began, took }));
        report.take(Event::Finished);
        let what = "no answer in time".to_owned();
        let step = Some(Step::Session);
        let (failure, active) = (Failure { step, what }, true);
        report.take(Event::Failed { failure, active });
        let json: serde_json::Value = serde_json::from_str(&report.json(2)).unwrap();
        assert_eq!(json["registration_us"]["p50"], 3000.0);
        assert_eq!(json["registration_us"]["values"], json!([3000]));
        assert_eq!((&json["finished"], &json["failed"]), (&1.into(), &1.into()));
        let table = report.table(2);
        assert!(table.contains("1 of 2 UEs"), "{table}");
        assert!(
            table.contains("1 failed at session: no answer in time"),
            "{table}"
        );
    }
}
