//! Drives the core over gRPC on an event loop of its own.

use super::ads::{AdsCore, Input, Output, StreamId, Variant};
use super::bootstrap::{Bootstrap, BootstrapSource};
use super::mailbox::{ClientOptions, Command, Inbox, Providers, Status};
use super::name::TargetName;
use crate::config::{Resolution, Snapshot, SnapshotSource};
use crate::observe::story;
use corewire_message::{
    Body, CallError, CallStream, Caller, Inbound, Operation, Outbound, Request,
};
use corewire_transport::tls::ClientTls;
use corewire_transport::{Endpoint, EventLoop, LoopHandle};
use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::hash::{BuildHasher, RandomState};
use std::net::ToSocketAddrs;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

const STATE_OF_THE_WORLD: Operation = Operation::from_static(
    "envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
);
const INCREMENTAL: Operation = Operation::from_static(
    "envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources",
);
/// Events that are kept for [`Status`].
const MAX_EVENTS: usize = 64;
/// Messages of one stream that are handled before the others have their turn.
const MESSAGES_A_TURN: usize = 64;

/// What a driver begins with.
pub(super) struct Setup {
    pub(super) source: BootstrapSource,
    pub(super) bootstrap: Option<Bootstrap>,
    pub(super) options: ClientOptions,
    pub(super) inbox: Arc<Inbox>,
    pub(super) published: SnapshotSource,
    pub(super) providers: Arc<Providers>,
}

/// Runs until the client is gone.
pub(super) fn run(mut event_loop: EventLoop, setup: Setup) {
    let handle = event_loop.handle();
    // An error says that the kernel refuses to wait; the last snapshot holds on then.
    let _ = event_loop.block_on(drive(handle, setup));
}

async fn drive(handle: LoopHandle, setup: Setup) {
    let Setup {
        source,
        bootstrap,
        options,
        inbox,
        published,
        providers,
    } = setup;
    let mut waiting = Waiting {
        watched: BTreeMap::new(),
        inbox,
        published,
    };
    let bootstrap = match bootstrap {
        Some(bootstrap) => bootstrap,
        None => match waiting.for_bootstrap(&handle, &source, &options).await {
            Some(bootstrap) => bootstrap,
            None => return,
        },
    };
    // Before anything is published that may need them.
    providers.know(&bootstrap);
    let mut driver = Driver::new(handle, bootstrap, options, waiting);
    driver.run().await;
}

/// The clock, read in one place.
#[expect(clippy::disallowed_methods, reason = "the driver's clock")]
fn clock() -> Instant {
    Instant::now()
}

/// A client that does not know yet whom to ask.
struct Waiting {
    /// How often each target is watched.
    watched: BTreeMap<String, (TargetName, usize)>,
    inbox: Arc<Inbox>,
    published: SnapshotSource,
}

impl Waiting {
    /// Looks for the bootstrap until it is there; `None` when the client is gone.
    async fn for_bootstrap(
        &mut self,
        handle: &LoopHandle,
        source: &BootstrapSource,
        options: &ClientOptions,
    ) -> Option<Bootstrap> {
        let mut attempts = 0;
        let mut reason: Option<Arc<str>> = None;
        loop {
            let next = clock().checked_add(options.bootstrap.interval)?;
            let mut sleep = std::pin::pin!(handle.sleep_until(next));
            let stopped = poll_fn(|cx| {
                while let Some(command) = self.inbox.take(cx.waker()) {
                    if self.command(command, reason.as_ref()) {
                        return Poll::Ready(true);
                    }
                }
                // When nothing more will be looked for, only commands are waited for.
                if attempts >= options.bootstrap.attempts {
                    return Poll::Pending;
                }
                sleep.as_mut().poll(cx).map(|()| false)
            })
            .await;
            if stopped {
                return None;
            }
            attempts += 1;
            match source.read() {
                Ok(bootstrap) => return Some(bootstrap),
                // A file that is being written is not whole yet: it has the same time.
                Err(fault) if attempts >= options.bootstrap.attempts => {
                    reason = Some(fault.to_string().into());
                    self.publish(reason.as_ref());
                }
                Err(_) => {}
            }
        }
    }

