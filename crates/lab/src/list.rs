//! `corewire lab list`.

use std::process::ExitCode;

use clap::ValueEnum as _;

use crate::args::{ListArgs, Profile};
use crate::guti::{Catalog, NAME, Peers};
use crate::process::CpuPlan;

/// Prints scenarios, profiles and adapters.
pub(crate) fn print(args: &ListArgs) -> anyhow::Result<ExitCode> {
    println!("Scenarios\n  {NAME:<12} GUTI allocation through every adapter\n");
    println!("Profiles");
    for profile in Profile::value_variants() {
        if let Some(value) = profile.to_possible_value() {
            let help = value
                .get_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            println!("  {:<12} {help}", value.get_name());
        }
    }
    // Without programs there is still a list to show, with the reason beside it.
    let (catalog, problem) = match ask(args) {
        Ok(catalog) => (catalog, None),
        Err(error) => (Catalog::unbuilt(), Some(format!("{error:#}"))),
    };
    println!("\nAdapters of {NAME} (each also as NAME+malloc: raised malloc thresholds)");
    for adapter in catalog.adapters() {
        let state = if adapter.built { "built" } else { "missing" };
        println!("  {:<12} {state:<8} {}", adapter.name, adapter.description);
        if !adapter.built && problem.is_none() {
            println!(
                "  {:<12} {:<8} needs {}; then `make peers`",
                "", "", adapter.needs
            );
        }
    }
    if let Some(problem) = problem {
        println!("\nNone can be run: {problem}");
    }
    Ok(ExitCode::SUCCESS)
}

fn ask(args: &ListArgs) -> anyhow::Result<Catalog> {
    let peers = Peers::find(args.peers.peers_dir.as_deref())?;
    Catalog::ask(&peers, &CpuPlan::choose(None)?.client)
}
