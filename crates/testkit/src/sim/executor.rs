//! Tasks of the simulation, polled one at a time: new ones in the order in which they came (a
//! service begins a connection's messages in order, and so do the real drivers), woken ones in an
//! order drawn from the seed.

use super::random::Random;
use crate::clock::BoxFuture;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};

/// One task; its number is not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TaskId(usize);

#[derive(Default)]
pub(super) struct Executor(Arc<Mutex<Tasks>>);

#[derive(Default)]
struct Tasks {
    /// `None`: it has ended, was abandoned, or is being polled.
    futures: Vec<Option<BoxFuture<()>>>,
    new: VecDeque<TaskId>,
    ready: Vec<TaskId>,
    polled: Option<TaskId>,
    /// The task that is being polled was abandoned meanwhile.
    polled_is_abandoned: bool,
    /// Dropped when no lock is held: their destructors may call back.
    abandoned: Vec<BoxFuture<()>>,
}

struct TaskWaker {
    tasks: Arc<Mutex<Tasks>>,
    task: TaskId,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        let mut tasks = lock(&self.tasks);
        if !tasks.ready.contains(&self.task) {
            tasks.ready.push(self.task);
        }
    }
}

fn lock(tasks: &Mutex<Tasks>) -> MutexGuard<'_, Tasks> {
    tasks.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Executor {
    pub(super) fn spawn(&self, future: BoxFuture<()>) -> TaskId {
        let mut tasks = lock(&self.0);
        let task = TaskId(tasks.futures.len());
        tasks.futures.push(Some(future));
        tasks.new.push_back(task);
        task
    }

    /// Lets go of a task: nobody waits for it.
    pub(super) fn abandon(&self, task: TaskId) {
        let mut tasks = lock(&self.0);
        if tasks.polled == Some(task) {
            tasks.polled_is_abandoned = true;
        }
        if let Some(future) = tasks.futures.get_mut(task.0).and_then(Option::take) {
            tasks.abandoned.push(future);
        }
    }

    /// Polls one task that is ready; says whether there was anything to do. No lock of the
    /// simulation may be held.
    pub(super) fn run_one(&self, random: &mut Random) -> bool {
        let mut tasks = lock(&self.0);
        let abandoned = std::mem::take(&mut tasks.abandoned);
        if !abandoned.is_empty() {
            drop(tasks);
            drop(abandoned);
            return true;
        }
        let task = match tasks.new.pop_front() {
            Some(task) => task,
            None if tasks.ready.is_empty() => return false,
            None => {
                let index = random.below(tasks.ready.len());
                tasks.ready.swap_remove(index)
            }
        };
        let Some(mut future) = tasks.futures.get_mut(task.0).and_then(Option::take) else {
            return true;
        };
        tasks.polled = Some(task);
        tasks.polled_is_abandoned = false;
        drop(tasks);
        let waker = Waker::from(Arc::new(TaskWaker {
            tasks: Arc::clone(&self.0),
            task,
        }));
        let pending = future
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending();
        let mut tasks = lock(&self.0);
        tasks.polled = None;
        if pending && !tasks.polled_is_abandoned {
            tasks.futures[task.0] = Some(future);
        } else {
            // Nothing is locked while it is dropped.
            drop(tasks);
            drop(future);
        }
        true
    }

    /// Lets go of every task, as long as dropping some spawns none.
    pub(super) fn clear(&self) {
        let mut tasks = lock(&self.0);
        let futures = std::mem::take(&mut tasks.futures);
        let abandoned = std::mem::take(&mut tasks.abandoned);
        tasks.new.clear();
        tasks.ready.clear();
        drop(tasks);
        drop((futures, abandoned));
    }
}
