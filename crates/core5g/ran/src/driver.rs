//! Gives a gNB its association, the time and its pace.
#![expect(
    clippy::disallowed_methods,
    reason = "a driver: it measures UEs and waits for them"
)]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use corewire_observe::errln;
use corewire_transport::sctp::{Association, Driver, Ended, Message, SendError};

use super::gnb::{Event, Gnb};
use super::report::Report;
use corewire_core5g_ngap::{self as ngap, NgapMessage};
use corewire_core5g_runtime::trace::{Kind, Trace};

/// Messages that are taken before what they led to is sent.
const TURN: usize = 256;
/// How soon something is tried again that there was no room for, or nobody at.
const AGAIN: Duration = Duration::from_millis(50);
/// How soon a message is tried again that the association had no room for.
const ROOM: Duration = Duration::from_millis(1);

/// How UEs come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// New UEs a second; none is as fast as `at_once` allows.
    pub(crate) rate: Option<f64>,
    /// UEs in the middle of their script at a time.
    pub(crate) at_once: usize,
    /// How long the gNB stays when all UEs are done.
    pub(crate) hold: Duration,
    /// How long an AMF may be away.
    pub(crate) patience: Duration,
}

/// What all gNBs have done so far, for whoever watches.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) done: AtomicUsize,
    pub(crate) failed: AtomicUsize,
}

/// Where all UEs wait for each other, and for whoever lets them go on.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    /// UEs that wait, or that failed before.
    waiting: AtomicUsize,
    /// They may go on.
    over: AtomicBool,
}

impl Pause {
    /// UEs that have come so far, in one way or the other.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    /// Lets all go on.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }
}

/// The run is to end before its scripts do.
#[derive(Debug, Default)]
pub(crate) struct Stop(AtomicBool);

impl Stop {
    /// UEs detach, and the run ends.
    pub(crate) fn ask(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_asked(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// What a run tells, and to whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told<'a> {
    pub(crate) progress: &'a Progress,
    /// Where its hops are written down, when they are.
    pub(crate) trace: Option<&'a Trace>,
    /// Where its UEs wait, when they do.
    pub(crate) pause: Option<&'a Pause>,
    /// Says when to end before the scripts do.
    pub(crate) stop: &'a Stop,
}

/// Runs a gNB to the end of its UEs' scripts.
pub(crate) fn run(
    driver: &Driver,
    amf: SocketAddr,
    mut gnb: Gnb,
    pace: Pace,
    told: Told<'_>,
) -> Report {
    let mut report = Report::default();
    let began = Instant::now();
    let mut run = Run {
        pace,
        told,
        started: 0,
        over: 0,
        waiting: 0,
        stopping: false,
        began,
        finished: None,
    };
    while let Some(mut association) = connect(driver, amf, pace.patience, told.stop, &mut report) {
        if let Err(fault) = gnb.set_up(association.sender().streams()) {
            report.faults.push(fault);
            break;
        }
        let ended = run.associated(&mut association, &mut gnb, &mut report);
        match ended {
            End::Done => {
                report.lasted = run.finished.unwrap_or_else(Instant::now) - began;
                report.attached = gnb.attached().count();
                report.stopped = run.stopping;
                return report;
            }
            End::Fault(fault) => {
                report.faults.push(fault);
                break;
            }
            End::Lost(ended) => {
                tracing::warn!(name: "n2-lost", "{ended}; connecting again");
                gnb.lost(Instant::now());
                run.collect(&mut gnb, &mut report);
            }
        }
    }
    report.lasted = began.elapsed();
    report.attached = gnb.attached().count();
    report.stopped = told.stop.is_asked();
    let left = gnb.ues().saturating_sub(run.over);
    if left > 0 && !report.stopped {
        report
            .faults
            .push(format!("{left} UEs did not get their turn"));
    }
    report
}

fn connect(
    driver: &Driver,
    amf: SocketAddr,
    patience: Duration,
    stop: &Stop,
    report: &mut Report,
) -> Option<Association> {
    let deadline = Instant::now() + patience;
    loop {
        match driver.connect(amf, patience) {
            Ok(association) => return Some(association),
            Err(error) if Instant::now() >= deadline || stop.is_asked() => {
                report.faults.push(format!("no AMF at {amf}: {error}"));
                return None;
            }
            Err(_) => std::thread::sleep(AGAIN),
        }
    }
}

struct Run<'a> {
    pace: Pace,
    told: Told<'a>,
    /// UEs that were started.
    started: usize,
    /// UEs whose script is done or that failed.
    over: usize,
    /// UEs that have come to the pause or failed before, as far as it was told.
    waiting: usize,
    /// UEs detach and the run ends.
    stopping: bool,
    began: Instant,
    finished: Option<Instant>,
}

enum End {
    Done,
    Lost(Ended),
    Fault(String),
}

impl Run<'_> {
    fn associated(
        &mut self,
        association: &mut Association,
        gnb: &mut Gnb,
        report: &mut Report,
    ) -> End {
        let answer_by = Instant::now() + self.pace.patience;
        loop {
            let now = Instant::now();
            if self.told.stop.is_asked() && !self.stopping {
                self.stopping = true;
                gnb.stop();
                tell_attached(gnb);
            }
            if gnb.is_up() {
                self.start_due(gnb, now);
            } else if now >= answer_by {
                return End::Fault("the AMF does not answer NG Setup".into());
            }
            gnb.handle_timeout(now);
            self.collect(gnb, report);
            let all_sent = match send(association, gnb, self.told.trace) {
                Ok(all_sent) => all_sent,
                Err(ended) => return End::Lost(ended),
            };
            if self.is_over(gnb) && all_sent {
                let finished = *self.finished.get_or_insert(now);
                if self.stopping || now >= finished + self.pace.hold {
                    return End::Done;
                }
            }
            let wake = self.wake(gnb, now, all_sent);
            let first = association.receive_until(wake);
            let taken = take(
                first,
                || association.try_receive(),
                |message| {
                    if let Some(trace) = self.told.trace {
                        trace.n2(Kind::N2In, name_of(&message.bytes));
                    }
                    receive(gnb, &message)
                },
            );
            if let Err(end) = taken {
                return end;
            }
        }
    }

