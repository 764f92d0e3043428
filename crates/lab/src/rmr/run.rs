//! One run: receivers, senders and perhaps a route manager, started in this order, told when to
//! begin and when all is sent, and asked what came of it.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use super::condition::{Condition, Exchange, Nagle, Pin, SILENCE};
use super::events::{Event, ManagerResult, ReceiverResult, SenderResult};
use super::programs::Programs;
use super::subjects::{End, Subject};
use super::table::{self, FIRST_TYPE, Tables};
use crate::machine::{LoadWatch, process_cpu};
use crate::network::{Network, Side};
use crate::process::{CpuPlan, Cpus, Output, Process};
use crate::record::{Failure, MachineLoad};
use crate::scenario::NoResult;
use crate::stop::Stop;

/// Between two looks at Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);
/// For what stopped or finished programs have to say.
const TO_FINISH: Duration = Duration::from_secs(5);
/// For a library to say that it cannot listen.
const TO_PROBE: Duration = Duration::from_secs(10);

/// What is the same for every run of a session.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) programs: Programs,
    pub(super) cpus: CpuPlan,
    /// Of processes that are not pinned.
    pub(super) all_cpus: Cpus,
    pub(super) warm_up: Duration,
    /// For programs to get ready, and for results on top of the planned time.
    pub(super) patience: Duration,
    pub(super) tables: Tables,
}

/// A run that came to a result.
#[derive(Debug)]
pub(super) struct Raw {
    pub(super) partial: bool,
    pub(super) senders: Vec<SenderResult>,
    pub(super) receivers: Vec<ReceiverResult>,
    pub(super) manager: Option<ManagerResult>,
    /// What the senders' library says that it dropped after it had accepted it.
    pub(super) tx_dropped: Option<u64>,
    /// Whether the receivers' library tells when a message came.
    pub(super) queue_time: bool,
    pub(super) load: MachineLoad,
}

/// Addresses of one run.
struct Places {
    network: Network,
    receivers: Vec<u16>,
    senders: Vec<u16>,
    /// Of the first sender's control port, and of the manager.
    control: u16,
    manager: u16,
    table: String,
}

impl Bench {
    /// Whether a library can listen at all; otherwise why not, in its own words.
    pub(super) fn probe(&self, end: &End) -> Result<(), Failure> {
        let condition = Condition::plain(None, 1000);
        let places = self.places(&condition)?;
        let receiver = self.receiver(end, &condition, &places, 0)?;
        match await_event(&receiver, Instant::now() + TO_PROBE, "getting ready", None) {
            Ok(Event::Ready { .. }) => Ok(()),
            Ok(_) => Err(unexpected(&receiver, "getting ready")),
            Err(NoResult::Failed(failure)) => Err(match own_words(&receiver.last_words()) {
                Some(what) => Failure {
                    what,
                    place: format!("{}, getting ready", receiver.name()),
                    next: failure.next,
                },
                None => failure,
            }),
            Err(NoResult::Stopped) => Ok(()),
        }
    }

    /// Runs one cell.
    pub(super) fn run(
        &self,
        subject: &Subject,
        condition: &Condition,
        window: Duration,
        stop: &Stop,
    ) -> Result<Raw, NoResult> {
        self.attempt(subject, condition, window, stop)
            .map_err(|reason| {
                // What breaks while all is being stopped says nothing about the subject.
                if stop.asked() {
                    NoResult::Stopped
                } else {
                    reason
                }
            })
    }