    /// Whether the client is gone.
    fn command(&mut self, command: Command, reason: Option<&Arc<str>>) -> bool {
        match command {
            Command::Watch(name) => {
                self.watched.entry(name.key()).or_insert((name, 0)).1 += 1;
                self.publish(reason);
            }
            Command::Unwatch(name) => {
                let key = name.key();
                if let Some((_, count)) = self.watched.get_mut(&key) {
                    *count -= 1;
                    if *count == 0 {
                        self.watched.remove(&key);
                    }
                }
                self.publish(reason);
            }
            Command::Status(sender) => {
                let text = reason.map_or("waits for its bootstrap", |it| it);
                // Nothing is lost when the receiver has gone.
                let _ = sender.try_send(Status {
                    events: vec![(Duration::ZERO, text.to_owned())],
                    ..Status::default()
                });
            }
            Command::Resolved { .. } => {}
            Command::Stop => return true,
        }
        false
    }

    fn publish(&self, reason: Option<&Arc<str>>) {
        let mut snapshot = Snapshot::default();
        for key in self.watched.keys() {
            let state = reason.map_or(Resolution::Pending, |it| {
                Resolution::Missing(Arc::clone(it))
            });
            snapshot.targets.insert(key.as_str().into(), state);
        }
        self.published.publish(snapshot);
    }
}

type Task<T> = Pin<Box<dyn Future<Output = T> + Send>>;

struct Driver {
    core: AdsCore,
    handle: LoopHandle,
    bootstrap: Bootstrap,
    options: ClientOptions,
    inbox: Arc<Inbox>,
    published: SnapshotSource,
    streams: BTreeMap<StreamId, Line>,
    /// Targets that cannot be asked for, and why.
    impossible: BTreeMap<Arc<str>, (usize, Arc<str>)>,
    /// What came last from the core.
    latest: Snapshot,
    alarm: Option<(Instant, Task<()>)>,
    began: Instant,
    events: VecDeque<(Duration, String)>,
}

/// A stream on its way or open.
enum Line {
    Opening(Task<Result<CallStream, CallError>>),
    Open {
        receiving: Task<(Inbound, Result<Option<Body>, CallError>)>,
        sending: Sending,
    },
}

enum Sending {
    Idle(Outbound),
    Busy(Task<(Outbound, Result<(), CallError>)>),
}

impl Driver {
    fn new(
        handle: LoopHandle,
        bootstrap: Bootstrap,
        options: ClientOptions,
        waiting: Waiting,
    ) -> Self {
        let servers: Vec<_> = bootstrap.servers.iter().map(|it| it.config()).collect();
        // A fresh state of the standard library's hasher is random enough to spread retries.
        let seed = RandomState::new().hash_one(0_u8);
        let core = AdsCore::new(options.ads.clone(), bootstrap.node.clone(), &servers, seed);
        let mut driver = Self {
            core,
            handle,
            bootstrap,
            options,
            inbox: waiting.inbox,
            published: waiting.published,
            streams: BTreeMap::new(),
            impossible: BTreeMap::new(),
            latest: Snapshot::default(),
            alarm: None,
            began: clock(),
            events: VecDeque::new(),
        };
        for (name, count) in waiting.watched.into_values() {
            for _ in 0..count {
                driver.watch(clock(), &name);
            }
        }
        driver
    }

    async fn run(&mut self) {
        poll_fn(|cx| self.poll(cx)).await;
    }

