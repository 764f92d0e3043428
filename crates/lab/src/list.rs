//! `corewire lab list`.

use std::process::ExitCode;

use clap::ValueEnum as _;

use crate::args::{ListArgs, Profile};
use crate::clock::span;
use crate::console;
use crate::core5g;
use crate::guti::{Catalog, NAME, Peers, planned};
use crate::mesh::{self, PATHS, Programs};
use crate::process::CpuPlan;
use crate::qualities;
use crate::rmr;

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
        row("floor", "of guti: what bare sockets and memory can do"),
        row(mesh::NAME, "the inline mesh beside the sidecar it replaces"),
        row(
            "http2",
            "of mesh: HTTP/2 and gRPC alone, beside hyper and tonic",
        ),
        row(rmr::NAME, "message routing over every transport"),
        row(core5g::NAME, "a 5G core: registration, session, detach"),
        row(qualities::NAME, "what each framework can do, tried"),
        String::new(),
        "Profiles".to_owned(),
    ];
    for profile in Profile::value_variants() {
        if let Some(value) = profile.to_possible_value() {
            let help = value.get_help().map(ToString::to_string);
            lines.push(row(value.get_name(), &help.unwrap_or_default()));
        }
    }
    let times: Vec<String> = Profile::value_variants()
        .iter()
        .filter_map(|profile| {
            let name = profile.to_possible_value()?.get_name().to_owned();
            Some(format!("{name} {}", span(planned(*profile)?)))
        })
        .collect();
    lines.push(format!(
        "  Time that {NAME} plans for itself: {}",
        times.join(", ")
    ));
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
    lines.extend(paths(args));
    lines.push(format!("\nTransports of {}", rmr::NAME));
    lines.extend(rmr::DESCRIPTIONS.map(|(name, text)| row(name, text)));
    if let Some(problem) = problem {
        lines.push(format!("\nNo adapter can be run: {problem}"));
    }
    console::out(&(lines.join("\n") + "\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The paths of the mesh, and what each that cannot be run here lacks.
fn paths(args: &ListArgs) -> Vec<String> {
    let mut lines = vec![String::new(), format!("Paths of {}", mesh::NAME)];
    let programs = Programs::find(None, args.peers.peers_dir.as_deref()).ok();
    for path in &PATHS {
        let hole = programs.as_ref().map(|programs| programs.hole(path));
        let state = if hole == Some(None) {
            "ready"
        } else {
            "missing"
        };
        lines.push(row(path.name, &format!("{state:<8} {}", path.description)));
        if let Some(Some(hole)) = hole {
            let why = hole.what.trim_start_matches(path.name);
            let why = why.trim_start_matches(": ");
            let next = match hole.next.as_str() {
                "" => String::new(),
                next => format!("; {next}"),
            };
            lines.push(row("", &format!("{:<8} {why}{next}", "")));
        }
    }
    lines
}

fn row(name: &str, text: &str) -> String {
    format!("  {name:<13} {text}")
}

fn ask(args: &ListArgs) -> anyhow::Result<Catalog> {
    let peers = Peers::find(args.peers.peers_dir.as_deref())?;
    Catalog::ask(&peers, &CpuPlan::choose(None)?.client)
}