    fn attempt(
        &self,
        subject: &Subject,
        condition: &Condition,
        window: Duration,
        stop: &Stop,
    ) -> Result<Raw, NoResult> {
        let (sending, receiving) = subject.ends.as_ref().map_err(Clone::clone)?;
        let places = self.places(condition)?;
        let ready_by = || Instant::now() + self.patience;

        let mut receivers = Vec::new();
        for number in 0..places.receivers.len() {
            receivers.push(self.receiver(receiving, condition, &places, number)?);
        }
        let mut queue_time = false;
        for receiver in &receivers {
            match await_event(receiver, ready_by(), "getting ready", Some(stop))? {
                Event::Ready { queue_time: tells } => queue_time = tells,
                _ => return Err(unexpected(receiver, "getting ready").into()),
            }
        }
        let watch = LoadWatch::begin();
        // The lab's own time counts as ours: neighbours are its threads.
        let of_lab = process_cpu(std::process::id());
        let mut senders = Vec::new();
        for number in 0..places.senders.len() {
            senders.push(self.sender(sending, condition, &places, number, window)?);
        }
        for sender in &senders {
            match await_event(sender, ready_by(), "connecting", Some(stop))? {
                Event::Connected => {}
                _ => return Err(unexpected(sender, "connecting").into()),
            }
        }
        let manager = match condition.swaps_per_s {
            0 => None,
            _ => Some(self.manager(sending, condition, &places)?),
        };
        if let Some(manager) = &manager {
            match await_event(manager, ready_by(), "sending its first table", Some(stop))? {
                Event::Connected => {}
                _ => return Err(unexpected(manager, "sending its first table").into()),
            }
        }
        for sender in &senders {
            sender.say("go");
        }
        let deadline = Instant::now() + self.warm_up + window + self.patience;
        let sent = self.sent(&senders, &receivers, deadline, stop)?;

        let manager_result = match &manager {
            Some(manager) => {
                manager.say_no_more();
                match await_event(manager, Instant::now() + TO_FINISH, "ending", None)? {
                    Event::Manager(result) => Some(*result),
                    _ => return Err(unexpected(manager, "ending").into()),
                }
            }
            None => None,
        };
        let received = finish(&sent, &receivers)?;
        let mut tx_dropped = Some(0);
        for sender in &senders {
            sender.say_no_more();
            match await_event(sender, Instant::now() + TO_FINISH, "ending", None)? {
                Event::Closed { tx_dropped: some } => {
                    tx_dropped = tx_dropped.zip(some).map(|(all, some)| all + some);
                }
                _ => return Err(unexpected(sender, "ending").into()),
            }
        }
        let processes = senders.iter().chain(&receivers).chain(&manager);
        let of_ends: Duration = processes.map(|process| process_cpu(process.id())).sum();
        let ours = of_ends + process_cpu(std::process::id()).saturating_sub(of_lab);
        Ok(Raw {
            partial: sent.iter().any(|result| result.partial),
            senders: sent,
            receivers: received,
            manager: manager_result,
            tx_dropped,
            queue_time,
            load: watch.end(ours),
        })
    }

    /// The results of all senders.
    fn sent(
        &self,
        senders: &[Process],
        receivers: &[Process],
        mut deadline: Instant,
        stop: &Stop,
    ) -> Result<Vec<SenderResult>, NoResult> {
        let mut results = Vec::new();
        let mut interrupted = false;
        while results.len() < senders.len() {
            let sender = &senders[results.len()];
            let until = deadline.min(Instant::now() + LOOK);
            match poll_event(sender, until, "sending")? {
                Some(Event::Sender(result)) => results.push(*result),
                Some(_) => {}
                None if Instant::now() >= deadline => {
                    return Err(late(sender, "sending", self.patience).into());
                }
                None => {}
            }
            if let Some(gone) = receivers.iter().find(|one| one.ended().is_some()) {
                return Err(ended(gone, "while messages were sent").into());
            }
            if stop.asked() && !interrupted {
                interrupted = true;
                senders.iter().for_each(Process::interrupt);
                deadline = Instant::now() + TO_FINISH;
            }
        }
        Ok(results)
    }

    fn places(&self, condition: &Condition) -> Result<Places, Failure> {
        let network = Network::new(condition.mtu, &self.all_cpus)?;
        let ports = |count: u32| {
            (0..count)
                .map(|_| table::free_port())
                .collect::<std::io::Result<Vec<u16>>>()
                .map_err(|error| no_room(&error))
        };
        let receivers = ports(condition.receivers)?;
        let senders = ports(condition.senders)?;
        let [control, manager] = ports(2)?[..] else {
            unreachable!("two were asked for");
        };
        let address = network.address(Side::Server);
        let endpoints: Vec<String> = receivers
            .iter()
            .map(|port| format!("{address}:{port}"))
            .collect();
        Ok(Places {
            network,
            receivers,
            senders,
            control,
            manager,
            table: endpoints.join(","),
        })
    }

    /// The variables that every RMR process gets.
    fn environment(
        &self,
        end: &End,
        condition: &Condition,
        places: &Places,
        side: Side,
    ) -> Result<Vec<(&'static str, String)>, Failure> {
        let text = table::text(condition.routes, &places.table);
        let seed = self.tables.write(&text).map_err(|error| no_room(&error))?;
        let address = places.network.address(side).to_owned();
        let mut environment = vec![
            ("RMR_SEED_RT", seed.display().to_string()),
            ("RMR_RTG_SVC", "-1".to_owned()),
            ("RMR_BIND_IF", address.clone()),
            ("RMR_SRC_ID", address),
            ("RMR_VCTL_FILE", self.tables.absent().display().to_string()),
        ];
        if side == Side::Server && condition.rate.is_some() {
            // At the highest rate a time for each message would be part of what is measured.
            environment.push(("RMR_RX_TIME", "1".to_owned()));
        }
        environment.extend(end.environment.iter().cloned());
        Ok(environment)
    }

