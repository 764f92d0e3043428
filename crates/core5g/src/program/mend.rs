//! `corewire core mend`: starts again what does not run any more, at its former address.

use super::args::MendArgs;
use super::plan::Program;
use super::process::{Starting, end_all};
use super::state::{Core, Nf};
use corewire_observe::{errln, outln};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long a process may take until it is ready.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at whether all run.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

pub(super) fn run(args: &MendArgs) -> anyhow::Result<ExitCode> {
    let folder = args.folder.path()?;
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
        for nf in core.nfs.iter().filter(|nf| !nf.is_alive()) {
            match again(nf, &folder) {
                Ok(nf) => keep(nf, &folder)?,
                Err(error) if args.watch => errln!("{error:#}; trying again"),
                Err(error) => return Err(error),
            }
        }
        if !args.watch {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(LOOK_AGAIN);
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
    let own = nf.command.iter().skip(1).cloned();
    let place = ["--listen", &nf.address, "--instance", &nf.instance].map(str::to_owned);
    let program = Program {
        name: nf.name.clone(),
        arguments: own.chain(place).collect(),
    };
    let ready = Starting::new(&program, folder)?.ready(Instant::now() + PATIENCE)?;
    Ok(Nf {
        command: nf.command.clone(),
        ..ready
    })
}