    fn is_over(&self, gnb: &Gnb) -> bool {
        if self.stopping {
            self.over >= self.started && gnb.has_left()
        } else {
            self.over == gnb.ues()
        }
    }

    fn start_due(&mut self, gnb: &mut Gnb, now: Instant) {
        if self.stopping {
            while self.has_room(gnb) && (gnb.resume_one(now) || gnb.leave_one(now)) {}
            return;
        }
        while self.started < gnb.ues() && self.has_room(gnb) && self.due(self.started) <= now {
            gnb.start(self.started, now);
            self.started += 1;
        }
        if self.told.pause.is_some_and(Pause::is_over) {
            while self.has_room(gnb) && gnb.resume_one(now) {}
        }
    }

    /// Whether one more UE may be in the middle of its script.
    fn has_room(&self, gnb: &Gnb) -> bool {
        self.started - self.over - gnb.paused() + gnb.leaving() < self.pace.at_once
    }

    /// When a UE comes.
    fn due(&self, index: usize) -> Instant {
        match self.pace.rate {
            Some(rate) => self.began + Duration::from_secs_f64(index as f64 / rate),
            None => self.began,
        }
    }

    fn wake(&self, gnb: &Gnb, now: Instant, all_sent: bool) -> Instant {
        /// How long nothing is looked at when nothing is due.
        const LOOK: Duration = Duration::from_millis(200);
        /// How soon UEs that wait go on when they may.
        const PAUSE: Duration = Duration::from_millis(2);
        let mut wake = now + if all_sent { LOOK } else { ROOM };
        if let Some(timeout) = gnb.timeout() {
            wake = wake.min(timeout);
        }
        if !self.stopping && self.started < gnb.ues() && self.has_room(gnb) && gnb.is_up() {
            wake = wake.min(self.due(self.started));
        }
        if gnb.paused() > 0 {
            wake = wake.min(now + PAUSE);
        }
        wake
    }

