//! The ports of an AMF as a script plays them: a clock that stands until it is moved, peers that answer
//! when the script says so, gNBs whose messages are kept; and tasks that run until all of them wait.

use crate::amf::ports::{Association, Clock, Peers, Target, Wait};
use crate::runtime::{SbiAnswer, SbiFailure, SbiRequest};
use bytes::Bytes;
use corewire::Headers;
use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// Something that the AMF did.
pub(super) enum Output {
    /// It sent this to a gNB.
    N2 { gnb: usize, octets: Vec<u8> },
    /// It ended the association with a gNB.
    Abort { gnb: usize },
    /// It asks another network function; `at`: one instance of it.
    Request {
        at: Option<String>,
        request: SbiRequest,
    },
    /// It answered another network function.
    Answer(String),
}

/// An answer of another network function.
pub(super) type Answered = Result<(SbiAnswer, Option<String>), SbiFailure>;

/// How the UDSF takes what it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Udsf {
    Serves,
    /// It refuses to store: 507.
    Full,
    /// Nobody answers.
    Gone,
}

/// What the ports of one AMF share.
#[derive(Clone)]
pub(super) struct World(Arc<Mutex<State>>);

struct State {
    now: Instant,
    numbers: u64,
    sleepers: Vec<(Instant, Waker)>,
    outputs: VecDeque<Output>,
    calls: VecDeque<Arc<Call>>,
    udsf: Udsf,
    records: BTreeMap<String, Bytes>,
    tasks: Vec<Task>,
}

/// A request that waits for the script to answer it.
#[derive(Default)]
struct Call {
    answer: Mutex<Option<Answered>>,
    waker: Mutex<Option<Waker>>,
}

struct Task {
    future: Pin<Box<dyn Future<Output = ()> + Send>>,
    is_ready: Arc<Ready>,
}

struct Ready(AtomicBool);

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

