//! The qualities: tables 5.1 to 5.4 of the thesis as checks that run. For each framework and each
//! row of table 5.1 something is tried with the framework's own means, and the record holds whether
//! it worked and what was seen.

mod args;
mod availability;
mod development;
mod framework;
mod handshakes;
mod languages;
mod quality;

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use self::availability::Restarted;

pub(crate) use self::args::{EXAMPLES, QualitiesArgs};
pub(crate) use self::framework::Framework;
pub(crate) use self::quality::Quality;

use crate::args::Tls;
use crate::guti::{Ends, Trial, Tried};
use crate::process::CpuPlan;
use crate::record::{Baseline, Cell, Failure, Mode, QUALITY, Record};
use crate::scenario::{Figures, Length, NoResult, Outcome, Plan, Scenario, Step, Turn};
use crate::stop::Stop;

/// Its name on the command line and in the records.
pub(crate) const NAME: &str = "qualities";

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Verdict {
    passed: bool,
    evidence: String,
}

impl Verdict {
    fn passed(evidence: impl Into<String>) -> Self {
        Self::of(true, evidence)
    }

    fn failed(evidence: impl Into<String>) -> Self {
        Self::of(false, evidence)
    }

    fn of(passed: bool, evidence: impl Into<String>) -> Self {
        Self {
            passed,
            evidence: evidence.into(),
        }
    }

    /// Of calls that should all have been answered.
    fn of_calls(what: &str, tried: &Tried) -> Self {
        let Tried {
            requests,
            errors,
            sample,
        } = tried;
        let mut evidence = format!("{what}: {requests} calls answered, {errors} failed");
        if *errors > 0 {
            evidence.push_str(&format!(" ({sample})"));
        }
        Self::of(tried.is_flawless(), evidence)
    }

    /// The same with streams beside the calls.
    fn of_calls_and_streams(what: &str, tried: &Restarted) -> Self {
        let (calls, streams) = (Self::of_calls(what, &tried.calls), &tried.streams);
        let Tried {
            requests,
            errors,
            sample,
        } = streams;
        let mut evidence = format!(
            "{}; {requests} streams went to their end, {errors} failed",
            calls.evidence
        );
        if *errors > 0 {
            evidence.push_str(&format!(" ({sample})"));
        }
        Self::of(calls.passed && streams.is_flawless(), evidence)
    }
}

/// The checks, ready to run.
#[derive(Debug)]
pub(crate) struct Qualities {
    trial: Trial,
    cpus: CpuPlan,
    patience: Duration,
}

impl Qualities {
    /// # Errors
    /// When the programs under test are not there.
    pub(crate) fn new(args: &QualitiesArgs) -> anyhow::Result<Self> {
        let cpus = CpuPlan::choose(args.common.server_cpu)?;
        let patience = Duration::from_secs(args.common.patience);
        Ok(Self {
            trial: Trial::new(args.peers.peers_dir.as_deref(), cpus.clone(), patience)?,
            cpus,
            patience,
        })
    }

    /// What the user should know about the choice of cores.
    pub(crate) fn caveat(&self) -> Option<&str> {
        self.cpus.caveat.as_deref()
    }

    fn check(
        &self,
        framework: Framework,
        quality: Quality,
        stop: &Stop,
    ) -> Result<Verdict, NoResult> {
        match quality {
            Quality::HighAvailability => self.availability(framework, stop),
            Quality::BackCompatibility => self.compatibility(framework, stop),
            Quality::CrossLanguage => {
                languages::check(framework, &self.trial, &self.cpus, self.patience, stop)
            }
            Quality::Streaming => self.call(framework, framework.streaming(), "a stream", stop),
            Quality::Asynchronous => {
                let adapter = framework.asynchronous();
                self.call(framework, adapter, "asynchronous calls", stop)
            }
            Quality::Tls => self.tls(framework, stop),
            Quality::Handshakes => handshakes::check(framework, &self.trial, stop),
            Quality::Development => Ok(development::check(framework, &self.trial)?),
        }
    }

    fn availability(&self, framework: Framework, stop: &Stop) -> Result<Verdict, NoResult> {
        let what = "two servers restarted one after the other under load";
        if framework == Framework::Corewire {
            let tried = availability::corewire(&self.cpus, self.patience, stop)?;
            return Ok(Verdict::of_calls_and_streams(what, &tried));
        }
        match self.trial.restarted(framework.plain(), stop) {
            Ok(tried) => Ok(Verdict::of_calls(what, &tried)),
            Err(NoResult::Failed(failure)) => Ok(Verdict::failed(failure.to_string())),
            Err(NoResult::Stopped) => Err(NoResult::Stopped),
        }
    }

    /// Old client with new server, and the reverse.
    fn compatibility(&self, framework: Framework, stop: &Stop) -> Result<Verdict, NoResult> {
        let mut verdicts = Vec::new();
        for (ends, what) in [
            (Ends::OldClientNewServer, "old client, new server"),
            (Ends::NewClientOldServer, "new client, old server"),
        ] {
            verdicts.push(self.tried(what, framework.plain(), Tls::Off, ends, stop)?);
        }
        let evidence: Vec<&str> = verdicts.iter().map(|it| it.evidence.as_str()).collect();
        Ok(Verdict::of(
            verdicts.iter().all(|verdict| verdict.passed),
            format!("fields added and removed: {}", evidence.join("; ")),
        ))
    }

