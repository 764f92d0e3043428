//! What was required of the core, row by row, with the figure of this result.

use std::fmt::Write as _;

use super::cells::{Cells, Row, number, sum, time};
use crate::report::escape::escape;
use crate::report::format;
use crate::statistics::compare_interleaved;

/// Which of two figures is the better one.
#[derive(Clone, Copy)]
enum Better {
    Higher,
    Lower,
}

/// A requirement and what was found.
struct Goal {
    what: String,
    unit: &'static str,
    must: f64,
    aim: f64,
    better: Better,
    /// The figure, or why there is none.
    found: Result<f64, &'static str>,
}

const NOT_RUN: &str = "not run";
/// Octets of a GiB.
const GIB: f64 = (1_u64 << 30) as f64;

fn row(transport: &str, threads: &str) -> Row {
    Row {
        flow: "3gpp".to_owned(),
        threads: threads.to_owned(),
        transport: transport.to_owned(),
    }
}

fn all(cells: &Cells<'_>) -> Vec<Goal> {
    let ues = cells.ues();
    let most = ues.iter().copied().max().unwrap_or(0);
    let mut goals = Vec::new();
    let mut add = |what: String, unit, (must, aim): (f64, f64), better, found: Option<f64>| {
        goals.push(Goal {
            what,
            unit,
            must,
            aim,
            better,
            found: found.ok_or(NOT_RUN),
        });
    };
    // As many UEs as show what an NF needs when it does not sleep in between; and one, where it does.
    let busy = ues.iter().copied().filter(|ues| *ues <= 100).max();
    for transport in ["rest", "grpc"] {
        let row = row(transport, "1");
        let mut counts = vec![1];
        counts.extend(busy.filter(|busy| *busy > 1));
        for ues in counts {
            let cpu = cells.median(&row, ues, |record| {
                Some(sum(record, "cpu_us_per_ue")? / 1e3)
            });
            let what = format!("CPU for registration and session, all NFs, {transport}, {ues} UEs");
            add(what, "ms", (2.5, 0.8), Better::Lower, cpu);
        }
    }
    for (procedure, bounds) in [("registration", (5.0, 1.5)), ("session", (4.0, 1.2))] {
        for transport in ["rest", "grpc"] {
            let field = format!("{procedure}_ms");
            let median = cells.median(&row(transport, "1"), 1, |record| {
                time(record, &field, "p50")
            });
            let what = format!("{procedure}, 1 UE, over {transport}, median");
            add(what, "ms", bounds, Better::Lower, median);
        }
    }
    for transport in ["rest", "grpc"] {
        let row = row(transport, "1");
        let rate = ues
            .iter()
            .filter(|ues| **ues >= 100)
            .filter_map(|ues| cells.median(&row, *ues, |record| number(record, "attached_per_s")))
            .fold(None, |best: Option<f64>, rate| {
                Some(best.map_or(rate, |best| best.max(rate)))
            });
        let what =
            format!("registrations and sessions a second, {transport}, UEs on the same cores");
        add(what, "/s", (400.0, 1500.0), Better::Higher, rate);
    }
    for (threads, words) in [("1", "one event loop an NF"), ("ues", "one a UE")] {
        let row = row("rest", threads);
        let both = |ues| {
            cells.samples(&row, ues, |record| {
                let mean = |procedure| time(record, procedure, "mean");
                Some(mean("registration_ms")? + mean("session_ms")?)
            })
        };
        let ratio = compare_interleaved(&both(10), &both(1)).ratio;
        let ratio = ratio.map(|ratio| ratio.median);
        let what =
            format!("time per UE at 10 UEs against 1, registration and session, rest, {words}");
        add(what, "×", (1.5, 1.1), Better::Lower, ratio);
    }
    for (profiles, bounds) in [(1, (60.0, 20.0)), (10, (120.0, 40.0))] {
        let words = if profiles == 1 { "profile" } else { "profiles" };
        let what = format!("NRF discovery, CPU, {profiles} {words}");
        add(what, "µs", bounds, Better::Lower, cells.discovery(profiles));
    }
    let held = cells.median(&row("rest", "1"), most, |record| {
        let each = sum(record, "memory_bytes_per_ue").filter(|each| *each > 0.0)?;
        let empty = sum(record, "memory_bytes_empty").unwrap_or(0.0);
        Some((GIB - empty).max(0.0) / each)
    });
    let what = format!("attached UEs held in 1 GiB, extrapolated from {most}");
    add(what, "UEs", (200_000.0, 1_000_000.0), Better::Higher, held);
    for (what, unit, bounds, why) in [
        (
            "SCP hop, CPU",
            "µs",
            (60.0, 25.0),
            "not run: there is no SCP",
        ),
        (
            "GTP-U through the UPF on one core, against a plain UDP forwarder",
            "×",
            (0.6, 0.9),
            "not run: there is no user plane",
        ),
    ] {
        goals.push(Goal {
            what: what.to_owned(),
            unit,
            must: bounds.0,
            aim: bounds.1,
            better: if unit == "×" {
                Better::Higher
            } else {
                Better::Lower
            },
            found: Err(why),
        });
    }
    goals
}

