//! What carries an SMF: event loops, with their clock and the way to other NFs ([`corewire_core5g_runtime::event_loops`]). Only
//! here is a task started.

use super::context::gateway::StartRelease;
use super::context::replica::{Own, Replica, Start};
use super::task;
use corewire_core5g_runtime::Runtime;
use std::sync::Arc;

/// What other network functions know this process by.
///
/// # Errors
/// When its address is a name that is not known.
pub(super) fn own(runtime: &Runtime) -> anyhow::Result<Own> {
    Ok(Own {
        instance: runtime.instance().to_owned(),
        api_root: runtime.api_root().to_owned(),
        maker: runtime.socket_address()?,
        flow: runtime.flow(),
        event_loops: runtime.loops().len(),
    })
}

/// Begins jobs, each on its event loop.
pub(super) fn starter(runtime: &Runtime) -> Start {
    let (runtime, has_ended) = (runtime.clone(), has_ended(runtime));
    Box::new(move |replica, event_loop, job| {
        let task = task::run(replica, event_loop, job, has_ended.clone());
        runtime.spawn(event_loop, task);
    })
}

/// Begins releases that the gateway could not hand on.
pub(super) fn release_starter(runtime: &Runtime) -> StartRelease {
    let (runtime, has_ended) = (runtime.clone(), has_ended(runtime));
    Box::new(move |gateway, event_loop, release| {
        let task = task::release_later(gateway, release, has_ended.clone());
        runtime.spawn(event_loop, task);
    })
}

/// Starts the tasks that look after a replica.
pub(super) fn start_tasks(runtime: &Runtime, replica: &Arc<Replica>) {
    runtime.spawn(0, task::recover(Arc::clone(replica), has_ended(runtime)));
    runtime.spawn(
        0,
        task::watch_commands(Arc::clone(replica), has_ended(runtime)),
    );
}

fn has_ended(runtime: &Runtime) -> impl Fn() -> bool + Clone + Send + Sync + 'static {
    let first = runtime.loops()[0].clone();
    move || first.has_ended()
}
