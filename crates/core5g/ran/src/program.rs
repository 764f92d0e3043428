//! `corewire ran`: gNBs and UEs as a program.

use std::io::IsTerminal as _;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand, ValueEnum};
use corewire_guti::Plmn;
use corewire_observe::terminal::write_err;
use corewire_observe::{errln, outln};
use corewire_transport::sctp::{Carrier, Driver};

use signal_hook::consts::{SIGINT, SIGTERM};

use super::driver::{Pace, Pause, Progress, Stop, Told, run};
use super::gnb::{Gnb, GnbConfig};
use super::report::Report;
use super::step::Step;
use super::ue::{Ue, UeConfig};
use corewire_core5g_aka::HomeNetworkPublicKey;
use corewire_core5g_nas::{Snssai, Tac};
use corewire_core5g_ngap::GnbId;
use corewire_core5g_runtime::trace::Trace;
use corewire_core5g_subscribers::SubscriberFile;

/// Octets of a UDP datagram's port that RFC 6951 names.
const ENCAPSULATION: u16 = 9899;
/// The UDP port of a simulated RAN, beside the AMF's on the same machine.
const RAN_ENCAPSULATION: u16 = 9898;

/// The exit code of a run that a signal has ended.
const INTERRUPTED: u8 = 130;

/// What simulated gNBs and UEs do.
#[derive(Debug, Args)]
pub struct RanArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// UEs register, establish a session, and check everything that they get
    #[command(after_help = "\
Examples:
  corewire ran attach --ues 10
  corewire ran attach --ues 1000 --rate 100 --detach --json
  corewire ran attach --steps registration,session,idle,service,modification,release,detach

Steps: registration (by SUCI), reregistration (by GUTI), periodic, session, modification, release,
idle (AN release), service (service request), wait (--wait), detach, switch-off.
The exit code is 1 when any UE failed. Ctrl-C (or SIGTERM) names the UEs that are attached and
detaches them, exit code 130; a second one ends the program at once.")]
    Attach(AttachArgs),
}

#[derive(Debug, Args)]
struct AttachArgs {
    /// UEs
    #[arg(long, default_value_t = 1, value_name = "N")]
    ues: usize,
    /// New UEs a second [default: as fast as --at-once allows]
    #[arg(long, value_name = "R")]
    rate: Option<f64>,
    /// UEs in the middle of their steps at a time
    #[arg(long, default_value_t = 100, value_name = "N")]
    at_once: usize,
    /// The AMF
    #[arg(long, default_value = "127.0.0.1:38412", value_name = "ADDRESS")]
    amf: String,
    /// What carries N2: sctp (over IP), udp (SCTP in UDP) or tcp (records, for tests); as `core up` has it
    #[arg(long, value_enum, default_value_t = N2::Tcp)]
    n2: N2,
    /// The file that the UDM has, TOML [default: the test subscribers of the UDM]
    #[arg(long, value_name = "FILE")]
    subscribers: Option<PathBuf>,
    /// The first subscriber of the file that is used, counting from 0
    #[arg(long, default_value_t = 0, value_name = "N")]
    first: u64,
    /// What each UE does, in order [default: registration,session]
    #[arg(long, value_delimiter = ',', value_name = "STEP")]
    steps: Vec<Step>,
    /// Add the step detach
    #[arg(long)]
    detach: bool,
    /// gNBs, one thread and one association each; they share the UEs
    #[arg(long, default_value_t = 1, value_name = "N")]
    gnbs: usize,
    /// The network, MCC and MNC
    #[arg(long, default_value = "001-01", value_name = "PLMN")]
    plmn: Plmn,
    /// The tracking area of the gNBs
    #[arg(long, default_value_t = 1, value_name = "TAC")]
    tac: u32,
    /// The slice of the sessions: SST or SST-SD, hexadecimal
    #[arg(long, default_value = "01", value_name = "SLICE")]
    slice: Snssai,
    /// The data network of the sessions
    #[arg(long, default_value = "internet", value_name = "DNN")]
    dnn: String,
    /// Conceal SUPIs with this home network public key, ID:A:HEX or ID:B:HEX [default: null scheme]
    #[arg(long, value_name = "KEY")]
    home_network_key: Option<String>,
    /// USIMs are ahead of the home network: every first challenge must be resynchronised
    #[arg(long)]
    resynchronise: bool,
    /// Seconds that a step may take
    #[arg(long, default_value_t = 10.0, value_name = "SECONDS")]
    patience: f64,
    /// When all UEs have come as far as this step, say {"event":"paused"} and wait for a line on
    /// standard input
    #[arg(long, value_name = "STEP")]
    pause_before: Option<Step>,
    /// Write when steps began and ended, and every message on N2, to this file
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Seconds that the step wait is
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    wait: f64,
    /// Seconds to stay attached when all is done
    #[arg(long, default_value_t = 0.0, value_name = "SECONDS")]
    hold: f64,
    /// One line of JSON instead of the table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum N2 {
    Sctp,
    Udp,
    Tcp,
}

