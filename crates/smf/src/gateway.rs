//! An SMF gateway: sends SM-Context-Create requests at a rate or as fast as they are answered, and
//! measures them.

mod in_flight;
mod load;
mod measured;
mod pacer;
mod schedule;

use crate::clock::now_ns;
use crate::inline;
use crate::report;
use crate::sm_context::{CREATE, REQUEST_OCTETS, create_data};
use crate::target::{RoundRobin, Target, transport};
use crate::tls::TlsArgs;
use anyhow::Context as _;
use clap::Args;
use corewire::{Body, Caller, EventLoop, LoopHandle, Request};
use corewire_observe::outln;
use load::{Outcome, Plan};
use pacer::Pace;
use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Between two attempts to reach a service that is not there yet.
const AGAIN: Duration = Duration::from_micros(500);

/// Run an SMF gateway that sends SM-Context-Create requests and measures them
#[derive(Debug, Args)]
pub struct GatewayArgs {
    /// The replicas: ADDRESS[,ADDRESS...], in turn; fixed:ADDRESS[,ADDRESS...], through the stages of
    /// the mesh but without a control plane; or xds:///SERVICE, as the control plane says
    #[arg(long, value_name = "TARGET")]
    target: Target,
    /// What carries requests: rest, grpc, native or shm [default: that of COREWIRE_TRANSPORT, else
    /// rest]. In a mesh, routes and the registry have the first word
    #[arg(long, value_name = "NAME")]
    transport: Option<String>,
    /// Requests a second, open loop; `max`: closed loop, as fast as answers come
    #[arg(long, value_name = "RATE|max", default_value = "1500", value_parser = parse_rate)]
    rate: Rate,
    /// Requests in flight with --rate max
    #[arg(long, value_name = "N", default_value_t = 60,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    in_flight: u32,
    /// Octets of a request
    #[arg(long, value_name = "OCTETS", default_value_t = REQUEST_OCTETS)]
    payload: usize,
    /// Seconds measured
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = parse_seconds)]
    duration: f64,
    /// Seconds before that, not measured
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = parse_seconds)]
    warmup: f64,
    /// Seconds that the service may take to be reached
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = parse_seconds)]
    patience: f64,
    /// Requests before the warm-up, one after another, so that every replica is connected
    /// [default: one for each address]
    #[arg(long, value_name = "N")]
    connect: Option<u32>,
    /// Tell whenever another replica answers than before, by the names that they have; needs --json
    #[arg(long, requires = "json")]
    watch: bool,
    /// As h2load does it: requests all alike, without the two fields that change from one to the next,
    /// the correlation and the time of sending, and each replica of a list keeps its share of those in
    /// flight. No time on the way is measured then
    #[arg(long)]
    alike: bool,
    #[command(flatten)]
    tls: TlsArgs,
    /// Print JSON events for a program
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug)]
enum Rate {
    Max,
    PerSecond(f64),
}

fn parse_rate(text: &str) -> Result<Rate, String> {
    if text == "max" {
        return Ok(Rate::Max);
    }
    match text.parse() {
        Ok(rate) if rate > 0.0 && rate <= 1e7 => Ok(Rate::PerSecond(rate)),
        _ => Err("max, or requests a second, above 0 and up to 10000000".into()),
    }
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.0..=1e6).contains(&seconds) => Ok(seconds),
        _ => Err("seconds, from 0 to 1000000".into()),
    }
}