impl World {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self(Arc::new(Mutex::new(State {
            now,
            numbers: 0,
            sleepers: Vec::new(),
            outputs: VecDeque::new(),
            calls: VecDeque::new(),
            udsf: Udsf::Serves,
            records: BTreeMap::new(),
            tasks: Vec::new(),
        })))
    }

    /// Runs a task when the others do.
    pub(super) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.lock().tasks.push(Task {
            future: Box::pin(future),
            is_ready: Arc::new(Ready(AtomicBool::new(true))),
        });
    }

    /// Runs the tasks until each waits for time, a peer or a gNB.
    pub(super) fn run(&self) {
        loop {
            let mut tasks = std::mem::take(&mut self.lock().tasks);
            let mut has_run = false;
            tasks.retain_mut(|task| {
                if !task.is_ready.0.swap(false, Ordering::AcqRel) {
                    return true;
                }
                has_run = true;
                let waker = Waker::from(Arc::clone(&task.is_ready));
                let polled = task.future.as_mut().poll(&mut Context::from_waker(&waker));
                polled.is_pending()
            });
            let mut state = self.lock();
            let begun = std::mem::replace(&mut state.tasks, tasks);
            state.tasks.extend(begun);
            if !has_run {
                return;
            }
        }
    }

    /// Lets time pass, and what is due happen when it is.
    pub(super) fn pass(&self, time: Duration) {
        let until = self.lock().now + time;
        loop {
            let mut state = self.lock();
            let due = state.sleepers.iter().map(|(at, _)| *at).min();
            let Some(at) = due.filter(|at| *at <= until) else {
                state.now = until;
                return;
            };
            state.now = state.now.max(at);
            let (due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut state.sleepers)
                .into_iter()
                .partition(|(when, _)| *when <= at);
            state.sleepers = later;
            drop(state);
            due.into_iter().for_each(|(_, waker)| waker.wake());
            self.run();
        }
    }

    /// The AMF ends: its tasks, and what it waits for.
    pub(super) fn restart(&self) {
        let tasks = {
            let mut state = self.lock();
            state.calls.clear();
            state.sleepers.clear();
            std::mem::take(&mut state.tasks)
        };
        drop(tasks);
        self.lock().outputs.clear();
    }

    /// The next thing that the AMF did.
    pub(super) fn output(&self) -> Option<Output> {
        self.lock().outputs.pop_front()
    }

    pub(super) fn push(&self, output: Output) {
        self.lock().outputs.push_back(output);
    }

    /// Answers the request that has waited longest.
    pub(super) fn answer(&self, answer: Answered) {
        let call = self.lock().calls.pop_front();
        let call = call.expect("a request that waits for its answer");
        *call.answer.lock().unwrap() = Some(answer);
        if let Some(waker) = call.waker.lock().unwrap().take() {
            waker.wake();
        }
    }

    pub(super) fn set_udsf(&self, udsf: Udsf) {
        self.lock().udsf = udsf;
    }

    /// An association of this gNB.
    pub(super) fn association(&self, gnb: usize) -> Box<dyn Association> {
        Box::new(Line {
            world: self.clone(),
            gnb,
        })
    }

    /// What the UDSF answers.
    fn stored(&self, method: &str, path: &str, body: &Bytes) -> Answered {
        let mut state = self.lock();
        let (udsf, records) = (state.udsf, &mut state.records);
        let done = |status, body: &Bytes| Ok((answer(status, Headers::new(), body.clone()), None));
        match (udsf, method) {
            (Udsf::Gone, _) => Err(SbiFailure::local("nobody answers")),
            (Udsf::Full, "PUT") => Err(SbiFailure::answered(507, "INSUFFICIENT_STORAGE")),
            (_, "PUT") => {
                records.insert(path.to_owned(), body.clone());
                done(204, &Bytes::new())
            }
            (_, "GET") => match records.get(path) {
                Some(record) => done(200, record),
                None => Err(SbiFailure::answered(404, "RECORD_NOT_FOUND")),
            },
            (_, "DELETE") => match records.remove(path) {
                Some(_) => done(204, &Bytes::new()),
                None => Err(SbiFailure::answered(404, "RECORD_NOT_FOUND")),
            },
            (_, other) => panic!("the UDSF is asked to {other}"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

/// An answer of another network function.
pub(super) fn answer(status: u16, headers: Headers, body: Bytes) -> SbiAnswer {
    SbiAnswer {
        status,
        headers,
        body,
    }
}

impl Clock for World {
    fn now(&self) -> Instant {
        self.lock().now
    }

    fn sleep_until(&self, _event_loop: usize, deadline: Instant) -> Wait<'_, ()> {
        let mut is_asleep = false;
        Box::pin(poll_fn(move |cx| {
            let mut state = self.lock();
            if state.now >= deadline {
                return Poll::Ready(());
            }
            if !std::mem::replace(&mut is_asleep, true) {
                state.sleepers.push((deadline, cx.waker().clone()));
            }
            Poll::Pending
        }))
    }

    fn unique_number(&self) -> u64 {
        let mut state = self.lock();
        state.numbers += 1;
        state.numbers
    }
}

impl Peers for World {
    fn call<'a>(
        &'a self,
        _event_loop: usize,
        target: Target<'a>,
        request: SbiRequest,
    ) -> Wait<'a, Answered> {
        let (method, path, _, body) = request.parts();
        let store = path.strip_prefix("/nudsf-dr/v1/corewire/amf/records/");
        let stored = store.map(|name| self.stored(method, name, body));
        let at = match target {
            Target::At(uri) => Some(uri.to_owned()),
            Target::Service(_) | Target::Serving(..) => None,
        };
        self.push(Output::Request { at, request });
        if let Some(stored) = stored {
            return Box::pin(std::future::ready(stored));
        }
        let call = Arc::<Call>::default();
        self.lock().calls.push_back(Arc::clone(&call));
        Box::pin(poll_fn(move |cx| {
            if let Some(answer) = call.answer.lock().unwrap().take() {
                return Poll::Ready(answer);
            }
            *call.waker.lock().unwrap() = Some(cx.waker().clone());
            Poll::Pending
        }))
    }
}

/// The association of a gNB, whose messages are kept.
struct Line {
    world: World,
    gnb: usize,
}

impl Association for Line {
    fn send(&self, _stream: u16, _name: &'static str, octets: &[u8]) {
        self.world.push(Output::N2 {
            gnb: self.gnb,
            octets: octets.to_vec(),
        });
    }

    fn streams(&self) -> u16 {
        4
    }

    fn abort(&self) {
        self.world.push(Output::Abort { gnb: self.gnb });
    }
}