    fn collect(&mut self, gnb: &mut Gnb, report: &mut Report) {
        let Told {
            progress,
            trace,
            pause,
            stop: _,
        } = self.told;
        for event in gnb.events.drain(..) {
            match &event {
                Event::Step(end) => {
                    if let Some(trace) = trace {
                        trace.step(end.step, end.began, end.took);
                    }
                }
                Event::Finished => {
                    self.over += 1;
                    progress.done.fetch_add(1, Ordering::Relaxed);
                }
                Event::Failed { active, .. } => {
                    self.over += usize::from(*active);
                    progress.failed.fetch_add(1, Ordering::Relaxed);
                }
                Event::Left { active } => {
                    self.over += usize::from(*active);
                    progress
                        .done
                        .fetch_add(usize::from(*active), Ordering::Relaxed);
                }
                Event::Paused => report.came_so_far(self.began.elapsed()),
            }
            report.take(event);
        }
        // Nobody waits for one that does not come.
        let waiting = self.over + gnb.paused();
        if let Some(pause) = pause.filter(|_| waiting > self.waiting) {
            let more = waiting - self.waiting;
            pause.waiting.fetch_add(more, Ordering::AcqRel);
            self.waiting = waiting;
        }
    }
}

/// Takes `first` and what else is there, up to [`TURN`] messages. What is beyond stays where it is.
///
/// # Errors
/// The association has ended, or a message cannot be taken.
fn take(
    first: Option<Result<Message, Ended>>,
    mut more: impl FnMut() -> Option<Result<Message, Ended>>,
    mut handle: impl FnMut(Message) -> Result<(), String>,
) -> Result<(), End> {
    let mut next = first;
    for taken in 1..=TURN {
        match next {
            None => return Ok(()),
            Some(Err(ended)) => return Err(End::Lost(ended)),
            Some(Ok(message)) => handle(message).map_err(End::Fault)?,
        }
        next = if taken < TURN { more() } else { None };
    }
    Ok(())
}

fn receive(gnb: &mut Gnb, message: &Message) -> Result<(), String> {
    if message.ppid != ngap::PPID {
        return Err(format!("a message of kind {}, not NGAP", message.ppid));
    }
    gnb.handle(Instant::now(), &message.bytes)
}

/// Says which UEs are attached when a run is stopped.
fn tell_attached(gnb: &Gnb) {
    /// UEs that are named.
    const NAMED: usize = 10;
    let count = gnb.attached().count();
    let named: Vec<String> = gnb
        .attached()
        .take(NAMED)
        .map(ToString::to_string)
        .collect();
    let more = match count.saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    errln!(
        "gNB {}: {count} UEs are attached and detach now: {}{more}",
        gnb.number(),
        named.join(", ")
    );
}

/// Sends what there is room for; whether that was all.
fn send(association: &Association, gnb: &mut Gnb, trace: Option<&Trace>) -> Result<bool, Ended> {
    while let Some((stream, octets)) = gnb.out.front() {
        if let Some(trace) = trace {
            trace.n2(Kind::N2Out, name_of(octets));
        }
        match association.send(*stream, ngap::PPID, octets) {
            Ok(()) => drop(gnb.out.pop_front()),
            Err(SendError::Full) => return Ok(false),
            Err(error) => return Err(Ended::Lost(error.to_string())),
        }
    }
    Ok(true)
}

/// What a message is called in the trace.
fn name_of(octets: &[u8]) -> &'static str {
    NgapMessage::decode(octets).map_or("unreadable", |message| message.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn no_message_is_lost_when_more_wait_than_one_turn_takes() {
        let count = 3 * TURN + 1;
        let message = |number: usize| Message {
            stream: 0,
            ppid: ngap::PPID,
            bytes: number.to_be_bytes().to_vec().into(),
        };
        let mut waiting: VecDeque<Message> = (0..count).map(message).collect();
        let mut handled = Vec::new();
        while let Some(first) = waiting.pop_front() {
            let more = || waiting.pop_front().map(Ok);
            let taken = take(Some(Ok(first)), more, |message| {
                handled.push(message);
                Ok(())
            });
            assert!(taken.is_ok());
        }
        let expected: Vec<Message> = (0..count).map(message).collect();
        assert_eq!(handled.len(), expected.len());
        let same = |(one, two): (&Message, &Message)| one.bytes == two.bytes;
        assert!(handled.iter().zip(&expected).all(same));
    }
}
