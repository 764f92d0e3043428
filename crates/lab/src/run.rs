//! `corewire lab run`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Instant, SystemTime};

use anyhow::bail;

use crate::args::{CommonArgs, GutiArgs};
use crate::clock::{compact, span};
use crate::guti::Guti;
use crate::progress::Progress;
use crate::record::Record;
use crate::results;
use crate::scenario::Scenario;
use crate::session::{self, Tally};
use crate::stop::{EXIT_INTERRUPTED, Stop};

/// Runs the GUTI evaluation.
pub(crate) fn guti(args: &GutiArgs) -> anyhow::Result<ExitCode> {
    let before = earlier(&args.common)?;
    let mut scenario = match &args.common.resume {
        Some(dir) => Guti::resumed(&before, dir, args)?,
        None => Guti::new(args)?,
    };
    if let Some(caveat) = scenario.caveat() {
        eprintln!("note: {caveat}");
    }
    scenario_run(&mut scenario, &args.common, &before)
}

/// What the directory to resume holds.
fn earlier(common: &CommonArgs) -> anyhow::Result<Vec<Record>> {
    common
        .resume
        .as_deref()
        .map_or_else(|| Ok(Vec::new()), results::read)
}

/// The part that is the same for every scenario.
fn scenario_run(
    scenario: &mut dyn Scenario,
    common: &CommonArgs,
    before: &[Record],
) -> anyhow::Result<ExitCode> {
    let dir = directory(scenario.name(), common)?;
    let mut plan = scenario.plan();
    plan.skip(&session::done(before));
    if let Some(record) = before.last()
        && record.host != crate::machine::host()
    {
        eprintln!(
            "note: {} was begun on another machine: {:?}",
            dir.display(),
            record.host
        );
    }
    eprintln!("{}", session::announcement(&plan, &dir));

    let stop = Stop::on_signal()?;
    let mut progress = Progress::detect();
    let begun = Instant::now();
    let tally = session::run(scenario, plan, &dir, &stop, &mut progress)?;
    eprintln!("{}", closing(&tally, begun, &dir));
    if results::read(&dir)?.is_empty() {
        eprintln!("no run came to a result: there is nothing to report on");
    } else {
        crate::write_report(&dir)?;
    }
    Ok(exit_code(&tally, scenario.holes_are_failures()))
}

fn directory(scenario: &str, common: &CommonArgs) -> anyhow::Result<PathBuf> {
    if let Some(dir) = &common.resume {
        return Ok(dir.clone());
    }
    let dir = common.out.clone().unwrap_or_else(|| {
        Path::new("out").join(format!("{scenario}-{}", compact(SystemTime::now())))
    });
    if dir.join(results::FILE_NAME).exists() {
        bail!(
            "{} holds results already; go on with them by --resume, or choose another --out",
            dir.display()
        );
    }
    Ok(dir)
}

fn closing(tally: &Tally, begun: Instant, dir: &Path) -> String {
    let mut text = format!("{} runs in {}", tally.complete, span(begun.elapsed()));
    if tally.failed > 0 {
        text.push_str(&format!(", {} failed", tally.failed));
    }
    if tally.left_out > 0 {
        let why = if tally.stopped {
            "stopped"
        } else {
            "the time was up"
        };
        text.push_str(&format!(", {} left out ({why})", tally.left_out));
    }
    if tally.failed + tally.left_out > 0 {
        text.push_str(&format!("; to run those: --resume {}", dir.display()));
    }
    text
}

fn exit_code(tally: &Tally, holes_are_failures: bool) -> ExitCode {
    let holed = holes_are_failures && tally.holes > 0;
    if tally.stopped {
        ExitCode::from(EXIT_INTERRUPTED)
    } else if tally.failed > 0 || tally.left_out > 0 || holed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