impl GatewayArgs {
    /// Sends, measures, and prints the result.
    ///
    /// # Errors
    /// When the service cannot be reached, or an option makes no sense.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let json = self.json;
        report::told(json, "smf-gateway", self.measure())
    }

    fn measure(self) -> anyhow::Result<ExitCode> {
        let begun_ns = now_ns();
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
        }
        let mut event_loop = EventLoop::new()?;
        let handle = event_loop.handle();
        let protocol = self.transport.as_deref();
        match &self.target {
            Target::Addresses(addresses) => {
                let protocol = transport(protocol)?;
                let options = self.tls.client()?;
                let replicas = RoundRobin::new(addresses, protocol, &options, &handle)?;
                let connections = addresses.len();
                if self.alike {
                    let replicas = replicas.clients();
                    let drive = self.drive(replicas, &handle, connections, begun_ns, &stop);
                    event_loop.block_on(drive)?
                } else {
                    let replicas = std::slice::from_ref(&replicas);
                    let drive = self.drive(replicas, &handle, connections, begun_ns, &stop);
                    event_loop.block_on(drive)?
                }
            }
            Target::Fixed(addresses) => {
                let channel = inline::fixed(addresses, protocol, self.tls.client()?, &handle)?;
                let connections = addresses.len();
                let channel = std::slice::from_ref(&channel);
                let drive = self.drive(channel, &handle, connections, begun_ns, &stop);
                event_loop.block_on(drive)?
            }
            Target::Service(name) => {
                let channel = inline::named(name, protocol, self.tls.client()?, &handle)?;
                let channel = std::slice::from_ref(&channel);
                let drive = self.drive(channel, &handle, 1, begun_ns, &stop);
                event_loop.block_on(drive)?
            }
        }
    }

    /// The same whatever the callers are.
    async fn drive<C: Caller>(
        &self,
        callers: &[C],
        event_loop: &LoopHandle,
        connections: usize,
        begun_ns: u64,
        stop: &AtomicBool,
    ) -> anyhow::Result<ExitCode> {
        let first_answer = self.first_answer(&callers[0], event_loop, stop).await?;
        // One for each replica, so that every connection stands before the warm-up.
        let connect = self.connect.map_or(connections, |calls| calls as usize);
        for number in 1..connect {
            self.ask(&callers[number % callers.len()])
                .await
                .context("connecting to every replica")?;
        }
        self.say("connected");
        let plan = Plan {
            pace: match self.rate {
                Rate::Max => Pace::InFlight(self.in_flight as usize),
                Rate::PerSecond(rate) => Pace::Rate(rate),
            },
            warmup: Duration::from_secs_f64(self.warmup),
            window: Duration::from_secs_f64(self.duration),
            payload: self.payload,
            watch: self.watch,
            alike: self.alike,
        };
        let begun = || self.say("measuring");
        let outcome = load::run(callers, plan, event_loop, stop, begun).await;
        let first_ns = first_answer.saturating_sub(begun_ns);
        if self.json {
            report::event(&self.result(&outcome, connections, first_ns));
        } else {
            outln!("{}", in_words(&outcome, first_ns))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn ask<C: Caller>(&self, caller: &C) -> Result<(), corewire::CallError> {
        let request = Request::new(CREATE).with_body(Body::from(create_data(self.payload)));
        caller.call(request).await.map(drop)
    }

    /// Asks until there is an answer; gives when it came.
    async fn first_answer<C: Caller>(
        &self,
        caller: &C,
        event_loop: &LoopHandle,
        stop: &AtomicBool,
    ) -> anyhow::Result<u64> {
        let deadline = Instant::now() + Duration::from_secs_f64(self.patience);
        loop {
            let error = match self.ask(caller).await {
                Ok(()) => return Ok(now_ns()),
                Err(error) => error,
            };
            if Instant::now() >= deadline || stop.load(Ordering::Relaxed) {
                return Err(anyhow::Error::from(error).context("no replica answers"));
            }
            event_loop.sleep_until(Instant::now() + AGAIN).await;
        }
    }

    fn say(&self, name: &str) {
        if self.json {
            report::event(&json!({"event": name}));
        }
    }

    fn result(&self, outcome: &Outcome, connections: usize, first_answer_ns: u64) -> Value {
        let measured = &outcome.measured;
        let requests = measured.round_trip.count();
        let rate = match self.rate {
            Rate::Max => None,
            Rate::PerSecond(rate) => Some(rate),
        };
        let one_way: Vec<Value> = measured
            .one_way
            .iter()
            .map(|hop| json!({"ns": hop.moments(), "hdr": hop.hdr()}))
            .collect();
        json!({
            "event": "result",
            "protocol": 1,
            "adapter": "smf-gateway",
            "partial": outcome.partial,
            "mode": if rate.is_some() { "rate" } else { "no-rate" },
            "rate": rate,
            "clients": 1,
            "requests": requests,
            "errors": measured.errors,
            "error_sample": measured.error_sample,
            "clients_gave_up": 0,
            "warmup_errors": measured.warmup_errors,
            "duration_s": outcome.duration.as_secs_f64(),
            "connections": connections,
            "payload_bytes": self.payload,
            "request_bytes_total":
                requests * (self.payload + crate::sm_context::ANSWER_OCTETS) as u64,
            "latency_ns": measured.round_trip.moments(),
            "histogram_50us": measured.round_trip.histogram_50us(),
            "hdr": measured.round_trip.hdr(),
            "one_way": one_way,
            "lag_ns": rate.map(|_| json!({
                "mean": measured.lag_sum / measured.sent.max(1) as f64,
                "max": measured.lag_max,
            })),
            "unsent": rate.map(|_| measured.unsent),
            "server_cpu_ns": null,
            "client_cpu_ns": u64::try_from(outcome.cpu.as_nanos()).unwrap_or(u64::MAX),
            "server_threads": null,
            "first_answer_ns": first_answer_ns,
            "versions": report::versions(),
        })
    }
}

/// For people.
fn in_words(outcome: &Outcome, first_answer_ns: u64) -> String {
    let measured = &outcome.measured;
    let micros = |moments: &Value, what: &str| moments[what].as_f64().unwrap_or(0.0) / 1e3;
    let round_trip = measured.round_trip.moments();
    let requests = measured.round_trip.count();
    let mut text = format!(
        "{requests} requests in {:.2} s, {} not answered; round trip mean {:.1} us, max {:.1} us; \
         first answer after {:.1} ms; {:.1} us CPU a request",
        outcome.duration.as_secs_f64(),
        measured.errors,
        micros(&round_trip, "mean"),
        micros(&round_trip, "max"),
        first_answer_ns as f64 / 1e6,
        outcome.cpu.as_secs_f64() * 1e6 / requests.max(1) as f64,
    );
    for (hop, way) in measured.one_way.iter().enumerate() {
        let mean = micros(&way.moments(), "mean");
        text.push_str(&format!("; hop {} one way mean {mean:.1} us", hop + 1));
    }
    if measured.errors > 0 {
        text.push_str(&format!("; one failure: {}", measured.error_sample));
    }
    text
}
