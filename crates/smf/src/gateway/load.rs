//! The load: requests due at a rate, or as many in flight as asked for, through any caller.
//!
//! One thread does it all, the event loop's own: it waits for what is due and for answers at the
//! same time, with a timer that is exact to microseconds. A latency counts from the time at which
//! its request was due, so a stall of this program is not hidden. What is due, and what counts, says
//! the [`Pacer`]; here are the clock, the calls and the counting.

use super::in_flight::InFlight;
use super::measured::Measured;
use super::pacer::{Next, Pace, Pacer};
use crate::clock::{Epoch, cpu_ns, now_ns};
use crate::report;
use crate::sm_context::{CREATE, NAME, ONE_WAY, SENT, create_data, read_one_way};
use corewire::{Body, Bytes, Caller, Headers, LoopHandle, Request, Response};
use serde_json::json;
use std::future::poll_fn;
use std::io::Write as _;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) pace: Pace,
    pub(super) warmup: Duration,
    pub(super) window: Duration,
    pub(super) payload: usize,
    /// Tell who answers, whenever it is another than before.
    pub(super) watch: bool,
    /// Requests do not say who sent them and when.
    pub(super) alike: bool,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) measured: Measured,
    /// From the start of the window to its end, or to the last answer where that came later.
    pub(super) duration: Duration,
    pub(super) cpu: Duration,
    /// It was told to end before its time.
    pub(super) partial: bool,
}

/// Sends and measures. `begun` is called when the window begins. Of several callers each has its share
/// of the calls in flight: the next call is made by the one whose call has ended.
pub(super) async fn run<C: Caller>(
    callers: &[C],
    plan: Plan,
    event_loop: &LoopHandle,
    stop: &AtomicBool,
    begun: impl FnOnce(),
) -> Outcome {
    let mut begun = Some(begun);
    let epoch = Epoch::now();
    let mut sleep = pin!(None);
    let mut sleep_until = 0;
    let mut pacer = Pacer::new(plan.pace, now_ns(), plan.warmup, plan.window);
    let sample = Sample::new(plan);
    let mut shares = Shares::new(plan.pace, callers.len());
    let mut calls = InFlight::new();
    let mut cpu = CpuSpan::default();
    let mut tally = Tally::new(plan.watch);

    poll_fn(|cx| {
        loop {
            let now = now_ns();
            if stop.load(Ordering::Relaxed) {
                pacer.stop(now);
            }
            if pacer.is_warm(now) {
                cpu.begin();
                if let Some(begun) = begun.take() {
                    begun();
                }
            }
            if pacer.is_closing(now) {
                cpu.end();
            }
            let mut progress = false;
            calls.poll_woken(cx, |ended: Ended| {
                progress = true;
                shares.give_back(ended.share);
                tally.note(ended, &mut pacer);
            });
            let mut wake = None;
            // Bounded, since calls may end at once and never fill their room.
            for _ in 0..pacer.in_flight_at_most() {
                match pacer.next(now, calls.len()) {
                    Next::Wait(until) => {
                        wake = Some(until);
                        break;
                    }
                    Next::Send { number, due } => {
                        progress = true;
                        let share = shares.take(number, calls.len());
                        let call = one(&callers[share], share, &sample, number, due);
                        if let Some(ended) = calls.begin(call) {
                            shares.give_back(ended.share);
                            tally.note(ended, &mut pacer);
                        }
                    }
                }
            }
            if pacer.is_over(now, calls.len()) {
                return Poll::Ready(());
            }
            let Some(wake) = wake.filter(|_| !progress) else {
                continue;
            };
            if wake != sleep_until || sleep.is_none() {
                sleep_until = wake;
                sleep.set(Some(event_loop.sleep_until(epoch.at(wake))));
            }
            match sleep.as_mut().as_pin_mut().map(|sleep| sleep.poll(cx)) {
                Some(Poll::Pending) => return Poll::Pending,
                _ => sleep.set(None),
            }
        }
    })
    .await;

    let mut measured = tally.measured;
    for _ in 0..calls.len() {
        measured.failed("no answer within two seconds of the window's end".into());
    }
    measured.unsent += pacer.unsent();
    Outcome {
        measured,
        duration: pacer.duration(),
        cpu: cpu.taken(),
        partial: pacer.is_partial(),
    }
}

