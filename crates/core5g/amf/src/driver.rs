//! What carries an AMF: event loops with their clock and other NFs by the mesh ([`corewire_core5g_runtime::event_loops`]), gNBs
//! by SCTP. Only here is a socket used or a task started.

mod n2;

pub(super) use n2::listen;

use super::context::ue::{Amf, Event, Own, Ue};
use super::task;
use corewire_core5g_runtime::Runtime;
use std::sync::Arc;

/// What other network functions know this process by.
pub(super) fn own(runtime: &Runtime) -> Own {
    Own {
        instance: runtime.instance().to_owned(),
        api_root: runtime.api_root().to_owned(),
        flow: runtime.flow(),
        event_loops: runtime.loops().len(),
    }
}

/// Begins UEs' tasks, each on its UE's event loop.
pub(super) fn starter(runtime: &Runtime) -> Box<dyn Fn(Box<Ue>, Event) + Send + Sync> {
    let runtime = runtime.clone();
    Box::new(move |ue, event| runtime.spawn(ue.slot.event_loop, task::run(ue, event)))
}

/// Starts the tasks that look after all UEs.
pub(super) fn start_tasks(runtime: &Runtime, amf: &Arc<Amf>) {
    let gauge = runtime.gauge("releases-waiting");
    let first = runtime.loops()[0].clone();
    let has_ended = move || first.has_ended();
    runtime.spawn(0, task::watch_idle(Arc::clone(amf), has_ended.clone()));
    runtime.spawn(
        0,
        task::work_off_releases(Arc::clone(amf), gauge, has_ended),
    );
}