    /// Does everything that can be done now. Completes when the client is gone.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let now = clock();
        while let Some(command) = self.inbox.take(cx.waker()) {
            if self.command(now, command) {
                return Poll::Ready(());
            }
        }
        loop {
            let now = clock();
            if self.core.poll_timeout().is_some_and(|at| at <= now) {
                self.core.handle_timeout(now);
            }
            let mut more = self.receive(now, cx);
            more |= self.outputs(now);
            more |= self.send(now, cx);
            if !more && !self.set_alarm(cx) {
                return Poll::Pending;
            }
        }
    }

    /// Sees that the core is asked again in time; whether that is now.
    fn set_alarm(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(at) = self.core.poll_timeout() else {
            self.alarm = None;
            return false;
        };
        if self.alarm.as_ref().is_none_or(|(armed, _)| *armed != at) {
            let handle = self.handle.clone();
            let sleep = async move { handle.sleep_until(at).await };
            self.alarm = Some((at, Box::pin(sleep)));
        }
        let rung = self
            .alarm
            .as_mut()
            .is_some_and(|(_, alarm)| alarm.as_mut().poll(cx).is_ready());
        if rung {
            self.alarm = None;
        }
        rung
    }

    fn watch(&mut self, now: Instant, name: &TargetName) {
        let key = name.key();
        let listener = self.bootstrap.listener_name(name);
        let asked = listener.map_err(|fault| fault.to_string());
        let asked = asked.and_then(|listener| {
            let watched = self.core.watch(now, &key, &listener);
            watched.map_err(|fault| fault.to_string())
        });
        if let Err(why) = asked {
            let entry = self.impossible.entry(key.into());
            entry.or_insert_with(|| (0, why.into())).0 += 1;
            self.publish();
        }
    }

    fn unwatch(&mut self, now: Instant, name: &TargetName) {
        let key = name.key();
        match self.impossible.get_mut(key.as_str()) {
            Some((count, _)) => {
                *count -= 1;
                if *count == 0 {
                    self.impossible.remove(key.as_str());
                }
                self.publish();
            }
            None => self.core.unwatch(now, &key),
        }
    }

    /// Whether the client is gone.
    fn command(&mut self, now: Instant, command: Command) -> bool {
        match command {
            Command::Watch(name) => self.watch(now, &name),
            Command::Unwatch(name) => self.unwatch(now, &name),
            Command::Resolved { host, port, result } => {
                let input = Input::Resolved { host, port, result };
                self.core.handle_event(now, input);
            }
            Command::Status(sender) => {
                let servers = self.bootstrap.servers.iter().map(|it| it.uri.clone());
                // Nothing is lost when the receiver has gone.
                let _ = sender.try_send(Status {
                    servers: servers.collect(),
                    ads: self.core.status(),
                    events: self.events.iter().cloned().collect(),
                });
            }
            Command::Stop => return true,
        }
        false
    }

    /// Takes what came in. Whether there was anything.
    fn receive(&mut self, now: Instant, cx: &mut Context<'_>) -> bool {
        let mut more = false;
        let ids: Vec<StreamId> = self.streams.keys().copied().collect();
        for id in ids {
            for _ in 0..MESSAGES_A_TURN {
                let Some(line) = self.streams.get_mut(&id) else {
                    break;
                };
                let Some(input) = line.poll_receive(id, cx) else {
                    break;
                };
                more = true;
                if matches!(input, Input::Closed(..)) {
                    self.streams.remove(&id);
                }
                self.core.handle_event(now, input);
            }
        }
        more
    }

    /// Does what the core asks for. Whether it asked for anything.
    fn outputs(&mut self, now: Instant) -> bool {
        let mut more = false;
        while let Some(output) = self.core.poll() {
            more = true;
            match output {
                Output::Connect {
                    stream,
                    server,
                    variant,
                } => {
                    let opening = self.open(server, variant);
                    self.streams.insert(stream, Line::Opening(opening));
                }
                Output::Disconnect(stream) => {
                    self.streams.remove(&stream);
                }
                Output::Resolve { host, port } => resolve(&self.inbox, host, port),
                Output::Snapshot(snapshot) => {
                    self.latest = snapshot;
                    self.publish();
                }
                Output::Event(event) => {
                    if self.events.len() == MAX_EVENTS {
                        self.events.pop_front();
                    }
                    let after = now.saturating_duration_since(self.began);
                    self.events.push_back((after, event.to_string()));
                }
            }
        }
        more
    }

    fn publish(&self) {
        let mut snapshot = self.latest.clone();
        for (key, (_, why)) in &self.impossible {
            let state = Resolution::Missing(Arc::clone(why));
            snapshot.targets.insert(Arc::clone(key), state);
        }
        self.published.publish(snapshot);
    }

    /// Sends what is to be said where there is room. Whether anything was begun.
    fn send(&mut self, now: Instant, cx: &mut Context<'_>) -> bool {
        let mut more = false;
        for (id, line) in &mut self.streams {
            let Line::Open { sending, .. } = line else {
                continue;
            };
            if let Sending::Busy(task) = sending {
                match task.as_mut().poll(cx) {
                    // A stream that cannot be sent to has ended: its receiving side says why.
                    Poll::Ready((outbound, _)) => *sending = Sending::Idle(outbound),
                    Poll::Pending => continue,
                }
            }
            if let Some(octets) = self.core.poll_transmit(now, *id) {
                sending.begin(octets);
                more = true;
            }
        }
        more
    }

    fn open(&self, server: usize, variant: Variant) -> Task<Result<CallStream, CallError>> {
        let handle = self.handle.clone();
        let endpoint = self.bootstrap.servers[server].endpoint.clone();
        let tls = self.bootstrap.servers[server].tls.clone();
        let max_message = self.options.ads.max_response;
        Box::pin(async move {
            // A name is looked up anew each time: the control plane may have moved.
            let endpoint: Endpoint = endpoint.parse().map_err(not_sent)?;
            let mut options = corewire_transport::ClientOptions::default();
            options.tls = match tls {
                Some(files) => Some(ClientTls::new(files).map_err(not_sent)?),
                None => None,
            };
            // The stream lasts as long as it can; a dead peer is found by keep-alive.
            options.call_timeout = Duration::MAX;
            options.http2.max_message = max_message;
            let operation = match variant {
                Variant::StateOfTheWorld => STATE_OF_THE_WORLD,
                Variant::Incremental => INCREMENTAL,
            };
            // Made anew each time: when to try again is for the core to say.
            let client = handle.connect(endpoint, options);
            client.open(Request::new(operation)).await
        })
    }
}

