//! The talk with the programs under test: server until it listens, client until its result; each
//! wait is bounded, and whatever goes wrong becomes a sentence.

use std::time::{Duration, Instant};

use crate::harness::{Event, PeerResult, Ready};
use crate::process::{Output, Process};
use crate::record::Failure;
use crate::scenario::Length;
pub(super) use crate::scenario::NoResult;
use crate::stop::Stop;
use crate::talk::{gone, late, parse, place};

/// Between two looks at Ctrl-C and at the server's health.
const LOOK: Duration = Duration::from_millis(100);
/// For what a stopped client has.
const TO_STOP: Duration = Duration::from_secs(5);
/// For a client to say what is wrong once its server is gone.
const WITHOUT_SERVER: Duration = Duration::from_secs(1);

/// What was agreed on time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) warmup: Duration,
    /// See [`Bench::patience`](super::run::Bench).
    pub(super) patience: Duration,
    pub(super) length: Length,
}

/// Waits until the server listens.
pub(super) fn await_ready(
    server: &Process,
    patience: Duration,
    stop: &Stop,
) -> Result<Ready, NoResult> {
    let deadline = Instant::now() + patience;
    loop {
        if stop.asked() {
            return Err(NoResult::Stopped);
        }
        // Also when it talks without end, but not to the point.
        if Instant::now() >= deadline {
            return Err(late(server, "did not listen", patience).into());
        }
        match server.output(LOOK) {
            Output::Line(line) => match parse(server, &line)? {
                Event::Ready(ready) => return Ok(ready),
                Event::Error(error) => {
                    let next = if error.what.contains("in use") {
                        "choose another --listen, or leave it out to get a free port"
                    } else {
                        ""
                    };
                    return Err(Failure {
                        what: error.what,
                        place: place(server, &error.place),
                        next: next.to_owned(),
                    }
                    .into());
                }
                _ => {}
            },
            Output::End => return Err(gone(server, "before it listened").into()),
            Output::Silence => {}
        }
    }
}

/// The talk with a client up to its result.
pub(super) struct Conversation<'a> {
    client: &'a Process,
    server: &'a Process,
    stop: &'a Stop,
    terms: Terms,
    phase: &'static str,
    deadline: Instant,
    allowed: Duration,
    interrupted: bool,
    server_gone: bool,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(
        client: &'a Process,
        server: &'a Process,
        terms: Terms,
        stop: &'a Stop,
    ) -> Self {
        Self {
            client,
            server,
            stop,
            terms,
            phase: "while connecting",
            deadline: Instant::now() + terms.patience,
            allowed: terms.patience,
            interrupted: false,
            server_gone: false,
        }
    }

    fn allow(&mut self, time: Duration) {
        self.allowed = time;
        self.deadline = Instant::now() + time;
    }

    /// The result; or why there is none, which is known by the deadline of each phase.
    pub(super) fn result(mut self) -> Result<PeerResult, NoResult> {
        loop {
            self.look_around();
            if Instant::now() >= self.deadline {
                return Err(self.overdue());
            }
            match self.client.output(LOOK) {
                Output::Line(line) => {
                    if let Some(result) = self.line(&line)? {
                        return Ok(result);
                    }
                }
                Output::Silence => {}
                Output::End if self.interrupted => return Err(NoResult::Stopped),
                Output::End => return Err(self.ended().into()),
            }
        }
    }

    fn overdue(&self) -> NoResult {
        if self.interrupted {
            NoResult::Stopped
        } else if self.server_gone {
            gone(self.server, self.phase).into()
        } else {
            let what = format!("gave no result {}", self.phase);
            late(self.client, &what, self.allowed).into()
        }
    }

    fn look_around(&mut self) {
        if self.stop.asked() && !self.interrupted {
            self.interrupted = true;
            self.client.interrupt();
            self.allow(TO_STOP);
        }
        if !self.server_gone && self.server.ended().is_some() {
            self.server_gone = true;
            self.allow(WITHOUT_SERVER);
        }
    }

    /// The result, when the line holds it.
    fn line(&mut self, line: &str) -> Result<Option<PeerResult>, Failure> {
        match parse(self.client, line)? {
            Event::Result(result) => return self.judged(*result).map(Some),
            Event::Error(error) => {
                if self.server.wait(LOOK).is_some() {
                    return Err(gone(self.server, self.phase));
                }
                return Err(Failure {
                    what: error.what,
                    place: place(self.client, &error.place),
                    next: String::new(),
                });
            }
            // Once stopped or deserted, deadlines are no longer put off.
            _ if self.interrupted || self.server_gone => {}
            Event::Connected => {
                self.phase = "in the warm-up";
                self.allow(self.terms.warmup + self.terms.patience);
            }
            Event::Measuring => {
                self.phase = "while measuring";
                self.allow(match self.terms.length {
                    Length::Window(window) | Length::Fixed(window) => window + self.terms.patience,
                    Length::Requests(_) => self.terms.patience,
                });
            }
            Event::Progress if matches!(self.terms.length, Length::Requests(_)) => {
                self.allow(self.terms.patience)
            }
            Event::Progress | Event::Ready(_) | Event::Noise => {}
        }
        Ok(None)
    }

    /// A result may say that something went wrong.
    fn judged(&self, result: PeerResult) -> Result<PeerResult, Failure> {
        // A server that crashed may need a moment to be seen as ended.
        let broken = result.errors > 0 || result.clients_gave_up > 0;
        let patience = if broken { LOOK } else { Duration::ZERO };
        if self.server.wait(patience).is_some() {
            return Err(gone(self.server, "while measuring"));
        }
        if result.clients_gave_up > 0 {
            return Err(Failure {
                what: format!(
                    "{} of the clients gave up: {}",
                    result.clients_gave_up, result.error_sample
                ),
                place: place(self.client, "while measuring"),
                next: String::new(),
            });
        }
        if result.requests == 0 && !self.interrupted {
            return Err(Failure {
                what: format!("no request was answered: {}", result.error_sample),
                place: place(self.client, "while measuring"),
                next: String::new(),
            });
        }
        Ok(result)
    }

    fn ended(&self) -> Failure {
        if self.server.wait(LOOK).is_some() {
            gone(self.server, self.phase)
        } else {
            gone(self.client, self.phase)
        }
    }
}