/// CPU time of this process from the window's begin to its end.
#[derive(Default)]
struct CpuSpan {
    begin: Option<u64>,
    end: Option<u64>,
}

impl CpuSpan {
    /// The first time counts, as for [`end`](Self::end).
    fn begin(&mut self) {
        self.begin.get_or_insert_with(cpu_ns);
    }

    fn end(&mut self) {
        self.end.get_or_insert_with(cpu_ns);
    }

    fn taken(&self) -> Duration {
        let end = self.end.unwrap_or_else(cpu_ns);
        let begin = self.begin.unwrap_or_else(cpu_ns);
        Duration::from_nanos(end.saturating_sub(begin))
    }
}

/// Which caller makes the next call. At a rate they take turns; in a closed loop the one whose call
/// has ended makes the next.
struct Shares {
    callers: usize,
    /// Closed loop: those whose calls have ended.
    free: Option<Vec<usize>>,
}

impl Shares {
    fn new(pace: Pace, callers: usize) -> Self {
        let free = matches!(pace, Pace::InFlight(_)).then(Vec::new);
        Self { callers, free }
    }

    fn take(&mut self, number: u64, in_flight: usize) -> usize {
        match &mut self.free {
            None => number as usize % self.callers,
            Some(free) => free.pop().unwrap_or(in_flight % self.callers),
        }
    }

    fn give_back(&mut self, share: usize) {
        if let Some(free) = &mut self.free {
            free.push(share);
        }
    }
}

/// What is counted of the calls that have ended.
struct Tally {
    measured: Measured,
    /// Memory for the one-way latencies of an answer.
    ways: Vec<u64>,
    /// When it is watched who answers.
    served_by: Option<ServedBy>,
}

impl Tally {
    fn new(watch: bool) -> Self {
        Self {
            measured: Measured::new(),
            ways: Vec::new(),
            served_by: watch.then(ServedBy::default),
        }
    }

    fn note(&mut self, call: Ended, pacer: &mut Pacer) {
        if let Some(served_by) = &mut self.served_by {
            served_by.look(&call);
        }
        let in_window = pacer.answered(call.due, call.answered);
        let measured = &mut self.measured;
        match call.result {
            Ok(response) if in_window => {
                self.ways.clear();
                if let Some(value) = response.headers.get(ONE_WAY) {
                    read_one_way(value, &mut self.ways);
                }
                measured.answered(call.answered.saturating_sub(call.due), &self.ways);
                measured.lag(call.sent.saturating_sub(call.due));
            }
            Ok(_) => {}
            Err(why) if in_window => measured.failed(why),
            Err(_) => measured.warmup_errors += 1,
        }
    }
}

/// A call that has ended.
struct Ended {
    /// Which caller made it.
    share: usize,
    due: u64,
    sent: u64,
    answered: u64,
    result: Result<Response, String>,
}

/// Who answered last.
#[derive(Default)]
struct ServedBy {
    name: Vec<u8>,
    sent: u64,
}

impl ServedBy {
    /// Tells of a change. Answers to requests that were sent before the change may come after it.
    fn look(&mut self, call: &Ended) {
        let Ok(response) = &call.result else { return };
        let name = response.headers.get(NAME).unwrap_or_default();
        if name == self.name || call.sent < self.sent {
            return;
        }
        self.name = name.to_vec();
        self.sent = call.sent;
        report::event(&json!({
            "event": "served-by",
            "name": String::from_utf8_lossy(name),
            "sent_ns": call.sent,
        }));
    }
}

/// One request and its answer, which is checked.
async fn one<C: Caller>(caller: &C, share: usize, sample: &Sample, number: u64, due: u64) -> Ended {
    let (request, sent) = sample.request(number);
    let result = match caller.call(request).await {
        Ok(response) if response.body.is_empty() => Err("an answer without a body".to_owned()),
        Ok(response) => Ok(response),
        Err(error) => Err(error.to_string()),
    };
    Ended {
        share,
        due,
        sent,
        answered: now_ns(),
        result,
    }
}

