//! Event loops as the ports of procedures: their clock, and the way to peers by the mesh.
#![expect(clippy::disallowed_methods, reason = "the clock of procedures")]

use crate::ports::{Clock, Peers, Target, Wait};
use crate::{Runtime, SbiAnswer, SbiFailure, SbiRequest};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

/// The event loops of a process.
pub struct Loops(pub Runtime);

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
        if now > last {
            now
        } else {
            LAST.fetch_add(1, Ordering::Relaxed) + 1
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
