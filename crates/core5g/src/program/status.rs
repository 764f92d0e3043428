//! `corewire core status`.
#![expect(
    clippy::disallowed_methods,
    reason = "a program: a request gets its deadline"
)]

use super::args::StatusArgs;
use super::state::{Core, Nf};
use corewire::blocking::{Caller as _, Client};
use corewire::tls::ClientTls;
use corewire::{ClientOptions, Request};
use corewire_observe::outln;
use corewire_observe::terminal::OutputError;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long an NF may take to say how it is doing.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) fn run(args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let folder = args.folder.path()?;
    let Some(core) = Core::read(&folder)? else {
        outln!(
            "no core runs ({}); start one: corewire core up",
            folder.display()
        )?;
        return Ok(ExitCode::FAILURE);
    };
    let tls = core.tls.client()?;
    let rows: Vec<Row<'_>> = core.nfs.iter().map(|nf| Row::of(nf, &tls)).collect();
    if args.json {
        let nfs: Vec<Value> = rows.iter().map(Row::document).collect();
        outln!(
            "{}",
            json!({
                "transport": core.transport,
                "flow": core.flow,
                "threads": core.threads,
                "n2": core.n2,
                "n2Address": core.n2_address,
                "nfs": nfs,
            })
        )?;
    } else {
        outln!(
            "transport {}, flow {}, {} event loop(s) an NF, N2 over {} at {}",
            core.transport,
            core.flow,
            core.threads,
            core.n2,
            core.n2_address
        )?;
        outln!(
            "{:<18} {:>8}  {:<21} {:>9} {:>9}  numbers",
            "NF",
            "pid",
            "address",
            "CPU s",
            "MiB"
        )?;
        rows.iter().try_for_each(Row::print)?;
    }
    Ok(if rows.iter().all(|row| row.alive) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

struct Row<'a> {
    nf: &'a Nf,
    alive: bool,
    cpu: Option<Duration>,
    resident: Option<u64>,
    numbers: Value,
}

impl<'a> Row<'a> {
    fn of(nf: &'a Nf, tls: &Option<ClientTls>) -> Self {
        let alive = nf.is_alive();
        Self {
            nf,
            alive,
            cpu: nf.cpu().filter(|_| alive),
            resident: nf.resident().filter(|_| alive),
            numbers: if alive {
                numbers_of(&nf.address, tls)
            } else {
                Value::Null
            },
        }
    }

    fn document(&self) -> Value {
        json!({
            "name": self.nf.name,
            "pid": self.nf.pid,
            "alive": self.alive,
            "address": self.nf.address,
            "instance": self.nf.instance,
            "cpuSeconds": self.cpu.map(|cpu| cpu.as_secs_f64()),
            "residentOctets": self.resident,
            "numbers": self.numbers,
        })
    }

    fn print(&self) -> Result<(), OutputError> {
        let name = &self.nf.name;
        if !self.alive {
            return outln!(
                "{name:<18} {:>8}  not running; log: {}",
                self.nf.pid,
                self.nf.log.display()
            );
        }
        let cpu = self.cpu.unwrap_or_default().as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "it is shown with one digit")]
        let mib = self.resident.unwrap_or_default() as f64 / 1_048_576.0;
        let numbers = match &self.numbers {
            Value::Object(fields) => {
                let each = fields.iter().map(|(name, value)| format!("{name} {value}"));
                each.collect::<Vec<_>>().join(", ")
            }
            Value::Null => "does not answer".to_owned(),
            other => other.to_string(),
        };
        outln!(
            "{name:<18} {:>8}  {:<21} {cpu:>9.2} {mib:>9.1}  {numbers}",
            self.nf.pid,
            self.nf.address
        )
    }
}

/// What an NF counts; null when it does not answer.
pub(super) fn numbers_of(address: &str, tls: &Option<ClientTls>) -> Value {
    let Ok(endpoint) = format!("native://{address}").parse() else {
        return Value::Null;
    };
    let mut options = ClientOptions::default();
    options.connect_timeout = PATIENCE;
    options.tls.clone_from(tls);
    let client = Client::new(endpoint, options);
    let request =
        Request::new(corewire_core5g_runtime::STATUS).with_deadline(Instant::now() + PATIENCE);
    let Ok(response) = client.call(request) else {
        return Value::Null;
    };
    let document: Value = serde_json::from_slice(&response.body.into_bytes()).unwrap_or_default();
    document["numbers"].clone()
}
