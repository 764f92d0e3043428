//! The store of a network function: its settings, what it tells of itself, and `check`.
//!
//! A change is refused with 507 when the disk has no room and with 503 for any other reason. While
//! changes are refused the health service says `NOT_SERVING` and `corewire core status` shows
//! `store-refusing 1`; reads are answered. The process ends with a failure when its store refuses then.

use crate::{Gauge, Runtime};
use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};
use corewire::health::{Health, Serving};
use corewire_core5g_sbi::Problem;
use corewire_observe::outln;
use corewire_store::{
    Check, Damage, Journal, OnDamage, Options, Recovered, State, Status, WriteError,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Places of damage that a log line names.
const NAMED: usize = 5;

/// Settings of a store.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Store")]
pub struct StoreArgs {
    /// How long a change that was acknowledged may wait until it is on the disk. The loss of the whole
    /// machine costs at most what came in this time; the end of the process costs nothing. 0: nothing is
    /// acknowledged before it is on the disk
    #[arg(long, default_value_t = 20, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(..=60_000))]
    sync_interval: u64,
    /// What a start does when a part of the store cannot be read. A copy is kept in any case
    #[arg(long, value_enum, default_value_t = WhenDamaged::Serve, value_name = "serve|refuse")]
    when_damaged: WhenDamaged,
}

/// What a start does when a part of the store cannot be read.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum WhenDamaged {
    /// Serve the rest.
    Serve,
    /// Do not start.
    Refuse,
}

impl StoreArgs {
    /// The settings.
    pub fn options(&self) -> Options {
        let mut options = Options::default();
        options.sync_interval = Duration::from_millis(self.sync_interval);
        options.on_damage = match self.when_damaged {
            WhenDamaged::Serve => OnDamage::Serve,
            WhenDamaged::Refuse => OnDamage::Refuse,
        };
        options
    }
}

/// How a process tells of its store.
#[derive(Clone)]
pub struct Watch {
    health: Option<Health>,
    refusing: Gauge,
    lost: Gauge,
    sync_interval: Gauge,
}

impl Watch {
    /// Of a store without a process: log lines only.
    #[cfg(any(test, feature = "testing"))]
    pub fn of_test() -> Self {
        Self {
            health: None,
            refusing: Gauge::default(),
            lost: Gauge::default(),
            sync_interval: Gauge::default(),
        }
    }

    /// Of this process.
    pub fn of(runtime: &Runtime) -> Self {
        Self {
            health: Some(runtime.health().clone()),
            refusing: runtime.gauge("store-refusing"),
            lost: runtime.gauge("store-lost"),
            sync_interval: runtime.gauge("store-sync-ms"),
        }
    }

    /// Tells of a change of state.
    pub fn tell(&self, status: &Status) {
        let refusing = match status.state {
            State::Serving => {
                tracing::warn!(name: "store-serves-again", "the store takes changes again; {} were refused so far", status.refused);
                false
            }
            State::Refusing(why) => {
                let fault = status.fault.as_deref().unwrap_or_default();
                tracing::error!(name: "store-refuses", "changes are refused: {why}; {fault}");
                true
            }
        };
        self.refusing.set(refusing.into());
        if let Some(health) = &self.health {
            health.set(
                "",
                if refusing {
                    Serving::NotServing
                } else {
                    Serving::Serving
                },
            );
        }
    }

    /// Tells what was found at the start.
    pub fn opened(&self, recovered: &Recovered, status: &Status) {
        self.lost.set(status.lost);
        self.sync_interval
            .set(u64::try_from(status.sync_interval.as_millis()).unwrap_or(u64::MAX));
        let kept = match &recovered.kept {
            Some(path) => format!("the log as it was: {}", path.display()),
            None => "no copy could be kept".to_owned(),
        };
        if recovered.torn > 0 {
            tracing::warn!(name: "store-torn", "the last record of the store was not written to its end ({} bytes) and is left out; {kept}", recovered.torn);
        }
        if recovered.damaged > 0 {
            let places: Vec<_> = recovered.damage.iter().take(NAMED).map(line).collect();
            tracing::error!(name: "store-damaged", "the store is damaged in {} place(s), {} change(s) are lost: {}; {kept}", recovered.damaged, recovered.lost, places.join("; "));
        }
    }
}

