//! The stages together, in time that the test makes: minutes pass in milliseconds, the same each
//! time.
#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own: it reads its clock"
)]

use corewire_mesh::config::{
    Backoff, LbPolicy, OutlierByRate, OutlierPolicy, RetryOn, RetryPolicy,
};
use corewire_mesh::policy::balance::latency::PeakEwma;
use corewire_mesh::policy::balance::{Balancer, Host, HostState, Hosts, Settings};
use corewire_mesh::policy::outcome::Outcome;
use corewire_mesh::policy::protect::outlier::{self, Record};
use corewire_mesh::policy::protect::retry::{Next, Tries};
use corewire_mesh::policy::random::{Random, SplitMix};
use corewire_mesh::policy::timeline::Timeline;
use corewire_message::Code;
use std::time::{Duration, Instant};

const MILLI: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// A cluster without a network: each endpoint answers as the scenario says.
struct World {
    now: Instant,
    random: SplitMix,
    keys: Vec<String>,
    records: Vec<Record>,
    latencies: Vec<PeakEwma>,
    balancer: Balancer,
    settings: Settings,
    outlier: OutlierPolicy,
    next_sweep: Instant,
    tries: Vec<u32>,
}

struct View<'a>(&'a World);

impl Hosts for View<'_> {
    fn usable(&self, _host: u32) -> bool {
        true
    }

    fn in_flight(&self, _host: u32) -> u32 {
        0
    }

    fn latency_cost(&self, host: u32, weight: u32) -> f64 {
        self.0.latencies[host as usize].cost(self.0.now, 0, weight)
    }
}

impl World {
    fn new(count: usize, lb: LbPolicy, outlier: OutlierPolicy) -> Self {
        let now = Instant::now();
        let timeline = Timeline::new(now);
        let mut world = Self {
            now,
            random: SplitMix::new(11),
            keys: (0..count)
                .map(|number| format!("10.0.0.{number}:80"))
                .collect(),
            records: (0..count).map(|_| Record::new(timeline)).collect(),
            latencies: (0..count).map(|_| PeakEwma::new(timeline)).collect(),
            balancer: Balancer::empty(),
            settings: Settings {
                lb,
                overprovisioning: 140,
                panic_threshold: 50,
            },
            outlier,
            next_sweep: now,
            tries: vec![0; count],
        };
        world.rebalance();
        world
    }

    fn rebalance(&mut self) {
        let hosts: Vec<_> = self
            .keys
            .iter()
            .zip(&self.records)
            .map(|(key, record)| Host {
                key,
                weight: 1,
                priority: 0,
                locality: 0,
                locality_weight: 1,
                state: if record.is_ejected() {
                    HostState::Ill
                } else {
                    HostState::Healthy
                },
            })
            .collect();
        self.balancer = Balancer::new(self.settings, &hosts, None, &mut self.random);
    }

    /// What a keeper does when time has passed.
    fn pass(&mut self, time: Duration) {
        self.now += time;
        let records: Vec<_> = self.records.iter().collect();
        let changed = if self.now >= self.next_sweep {
            self.next_sweep = self.now + self.outlier.interval;
            let swept = outlier::sweep(&self.outlier, &records, self.now, &mut self.random);
            !swept.ejected.is_empty() || !swept.readmitted.is_empty()
        } else {
            !outlier::readmit(&records, self.now).is_empty()
        };
        if changed {
            self.rebalance();
        }
    }

    /// One request with its retries; `answer` says how an endpoint takes it.
    fn request(
        &mut self,
        policy: Option<&RetryPolicy>,
        mut answer: impl FnMut(u32, &mut SplitMix) -> (Outcome, Duration),
    ) -> Outcome {
        let deadline = self.now + SECOND;
        let mut tries = Tries::new(policy);
        loop {
            let mut random = self.random.clone();
            let host = self.balancer.pick(None, &mut random, &View(self)).unwrap();
            self.random = random;
            self.tries[host as usize] += 1;
            let (outcome, took) = answer(host, &mut self.random);
            let record = &self.records[host as usize];
            self.latencies[host as usize].observe(self.now, took);
            if let Some(verdict) = outcome.verdict()
                && record.note(&self.outlier, verdict).is_some()
                && !record.is_ejected()
            {
                let ejected = self.records.iter().filter(|it| it.is_ejected()).count();
                if outlier::may_eject(&self.outlier, ejected, self.records.len()) {
                    record.eject(&self.outlier, self.now, &mut self.random);
                    self.rebalance();
                }
            }
            if outcome.is_success() {
                return outcome;
            }
            match tries.ended(outcome, true, self.now, deadline, &mut self.random) {
                Next::End => return outcome,
                Next::Elsewhere => {}
                Next::Again(wait) => self.pass(wait),
            }
        }
    }
}

