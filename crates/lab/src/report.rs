//! The report: one page that opens from a file, and its figures as files of their own.
//!
//! Everything in it is computed from `results.jsonl`; no number and no sentence about a result is
//! written by hand. The page needs no network, no other file and no script; a short script adds
//! sorting. A scenario has a module of its own (`guti`); the page frame, the charts and the
//! number formats are shared.
//!
//! ```text
//! results.jsonl -> Record -> guti::report -> sections + figures -> page, figures/*.svg
//!                                 |               |
//!                          thesis (data)      chart -> scale, svg
//! ```

mod chart;
mod command;
mod core5g;
mod escape;
mod format;
mod guti;
mod mesh;
mod neighbours;
mod page;
mod palette;
mod provenance;
mod qualities;
mod rmr;
mod scale;
mod svg;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::record::Record;
use crate::results;
use page::Section;
pub(crate) use qualities::lines as qualities_table;

/// Name of the page in a result directory.
const PAGE: &str = "report.html";
/// Name of the directory of figures beside it.
const FIGURES: &str = "figures";
/// How the names of all figures begin.
const FIGURE_NAMES: [&str; 2] = ["figure-", "percentiles-"];

/// What a scenario's module makes of its records.
#[derive(Debug)]
struct ScenarioReport {
    title: String,
    sections: Vec<Section>,
    figures: Vec<FigureFile>,
    /// Command lines that make the runs again.
    commands: Vec<String>,
}

/// A figure that stands alone.
#[derive(Debug)]
struct FigureFile {
    name: String,
    svg: String,
}

/// Writes `report.html` and `figures/*.svg` into the result directory `dir`; returns the path of
/// the page.
///
/// An earlier report in the same directory is replaced. A series that was cut short makes a report
/// too, which shows what is missing.
///
/// # Errors
/// When `dir` holds no readable `results.jsonl`, or no record in it, or cannot be written.
pub fn write(dir: &Path) -> anyhow::Result<PathBuf> {
    let records = results::read(dir)?;
    if records.is_empty() {
        bail!(
            "{} holds no run yet: nothing to report",
            dir.join(results::FILE_NAME).display()
        );
    }
    let mut by_scenario: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in &records {
        by_scenario
            .entry(&record.cell.scenario)
            .or_default()
            .push(record);
    }
    let mut titles = Vec::new();
    let mut sections = Vec::new();
    let mut figures = Vec::new();
    let mut commands = Vec::new();
    for (scenario, records) in by_scenario {
        let (beside, alone): (Vec<&Record>, Vec<&Record>) = records
            .iter()
            .copied()
            .partition(|record| neighbours::has_one(record));
        if !beside.is_empty() {
            sections.push(neighbours::section(&records));
        }
        if alone.is_empty() {
            titles.push(format!("{scenario}: beside neighbours"));
            continue;
        }
        let report = match scenario {
            "core" => core5g::report(&alone),
            "guti" => guti::report(&alone),
            "mesh" => mesh::report(&alone),
            "rmr" => rmr::report(&alone),
            "qualities" => qualities::report(&alone),
            other => bail!("{}: no report for the scenario {other:?}", dir.display()),
        };
        titles.push(report.title);
        sections.extend(report.sections);
        figures.extend(report.figures);
        commands.extend(report.commands);
    }
    write_figures(&dir.join(FIGURES), &figures)?;
    let foot = provenance::foot(dir, &records, &commands);
    let page = dir.join(PAGE);
    std::fs::write(&page, page::document(&titles.join("; "), &sections, &foot))
        .with_context(|| format!("cannot write {}", page.display()))?;
    Ok(page)
}

/// What came of the goals of the scenarios that have some, a line each, for the terminal.
pub(crate) fn goals(records: &[Record]) -> Vec<String> {
    let of = |scenario: &str| -> Vec<&Record> {
        let alone = records.iter().filter(|record| !neighbours::has_one(record));
        alone
            .filter(|record| record.cell.scenario == scenario)
            .collect()
    };
    let of_mesh = of(crate::mesh::NAME);
    let of_guti = of(crate::guti::NAME);
    let of_core = of(crate::core5g::NAME);
    let mut lines = guti::lines(&of_guti);
    lines.extend(core5g::goals(&of_core));
    lines.extend(mesh::goals(&of_mesh));
    lines
}

fn write_figures(dir: &Path, figures: &[FigureFile]) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir)
        .with_context(|| format!("cannot make the directory {}", dir.display()))?;
    remove_earlier(dir)
        .with_context(|| format!("cannot remove earlier figures from {}", dir.display()))?;
    for figure in figures {
        let path = dir.join(&figure.name);
        std::fs::write(&path, &figure.svg)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Removes the figures of an earlier report, some of which this one may not have: names are made
/// of what was run.
fn remove_earlier(dir: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let is_ours = path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| {
                FIGURE_NAMES.iter().any(|ours| name.starts_with(ours)) && name.ends_with(".svg")
            });
        if is_ours {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}