impl RanArgs {
    /// Runs the program.
    ///
    /// # Errors
    /// It cannot begin: options that make no sense, no carrier, no AMF.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Attach(args) => args.run(),
        }
    }
}

impl AttachArgs {
    fn run(self) -> anyhow::Result<ExitCode> {
        let amf = self
            .amf
            .to_socket_addrs()
            .with_context(|| format!("--amf {}", self.amf))?
            .next()
            .with_context(|| format!("--amf {}: no address", self.amf))?;
        let pace = self.pace()?;
        let gnbs = self.build(amf)?;
        let driver = Driver::start(match self.n2 {
            N2::Sctp => Carrier::Raw,
            N2::Udp => Carrier::Udp {
                local: RAN_ENCAPSULATION,
                remote: ENCAPSULATION,
            },
            N2::Tcp => Carrier::Tcp,
        })
        .context("N2")?;
        if !self.json {
            errln!("N2 to {amf}: {}", driver.description());
        }
        let trace = self.trace.as_deref().map(Trace::create).transpose()?;
        let report = self.attach(&driver, amf, pace, gnbs, trace.as_ref());
        if let Some(trace) = trace {
            trace.flush();
        }
        outln!(
            "{}",
            if self.json {
                report.json(self.ues)
            } else {
                report.table(self.ues)
            }
        )?;
        if report.stopped {
            return Ok(ExitCode::from(INTERRUPTED));
        }
        let good = report.finished == self.ues && report.failed() == 0 && report.faults.is_empty();
        Ok(if good {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    fn pace(&self) -> anyhow::Result<Pace> {
        let seconds = |name, value| {
            Duration::try_from_secs_f64(value).with_context(|| format!("{name} {value}"))
        };
        if self.ues == 0 || self.gnbs == 0 || self.at_once == 0 {
            bail!("--ues, --gnbs and --at-once are at least 1");
        }
        if self
            .rate
            .is_some_and(|rate| !rate.is_finite() || rate <= 0.0)
        {
            bail!("--rate is more than 0");
        }
        let gnbs = self.gnbs.min(self.ues);
        Ok(Pace {
            rate: self.rate.map(|rate| rate / gnbs as f64),
            at_once: self.at_once.div_ceil(gnbs),
            hold: seconds("--hold", self.hold)?,
            patience: seconds("--patience", self.patience)?,
        })
    }

    fn build(&self, amf: SocketAddr) -> anyhow::Result<Vec<Gnb>> {
        let file = match &self.subscribers {
            Some(path) => SubscriberFile::read(path)?,
            None => SubscriberFile::parse(&SubscriberFile::example())?,
        };
        let tac = Tac::new(self.tac).context("--tac has more than 24 bits")?;
        let mut script = if self.steps.is_empty() {
            vec![Step::Registration, Step::Session]
        } else {
            self.steps.clone()
        };
        if self.detach {
            script.push(Step::Detach);
        }
        let key = self.home_network_key.as_deref();
        let config = Arc::new(UeConfig {
            plmn: self.plmn,
            script,
            patience: Duration::from_secs_f64(self.patience),
            wait: Duration::try_from_secs_f64(self.wait)
                .with_context(|| format!("--wait {}", self.wait))?,
            snssai: self.slice,
            dnn: self.dnn.clone(),
            home_network_key: key.map(home_network_key).transpose()?,
            resynchronise: self.resynchronise,
        });
        let gnbs = self.gnbs.min(self.ues);
        let mut shares: Vec<Vec<Ue>> = (0..gnbs).map(|_| Vec::new()).collect();
        for number in 0..self.ues {
            let at = self.first + number as u64;
            let (supi, subscriber) = file
                .nth(at)
                .with_context(|| format!("only {} subscribers", file.count()))?;
            shares[number % gnbs].push(Ue::new(Arc::clone(&config), supi, subscriber));
        }
        let gnb = |(number, ues): (usize, Vec<Ue>)| {
            let config = GnbConfig {
                id: GnbId {
                    plmn: self.plmn,
                    value: u32::try_from(number + 1).unwrap_or(u32::MAX),
                    bits: 24,
                },
                tac,
                snssai: self.slice,
                address: amf.ip(),
            };
            Gnb::new(config, ues).pausing_before(self.pause_before)
        };
        Ok(shares.into_iter().enumerate().map(gnb).collect())
    }

    fn attach(
        &self,
        driver: &Driver,
        amf: SocketAddr,
        pace: Pace,
        gnbs: Vec<Gnb>,
        trace: Option<&Trace>,
    ) -> Report {
        let (progress, over) = (Progress::default(), AtomicBool::new(false));
        let pause = Pause::default();
        let stop = match stop_by_signal() {
            Ok(stop) => stop,
            Err(error) => {
                // It can still be killed, which leaves its UEs attached.
                errln!("corewire ran: signals cannot be taken: {error}");
                Arc::default()
            }
        };
        let mut report = Report::default();
        let (progress, over, pause) = (&progress, &over, &pause);
        let told = Told {
            progress,
            trace,
            pause: self.pause_before.map(|_| pause),
            stop: &stop,
        };
        std::thread::scope(|scope| {
            let watched = !self.json && std::io::stderr().is_terminal();
            if watched {
                scope.spawn(move || watch(progress, over, self.ues));
            }
            if self.pause_before.is_some() {
                scope.spawn(move || wait_for_line(pause, over, self.ues));
            }
            let threads: Vec<_> = gnbs
                .into_iter()
                .map(|gnb| scope.spawn(move || run(driver, amf, gnb, pace, told)))
                .collect();
            for thread in threads {
                match thread.join() {
                    Ok(part) => report.merge(part),
                    Err(_) => report.faults.push("a gNB's thread panicked".into()),
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        report
    }
}

/// Takes the signals that end a program: the first lets all UEs detach, the second ends the process at
/// once.
fn stop_by_signal() -> std::io::Result<Arc<Stop>> {
    let stop = Arc::<Stop>::default();
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let asked = Arc::clone(&stop);
    std::thread::spawn(move || {
        let mut forever = signals.forever();
        if forever.next().is_some() {
            errln!("corewire ran: stopping; once more ends it at once and leaves UEs attached");
            asked.ask();
        }
        if forever.next().is_some() {
            std::process::exit(INTERRUPTED.into());
        }
    });
    Ok(stop)
}

/// Says that all UEs wait, and lets them go on when it is told to, or when nobody can tell it.
fn wait_for_line(pause: &Pause, over: &AtomicBool, ues: usize) {
    const LOOK: Duration = Duration::from_millis(1);
    while pause.waiting() < ues {
        if over.load(Ordering::Relaxed) {
            return;
        }
        std::thread::sleep(LOOK);
    }
    let _unread = outln!("{{\"event\":\"paused\"}}");
    let _nobody = std::io::stdin().lines().next();
    pause.end();
}

/// Shows how far it is.
fn watch(progress: &Progress, over: &AtomicBool, ues: usize) {
    const EVERY: Duration = Duration::from_millis(200);
    while !over.load(Ordering::Relaxed) {
        let done = progress.done.load(Ordering::Relaxed);
        let failed = progress.failed.load(Ordering::Relaxed);
        write_err(format_args!("\r{done} of {ues} UEs, {failed} failed "));
        std::thread::sleep(EVERY);
    }
    write_err(format_args!("\r\x1b[K"));
}

/// `ID:A:HEX` or `ID:B:HEX`.
fn home_network_key(text: &str) -> anyhow::Result<(u8, HomeNetworkPublicKey)> {
    let parse = || {
        let (id, rest) = text.split_once(':')?;
        let (profile, hex) = rest.split_once(':')?;
        let octets: Vec<u8> = hex
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect::<Option<_>>()?;
        let key = match profile {
            "A" => HomeNetworkPublicKey::profile_a(octets.as_slice().try_into().ok()?),
            "B" => HomeNetworkPublicKey::profile_b(&octets).ok()?,
            _ => return None,
        };
        Some((id.parse().ok()?, key))
    };
    parse().with_context(|| format!("--home-network-key {text}: ID:A:HEX or ID:B:HEX"))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
