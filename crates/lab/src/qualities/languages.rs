//! Clients in another language: those of `clients/python`, against servers in C++ and in Rust.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Verdict;
use super::availability;
use super::framework::Framework;
use crate::guti::Trial;
use crate::process::{CpuPlan, Output, Process};
use crate::record::Failure;
use crate::scenario::NoResult;
use crate::stop::Stop;

/// GUTIs that each allocates.
const COUNT: &str = "50";

pub(super) fn check(
    framework: Framework,
    trial: &Trial,
    cpus: &CpuPlan,
    patience: Duration,
    stop: &Stop,
) -> Result<Verdict, NoResult> {
    let scripts: &[&str] = match framework {
        Framework::Grpc => &["grpc_client.py"],
        Framework::Thrift => &["thrift_client.py"],
        Framework::Corewire => &["grpc_client.py", "rest_client.py"],
        Framework::TcpAs => {
            return Ok(Verdict::of(
                false,
                "its messages are the memory of C++ structs: there is nothing to make a client in \
                 another language from (table 5.4: none)",
            ));
        }
    };
    let python = Python::find().ok_or_else(not_prepared)?;
    let (_server, address) = match framework {
        Framework::Corewire => availability::serve("127.0.0.1:0", cpus, patience)?,
        _ => trial.serve(framework.plain(), "127.0.0.1:0", stop)?,
    };
    let mut evidence = Vec::new();
    let mut passed = true;
    for script in scripts {
        let (went_well, said) = python.run(script, &address, cpus, patience, stop)?;
        passed &= went_well;
        evidence.push(format!("{script}: {said}"));
    }
    Ok(Verdict::of(passed, evidence.join("; ")))
}

/// Why no client can be run for this one.
pub(super) fn hole(framework: Framework) -> Option<Failure> {
    (framework != Framework::TcpAs && Python::find().is_none()).then(not_prepared)
}

fn not_prepared() -> Failure {
    Failure {
        what: "the Python clients are not prepared".to_owned(),
        place: "target/clients/python".to_owned(),
        next: "clients/python/prepare makes them; run this in the source tree".to_owned(),
    }
}

/// An interpreter with what the clients need, and the clients.
#[derive(Debug)]
struct Python {
    interpreter: PathBuf,
    clients: PathBuf,
}

impl Python {
    /// Beside this program's build, and in the source tree that it lies in or was started in.
    fn find() -> Option<Self> {
        let program = std::env::current_exe().ok()?;
        let here = std::env::current_dir().ok()?;
        let interpreter = program
            .ancestors()
            .chain(here.ancestors())
            .flat_map(|dir| ["clients", "target/clients"].map(|name| dir.join(name)))
            .map(|dir| dir.join("python/bin/python"))
            .find(|path| path.is_file())?;
        let clients = here
            .ancestors()
            .chain(program.ancestors())
            .map(|dir| dir.join("clients/python"))
            .find(|dir| dir.join("guti.py").is_file())?;
        Some(Self {
            interpreter,
            clients,
        })
    }

    /// Whether a client ended well, and its last line.
    fn run(
        &self,
        script: &str,
        address: &str,
        cpus: &CpuPlan,
        patience: Duration,
        stop: &Stop,
    ) -> Result<(bool, String), NoResult> {
        let path = self.clients.join(script);
        let arguments = [path.as_path(), Path::new(address), Path::new(COUNT)];
        let environment = [("PYTHONDONTWRITEBYTECODE", "1".to_owned())];
        let process = Process::spawn(&self.interpreter, arguments, environment, &cpus.client)
            .map_err(|error| Failure {
                what: format!("{error:#}"),
                place: "starting a Python client".to_owned(),
                next: String::new(),
            })?;
        let deadline = Instant::now() + patience;
        let mut last = String::new();
        loop {
            if stop.asked() {
                return Err(NoResult::Stopped);
            }
            match process.output(Duration::from_millis(100)) {
                Output::Line(line) => last = line,
                Output::Silence if Instant::now() < deadline => {}
                Output::Silence => return Ok((false, "it did not come to its end".to_owned())),
                Output::End => break,
            }
        }
        let ending = process.wait(patience).map(|ending| ending.to_string());
        Ok(match ending.as_deref() {
            Some("exit code 0") => (true, last),
            ending => {
                let ending = ending.unwrap_or("no end");
                (false, format!("{ending}; {}", process.last_words()))
            }
        })
    }
}