/// What all requests have in common.
struct Sample {
    request: Request,
    alike: bool,
}

impl Sample {
    fn new(plan: Plan) -> Self {
        let mut headers = Headers::new();
        // A name and a value as headers have them: this cannot fail.
        let _ = headers.append("content-type", "application/json");
        // A block that its copies share.
        let block = Bytes::copy_from_slice(headers.as_block());
        let headers = Headers::from_block(block).unwrap_or(headers);
        let body = Body::from(create_data(plan.payload));
        Self {
            request: Request::new(CREATE).with_headers(headers).with_body(body),
            alike: plan.alike,
        }
    }

    /// The next request, and when it is sent.
    fn request(&self, number: u64) -> (Request, u64) {
        let mut request = self.request.clone();
        if self.alike {
            return (request, now_ns());
        }
        let mut text = Text::default();
        // As above.
        let correlation = text.correlation(number);
        // A name and a value that any header can have.
        let _ = request
            .headers
            .append("3gpp-sbi-correlation-info", correlation);
        let sent = now_ns();
        let _ = request.headers.append(SENT, text.number(sent));
        (request, sent)
    }
}

/// Numbers as text without an allocation.
#[derive(Default)]
struct Text {
    octets: [u8; 32],
}

impl Text {
    fn correlation(&mut self, number: u64) -> &[u8] {
        self.write(format_args!("imsi-00101{:010}", number % 10_000_000_000))
    }

    fn number(&mut self, number: u64) -> &[u8] {
        self.write(format_args!("{number}"))
    }

