//! `corewire core mend`: starts again what does not run any more, at its former address.

use super::args::MendArgs;
use super::plan::Program;
use super::process::Starting;
use super::state::{Core, Nf};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long a process may take until it is ready.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at whether all run.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

pub(super) fn run(args: &MendArgs) -> anyhow::Result<ExitCode> {
    let folder = args.folder.path();
    loop {
        let Some(mut core) = Core::read(&folder)? else {
            println!(
                "no core runs ({}); start one: corewire core up",
                folder.display()
            );
            // With --watch: it was ended.
            return Ok(if args.watch {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            });
        };
        let mut mended = false;
        for nf in core.nfs.iter_mut().filter(|nf| !nf.is_alive()) {
            *nf = again(nf, &folder)?;
            mended = true;
            println!(
                "{:<18} {:<21} pid {}, started again",
                nf.name, nf.address, nf.pid
            );
        }
        // A core that was ended meanwhile stays ended.
        if mended && Core::read(&folder)?.is_some() {
            core.write(&folder)?;
        }
        if !args.watch {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(LOOK_AGAIN);
    }
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
