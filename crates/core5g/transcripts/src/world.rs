//! The ports as a script plays them: a clock that stands until it is moved, peers that answer when the script
//! says so; and tasks that run until all of them wait.
#![expect(clippy::disallowed_methods, reason = "an instant to count from")]

use bytes::Bytes;
use corewire::Headers;
use corewire_core5g_runtime::ports::{Clock, Peers, Target, Wait};
use corewire_core5g_runtime::{SbiAnswer, SbiFailure, SbiRequest};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// Something that the network function did; `T` is what it does beside requests and answers.
#[expect(clippy::exhaustive_enums, reason = "a player shows each")]
pub enum Output<T> {
    /// It asks another network function.
    Request {
        /// The one instance that it asks.
        at: Option<String>,
        /// What it asks.
        request: SbiRequest,
    },
    /// It answered another network function.
    Answer(String),
    /// What only it does.
    Own(T),
}

/// An answer of another network function.
pub type Answered = Result<(SbiAnswer, Option<String>), SbiFailure>;

/// How the UDSF takes what it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a transcript names each")]
pub enum Udsf {
    /// It serves.
    Serves,
    /// It refuses to store: 507.
    Full,
    /// It does not answer.
    Gone,
}

/// What the ports of one network function share.
pub struct World<T>(Arc<Mutex<State<T>>>);

impl<T> Clone for World<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct State<T> {
    now: Instant,
    /// Where its records are in the UDSF.
    records_at: &'static str,
    numbers: u64,
    sleepers: Vec<(Instant, Waker)>,
    outputs: VecDeque<Output<T>>,
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

impl<T> World<T> {
    /// Where the network function has its records at `records_at`.
    pub fn new(records_at: &'static str) -> Self {
        let now = Instant::now();
        Self(Arc::new(Mutex::new(State {
            now,
            records_at,
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
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.lock().tasks.push(Task {
            future: Box::pin(future),
            is_ready: Arc::new(Ready(AtomicBool::new(true))),
        });
    }

    /// Runs the tasks until each waits for time or a peer.
    pub fn run(&self) {
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
    pub fn pass(&self, time: Duration) {
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

    /// The network function ends: its tasks, and what it waits for.
    pub fn restart(&self) {
        let tasks = {
            let mut state = self.lock();
            state.calls.clear();
            state.sleepers.clear();
            std::mem::take(&mut state.tasks)
        };
        drop(tasks);
        self.lock().outputs.clear();
    }

    /// The next thing that the network function did.
    pub fn output(&self) -> Option<Output<T>> {
        self.lock().outputs.pop_front()
    }

    /// The network function did this.
    pub fn push(&self, output: Output<T>) {
        self.lock().outputs.push_back(output);
    }

    /// Answers the request that has waited longest, behind `others`.
    pub fn answer(&self, others: usize, answer: Answered) {
        let call = self.lock().calls.remove(others);
        let call = call.expect("a request that waits for its answer");
        *call.answer.lock().unwrap() = Some(answer);
        if let Some(waker) = call.waker.lock().unwrap().take() {
            waker.wake();
        }
    }

    /// The UDSF has this record.
    pub fn store(&self, record: &str, content: Bytes) {
        self.lock().records.insert(record.to_owned(), content);
    }

    /// How the UDSF takes requests from now on.
    pub fn set_udsf(&self, udsf: Udsf) {
        self.lock().udsf = udsf;
    }

    /// What the UDSF answers.
    fn stored(&self, method: &str, path: &str, body: &Bytes) -> Answered {
        let mut state = self.lock();
        let (udsf, records) = (state.udsf, &mut state.records);
        let done = |status, body: &Bytes| Ok((answer(status, Headers::new(), body.clone()), None));
        match (udsf, method) {
            (Udsf::Gone, _) => Err(SbiFailure::local("no answer")),
            (Udsf::Full, "PUT") => Err(SbiFailure::answered(507, "INSUFFICIENT_STORAGE")),
            (_, "PUT") => {
                records.insert(path.to_owned(), body.clone());
                done(204, &Bytes::new())
            }
            (_, "GET") if path.starts_with('?') => done(200, &listed(records, path)),
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

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap()
    }
}

/// The records behind the one that `query` names, as the UDSF lists them.
fn listed(records: &BTreeMap<String, Bytes>, query: &str) -> Bytes {
    let (_, after) = query.rsplit_once("after=").expect("a place to go on");
    let behind = records.iter().filter(|(id, _)| id.as_str() > after);
    let listed = behind.map(|(id, record)| {
        let record: Value = serde_json::from_slice(record).unwrap_or_default();
        json!({"id": id, "record": record})
    });
    Value::from_iter(listed).to_string().into()
}

/// An answer of another network function.
pub fn answer(status: u16, headers: Headers, body: Bytes) -> SbiAnswer {
    SbiAnswer {
        status,
        headers,
        body,
    }
}

impl<T: Send> Clock for World<T> {
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

impl<T: Send> Peers for World<T> {
    fn call<'a>(
        &'a self,
        _event_loop: usize,
        target: Target<'a>,
        request: SbiRequest,
    ) -> Wait<'a, Answered> {
        let (method, path, _, body) = request.parts();
        let records_at = self.lock().records_at;
        let record = path.strip_prefix(records_at);
        let record = record.map(|record| record.trim_start_matches('/'));
        let stored = record.map(|record| self.stored(method, record, body));
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
