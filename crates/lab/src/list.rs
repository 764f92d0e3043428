//! `corewire lab list`.

use std::process::ExitCode;

use clap::ValueEnum as _;

use crate::args::{ListArgs, Profile};
use crate::console;
use crate::guti::{Catalog, NAME, Peers};
use crate::process::CpuPlan;

/// Prints scenarios, profiles and adapters.
pub(crate) fn print(args: &ListArgs) -> anyhow::Result<ExitCode> {
    // Without programs there is still a list to show, with the reason beside it.
    let (catalog, problem) = match ask(args) {
        Ok(catalog) => (catalog, None),
        Err(error) => (Catalog::unbuilt(), Some(format!("{error:#}"))),
    };
    let mut lines = vec![
        "Scenarios".to_owned(),
        row(NAME, "GUTI allocation through every adapter"),
        String::new(),
        "Profiles".to_owned(),
    ];
    for profile in Profile::value_variants() {
        if let Some(value) = profile.to_possible_value() {
            let help = value.get_help().map(ToString::to_string);
            lines.push(row(value.get_name(), &help.unwrap_or_default()));
        }
    }
    lines.push(String::new());
    lines.push(format!(
        "Adapters of {NAME} (each also as NAME+malloc: raised malloc thresholds)"
    ));
    for adapter in catalog.adapters() {
        let state = if adapter.built { "built" } else { "missing" };
        lines.push(row(
            &adapter.name,
            &format!("{state:<8} {}", adapter.description),
        ));
        if !adapter.built && problem.is_none() {
            let needs = format!("{:<8} needs {}; then `make peers`", "", adapter.needs);
            lines.push(row("", &needs));
        }
    }
    if let Some(problem) = problem {
        lines.push(format!("\nNone can be run: {problem}"));
    }
    console::out(&(lines.join("\n") + "\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn row(name: &str, text: &str) -> String {
    format!("  {name:<12} {text}")
}

fn ask(args: &ListArgs) -> anyhow::Result<Catalog> {
    let peers = Peers::find(args.peers.peers_dir.as_deref())?;
    Catalog::ask(&peers, &CpuPlan::choose(None)?.client)
}
