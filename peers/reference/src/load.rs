//! When requests leave, and what is measured: as `peers/mesh/load.cpp`, for any caller.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use anyhow::bail;
use serde_json::{Map, Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::histogram::Recorder;
use crate::messages::ANSWER_OCTETS;
use crate::options::Options;
use crate::pace::{SECOND, Timer, now_ns, own_cpu_ns};

const LAST_ANSWERS: u64 = 2 * SECOND;

/// What makes a call.
pub(crate) trait Call: 'static {
    /// Sends request `number` and waits for its answer, whole and right; how long the request was on
    /// its way, if the answer says.
    fn call(&self, number: u64, sent: u64) -> impl Future<Output = anyhow::Result<Option<u64>>>;
    fn connections(&self) -> usize;
    fn versions(&self) -> Map<String, Value>;
}

struct Plan {
    start: u64,
    window_start: u64,
    window_end: u64,
    /// Nanoseconds between requests; zero in a closed loop.
    interval: f64,
}

impl Plan {
    fn new(options: &Options) -> Self {
        let ns = |seconds: f64| (seconds * SECOND as f64) as u64;
        let start = now_ns();
        let window_start = start + ns(options.warmup);
        Self {
            start,
            window_start,
            window_end: window_start + ns(options.duration),
            interval: options.rate.map_or(0.0, |rate| SECOND as f64 / rate),
        }
    }

    /// From the number: rounding does not drift.
    fn due(&self, number: u64) -> u64 {
        self.start + (self.interval * number as f64) as u64
    }
}

struct Measured {
    plan: Plan,
    is_open: bool,
    round_trip: Recorder,
    one_way: Recorder,
    errors: u64,
    sample: String,
    lag_sum: f64,
    lag_max: u64,
    in_flight: u64,
    last_answer: u64,
}

impl Measured {
    fn holds(&self, due: u64, at: u64) -> bool {
        let counts = if self.is_open { due } else { at };
        (self.plan.window_start..self.plan.window_end).contains(&counts)
    }

    fn ended(&mut self, due: u64, sent: u64, result: anyhow::Result<Option<u64>>) {
        let at = now_ns();
        self.in_flight -= 1;
        if !self.holds(due, at) {
            return;
        }
        match result {
            Ok(way) => {
                self.round_trip.record(at - due);
                if let Some(way) = way {
                    self.one_way.record(way);
                }
                let lag = sent - due;
                self.lag_sum += lag as f64;
                self.lag_max = self.lag_max.max(lag);
                self.last_answer = at;
            }
            Err(error) => {
                self.errors += 1;
                if self.sample.is_empty() {
                    self.sample = format!("{error:#}");
                }
            }
        }
    }
}

/// Runs the load and prints the result.
pub(crate) async fn run(options: &Options, caller: impl Call, started: u64) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let caller = Rc::new(caller);
    for number in 0..u64::from(options.connect) {
        caller.call(number, now_ns()).await?;
    }
    let first_answer = now_ns();
    say("connected");
    let measured = Rc::new(RefCell::new(Measured {
        plan: Plan::new(options),
        is_open: options.rate.is_some(),
        round_trip: Recorder::new(),
        one_way: Recorder::new(),
        errors: 0,
        sample: String::new(),
        lag_sum: 0.0,
        lag_max: 0,
        in_flight: 0,
        last_answer: 0,
    }));
    let (window_start, window_end) = {
        let plan = &measured.borrow().plan;
        (plan.window_start, plan.window_end)
    };
    let sending = tokio::task::spawn_local(send(
        Rc::clone(&caller),
        Rc::clone(&measured),
        options.in_flight,
    ));
    let edge = Timer::new()?;
    let mut interrupted = 0;
    let mut cpu_before = own_cpu_ns();
    for (at, begins) in [(window_start, true), (window_end, false)] {
        tokio::select! {
            reached = edge.until(at) => reached?,
            _ = interrupt.recv() => interrupted = now_ns(),
            _ = terminate.recv() => interrupted = now_ns(),
        }
        if interrupted != 0 {
            break;
        }
        if begins {
            cpu_before = own_cpu_ns();
            say("measuring");
        }
    }
    let cpu = own_cpu_ns() - cpu_before;
    // The last answers: who is in a closed loop ends with them.
    let give_up = now_ns() + if interrupted == 0 { LAST_ANSWERS } else { 0 };
    tokio::select! {
        ended = sending => ended??,
        reached = edge.until(give_up) => reached?,
    }
    while measured.borrow().in_flight > 0 && now_ns() < give_up {
        edge.until(now_ns() + SECOND / 1000).await?;
    }
    let measured = measured.borrow();
    println!(
        "{}",
        result(
            options,
            &*caller,
            &measured,
            cpu,
            interrupted,
            first_answer - started
        )
    );
    Ok(())
}