    /// With an adapter that is made so, if the framework has one.
    fn call(
        &self,
        framework: Framework,
        adapter: Result<&str, &str>,
        what: &str,
        stop: &Stop,
    ) -> Result<Verdict, NoResult> {
        match adapter {
            Err(why) => Ok(Verdict::failed(format!("{}: {why}", framework.name()))),
            Ok(adapter) => {
                let what = format!("{what}, {adapter}");
                self.tried(&what, adapter, Tls::Off, Ends::Today, stop)
            }
        }
    }

    fn tls(&self, framework: Framework, stop: &Stop) -> Result<Verdict, NoResult> {
        let adapter = framework.plain();
        match self.trial.no_tls(adapter) {
            Some(why) => Ok(Verdict::failed(format!("{adapter}: {why}"))),
            None => self.tried("mutual TLS", adapter, Tls::Mutual, Ends::Today, stop),
        }
    }

    /// A trial that fails altogether is a verdict too.
    fn tried(
        &self,
        what: &str,
        adapter: &str,
        tls: Tls,
        ends: Ends,
        stop: &Stop,
    ) -> Result<Verdict, NoResult> {
        match self.trial.run(adapter, tls, ends, stop) {
            Ok(tried) => Ok(Verdict::of_calls(what, &tried)),
            Err(NoResult::Failed(failure)) => Ok(Verdict::failed(format!("{what}: {failure}"))),
            Err(NoResult::Stopped) => Err(NoResult::Stopped),
        }
    }

    fn step(&self, framework: Framework, quality: Quality) -> Step {
        let expected = match quality {
            Quality::HighAvailability => Duration::from_secs(6),
            Quality::Handshakes => Duration::from_secs(8),
            _ => Duration::from_secs(1),
        };
        Step {
            cell: cell(framework, quality),
            repetition: 1,
            length: Length::Fixed(expected),
            expected,
            hole: self.hole(framework, quality),
        }
    }

    /// Why a check cannot be made here.
    fn hole(&self, framework: Framework, quality: Quality) -> Option<Failure> {
        self.trial
            .hole(framework.plain())
            .or_else(|| match quality {
                Quality::BackCompatibility if !self.trial.has_next() => Some(Failure {
                    what: "corewire-peer-next-server and -client are not there".to_owned(),
                    place: "the folder of the programs under test".to_owned(),
                    next: "`make peers` builds them where gRPC and Thrift are installed".to_owned(),
                }),
                Quality::CrossLanguage => languages::hole(framework),
                _ => None,
            })
    }
}

fn cell(framework: Framework, quality: Quality) -> Cell {
    Cell {
        scenario: NAME.to_owned(),
        subject: framework.name().to_owned(),
        mode: Mode::NoRate,
        rate: None,
        payload_bytes: 0,
        clients: 1,
        connections: 1,
        settings: [(QUALITY.to_owned(), quality.name().to_owned())].into(),
    }
}

impl Scenario for Qualities {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(&mut self, dir: &Path) -> anyhow::Result<()> {
        self.trial.prepare(dir)
    }

    fn plan(&self) -> Plan {
        let turns = Quality::ALL.map(|quality| Turn {
            title: quality.name().to_owned(),
            steps: Framework::ALL
                .map(|framework| self.step(framework, quality))
                .into(),
            overhead: Duration::ZERO,
        });
        Plan {
            turns: turns.into(),
            budget: None,
            notes: Vec::new(),
            ..Plan::default()
        }
    }

    fn holes_are_failures(&self) -> bool {
        false
    }

    fn options(&self) -> Map<String, Value> {
        let cpus = [
            ("server_cpus", &self.cpus.server),
            ("client_cpus", &self.cpus.client),
        ];
        cpus.map(|(name, cpus)| (name.to_owned(), cpus.to_string().into()))
            .into_iter()
            .collect()
    }

    fn has_baseline(&self) -> bool {
        false
    }

    fn baseline(&mut self, _stop: &Stop) -> Result<Baseline, Failure> {
        Err(Failure {
            what: "nothing is compared with the network".to_owned(),
            place: NAME.to_owned(),
            next: String::new(),
        })
    }

    fn run(&mut self, step: &Step, stop: &Stop) -> Outcome {
        let quality = step.cell.settings.get(QUALITY).map(String::as_str);
        let quality = Quality::ALL
            .into_iter()
            .find(|it| Some(it.name()) == quality);
        let subject = step.cell.subject.as_str();
        let framework = Framework::ALL.into_iter().find(|it| it.name() == subject);
        let (Some(framework), Some(quality)) = (framework, quality) else {
            unreachable!("a plan is made of these");
        };
        match self.check(framework, quality, stop) {
            Ok(verdict) => {
                let mut outcome = Outcome::of(Ok(Figures::Checked));
                outcome.extra = extra(quality, &verdict);
                outcome
            }
            Err(NoResult::Failed(failure)) => Outcome::failed(failure),
            Err(NoResult::Stopped) => Outcome::of(Ok(Figures::Nothing)),
        }
    }
}

fn extra(quality: Quality, verdict: &Verdict) -> Map<String, Value> {
    let mut extra = Map::new();
    extra.insert(QUALITY.to_owned(), quality.name().into());
    extra.insert("passed".to_owned(), verdict.passed.into());
    extra.insert("evidence".to_owned(), verdict.evidence.clone().into());
    extra
}

/// Whether a check passed, and what was seen; `None` where it could not be made.
pub(crate) fn verdict(record: &Record) -> Option<(bool, &str)> {
    let passed = record.extra.get("passed")?.as_bool()?;
    let evidence = record.extra.get("evidence")?.as_str()?;
    Some((passed, evidence))
}