    fn receiver(
        &self,
        end: &End,
        condition: &Condition,
        places: &Places,
        number: usize,
    ) -> Result<Process, Failure> {
        let mut arguments = Arguments::new(&end.library, places.receivers[number]);
        arguments.option("--size", condition.size);
        arguments.option("--silence-ms", SILENCE.as_millis());
        arguments.flag("--attended");
        if condition.rate.is_some() {
            arguments.flag("--since-sent");
        }
        if condition.exchange != Exchange::Send {
            arguments.flag("--answer");
        }
        let environment = self.environment(end, condition, places, Side::Server)?;
        let cpus = match condition.pin {
            Pin::None => &self.all_cpus,
            Pin::Receiver | Pin::Both => &self.cpus.server,
        };
        let program = &self.programs.receiver;
        start(places, Side::Server, program, arguments, environment, cpus)
    }

    fn sender(
        &self,
        end: &End,
        condition: &Condition,
        places: &Places,
        number: usize,
        window: Duration,
    ) -> Result<Process, Failure> {
        let mut arguments = Arguments::new(&end.library, places.senders[number]);
        arguments.option("--size", condition.size);
        arguments.option("--duration", window.as_secs_f64());
        arguments.option("--warm-up", self.warm_up.as_secs_f64());
        arguments.option("--first-id", number);
        arguments.option("--type", FIRST_TYPE);
        arguments.option("--types", live(condition));
        arguments.option("--ready-timeout", self.patience.as_secs_f64());
        arguments.flag("--attended");
        if let Some(rate) = condition.rate {
            arguments.option("--rate", rate as f64 / f64::from(condition.senders));
        }
        if condition.nagle == Nagle::Off {
            arguments.option("--nagle", "off");
        }
        match condition.exchange {
            Exchange::Send => {}
            Exchange::Call => arguments.option("--mode", "call"),
            Exchange::Rts => arguments.option("--mode", "rts"),
        }
        let mut environment = self.environment(end, condition, places, Side::Client)?;
        if condition.swaps_per_s > 0 && number == 0 {
            let manager = format!("127.0.0.1:{}", places.manager);
            environment.retain(|(name, _)| *name != "RMR_RTG_SVC");
            environment.push(("RMR_RTG_SVC", manager));
            environment.push(("RMR_CTL_PORT", places.control.to_string()));
            environment.push(("RMR_RTREQ_FREQ", "1".to_owned()));
        }
        let cpus = match condition.pin {
            Pin::None | Pin::Receiver => &self.all_cpus,
            Pin::Both => &self.cpus.client,
        };
        let program = &self.programs.sender;
        start(places, Side::Client, program, arguments, environment, cpus)
    }

    /// On the receivers' core, so that the sender's pays for taking a table and not for sending it.
    fn manager(
        &self,
        end: &End,
        condition: &Condition,
        places: &Places,
    ) -> Result<Process, Failure> {
        let mut arguments = Arguments::new(&end.library, places.manager);
        arguments.option("--target", format!("127.0.0.1:{}", places.control));
        arguments.option("--receivers", &places.table);
        arguments.option("--type", FIRST_TYPE);
        arguments.option("--entries", condition.routes);
        arguments.option("--live", live(condition));
        arguments.option("--per-second", condition.swaps_per_s);
        arguments.option("--ready-timeout", self.patience.as_secs_f64());
        arguments.flag("--attended");
        let environment = self.environment(end, condition, places, Side::Client)?;
        let cpus = match condition.pin {
            Pin::None => &self.all_cpus,
            Pin::Receiver | Pin::Both => &self.cpus.server,
        };
        let program = &self.programs.manager;
        start(places, Side::Client, program, arguments, environment, cpus)
    }
}

/// Entries that traffic uses: half of them, so that the others can come and go with each swap, and
/// so many without swaps too, so that the two can be compared.
fn live(condition: &Condition) -> u32 {
    condition.routes.div_ceil(2)
}

/// A command line under construction.
struct Arguments(Vec<OsString>);

impl Arguments {
    fn new(library: &Path, port: u16) -> Self {
        let mut arguments = Self(vec!["--library".into(), library.into()]);
        arguments.option("--port", port);
        arguments
    }

    fn option(&mut self, name: &str, value: impl ToString) {
        self.0.extend([name.into(), value.to_string().into()]);
    }

    fn flag(&mut self, name: &str) {
        self.0.push(name.into());
    }
}

