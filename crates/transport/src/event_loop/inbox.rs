//! How other threads, and futures anywhere, reach a loop.

use super::arena::Key;
use super::call_slot::CallSlot;
use super::stream_slot::StreamSlot;
use super::timers::Sleep;
use super::watcher::ConnectionWatcher;
use crate::{ClientOptions, Endpoint};
use corewire_message::{Body, CallError, Code, Event, Headers, Origin, Request, Response};
use corewire_sys::WakeFd;
use corewire_wire::CallId;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

/// A call on one of a loop's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallRef {
    pub(crate) connection: Key,
    pub(crate) call: CallId,
}

/// A task of a loop: which service, which place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskRef {
    pub(crate) service: usize,
    pub(crate) place: usize,
}

/// A task that no caller waits for.
pub(crate) type Spawn = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Who is told how a call ended.
pub(crate) enum Completion {
    /// A future that some task awaits.
    Slot(Arc<CallSlot>),
    /// A function, called on the loop's thread; on its caller's when the loop has ended.
    Callback(Box<dyn FnOnce(Result<Response, CallError>) + Send>),
}

impl Completion {
    pub(crate) fn complete(self, result: Result<Response, CallError>) {
        match self {
            Self::Slot(slot) => slot.complete(result),
            // A callback that panics has failed one caller, not every call of this loop.
            Self::Callback(callback) => {
                let _panicked = catch_unwind(AssertUnwindSafe(|| callback(result)));
            }
        }
    }
}

/// What a loop is asked to do.
pub(crate) enum Command {
    AddChannel {
        channel: usize,
        endpoint: Endpoint,
        options: Box<ClientOptions>,
        watcher: Option<Arc<dyn ConnectionWatcher>>,
    },
    RemoveChannel {
        channel: usize,
    },
    Prepare {
        channel: usize,
    },
    Call {
        channel: usize,
        request: Request,
        completion: Completion,
    },
    CancelCall {
        slot: Arc<CallSlot>,
    },
    SendEvent {
        channel: usize,
        event: Event,
        completion: Completion,
    },
    Open {
        channel: usize,
        request: Request,
        stream: Arc<StreamSlot>,
    },
    StreamSend {
        stream: Arc<StreamSlot>,
        message: Body,
    },
    StreamHeaders {
        stream: Arc<StreamSlot>,
        headers: Headers,
    },
    StreamFinish {
        stream: Arc<StreamSlot>,
    },
    StreamCancel {
        stream: Arc<StreamSlot>,
        code: Code,
    },
    StreamConsumed {
        stream: Arc<StreamSlot>,
        octets: usize,
    },
    Respond {
        at: CallRef,
        response: Response,
    },
    Sleep {
        until: Instant,
        sleep: Weak<Sleep>,
    },
    Spawn {
        task: Spawn,
    },
    Drain {
        until: Instant,
    },
    Stop,
}

/// The part of a loop that any thread may touch.
#[derive(Debug)]
pub(crate) struct Shared {
    inbox: Mutex<Inbox>,
    wake: WakeFd,
}

#[derive(Default)]
struct Inbox {
    commands: Vec<Command>,
    ready: Vec<TaskRef>,
    /// The loop waits, or is about to, and must be woken for what comes in.
    asleep: bool,
    /// Something besides the inbox wants the loop not to wait.
    interrupted: bool,
    /// The loop has ended: nothing will be done any more.
    closed: bool,
    channels: usize,
    free_channels: Vec<usize>,
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Inbox({} commands)", self.commands.len())
    }
}

impl Shared {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self {
            inbox: Mutex::default(),
            wake: WakeFd::new()?,
        })
    }

    pub(crate) const fn wake_fd(&self) -> &WakeFd {
        &self.wake
    }

    fn lock(&self) -> MutexGuard<'_, Inbox> {
        // No code that can panic runs under this lock.
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a command over.
    ///
    /// # Errors
    /// Gives it back when the loop has ended.
    pub(crate) fn push(&self, command: Command) -> Result<(), Box<Command>> {
        let mut inbox = self.lock();
        if inbox.closed {
            return Err(Box::new(command));
        }
        inbox.commands.push(command);
        self.wake_if_asleep(inbox);
        Ok(())
    }

    pub(crate) fn push_ready(&self, task: TaskRef) {
        let mut inbox = self.lock();
        inbox.ready.push(task);
        self.wake_if_asleep(inbox);
    }

    fn wake_if_asleep(&self, mut inbox: MutexGuard<'_, Inbox>) {
        if inbox.asleep {
            inbox.asleep = false;
            drop(inbox);
            self.wake.wake();
        }
    }

    /// Ends the loop's wait; if it does not wait, its next one.
    pub(crate) fn interrupt(&self) {
        let mut inbox = self.lock();
        inbox.interrupted = true;
        self.wake_if_asleep(inbox);
    }

    /// What wanted the loop not to wait has been seen to.
    pub(crate) fn acknowledge_interrupt(&self) {
        self.lock().interrupted = false;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    pub(crate) fn new_channel(&self) -> usize {
        let mut inbox = self.lock();
        if let Some(channel) = inbox.free_channels.pop() {
            return channel;
        }
        inbox.channels += 1;
        inbox.channels - 1
    }

    pub(crate) fn free_channel(&self, channel: usize) {
        self.lock().free_channels.push(channel);
    }

    /// Takes what came in; the vectors given are filled and should be empty.
    pub(crate) fn take(&self, commands: &mut Vec<Command>, ready: &mut Vec<TaskRef>) {
        let mut inbox = self.lock();
        std::mem::swap(&mut inbox.commands, commands);
        std::mem::swap(&mut inbox.ready, ready);
    }

    /// Says that the loop is about to wait; `false` when something came in meanwhile.
    pub(crate) fn fall_asleep(&self) -> bool {
        let mut inbox = self.lock();
        let interrupted = std::mem::take(&mut inbox.interrupted);
        inbox.asleep = !interrupted && inbox.commands.is_empty() && inbox.ready.is_empty();
        inbox.asleep
    }

    /// Says that the loop no longer waits.
    pub(crate) fn awake(&self) {
        self.lock().asleep = false;
    }

    /// No command is taken from now on; gives those that are left.
    pub(crate) fn close(&self) -> Vec<Command> {
        let mut inbox = self.lock();
        inbox.closed = true;
        std::mem::take(&mut inbox.commands)
    }
}

/// The loop that drove this call is gone.
pub(crate) fn loop_ended() -> CallError {
    CallError::not_sent(
        Origin::Local,
        "the event loop of this channel has ended; connect through a running one",
    )
}
