//! What carries an AMF: event loops and their clock, other NFs by the mesh, gNBs by SCTP. Only here is a
//! clock read, a socket used or a task started.

mod n2;

pub(super) use n2::listen;

use super::context::ue::{Amf, Event, Own, Ue};
use super::ports::{Clock, Peers, Target, Wait};
use super::task;
use crate::runtime::{Runtime, SbiAnswer, SbiFailure, SbiRequest};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

/// Event loops as the clock of an AMF's procedures, and as their way to peers.
pub(super) struct Loops(pub(super) Runtime);

impl Clock for Loops {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep_until(&self, event_loop: usize, deadline: Instant) -> Wait<'_, ()> {
        let loops = self.0.loops();
        Box::pin(loops[event_loop % loops.len()].sleep_until(deadline))
    }

    fn unique_number(&self) -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(0));
        let last = LAST.fetch_max(now, Ordering::Relaxed);
        match now > last {
            true => now,
            false => LAST.fetch_add(1, Ordering::Relaxed) + 1,
        }
    }
}

impl Peers for Loops {
    fn call<'a>(
        &'a self,
        event_loop: usize,
        target: Target<'a>,
        request: SbiRequest,
    ) -> Wait<'a, Result<(SbiAnswer, Option<String>), SbiFailure>> {
        let sbi = self.0.sbi(event_loop);
        Box::pin(async move {
            match target {
                Target::Service(service) => Ok((sbi.call(service, request).await?, None)),
                Target::At(uri) => Ok((sbi.at(uri, request).await?, None)),
                Target::Serving(service, wanted) => {
                    sbi.call_serving(service, wanted, request).await
                }
            }
        })
    }
}

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
