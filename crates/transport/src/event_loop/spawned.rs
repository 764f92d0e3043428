//! Tasks of a loop that no call asked for: whatever lives longer than one message.
//!
//! They are polled on the loop's thread, between its turns' sockets and timers, like a service's calls.
//! They do not keep a loop from ending, and are dropped when it does.

use super::EventLoop;
use super::inbox::{Command, LoopHandle, Shared, TaskRef};
use super::tasks::TaskWaker;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

/// Where other tasks have the number of their service.
pub(super) const SPAWNED: usize = usize::MAX;

/// A task that nobody waits for.
pub(crate) type Spawn = Pin<Box<dyn Future<Output = ()> + Send>>;

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
    fn insert(&mut self, task: Spawn, shared: &Arc<Shared>) -> usize {
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

    fn poll(&mut self, place: usize) {
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

impl EventLoop {
    pub(super) fn spawn(&mut self, task: Spawn) {
        let place = self.spawned.insert(task, &self.shared);
        self.spawned.poll(place);
    }

    pub(super) fn resume_spawned(&mut self, place: usize) {
        self.spawned.poll(place);
    }
}

impl LoopHandle {
    /// Lets `task` run on this loop, whoever waits for it. It must not block, and is dropped when the
    /// loop ends; when that has happened already it is dropped at once. A drain does not wait for it.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let _ended_already = self.0.push(Command::Spawn {
            task: Box::pin(task),
        });
    }
}
