//! A service's calls in progress on one loop.
//!
//! A call is polled once as soon as it is whole. Most are answered by then: the answer goes out
//! in the same turn. The others keep their place and are polled when they are woken. Places are
//! used again with their memory and their waker, so that a call costs no allocation.

use super::arena::Key;
use super::inbox::{Shared, TaskRef};
use corewire_message::{
    CallContext, Code, Event, Inbound, Outbound, Request, Response, Service, Status,
};
use corewire_wire::{CallId, KindOf};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Places that are kept when none is in use.
const KEPT_PLACES: usize = 1024;

/// What a service is asked to do.
pub(crate) enum Work {
    Call(Request),
    Event(Event),
    Stream(Request, Inbound, Outbound),
}

/// Who asked for a task: a call or, when it has no number, an event of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskOrigin {
    pub(crate) connection: Key,
    pub(crate) call: Option<CallId>,
}

/// How far a task came.
pub(crate) enum Progress {
    /// It has ended; an event has no answer.
    Done(Option<Response>),
    /// It waits, in this place.
    Waits(usize),
}

/// The calls of one service on one loop, its type erased: one indirect call a message.
pub(crate) trait Tasks {
    fn kind_of(&self) -> KindOf;
    /// Begins a task.
    fn begin(&mut self, asker: TaskOrigin, context: CallContext, work: Work) -> Progress;
    /// Polls a task that was woken; `None` when there is none any more or it still waits.
    fn resume(&mut self, place: usize) -> Option<(TaskOrigin, Option<Response>)>;
    /// Drops a task: nobody waits for it.
    fn abandon(&mut self, place: usize);
}

/// Erases the type of a service.
pub(crate) fn tasks_of<S: Service>(
    service: Arc<S>,
    shared: Arc<Shared>,
    index: usize,
) -> Box<dyn Tasks> {
    Box::new(TasksOf {
        service,
        make: perform::<S>,
        shared,
        index,
        places: vec![],
        free: vec![],
    })
}

async fn perform<S: Service>(
    service: Arc<S>,
    context: CallContext,
    work: Work,
) -> Option<Response> {
    match work {
        Work::Call(request) => Some(service.call(&context, request).await),
        Work::Event(event) => {
            service.event(&context, event).await;
            None
        }
        // On its own: it may be large, and the place of each call would be as large as it.
        Work::Stream(request, inbound, outbound) => {
            Some(Box::pin(service.stream(&context, request, inbound, outbound)).await)
        }
    }
}

struct TasksOf<S, F, M> {
    service: Arc<S>,
    make: M,
    shared: Arc<Shared>,
    index: usize,
    places: Vec<Place<F>>,
    free: Vec<usize>,
}

struct Place<F> {
    /// Stays where it is in memory; set and emptied in place.
    future: Pin<Box<Option<F>>>,
    waker: Waker,
    /// Whether the waker has asked for a poll that has not come yet.
    queued: Arc<TaskWaker>,
    asker: Option<TaskOrigin>,
}

pub(super) struct TaskWaker {
    shared: Arc<Shared>,
    task: TaskRef,
    queued: AtomicBool,
}

impl TaskWaker {
    pub(super) const fn new(shared: Arc<Shared>, task: TaskRef) -> Self {
        Self {
            shared,
            task,
            queued: AtomicBool::new(false),
        }
    }

    /// Says that the poll that was asked for begins. Cleared before it: a wake during it asks for
    /// another. A wake just before finds it set and does nothing, so what that waker wrote must be seen
    /// by this poll: the swap reads the waker's `true` and acquires it, where a store would read nothing.
    pub(super) fn take(&self) {
        self.queued.swap(false, Ordering::AcqRel);
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            self.shared.push_ready(self.task);
        }
    }
}

impl<S, F, M> TasksOf<S, F, M>
where
    F: Future<Output = Option<Response>>,
{
    fn free_place(&mut self) -> usize {
        if let Some(place) = self.free.pop() {
            return place;
        }
        let place = self.places.len();
        let task = TaskRef {
            service: self.index,
            place,
        };
        let shared = Arc::clone(&self.shared);
        let queued = Arc::new(TaskWaker::new(shared, task));
        let waker = Waker::from(Arc::clone(&queued));
        self.places.push(Place {
            future: Box::pin(None),
            waker,
            queued,
            asker: None,
        });
        place
    }

    /// Drops what is left of a task. A destructor that panics has nobody to tell; the place is free
    /// all the same.
    fn empty(&mut self, place: usize) {
        let task = &mut self.places[place];
        let _panicked = catch_unwind(AssertUnwindSafe(|| task.future.set(None)));
        self.free.push(place);
        if self.places.len() > KEPT_PLACES && self.free.len() == self.places.len() {
            // None is in use: a waker that still names one finds nothing, or another task, which looks once
            // more.
            self.places.truncate(KEPT_PLACES);
            self.places.shrink_to_fit();
            self.free = (0..KEPT_PLACES).rev().collect();
        }
    }

    /// `Some` when the task has ended; its place is free then.
    fn poll(&mut self, place: usize) -> Option<Option<Response>> {
        let task = &mut self.places[place];
        let future = task.future.as_mut().as_pin_mut()?;
        let mut cx = Context::from_waker(&task.waker);
        // A service that panics has failed one call, not every call of this loop.
        let polled = catch_unwind(AssertUnwindSafe(|| future.poll(&mut cx)));
        let response = match polled {
            Ok(Poll::Pending) => return None,
            Ok(Poll::Ready(response)) => response,
            Err(_) => task
                .asker
                .and_then(|asker| asker.call)
                .map(|_| Response::failed(Status::new(Code::Internal, "the service panicked"))),
        };
        self.empty(place);
        Some(response)
    }
}

impl<S, F, M> Tasks for TasksOf<S, F, M>
where
    S: Service,
    F: Future<Output = Option<Response>>,
    M: Fn(Arc<S>, CallContext, Work) -> F,
{
    fn kind_of(&self) -> KindOf {
        let service = Arc::clone(&self.service);
        // The name is the peer's choice. A service that panics over it does not know it.
        Arc::new(move |operation| {
            catch_unwind(AssertUnwindSafe(|| service.kind(operation))).unwrap_or(None)
        })
    }

    fn begin(&mut self, asker: TaskOrigin, context: CallContext, work: Work) -> Progress {
        let place = self.free_place();
        let future = (self.make)(Arc::clone(&self.service), context, work);
        self.places[place].asker = Some(asker);
        self.places[place].future.set(Some(future));
        self.poll(place)
            .map_or(Progress::Waits(place), Progress::Done)
    }

    fn resume(&mut self, place: usize) -> Option<(TaskOrigin, Option<Response>)> {
        let task = self.places.get(place)?;
        task.queued.take();
        let asker = task.asker?;
        self.poll(place).map(|response| (asker, response))
    }

    fn abandon(&mut self, place: usize) {
        if let Some(task) = self.places.get(place)
            && task.future.is_some()
        {
            self.empty(place);
        }
    }
}