fn start(
    places: &Places,
    side: Side,
    program: &Path,
    arguments: Arguments,
    environment: Vec<(&'static str, String)>,
    cpus: &Cpus,
) -> Result<Process, Failure> {
    let (program, arguments) = places.network.command(side, program, arguments.0);
    Process::spawn(&program, arguments, environment, cpus).map_err(|error| Failure {
        what: format!("{error:#}"),
        place: "starting a process".to_owned(),
        next: "build the programs under test again with `make peers`".to_owned(),
    })
}

/// Tells the receivers how much to wait for, and collects their results.
fn finish(sent: &[SenderResult], receivers: &[Process]) -> Result<Vec<ReceiverResult>, NoResult> {
    let accepted: u64 = sent
        .iter()
        .map(|result| result.warm_up.ok + result.measured.ok)
        .sum();
    match receivers {
        [only] => only.say(&format!("finish {accepted}")),
        // Who gets how many is the library's business: silence tells.
        several => several.iter().for_each(|receiver| receiver.say("finish")),
    }
    let mut results = Vec::new();
    // A receiver that is slower than the senders has its queue to work off.
    let deadline = Instant::now() + SILENCE + TO_FINISH * 4;
    for receiver in receivers {
        match await_event(receiver, deadline, "receiving the last messages", None)? {
            Event::Receiver(result) => results.push(*result),
            _ => return Err(unexpected(receiver, "receiving the last messages").into()),
        }
    }
    Ok(results)
}

/// The next event that is more than a sign of life.
fn await_event(
    process: &Process,
    deadline: Instant,
    phase: &str,
    stop: Option<&Stop>,
) -> Result<Event, NoResult> {
    let begun = Instant::now();
    loop {
        if stop.is_some_and(Stop::asked) {
            return Err(NoResult::Stopped);
        }
        let until = deadline.min(Instant::now() + LOOK);
        if let Some(event) = poll_event(process, until, phase)? {
            return Ok(event);
        }
        if Instant::now() >= deadline {
            return Err(late(process, phase, deadline - begun).into());
        }
    }
}

/// The next event, if there is one until then. An error event is an error.
fn poll_event(process: &Process, until: Instant, phase: &str) -> Result<Option<Event>, NoResult> {
    loop {
        match process.output(until.saturating_duration_since(Instant::now())) {
            Output::Silence => return Ok(None),
            Output::End => return Err(ended(process, phase).into()),
            Output::Line(line) => match parse(process, &line)? {
                // Also a library that prints without end must not keep us.
                Event::Noise if Instant::now() >= until => return Ok(None),
                Event::Noise => {}
                Event::Error { what, place } => {
                    return Err(Failure {
                        what: format!("{what}, said {}", process.name()),
                        place: with_words(process, &place),
                        next: String::new(),
                    }
                    .into());
                }
                event => return Ok(Some(event)),
            },
        }
    }
}

fn parse(process: &Process, line: &str) -> Result<Event, Failure> {
    Event::parse(line).map_err(|error| Failure {
        what: format!("a line of {} is not understood: {error}", process.name()),
        place: line.chars().take(120).collect(),
        next: "are lab and peers of the same version? `make peers` builds them again".to_owned(),
    })
}

fn with_words(process: &Process, place: &str) -> String {
    let words = process.last_words();
    if words.is_empty() {
        place.to_owned()
    } else {
        format!("{place}: {words}")
    }
}

/// What a library calls critical: `... [CRIT] text`, without what the log puts in front.
fn own_words(words: &str) -> Option<String> {
    const CRITICAL: &str = "[CRIT] ";
    let line = words.split(" | ").find(|line| line.contains(CRITICAL))?;
    line.split(CRITICAL).nth(1).map(str::to_owned)
}

fn ended(process: &Process, phase: &str) -> Failure {
    let ending = process.wait(Duration::from_secs(1)).map_or_else(
        || "closed its output".to_owned(),
        |ending| format!("ended with {ending}"),
    );
    Failure {
        what: format!("{} {ending}, {phase}", process.name()),
        place: with_words(process, "its last words"),
        next: String::new(),
    }
}

fn late(process: &Process, phase: &str, allowed: Duration) -> Failure {
    Failure {
        what: format!(
            "{} said nothing for {} s, {phase}",
            process.name(),
            allowed.as_secs()
        ),
        place: with_words(process, "its last words"),
        next: "it was killed".to_owned(),
    }
}

fn unexpected(process: &Process, phase: &str) -> Failure {
    Failure {
        what: format!("{} spoke out of turn, {phase}", process.name()),
        place: process.last_words(),
        next: "are lab and peers of the same version? `make peers` builds them again".to_owned(),
    }
}

fn no_room(error: &std::io::Error) -> Failure {
    Failure {
        what: error.to_string(),
        place: "preparing a run".to_owned(),
        next: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_librarys_reason_is_found_among_its_words() {
        let words = "1795 22/RMR [INFO] hello | 1795 22/RMR [CRIT] no such transport | bye";
        assert_eq!(own_words(words).as_deref(), Some("no such transport"));
        assert_eq!(own_words("nothing to say"), None);
    }
}
