//! The measuring lab: scenarios, load, recording, statistics, report.
//!
//! A scenario makes a plan and runs one step of it; the session runs the
//! plan and appends a [`record`] a run to [`results`]; [`statistics`] holds the one rule by which
//! a difference counts; the report is drawn from the file alone. The lab drives the programs under
//! test from outside and knows nothing of any transport.
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! for record in corewire_lab::results::read("out/guti-20260102-030405".as_ref())? {
//!     if let Some(measured) = record.complete() {
//!         println!("{}: {:.1} us", record.cell, measured.latency_us.mean);
//!     }
//! }
//! # Ok(()) }
//! ```
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod certificates;
mod clock;
mod compare;
mod console;
mod core5g;
mod guti;
mod harness;
mod list;
mod machine;
mod mesh;
mod neighbour;
mod network;
mod order;
mod probe;
mod process;
mod progress;
mod qualities;
mod quiet;
pub mod record;
pub mod report;
pub mod results;
mod rmr;
mod run;
mod scenario;
mod session;
pub mod states;
pub mod statistics;
mod stop;
mod summary;
mod talk;
mod units;

use std::path::Path;
use std::process::ExitCode;

pub use args::LabArgs;

use args::{LabCommand, ScenarioArgs};

/// Does what the command line says.
///
/// # Errors
/// What stops the whole command, with what to do about it; what goes wrong in a single run is a
/// record and a line instead, and a failure exit code at the end.
pub fn run(args: LabArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        LabCommand::Run(run) => match run.scenario {
            ScenarioArgs::Core(args) => run::core5g(&args),
            ScenarioArgs::Guti(args) => run::guti(&args),
            ScenarioArgs::Floor(args) => run::guti(&args.into()),
            ScenarioArgs::Mesh(args) => run::mesh(&args),
            ScenarioArgs::Http2(args) => run::mesh(&args.into()),
            ScenarioArgs::Rmr(args) => run::rmr(&args),
            ScenarioArgs::Qualities(args) => run::qualities(&args),
        },
        LabCommand::List(args) => list::print(&args),
        LabCommand::Report { dir } => {
            write_report(&dir)?;
            Ok(ExitCode::SUCCESS)
        }
        LabCommand::Compare { before, after } => compare::print(&before, &after),
    }
}

/// Prints the figures and makes the page.
fn write_report(dir: &Path) -> anyhow::Result<()> {
    let records = results::read(dir)?;
    if records.is_empty() {
        anyhow::bail!(
            "{} holds no run yet: there is nothing to report on",
            dir.display()
        );
    }
    console::out(&summary::table(&records))?;
    let goals = report::goals(&records);
    if !goals.is_empty() {
        console::out(&format!("\n{}\n", goals.join("\n")))?;
    }
    if let Some(census) = states::Census::of(&records).filter(states::Census::has_several) {
        console::out(&format!("\nnote: {}\n", census.words()))?;
    }
    let page = report::write(dir)?;
    console::out(&format!("\nreport: {}\n", page.display()))?;
    Ok(())
}