/// Lets the process end its store, and fail when that does.
pub fn end_with(runtime: &Runtime, journal: Option<&Arc<Journal>>) {
    let Some(journal) = journal.map(Arc::clone) else {
        return;
    };
    runtime.at_end(move || {
        let ended = journal.close();
        let refused = journal.status().refused;
        if let Err(error) = &ended {
            tracing::error!(name: "store-ends-refusing", "ends with a store that refuses changes ({refused} were): {error}");
        }
        ended.is_ok()
    });
}

/// The answer to a change that is refused.
pub fn problem(error: WriteError) -> Problem {
    match error {
        WriteError::NoRoom => Problem::new(507, "INSUFFICIENT_RESOURCES"),
        WriteError::TooLong => Problem::new(413, "PAYLOAD_TOO_LARGE"),
        _ => Problem::new(503, "SYSTEM_FAILURE"),
    }
    .detail(error.to_string())
}

/// What can be done with a store beside serving it.
#[derive(Debug, Subcommand)]
#[non_exhaustive]
pub enum StoreCommand {
    /// Say what a store holds and what of it is damaged. It changes nothing, and may run beside the process
    #[command(after_help = "\
Ends with 0 when all that was ever written is there, else with 1.")]
    Check(CheckArgs),
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The store's folder, or one of its logs
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl StoreCommand {
    /// Reads the store of this name and says what is in it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn run(
        &self,
        name: &str,
        is_usable: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> anyhow::Result<ExitCode> {
        let Self::Check(args) = self;
        let found = check(&args.path, name, is_usable)?;
        if args.json {
            outln!("{}", document(&found))?;
        } else {
            print(&found)?;
        }
        Ok(if found.is_whole() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}

fn check(
    path: &Path,
    name: &str,
    is_usable: impl FnMut(&[u8], &[u8]) -> bool,
) -> anyhow::Result<Check> {
    corewire_store::check(path, name, is_usable).with_context(|| format!("{}", path.display()))
}

fn document(found: &Check) -> Value {
    let damage: Vec<Value> = found
        .damage
        .iter()
        .map(|one| {
            json!({
                "offset": one.offset,
                "length": one.length,
                "kind": one.kind.name(),
                "changesLost": one.changes,
                "name": one.name.as_ref().map(|name| String::from_utf8_lossy(name)),
            })
        })
        .collect();
    json!({
        "path": found.path.display().to_string(),
        "whole": found.is_whole(),
        "octets": found.length,
        "changes": found.records,
        "values": found.values,
        "changesLost": found.lost,
        "damagedPlaces": found.damaged,
        "damage": damage,
        "tornOctets": found.torn,
        "inUse": found.in_use,
        "earlierVersion": found.is_earlier_version,
        "keptCopies": found.kept.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
    })
}

fn print(found: &Check) -> anyhow::Result<()> {
    let in_use = if found.in_use { ", in use" } else { "" };
    outln!(
        "{}: {} values of {} changes, {} bytes{in_use}",
        found.path.display(),
        found.values,
        found.records,
        found.length
    )?;
    if found.is_earlier_version {
        outln!("  written by an earlier version; the next start writes it anew")?;
    }
    if found.torn > 0 {
        let why = if found.in_use {
            "may be in the making"
        } else {
            "the process or the machine ended while it was written"
        };
        outln!("  torn tail of {} bytes: {why}", found.torn)?;
    }
    for one in &found.damage {
        outln!("  {}", line(one))?;
    }
    if found.damaged > found.damage.len() as u64 {
        let more = found.damaged - found.damage.len() as u64;
        outln!("  and {more} more")?;
    }
    for kept in &found.kept {
        outln!("  a copy of former damage: {}", kept.display())?;
    }
    if found.is_whole() {
        outln!("whole: nothing is lost")?
    } else {
        outln!("not whole: {} change(s) are known to be lost", found.lost)?
    }
    Ok(())
}

fn line(one: &Damage) -> String {
    let name = match &one.name {
        Some(name) => format!(", of {:?}", String::from_utf8_lossy(name)),
        None if one.changes > 0 => ", of unknown names".to_owned(),
        None => String::new(),
    };
    format!(
        "{} at byte {}, {} bytes: {} change(s) lost{name}",
        one.kind.name(),
        one.offset,
        one.length,
        one.changes
    )
}
