//! `corewire core repair`: starts again what does not run any more, at its former address.
#![expect(clippy::disallowed_methods, reason = "a program: waits for processes")]

use super::args::RepairArgs;
use super::plan::Program;
use super::process::{Starting, end_all};
use super::state::{Core, Nf, only_own_files};
use super::status::numbers_of;
use corewire_observe::{errln, outln};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long a process may take until it is ready.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at whether all run.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How long a process may take to answer or to end.
const SETTLED: Duration = Duration::from_secs(3);
/// Between two questions to one that does neither.
const LOOK_SOON: Duration = Duration::from_millis(10);

pub(super) fn run(args: &RepairArgs) -> anyhow::Result<ExitCode> {
    let folder = args.folder.path()?;
    only_own_files();
    loop {
        let Some(core) = Core::read(&folder)?.filter(|core| !core.ending) else {
            outln!(
                "no core runs ({}); start one: corewire core up",
                folder.display()
            )?;
            // With --watch: it was ended.
            return Ok(if args.watch {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            });
        };
        // A process that was killed a moment ago may still be on its way out.
        let silent = if args.watch {
            Vec::new()
        } else {
            silent(&core)?
        };
        let mut repaired = 0;
        for nf in core.nfs.iter().filter(|nf| !nf.is_alive()) {
            match again(nf, &folder) {
                Ok(nf) => keep(nf, &folder)?,
                Err(error) if args.watch => errln!("{error:#}; trying again"),
                Err(error) => return Err(error),
            }
            repaired += 1;
        }
        if !args.watch {
            return report(&core, &silent, repaired);
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Says what was found; a process that runs and does not answer is no success.
fn report(core: &Core, silent: &[&Nf], repaired: usize) -> anyhow::Result<ExitCode> {
    for nf in silent {
        outln!(
            "{:<18} {:<21} pid {} runs and does not answer; log: {}",
            nf.name,
            nf.address,
            nf.pid,
            nf.log.display()
        )?;
    }
    if silent.is_empty() && repaired == 0 {
        outln!(
            "all {} NFs run and answer: nothing to repair",
            core.nfs.len()
        )?;
    }
    Ok(if silent.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The NFs that run and do not answer within [`SETTLED`]. Until then each has answered, or has ended.
fn silent(core: &Core) -> anyhow::Result<Vec<&Nf>> {
    let tls = core.tls.client()?;
    let until = Instant::now() + SETTLED;
    let mut open: Vec<&Nf> = core.nfs.iter().collect();
    loop {
        open.retain(|nf| nf.is_alive() && numbers_of(&nf.address, &tls).is_null());
        if open.is_empty() || Instant::now() >= until {
            return Ok(open);
        }
        std::thread::sleep(LOOK_SOON);
    }
}

/// Notes a process in place of the former. A core that is ended meanwhile stays ended.
fn keep(new: Nf, folder: &Path) -> anyhow::Result<()> {
    let mut stays = false;
    Core::change(folder, |core| {
        let former = core.nfs.iter_mut().find(|nf| nf.name == new.name);
        if let Some(former) = former.filter(|_| !core.ending) {
            *former = new.clone();
            stays = true;
        }
    })?;
    if stays {
        outln!(
            "{:<18} {:<21} pid {}, started again",
            new.name,
            new.address,
            new.pid
        )?;
    } else {
        end_all(&[new], Duration::from_secs(1));
    }
    Ok(())
}

/// The same process once more: its address and instance are known to others.
fn again(nf: &Nf, folder: &Path) -> anyhow::Result<Nf> {
    let program = Program {
        name: nf.name.clone(),
        arguments: at_former_place(nf),
    };
    let ready = Starting::new(&program, folder)?.ready(Instant::now() + PATIENCE)?;
    Ok(Nf {
        command: nf.command.clone(),
        ..ready
    })
}

/// The arguments of a process, at the address and as the instance that it was.
fn at_former_place(nf: &Nf) -> Vec<String> {
    let mut arguments: Vec<String> = nf.command.iter().skip(1).cloned().collect();
    let listen = arguments.iter().position(|one| one == "--listen");
    match listen.and_then(|at| arguments.get_mut(at + 1)) {
        Some(address) => address.clone_from(&nf.address),
        None => arguments.extend(["--listen".to_owned(), nf.address.clone()]),
    }
    arguments.extend(["--instance".to_owned(), nf.instance.clone()]);
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nf(command: &[&str]) -> Nf {
        Nf {
            name: "udm".into(),
            pid: 0,
            started: 0,
            address: "127.0.0.1:7101".into(),
            instance: "id".into(),
            log: Default::default(),
            command: command.iter().map(|one| (*one).to_owned()).collect(),
        }
    }

    #[test]
    fn a_process_is_started_again_at_its_former_address_alone() {
        let own = ["corewire", "nf", "udm", "--listen", "127.0.0.1:0", "--json"];
        let expected = [
            "nf",
            "udm",
            "--listen",
            "127.0.0.1:7101",
            "--json",
            "--instance",
            "id",
        ];
        assert_eq!(at_former_place(&nf(&own)), expected);
        let expected = [
            "nf",
            "udm",
            "--listen",
            "127.0.0.1:7101",
            "--instance",
            "id",
        ];
        assert_eq!(at_former_place(&nf(&["corewire", "nf", "udm"])), expected);
    }
}