impl Line {
    /// What came in, if anything did.
    fn poll_receive(&mut self, id: StreamId, cx: &mut Context<'_>) -> Option<Input> {
        match self {
            Self::Opening(task) => match task.as_mut().poll(cx) {
                Poll::Pending => None,
                Poll::Ready(Err(error)) => Some(Input::Closed(id, story(&error))),
                Poll::Ready(Ok(stream)) => {
                    *self = Self::Open {
                        receiving: receive(stream.inbound),
                        sending: Sending::Idle(stream.outbound),
                    };
                    Some(Input::Opened(id))
                }
            },
            Self::Open { receiving, .. } => match receiving.as_mut().poll(cx) {
                Poll::Pending => None,
                Poll::Ready((inbound, Ok(Some(message)))) => {
                    *receiving = receive(inbound);
                    Some(Input::Message(id, message.into_bytes()))
                }
                Poll::Ready((_, Ok(None))) => {
                    Some(Input::Closed(id, "the server ended the stream".into()))
                }
                Poll::Ready((_, Err(error))) => Some(Input::Closed(id, story(&error))),
            },
        }
    }
}

impl Sending {
    fn begin(&mut self, octets: Vec<u8>) {
        let idle = std::mem::replace(self, Self::Busy(Box::pin(std::future::pending())));
        if let Self::Idle(mut outbound) = idle {
            *self = Self::Busy(Box::pin(async move {
                let result = outbound.send(octets).await;
                (outbound, result)
            }));
        }
    }
}

fn receive(mut inbound: Inbound) -> Task<(Inbound, Result<Option<Body>, CallError>)> {
    Box::pin(async move {
        let message = inbound.message().await;
        (inbound, message)
    })
}

fn not_sent(fault: impl std::fmt::Display) -> CallError {
    CallError::not_sent(corewire_message::Origin::Local, fault.to_string())
}

/// Looks a host up on a thread of its own: the system's resolver blocks.
fn resolve(inbox: &Arc<Inbox>, host: Arc<str>, port: u16) {
    let answers = Arc::clone(inbox);
    let asked = Arc::clone(&host);
    let thread = std::thread::Builder::new().name("corewire-dns".into());
    let started = thread.spawn(move || {
        let found = (&*asked, port).to_socket_addrs();
        let result = found.map(Iterator::collect);
        let result = result.map_err(|error| format!("cannot be looked up: {error}"));
        answers.push(Command::Resolved {
            host: asked,
            port,
            result,
        });
    });
    if let Err(error) = started {
        inbox.push(Command::Resolved {
            host,
            port,
            result: Err(format!("cannot be looked up: {error}")),
        });
    }
}