fn retries() -> RetryPolicy {
    RetryPolicy {
        on: RetryOn::SERVER_ERROR,
        num_retries: 2,
        backoff: Backoff {
            base: 5 * MILLI,
            max: 50 * MILLI,
        },
        ..RetryPolicy::default()
    }
}

/// One of ten endpoints is broken for ten minutes, at 100 requests a second: callers notice next to
/// nothing, and it is asked ever more rarely, until it is well again.
#[test]
fn a_broken_endpoint_costs_a_few_requests_and_then_nearly_none() {
    let mut world = World::new(10, LbPolicy::RoundRobin, OutlierPolicy::default());
    let broken = |host, _: &mut SplitMix| match host {
        3 => (Outcome::answered(Code::Internal), MILLI),
        _ => (Outcome::answered(Code::Ok), MILLI),
    };
    let (mut failed, policy) = (0, retries());
    for _ in 0..100 * 600 {
        let outcome = world.request(Some(&policy), broken);
        failed += u32::from(!outcome.is_success());
        world.pass(10 * MILLI);
    }
    assert_eq!(failed, 0, "each is answered by another endpoint");
    // 30, 60, 90 ... seconds: five failures, then out, each time for longer.
    assert!((10..=35).contains(&world.tries[3]), "{}", world.tries[3]);

    world.tries.fill(0);
    let well = |_, _: &mut SplitMix| (Outcome::answered(Code::Ok), MILLI);
    for _ in 0..100 * 600 {
        world.request(None, well);
        world.pass(10 * MILLI);
    }
    assert!(world.tries[3] > 2000, "it is used again: {:?}", world.tries);
}

/// All endpoints falter at once: a tenth of the answers are failures, everywhere. Nobody is to be
/// left out for what all do.
#[test]
fn what_all_do_makes_no_outlier_by_rate() {
    let policy = OutlierPolicy {
        consecutive_5xx: None,
        success_rate: Some(OutlierByRate {
            threshold: 1900,
            enforcing: 100,
            minimum_hosts: 5,
            request_volume: 100,
        }),
        ..OutlierPolicy::default()
    };
    let mut world = World::new(10, LbPolicy::RoundRobin, policy);
    let mut ejected = 0;
    for request in 0..100 * 120 {
        world.request(None, |_, random| {
            let fails = random.happens(1, 10);
            let code = if fails { Code::Unavailable } else { Code::Ok };
            (Outcome::answered(code), MILLI)
        });
        world.pass(10 * MILLI);
        if request % 1000 == 999 {
            ejected += world.records.iter().filter(|it| it.is_ejected()).count();
        }
    }
    // One endpoint of ten may look bad by chance at times, never many: the mean moves with them.
    assert!(ejected <= 12, "{ejected} in twelve looks at ten endpoints");
}

/// One endpoint becomes fifty times slower for a minute: a latency-aware balancer goes round it and
/// comes back.
#[test]
fn a_slow_endpoint_is_avoided_while_it_is_slow() {
    let mut world = World::new(5, LbPolicy::LatencyAware, OutlierPolicy::default());
    let share = |world: &mut World, slow: bool| {
        world.tries.fill(0);
        for _ in 0..100 * 60 {
            world.request(None, |host, random| {
                let spread = 900 + random.below(200);
                let factor = if slow && host == 1 { 50 } else { 1 };
                let took = Duration::from_micros(spread * factor);
                (Outcome::answered(Code::Ok), took)
            });
            world.pass(10 * MILLI);
        }
        world.tries[1]
    };
    let before = share(&mut world, false);
    let while_slow = share(&mut world, true);
    // It is trusted again little by little: within the first minute here.
    let _recovering = share(&mut world, false);
    let after = share(&mut world, false);
    assert!(before > 600, "about a fifth of 6000: {before}");
    assert!(while_slow < 60, "{while_slow}");
    assert!(after > 400, "{after}");
}

/// A service that is down altogether, with retries: each request costs a bounded number of tries.
#[test]
fn a_dead_service_is_not_hammered_by_retries() {
    let mut world = World::new(4, LbPolicy::Random, OutlierPolicy::default());
    let policy = retries();
    for _ in 0..1000 {
        let outcome = world.request(Some(&policy), |_, _| (Outcome::Lost, MILLI));
        assert_eq!(outcome, Outcome::Lost);
        world.pass(10 * MILLI);
    }
    assert_eq!(world.tries.iter().sum::<u32>(), 3000);
    let ejected = world.records.iter().filter(|it| it.is_ejected()).count();
    assert!(ejected <= 1, "a tenth of four, at least one: {ejected}");
}