impl Goal {
    fn verdict(&self) -> (&'static str, &'static str) {
        let reached = |found: f64, bound: f64| match self.better {
            Better::Higher => found >= bound,
            Better::Lower => found <= bound,
        };
        match self.found {
            Err(why) => ("none", why),
            Ok(found) if reached(found, self.aim) => ("good", "met, and the aim"),
            Ok(found) if reached(found, self.must) => ("good", "met"),
            Ok(_) => ("bad", "missed"),
        }
    }

    fn show(&self, value: f64) -> String {
        let digits = match value {
            value if value >= 1000.0 => format::compact(value),
            value => format::significant(value),
        };
        match self.unit {
            "×" | "/s" => format!("{digits}{}", self.unit),
            unit => format!("{digits} {unit}"),
        }
    }

    fn bound(&self, value: f64) -> String {
        let sign = match self.better {
            Better::Higher => "≥",
            Better::Lower => "≤",
        };
        format!("{sign} {}", self.show(value))
    }

    fn here(&self) -> String {
        self.found
            .map_or_else(|_| "–".to_owned(), |found| self.show(found))
    }
}

/// The table.
pub(super) fn table(cells: &Cells<'_>) -> String {
    let mut html = String::from(
        "<p>Medians over the repetitions, flow 3gpp. The CPU time is that of all NFs' threads, the \
         kernel's part too; the UEs' and the gNB's is not in it, but they share the cores. Memory is what \
         all NFs together have resident of their own, without the program's text: what they need with \
         nobody attached, and what each UE adds.</p>\
         <div class=\"scroll\"><table><thead><tr><th>Required</th><th>must</th><th>aim</th><th>here</th>\
         <th></th></tr></thead><tbody>",
    );
    for goal in all(cells) {
        let (class, words) = goal.verdict();
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th><td class=\"name\">{}</td><td class=\"name\">{}</td>\
             <td class=\"name\">{}</td><td><span class=\"mark {class}\">{}</span></td></tr>",
            escape(&goal.what),
            goal.bound(goal.must),
            goal.bound(goal.aim),
            goal.here(),
            escape(words),
        );
    }
    html.push_str("</tbody></table></div>");
    html
}

/// The goals, one a line: for the terminal. Nothing when the core was not run.
pub(super) fn lines(cells: &Cells<'_>) -> Vec<String> {
    if cells.ues().is_empty() {
        return Vec::new();
    }
    all(cells)
        .iter()
        .map(|goal| {
            let must = goal.bound(goal.must);
            let words = goal.verdict().1;
            format!(
                "{:<76} {:>10}  must {must:<10} {words}",
                goal.what,
                goal.here()
            )
        })
        .collect()
}