/// Sends until it is told to stop: what is due, or as many at a time as may be in flight.
async fn send(
    caller: Rc<impl Call>,
    measured: Rc<RefCell<Measured>>,
    in_flight: usize,
) -> anyhow::Result<()> {
    if !measured.borrow().is_open {
        let mut callers = tokio::task::JoinSet::new();
        let next = Rc::new(std::cell::Cell::new(0));
        for _ in 0..in_flight {
            let (caller, measured, next) =
                (Rc::clone(&caller), Rc::clone(&measured), Rc::clone(&next));
            callers.spawn_local(async move {
                loop {
                    let number = next.replace(next.get() + 1);
                    let sent = now_ns();
                    if sent >= measured.borrow().plan.window_end {
                        return;
                    }
                    measured.borrow_mut().in_flight += 1;
                    let result = caller.call(number, sent).await;
                    measured.borrow_mut().ended(sent, sent, result);
                }
            });
        }
        while callers.join_next().await.is_some() {}
        return Ok(());
    }
    let timer = Timer::new()?;
    for number in 0.. {
        let due = {
            let plan = &measured.borrow().plan;
            let due = plan.due(number);
            if due >= plan.window_end {
                break;
            }
            due
        };
        if due > now_ns() {
            timer.until(due).await?;
        }
        measured.borrow_mut().in_flight += 1;
        let (caller, measured) = (Rc::clone(&caller), Rc::clone(&measured));
        tokio::task::spawn_local(async move {
            let sent = now_ns();
            let result = caller.call(number, sent).await;
            measured.borrow_mut().ended(due, sent, result);
        });
    }
    Ok(())
}

fn result(
    options: &Options,
    caller: &impl Call,
    measured: &Measured,
    cpu: u64,
    interrupted: u64,
    first_answer: u64,
) -> Value {
    let plan = &measured.plan;
    let requests = measured.round_trip.count();
    let end = if interrupted != 0 {
        interrupted
    } else {
        plan.window_end.max(measured.last_answer)
    };
    let mut result = json!({
        "event": "result",
        "protocol": 1,
        "adapter": "corewire-reference",
        "partial": interrupted != 0,
        "mode": if measured.is_open { "rate" } else { "no-rate" },
        "clients": 1,
        "requests": requests,
        "errors": measured.errors + if interrupted == 0 { measured.in_flight } else { 0 },
        "error_sample": measured.sample,
        "clients_gave_up": 0,
        "duration_s": end.saturating_sub(plan.window_start).max(1) as f64 / SECOND as f64,
        "connections": caller.connections(),
        "payload_bytes": options.payload,
        "request_bytes_total": requests * (options.payload + ANSWER_OCTETS) as u64,
        "latency_ns": measured.round_trip.moments(),
        "histogram_50us": measured.round_trip.bins(),
        "hdr": measured.round_trip.fine(),
        "one_way": [],
        "server_cpu_ns": null,
        "client_cpu_ns": cpu,
        "server_threads": null,
        "first_answer_ns": first_answer,
        "versions": caller.versions(),
    });
    if measured.one_way.count() > 0 {
        result["one_way"] =
            json!([{"ns": measured.one_way.moments(), "hdr": measured.one_way.fine()}]);
    }
    if measured.is_open {
        result["lag_ns"] =
            json!({"mean": measured.lag_sum / requests.max(1) as f64, "max": measured.lag_max});
        // The sender is never behind: each request is a task of its own, and late ones show as lag.
        result["unsent"] = 0.into();
    }
    result
}

fn say(event: &str) {
    println!("{}", json!({"event": event}));
}

/// Tries to connect until it works or patience ends.
pub(crate) async fn patiently<T, F>(
    patience: f64,
    mut attempt: impl FnMut() -> F,
) -> anyhow::Result<T>
where
    F: Future<Output = anyhow::Result<T>>,
{
    let deadline = now_ns() + (patience * SECOND as f64) as u64;
    let timer = Timer::new()?;
    loop {
        match attempt().await {
            Ok(done) => return Ok(done),
            Err(error) if now_ns() >= deadline => bail!("no replica answers: {error:#}"),
            Err(_) => timer.until(now_ns() + SECOND / 2000).await?,
        }
    }
}
