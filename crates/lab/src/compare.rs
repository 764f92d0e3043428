//! `corewire lab compare`: two results cell by cell.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;

use crate::record::{Cell, Host, Measured, Record};
use crate::results;
use crate::statistics::{Samples, Verdict, compare_apart};

/// A figure that is compared.
struct Figure {
    name: &'static str,
    of: fn(&Measured) -> Option<f64>,
    /// What a verdict means in a word.
    smaller: &'static str,
    larger: &'static str,
}

const FIGURES: [Figure; 4] = [
    Figure {
        name: "requests/s",
        of: |measured| Some(measured.qps),
        smaller: "lower",
        larger: "higher",
    },
    Figure {
        name: "mean latency",
        of: |measured| Some(measured.latency_us.mean),
        smaller: "faster",
        larger: "slower",
    },
    Figure {
        name: "p99 latency",
        of: |measured| Some(measured.latency_us.p99),
        smaller: "faster",
        larger: "slower",
    },
    Figure {
        name: "server CPU/request",
        of: |measured| measured.cpu_us_per_request.server,
        smaller: "less",
        larger: "more",
    },
];

/// Prints the comparison of two result directories.
pub(crate) fn print(before: &Path, after: &Path) -> anyhow::Result<ExitCode> {
    let (old, new) = (results::read(before)?, results::read(after)?);
    crate::console::out(&comparison(&old, &new)?)?;
    Ok(ExitCode::SUCCESS)
}

type Runs<'a> = BTreeMap<&'a Cell, Vec<&'a Record>>;

fn comparison(before: &[Record], after: &[Record]) -> anyhow::Result<String> {
    let (old, new) = (by_cell(before), by_cell(after));
    let common: Vec<&Cell> = old
        .keys()
        .filter(|cell| new.contains_key(*cell))
        .copied()
        .collect();
    if common.is_empty() {
        bail!("the two results have no measured cell in common; there is nothing to compare");
    }
    let mut text = String::from(
        "after / before: median (first to third quartile) over all repetitions. A difference is\n\
         one only where no repetition of one lies among those of the other, five each at least.\n\
         The two were not interleaved: a change of the machine's mood can look like one.\n",
    );
    text.push_str(&machines(before, after));
    for cell in &common {
        let _ = writeln!(text, "\n{cell}");
        for figure in &FIGURES {
            text.push_str(&line(figure, &new[cell], &old[cell]));
        }
    }
    text.push_str(&alone("before", &old, &new));
    text.push_str(&alone("after", &new, &old));
    Ok(text)
}

fn by_cell(records: &[Record]) -> Runs<'_> {
    let mut runs = Runs::new();
    for record in records.iter().filter(|record| record.complete().is_some()) {
        runs.entry(&record.cell).or_default().push(record);
    }
    runs
}

fn line(figure: &Figure, after: &[&Record], before: &[&Record]) -> String {
    let samples = |runs: &[&Record]| -> Samples {
        runs.iter()
            .filter_map(|run| Some((run.repetition, (figure.of)(run.complete()?)?)))
            .collect()
    };
    let comparison = compare_apart(&samples(after), &samples(before));
    let Some(ratio) = comparison.ratio else {
        return format!("  {:<20} not measured in both\n", figure.name);
    };
    let verdict = match comparison.verdict {
        Verdict::Smaller => figure.smaller.to_owned(),
        Verdict::Larger => figure.larger.to_owned(),
        Verdict::NotShown(why) => format!("no difference ({why})"),
    };
    format!(
        "  {:<20} {:.3} ({:.3} to {:.3})  {verdict}\n",
        figure.name, ratio.median, ratio.q1, ratio.q3
    )
}

/// A warning where the two are not from one machine.
fn machines(before: &[Record], after: &[Record]) -> String {
    let hosts = |records: &[Record]| -> Vec<Host> {
        let mut hosts: Vec<Host> = Vec::new();
        for record in records {
            if !hosts.contains(&record.host) {
                hosts.push(record.host.clone());
            }
        }
        hosts
    };
    if hosts(before) == hosts(after) {
        String::new()
    } else {
        "WARNING: the two come from different machines, or from a changed one.\n".to_owned()
    }
}

fn alone(name: &str, here: &Runs<'_>, there: &Runs<'_>) -> String {
    let cells: BTreeSet<String> = here
        .keys()
        .filter(|cell| !there.contains_key(*cell))
        .map(ToString::to_string)
        .collect();
    if cells.is_empty() {
        return String::new();
    }
    let list: Vec<String> = cells.into_iter().collect();
    format!("\nonly {name}: {}\n", list.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{example, failed};

    /// Five repetitions with these means.
    fn series(means: [f64; 5]) -> Vec<Record> {
        (1..)
            .zip(means)
            .map(|(repetition, mean)| {
                let mut record = example();
                record.repetition = repetition;
                record.measured.as_mut().expect("complete").latency_us.mean = mean;
                record
            })
            .collect()
    }

    #[test]
    fn a_difference_and_none() {
        let before = series([20.0, 21.0, 20.0, 22.0, 21.0]);
        let after = series([10.0, 10.5, 10.0, 11.0, 10.5]);
        let text = comparison(&before, &after).expect("one cell");
        let mean = text
            .lines()
            .find(|line| line.contains("mean latency"))
            .expect("a line");
        assert!(
            mean.contains("0.500 (") && mean.ends_with("faster"),
            "{mean}"
        );
        // The rate is the same in all of them.
        let rate = text
            .lines()
            .find(|line| line.contains("requests/s"))
            .expect("a line");
        assert!(
            rate.contains("1.000 (1.000 to 1.000)  no difference"),
            "{rate}"
        );
        assert!(!text.contains("WARNING"));
    }

    #[test]
    fn too_few_repetitions_and_another_machine_are_said() {
        let before = [example()];
        let mut other = example();
        other.host.cores = 64;
        let text = comparison(&before, &[other]).expect("one cell");
        assert!(
            text.contains("1 of the 5") && text.contains("WARNING"),
            "{text}"
        );
    }

    #[test]
    fn cells_of_one_side_are_named_and_nothing_in_common_is_an_error() {
        let mut other = example();
        other.cell.clients = 16;
        assert!(comparison(&[example()], &[other.clone()]).is_err());
        assert!(comparison(&[example()], &[failed()]).is_err());
        let text = comparison(&[example()], &[example(), other]).expect("one cell");
        assert!(
            text.contains("only after: TCP-AS, 10000 B, 16 clients on 4"),
            "{text}"
        );
    }
}
