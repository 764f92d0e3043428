//! Gives a gNB its association, the time and its pace.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use corewire_transport::sctp::{Association, Driver, Ended, Message, SendError};

use super::gnb::{Event, Gnb};
use super::report::Report;
use crate::ngap;

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

/// Runs a gNB to the end of its UEs' scripts.
pub(crate) fn run(
    driver: &Driver,
    amf: SocketAddr,
    mut gnb: Gnb,
    pace: Pace,
    progress: &Progress,
) -> Report {
    let mut report = Report::default();
    let began = Instant::now();
    let mut run = Run {
        pace,
        started: 0,
        over: 0,
        began,
        finished: None,
    };
    while let Some(mut association) = connect(driver, amf, pace.patience, &mut report) {
        if let Err(fault) = gnb.set_up() {
            report.faults.push(fault);
            break;
        }
        let ended = run.associated(&mut association, &mut gnb, &mut report, progress);
        match ended {
            End::Done => {
                report.lasted = run.finished.unwrap_or_else(Instant::now) - began;
                return report;
            }
            End::Fault(fault) => {
                report.faults.push(fault);
                break;
            }
            End::Lost(ended) => {
                eprintln!("corewire ran: {ended}; connecting again");
                gnb.lost(Instant::now());
                run.collect(&mut gnb, &mut report, progress);
            }
        }
    }
    report.lasted = began.elapsed();
    let left = gnb.ues() - run.over;
    if left > 0 {
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
    report: &mut Report,
) -> Option<Association> {
    let deadline = Instant::now() + patience;
    loop {
        match driver.connect(amf, patience) {
            Ok(association) => return Some(association),
            Err(error) if Instant::now() >= deadline => {
                report.faults.push(format!("no AMF at {amf}: {error}"));
                return None;
            }
            Err(_) => std::thread::sleep(AGAIN),
        }
    }
}

struct Run {
    pace: Pace,
    /// UEs that were started.
    started: usize,
    /// UEs whose script is done or that failed.
    over: usize,
    began: Instant,
    finished: Option<Instant>,
}

enum End {
    Done,
    Lost(Ended),
    Fault(String),
}

impl Run {
    fn associated(
        &mut self,
        association: &mut Association,
        gnb: &mut Gnb,
        report: &mut Report,
        progress: &Progress,
    ) -> End {
        let answer_by = Instant::now() + self.pace.patience;
        loop {
            let now = Instant::now();
            if gnb.is_up() {
                self.start_due(gnb, now);
            } else if now >= answer_by {
                return End::Fault("the AMF does not answer NG Setup".into());
            }
            gnb.handle_timeout(now);
            self.collect(gnb, report, progress);
            let all_sent = match send(association, gnb) {
                Ok(all_sent) => all_sent,
                Err(ended) => return End::Lost(ended),
            };
            if self.over == gnb.ues() && all_sent {
                let finished = *self.finished.get_or_insert(now);
                if now >= finished + self.pace.hold {
                    return End::Done;
                }
            }
            let wake = self.wake(gnb, now, all_sent);
            let mut next = association.receive_until(wake);
            for _ in 0..TURN {
                match next {
                    None => break,
                    Some(Err(ended)) => return End::Lost(ended),
                    Some(Ok(message)) => {
                        if let Err(fault) = receive(gnb, &message) {
                            return End::Fault(fault);
                        }
                    }
                }
                next = association.try_receive();
            }
        }
    }

    fn start_due(&mut self, gnb: &mut Gnb, now: Instant) {
        while self.started < gnb.ues()
            && self.started - self.over < self.pace.at_once
            && self.due(self.started) <= now
        {
            gnb.start(self.started, now);
            self.started += 1;
        }
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
        let mut wake = now + if all_sent { LOOK } else { ROOM };
        if let Some(timeout) = gnb.timeout() {
            wake = wake.min(timeout);
        }
        if self.started < gnb.ues() && self.started - self.over < self.pace.at_once && gnb.is_up() {
            wake = wake.min(self.due(self.started));
        }
        wake
    }

    fn collect(&mut self, gnb: &mut Gnb, report: &mut Report, progress: &Progress) {
        for event in gnb.events.drain(..) {
            match &event {
                Event::Step(_) => {}
                Event::Finished => {
                    self.over += 1;
                    progress.done.fetch_add(1, Ordering::Relaxed);
                }
                Event::Failed { active, .. } => {
                    self.over += usize::from(*active);
                    progress.failed.fetch_add(1, Ordering::Relaxed);
                }
            }
            report.take(event);
        }
    }
}

fn receive(gnb: &mut Gnb, message: &Message) -> Result<(), String> {
    if message.ppid != ngap::PPID {
        return Err(format!("a message of kind {}, not NGAP", message.ppid));
    }
    gnb.handle(Instant::now(), &message.bytes)
}

/// Sends what there is room for; whether that was all.
fn send(association: &Association, gnb: &mut Gnb) -> Result<bool, Ended> {
    while let Some((stream, octets)) = gnb.out.front() {
        match association.send(*stream, ngap::PPID, octets) {
            Ok(()) => drop(gnb.out.pop_front()),
            Err(SendError::Full) => return Ok(false),
            Err(error) => return Err(Ended::Lost(error.to_string())),
        }
    }
    Ok(true)
}
