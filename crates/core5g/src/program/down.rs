//! `corewire core down`.

use super::args::DownArgs;
use super::process::end_all;
use super::state::Core;
use corewire_observe::outln;
use std::process::ExitCode;
use std::time::Duration;

/// How long the NFs get to finish what is in flight.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn run(args: &DownArgs) -> anyhow::Result<ExitCode> {
    let folder = args.folder.path()?;
    // From here on nothing is started again, and what was is known.
    let Some(core) = Core::change(&folder, |core| core.ending = true)? else {
        outln!("no core runs ({})", folder.display())?;
        return Ok(ExitCode::SUCCESS);
    };
    let alive = core.nfs.iter().filter(|nf| nf.is_alive()).count();
    // The first to start is the last to end: others tell the NRF that they go.
    if let Some((first, others)) = core.nfs.split_first() {
        end_all(others, PATIENCE);
        end_all(std::slice::from_ref(first), PATIENCE);
    }
    Core::forget(&folder)?;
    outln!("core: {alive} NFs ended; logs in {}", folder.display())?;
    Ok(ExitCode::SUCCESS)
}
