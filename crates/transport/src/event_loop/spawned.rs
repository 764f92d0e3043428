//! Tasks of a loop that no call asked for: whatever lives longer than one message.
//!
//! They are polled on the loop's thread, between its turns' sockets and timers, like a service's calls.
//! They do not keep a loop from ending, and are dropped when it does.

use super::inbox::{Shared, Spawn, TaskRef};
use super::tasks::TaskWaker;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Waker};

/// Where other tasks have the number of their service.
pub(super) const SPAWNED: usize = usize::MAX;

/// The spawned tasks of one loop. Places are used again with their wakers; a waker of an earlier
/// task in the same place causes a poll too many, no more.
#[derive(Default)]
pub(super) struct Spawned {
    places: Vec<Place>,
    free: Vec<usize>,
}

struct Place {
    task: Option<Spawn>,
    waker: Waker,
    queued: Arc<TaskWaker>,
}

impl Spawned {
    pub(super) fn insert(&mut self, task: Spawn, shared: &Arc<Shared>) -> usize {
        if let Some(place) = self.free.pop() {
            self.places[place].task = Some(task);
            return place;
        }
        let place = self.places.len();
        let queued = Arc::new(TaskWaker::new(
            Arc::clone(shared),
            TaskRef {
                service: SPAWNED,
                place,
            },
        ));
        self.places.push(Place {
            task: Some(task),
            waker: Waker::from(Arc::clone(&queued)),
            queued,
        });
        place
    }

    pub(super) fn poll(&mut self, place: usize) {
        let Some(entry) = self.places.get_mut(place) else {
            return;
        };
        entry.queued.take();
        let Some(task) = &mut entry.task else { return };
        let mut cx = Context::from_waker(&entry.waker);
        // One that panics has failed alone; its destructors run here too, and may do the same.
        let ended = catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(&mut cx).is_ready()));
        if ended.unwrap_or(true) {
            let task = entry.task.take();
            let _panicked = catch_unwind(AssertUnwindSafe(|| drop(task)));
            self.free.push(place);
        }
    }

    /// Drops all of them: the loop has ended.
    pub(super) fn clear(&mut self) {
        for place in std::mem::take(&mut self.places) {
            let _panicked = catch_unwind(AssertUnwindSafe(|| drop(place.task)));
        }
        self.free.clear();
    }
}
