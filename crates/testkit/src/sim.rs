//! The third driver of the protocol cores: one thread, a clock that jumps, a network made of
//! settings, all of it the same for the same seed.
//!
//! No socket, no real time: ten seconds of keep-alive pass in microseconds, and a call that fails
//! under seed 7 fails under seed 7 always. A simulation that panics prints its seed;
//! `COREWIRE_SIM_SEED=7 cargo test NAME` then runs that one alone wherever [`seeds`] is used.
//!
//! Beyond driving, it holds cores to their contract and panics when they break it: a call ends
//! exactly once, at the latest when its connection does, and nothing is told of a call that was
//! given up.
//!
//! ```
//! use corewire_message::{CallContext, Caller, Operation, Request, Response, Service};
//! use corewire_testkit::sim::{Chunks, Link, Sim};
//! use corewire_wire::native;
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! struct Echo;
//! impl Service for Echo {
//!     async fn call(&self, _context: &CallContext, request: Request) -> Response {
//!         Response::ok(request.body)
//!     }
//! }
//!
//! let mut sim = Sim::new(7);
//! let (smf, amf) = (sim.node("smf"), sim.node("amf"));
//! sim.set_link(smf, amf, Link {
//!     latency: Duration::from_millis(1),
//!     chunks: Chunks::Exactly(1),
//!     ..Link::default()
//! });
//! sim.serve(amf, Arc::new(Echo), |kind_of, now| {
//!     Box::new(native::Connection::server(native::Config::default(), kind_of, now))
//! });
//! let client = sim.connect(smf, amf, |now| {
//!     Box::new(native::Connection::client(native::Config::default(), now))
//! });
//!
//! let request = Request::new(Operation::from_static("test/Echo")).with_body("hello".to_owned());
//! let response = sim.run(client.call(request)).unwrap();
//! assert_eq!(response.body.into_bytes(), "hello");
//! // Connecting took a round trip, the call another.
//! assert_eq!(sim.elapsed(), Duration::from_millis(4));
//! ```

mod client;
mod connection;
mod dispatch;
mod executor;
mod link;
mod network;
mod random;
mod service;
mod stream;
mod world;

pub use client::Client;
pub use link::{Chunks, Link, OnLoss};
pub use network::Network;
pub use random::Random;

use executor::Executor;
use service::SimService;
use std::future::Future;
use std::ops::{Deref, Range};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use world::World;

/// How much simulated time one [`Sim::run`] may take: what waits longer waits for ever.
const LONGEST_RUN: Duration = Duration::from_secs(3600);

/// How many steps may happen without time passing: more is a loop without progress.
const MOST_STEPS_AT_ONCE: u64 = 20_000_000;

/// A node of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(usize);

pub(crate) struct Shared {
    world: Mutex<World>,
    executor: Arc<Executor>,
}

/// A simulation: a [`Network`] (by `Deref`) and what makes its time pass.
#[derive(Debug)]
pub struct Sim {
    network: Network,
    seed: u64,
    /// Draws in which order tasks are polled; apart from the network's, so that a task more does
    /// not change every delay.
    order: Random,
}

impl Sim {
    /// An empty network at time zero.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let executor = Arc::new(Executor::default());
        let shared = Arc::new_cyclic(|shared| Shared {
            world: Mutex::new(World::new(seed, shared.clone(), Arc::clone(&executor))),
            executor: Arc::clone(&executor),
        });
        Self {
            network: Network(shared),
            seed,
            order: Random::new(!seed),
        }
    }

    /// The seed that everything is drawn from.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The network, to be held by tasks.
    #[must_use]
    pub fn network(&self) -> Network {
        self.network.clone()
    }

    /// Lets time pass until `future` completes.
    ///
    /// # Panics
    /// When it cannot complete: nothing is due any more, or an hour of simulated time has passed.
    pub fn run<F: Future>(&mut self, future: F) -> F::Output {
        struct Flag(AtomicBool);
        impl Wake for Flag {
            fn wake(self: Arc<Self>) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&flag));
        let mut future = pin!(future);
        let give_up = self.elapsed() + LONGEST_RUN;
        let (mut steps, mut time) = (0, self.elapsed());
        loop {
            if flag.0.swap(false, Ordering::Relaxed)
                && let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker))
            {
                return output;
            }
            if self.network.0.executor.run_one(&mut self.order) || flag.0.load(Ordering::Relaxed) {
                continue;
            }
            let mut world = self.network.world();
            assert!(
                world.next_due().is_some(),
                "what is awaited never comes: nothing is due any more"
            );
            world.step();
            drop(world);
            let now = self.elapsed();
            assert!(
                now <= give_up,
                "what is awaited has not come in {LONGEST_RUN:?} of simulated time"
            );
            steps = if now > time { 0 } else { steps + 1 };
            time = now;
            assert!(
                steps < MOST_STEPS_AT_ONCE,
                "{steps} steps without time passing: a loop without progress"
            );
        }
    }

    /// Lets so much time pass.
    pub fn run_for(&mut self, duration: Duration) {
        let sleep = crate::clock::Clock::sleep(&self.network, duration);
        self.run(sleep);
    }
}

impl Deref for Sim {
    type Target = Network;

    fn deref(&self) -> &Network {
        &self.network
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the simulation's seed was {}", self.seed);
        }
        // Tasks hold the network and the network holds the tasks.
        self.network.0.executor.clear();
    }
}

/// Runs a test once for each seed; with `COREWIRE_SIM_SEED` in the environment, for that one only.
///
/// # Panics
/// When the variable is not a number, and whenever the test does.
pub fn seeds(range: Range<u64>, test: impl Fn(u64)) {
    match std::env::var("COREWIRE_SIM_SEED") {
        Ok(seed) => test(seed.parse().expect("COREWIRE_SIM_SEED is a number")),
        Err(_) => range.for_each(test),
    }
}
