//! `corewire lab run`.

use corewire_observe::errln;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Instant, SystemTime};

use anyhow::bail;
use serde::Deserialize as _;

use crate::args::{CommonArgs, Profile};
use crate::clock::span;
use crate::core5g::{Core5g, Core5gArgs};
use crate::guti::Guti;
use crate::guti::GutiArgs;
use crate::mesh::{Mesh, MeshArgs};
use crate::neighbour::{self, Neighbour};
use crate::progress::Progress;
use crate::qualities::{Qualities, QualitiesArgs};
use crate::record::Record;
use crate::results;
use crate::rmr::{Rmr, RmrArgs};
use crate::scenario::Scenario;
use crate::session::{self, Tally};
use crate::stop::{EXIT_INTERRUPTED, Stop};
use corewire_observe::utc::compact;

/// Runs the GUTI evaluation.
pub(crate) fn guti(args: &GutiArgs) -> anyhow::Result<ExitCode> {
    let before = earlier(&args.common)?;
    let mut scenario = match &args.common.resume {
        Some(dir) => Guti::resumed(&before, dir, args)?,
        None => Guti::new(args)?,
    };
    if let Some(caveat) = scenario.caveat() {
        errln!("note: {caveat}");
    }
    scenario_run(&mut scenario, &args.common, &before)
}

/// Runs the mesh experiment.
pub(crate) fn mesh(args: &MeshArgs) -> anyhow::Result<ExitCode> {
    refuse_profiles_of_guti(&args.common)?;
    let before = earlier(&args.common)?;
    let mut scenario = match &args.common.resume {
        Some(dir) => Mesh::resumed(&before, dir, args)?,
        None => Mesh::new(args)?,
    };
    if let Some(caveat) = scenario.caveat() {
        errln!("note: {caveat}");
    }
    scenario_run(&mut scenario, &args.common, &before)
}

/// Runs the 5G core scenario.
pub(crate) fn core5g(args: &Core5gArgs) -> anyhow::Result<ExitCode> {
    refuse_profiles_of_guti(&args.common)?;
    let before = earlier(&args.common)?;
    let mut scenario = match &args.common.resume {
        Some(dir) => Core5g::resumed(&before, dir, args)?,
        None => Core5g::new(args)?,
    };
    scenario_run(&mut scenario, &args.common, &before)
}

/// Runs the RMR scenario.
pub(crate) fn rmr(args: &RmrArgs) -> anyhow::Result<ExitCode> {
    refuse_profiles_of_guti(&args.common)?;
    let before = earlier(&args.common)?;
    let mut scenario = match &args.common.resume {
        Some(dir) => Rmr::resumed(&before, dir, args)?,
        None => Rmr::new(args)?,
    };
    if let Some(caveat) = scenario.caveat() {
        errln!("note: {caveat}");
    }
    scenario_run(&mut scenario, &args.common, &before)
}

fn refuse_profiles_of_guti(common: &CommonArgs) -> anyhow::Result<()> {
    if matches!(common.profile, Profile::Cells | Profile::Floor) {
        bail!("this profile is one of `lab run guti`; there are smoke, quick and full");
    }
    Ok(())
}

/// Tries the qualities.
pub(crate) fn qualities(args: &QualitiesArgs) -> anyhow::Result<ExitCode> {
    let before = earlier(&args.common)?;
    let mut scenario = Qualities::new(args)?;
    if let Some(caveat) = scenario.caveat() {
        errln!("note: {caveat}");
    }
    scenario_run(&mut scenario, &args.common, &before)
}

/// Those that are asked for, or with which the directory to resume was begun.
fn neighbours(common: &CommonArgs, before: &[Record]) -> Vec<Neighbour> {
    if common.resume.is_none() {
        return common.neighbour.clone();
    }
    let begun = before
        .last()
        .and_then(|last| last.options.get(neighbour::OPTION));
    let begun = begun.and_then(|list| Vec::deserialize(list).ok());
    begun.unwrap_or_else(|| vec![Neighbour::None])
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
    scenario.prepare(&dir)?;
    let neighbours = neighbours(common, before);
    let mut plan = neighbour::beside(scenario.plan(), &neighbours);
    plan.skip(&session::done(before));
    if let Some(record) = before.last()
        && record.host != crate::machine::host()
    {
        errln!(
            "note: {} was begun on another machine: {:?}",
            dir.display(),
            record.host
        );
    }
    errln!("{}", session::announcement(&plan, &dir));

    let stop = Stop::on_signal()?;
    let mut progress = Progress::detect();
    let begun = Instant::now();
    let tally = session::run(scenario, plan, &dir, &stop, &mut progress, common.any_state)?;
    errln!("{}", closing(&tally, begun, &dir));
    let records = results::read(&dir)?;
    if records.is_empty() {
        errln!("no run came to a result: there is nothing to report on");
    } else {
        crate::write_report(&dir)?;
    }
    if let Some(warning) = disturbance(&records) {
        errln!("{warning}");
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
    if tally.again > 0 {
        text.push_str(&format!(
            ", {} made again in the state of their turn",
            tally.again
        ));
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

/// A warning when other processes were at work often enough to colour the figures.
fn disturbance(records: &[Record]) -> Option<String> {
    /// Of one core; about what the kernel's steps of 10 ms can show in a short run.
    const MUCH_PERCENT: f64 = 10.0;
    let loads: Vec<f64> = records
        .iter()
        .filter_map(|record| Some(record.machine_load?.foreign_cpu_percent))
        .collect();
    let disturbed = loads.iter().filter(|&&load| load > MUCH_PERCENT).count();
    // A run here and there is what medians are for.
    (disturbed * 10 > loads.len()).then(|| {
        format!(
            "warning: in {disturbed} of {} runs other processes used more than {MUCH_PERCENT} % of \
             a core; latencies and rates show their work too",
            loads.len()
        )
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::example;

    #[test]
    fn work_of_others_is_warned_of_when_it_is_more_than_an_exception() {
        let quiet = example();
        let mut loud = example();
        loud.machine_load
            .as_mut()
            .expect("there")
            .foreign_cpu_percent = 80.0;
        let mut records = vec![quiet; 10];
        records.push(loud.clone());
        assert_eq!(disturbance(&records), None);
        records.push(loud);
        let warning = disturbance(&records).expect("two of twelve");
        assert!(warning.contains("2 of 12"), "{warning}");
        assert_eq!(disturbance(&[]), None);
    }

    #[test]
    fn what_is_left_out_is_named_with_the_way_to_run_it() {
        let tally = Tally {
            complete: 3,
            left_out: 2,
            stopped: true,
            ..Tally::default()
        };
        let line = closing(&tally, Instant::now(), Path::new("out/x"));
        assert!(
            line.starts_with("3 runs in 0.0 s, 2 left out (stopped)"),
            "{line}"
        );
        assert!(line.ends_with("--resume out/x"), "{line}");
    }
}