    fn write(&mut self, words: std::fmt::Arguments<'_>) -> &[u8] {
        let mut rest = &mut self.octets[..];
        // 32 octets hold every text above.
        let _ = rest.write_fmt(words);
        let left = rest.len();
        &self.octets[..self.octets.len() - left]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire::{CallError, CallStream, ErrorKind, Event, EventLoop, Origin};
    use std::sync::atomic::AtomicUsize;

    /// Answers at once; some with a failure.
    #[derive(Default)]
    struct Answers {
        asked: AtomicUsize,
        every_second_fails: bool,
    }

    impl Caller for Answers {
        async fn call(&self, request: Request) -> Result<Response, CallError> {
            let asked = self.asked.fetch_add(1, Ordering::Relaxed);
            if self.every_second_fails && asked % 2 == 1 {
                let kind = ErrorKind::Overloaded;
                return Err(CallError::new(kind, Origin::Local, false, "full"));
            }
            let mut headers = Headers::new();
            headers.append(ONE_WAY, "5000").unwrap();
            Ok(Response::ok(request.body).with_headers(headers))
        }

        async fn send(&self, _event: Event) -> Result<(), CallError> {
            unreachable!("no event is sent")
        }

        async fn open(&self, _request: Request) -> Result<CallStream, CallError> {
            unreachable!("no stream is opened")
        }
    }

    fn drive(caller: &Answers, pace: Pace) -> Outcome {
        let mut event_loop = EventLoop::new().unwrap();
        let handle = event_loop.handle();
        let stop = AtomicBool::new(false);
        let plan = Plan {
            pace,
            warmup: Duration::from_millis(10),
            window: Duration::from_millis(50),
            payload: 1024,
            watch: false,
            alike: false,
        };
        let mut begun = 0;
        let callers = std::slice::from_ref(caller);
        let load = run(callers, plan, &handle, &stop, || begun += 1);
        let outcome = event_loop.block_on(load).unwrap();
        assert_eq!(begun, 1);
        outcome
    }

    #[test]
    fn a_rate_is_kept_and_every_due_request_is_accounted_for() {
        let outcome = drive(&Answers::default(), Pace::Rate(2_000.0));
        let measured = &outcome.measured;
        // Due in the window of 50 ms: 100, whatever the machine does meanwhile.
        assert_eq!(measured.round_trip.count() + measured.unsent, 100);
        assert_eq!(measured.errors, 0);
        assert!(!outcome.partial);
        assert_eq!(measured.one_way[0].count(), measured.round_trip.count());
    }

    #[test]
    fn failures_are_counted_apart() {
        let caller = Answers {
            every_second_fails: true,
            ..Answers::default()
        };
        // All of a window may pass while the machine stands still, and nothing be sent in time.
        let measured = (0..5).find_map(|_| {
            let measured = drive(&caller, Pace::Rate(2_000.0)).measured;
            assert_eq!(
                measured.errors + measured.round_trip.count() + measured.unsent,
                100
            );
            (measured.errors > 0).then_some(measured)
        });
        let measured = measured.expect("every second fails");
        assert!(measured.error_sample.contains("full"));
    }

    #[test]
    fn requests_say_who_and_when() {
        let mut plan = Plan {
            pace: Pace::InFlight(1),
            warmup: Duration::ZERO,
            window: Duration::ZERO,
            payload: 1024,
            watch: false,
            alike: false,
        };
        let (request, sent) = Sample::new(plan).request(17);
        assert_eq!(request.headers.get_str(SENT), Some(&*sent.to_string()));
        let correlation = request.headers.get_str("3gpp-sbi-correlation-info");
        assert_eq!(correlation, Some("imsi-001010000000017"));
        assert_eq!(request.body.len(), 1024);

        plan.alike = true;
        let sample = Sample::new(plan);
        let (one, other) = (sample.request(17).0, sample.request(18).0);
        assert_eq!(one.headers.as_block(), other.headers.as_block());
        assert_eq!(one.headers.iter().count(), 1);
        assert_eq!(one.body.len(), 1024);
    }

    /// Answers when it is polled again; knows how many wait for it at most.
    #[derive(Default)]
    struct Later {
        waiting: AtomicUsize,
        most: AtomicUsize,
    }

    impl Caller for Later {
        async fn call(&self, request: Request) -> Result<Response, CallError> {
            let waiting = self.waiting.fetch_add(1, Ordering::Relaxed) + 1;
            self.most.fetch_max(waiting, Ordering::Relaxed);
            let mut polled = false;
            poll_fn(|cx| {
                if std::mem::replace(&mut polled, true) {
                    return Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            Ok(Response::ok(request.body))
        }

        async fn send(&self, _event: Event) -> Result<(), CallError> {
            unreachable!("no event is sent")
        }

        async fn open(&self, _request: Request) -> Result<CallStream, CallError> {
            unreachable!("no stream is opened")
        }
    }

    #[test]
    fn each_of_several_callers_keeps_its_share_in_flight() {
        let stop = AtomicBool::new(false);
        let plan = Plan {
            pace: Pace::InFlight(6),
            warmup: Duration::ZERO,
            window: Duration::from_millis(20),
            payload: 0,
            watch: false,
            alike: true,
        };
        // All of a window may pass while the machine stands still.
        let measured = (0..5).any(|_| {
            let mut event_loop = EventLoop::new().unwrap();
            let handle = event_loop.handle();
            let callers: [Later; 3] = std::array::from_fn(|_| Later::default());
            let load = run(&callers, plan, &handle, &stop, || {});
            let outcome = event_loop.block_on(load).unwrap();
            for caller in &callers {
                assert_eq!(caller.most.load(Ordering::Relaxed), 2);
            }
            outcome.measured.round_trip.count() > 6
        });
        assert!(measured);
    }

    #[test]
    fn a_closed_loop_ends_though_every_call_ends_at_once() {
        let outcome = drive(&Answers::default(), Pace::InFlight(4));
        assert!(outcome.measured.round_trip.count() > 0);
    }

    #[test]
    fn a_stop_leaves_a_partial_result() {
        let mut event_loop = EventLoop::new().unwrap();
        let handle = event_loop.handle();
        let stop = AtomicBool::new(true);
        let plan = Plan {
            pace: Pace::Rate(100.0),
            warmup: Duration::ZERO,
            window: Duration::from_secs(3600),
            payload: 0,
            watch: false,
            alike: false,
        };
        let callers = [Answers::default()];
        let load = run(&callers, plan, &handle, &stop, || {});
        let outcome = event_loop.block_on(load).unwrap();
        assert!(outcome.partial && outcome.duration < Duration::from_secs(600));
    }
}
