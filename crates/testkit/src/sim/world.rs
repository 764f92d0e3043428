//! Everything that is simulated, and what is due when.

use super::connection::{Connection, End, Role, Segment, SharedCall, Side};
use super::executor::Executor;
use super::link::Link;
use super::random::Random;
use super::{NodeId, Shared, SimService};
use corewire_message::{CallContext, CallError, Origin, Peer, Request};
use corewire_wire::{CallId, Core, KindOf};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::{Duration, Instant};

/// Makes the core of a new connection's calling end.
pub(super) type ClientCore = Arc<dyn Fn(Instant) -> Box<dyn Core + Send> + Send + Sync>;
/// Makes the core of a new connection's answering end.
pub(super) type ServerCore = Arc<dyn Fn(KindOf, Instant) -> Box<dyn Core + Send> + Send + Sync>;

/// A connection's number; not used again.
pub(super) type ConnectionId = usize;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct World {
    pub(super) shared: Weak<Shared>,
    pub(super) executor: Arc<Executor>,
    pub(super) epoch: Instant,
    pub(super) now: Instant,
    pub(super) random: Random,
    pub(super) nodes: Vec<Node>,
    pub(super) default_link: Link,
    /// By (from, to).
    pub(super) links: BTreeMap<(NodeId, NodeId), Link>,
    /// Directions in which nothing arrives, by (from, to).
    pub(super) held: Vec<(NodeId, NodeId)>,
    pub(super) channels: Vec<Channel>,
    pub(super) connections: BTreeMap<ConnectionId, Connection>,
    pub(super) made: ConnectionId,
    due: BinaryHeap<Reverse<Due>>,
    scheduled: u64,
    pub(super) faults: Vec<String>,
}

pub(super) struct Node {
    pub(super) name: String,
    pub(super) service: Option<(Arc<dyn SimService>, ServerCore)>,
    /// Connections are taken.
    pub(super) listens: bool,
    /// Nothing that arrives here is read.
    pub(super) reads: bool,
    /// Octets that may wait for a peer of this node before it is not read.
    pub(super) max_backlog: usize,
}

pub(super) struct Channel {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) core: ClientCore,
    pub(super) call_timeout: Duration,
    pub(super) connection: Option<ConnectionId>,
}

struct Due {
    at: Instant,
    /// Drawn: what is due at the same time comes in any order.
    tie: u64,
    number: u64,
    what: What,
}

pub(super) enum What {
    /// The client's first packet is at the server's node.
    Connect(ConnectionId),
    /// The server's answer to it is back; `false`: refused.
    Connected(ConnectionId, bool),
    ConnectTimeout(ConnectionId),
    Arrive(ConnectionId, Side),
    Read(ConnectionId, Side),
    /// The peer has read: there may be room to write.
    Write(ConnectionId, Side),
    Timeout(ConnectionId, Side),
    Wake(Waker),
}

impl World {
    pub(super) fn new(seed: u64, shared: Weak<Shared>, executor: Arc<Executor>) -> Self {
        // The one look at a real clock: there is no other way to an `Instant`. Only differences
        // to it are ever used.
        let epoch = Instant::now();
        Self {
            shared,
            executor,
            epoch,
            now: epoch,
            random: Random::new(seed),
            nodes: Vec::new(),
            default_link: Link::default(),
            links: BTreeMap::new(),
            held: Vec::new(),
            channels: Vec::new(),
            connections: BTreeMap::new(),
            made: 0,
            due: BinaryHeap::new(),
            scheduled: 0,
            faults: Vec::new(),
        }
    }

    pub(super) fn schedule(&mut self, at: Instant, what: What) {
        let tie = self.random.next();
        self.scheduled += 1;
        self.due.push(Reverse(Due {
            at: at.max(self.now),
            tie,
            number: self.scheduled,
            what,
        }));
    }

    /// When something is due next.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.peek().map(|Reverse(due)| due.at)
    }

    /// Sets the clock forward to what is due next and does it.
    pub(super) fn step(&mut self) {
        let Some(Reverse(due)) = self.due.pop() else {
            return;
        };
        self.now = self.now.max(due.at);
        match due.what {
            What::Connect(id) => self.take_connection(id),
            What::Connected(id, taken) => self.connected(id, taken),
            What::ConnectTimeout(id) => {
                if self
                    .connections
                    .get(&id)
                    .is_some_and(|connection| !connection.established)
                {
                    self.cut(id, "connecting took too long");
                }
            }
            What::Arrive(id, side) => self.arrive(id, side),
            What::Read(id, side) => self.read(id, side),
            What::Write(id, side) => self.flush(id, side),
            What::Timeout(id, side) => self.timeout(id, side),
            What::Wake(waker) => waker.wake(),
        }
    }

    pub(super) fn link(&self, from: NodeId, to: NodeId) -> Link {
        *self.links.get(&(from, to)).unwrap_or(&self.default_link)
    }

    pub(super) fn is_held(&self, from: NodeId, to: NodeId) -> bool {
        self.held.contains(&(from, to))
    }

    /// When a packet of no size that is sent now arrives.
    fn after_latency(&mut self, from: NodeId, to: NodeId) -> Instant {
        let link = self.link(from, to);
        self.now + link.latency + self.random.up_to(link.jitter)
    }

    /// The channel's connection, made now if there is none.
    pub(super) fn connection_of(&mut self, channel: usize) -> ConnectionId {
        if let Some(id) = self.channels[channel].connection {
            return id;
        }
        let (from, to) = (self.channels[channel].from, self.channels[channel].to);
        let id = self.made;
        self.made += 1;
        let now = self.now;
        let calls = BTreeMap::new();
        let mut client = End::new(from, to, Role::Client { calls }, now);
        client.core = Some((self.channels[channel].core)(now));
        // Nothing is there to answer yet; `take_connection` sets the core and the role.
        let calls = BTreeMap::new();
        let server = End::new(to, from, Role::Client { calls }, now);
        let connection = Connection {
            client,
            server,
            channel,
            established: false,
        };
        self.connections.insert(id, connection);
        self.channels[channel].connection = Some(id);
        let at = self.after_latency(from, to);
        self.schedule(at, What::Connect(id));
        self.schedule(now + CONNECT_TIMEOUT, What::ConnectTimeout(id));
        self.set_timer(id, Side::Client);
        id
    }

    fn take_connection(&mut self, id: ConnectionId) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let (from, to) = (connection.client.node, connection.server.node);
        if self.is_held(from, to) {
            // Lost; the client finds out by its timeout.
            return;
        }
        let node = &self.nodes[to.0];
        let taken = node.listens.then(|| node.service.clone()).flatten();
        let is_taken = taken.is_some();
        if let Some((service, new_core)) = taken {
            let kind_of = Arc::clone(&service);
            let core = new_core(Arc::new(move |operation| kind_of.kind(operation)), now);
            let peer = Peer::new(self.nodes[from.0].name.clone(), core.protocol());
            let Some(connection) = self.connections.get_mut(&id) else {
                return;
            };
            connection.server.role = Role::Server {
                service,
                context: CallContext::new(Arc::new(peer)),
                tasks: BTreeMap::new(),
            };
            connection.server.core = Some(core);
            self.flush(id, Side::Server);
        }
        if !self.is_held(to, from) {
            let at = self.after_latency(to, from);
            self.schedule(at, What::Connected(id, is_taken));
        }
    }

    fn connected(&mut self, id: ConnectionId, taken: bool) {
        if !taken {
            self.cut(id, "the connection was refused");
        } else if let Some(connection) = self.connections.get_mut(&id) {
            connection.established = true;
            self.flush(id, Side::Client);
        }
    }

    fn timeout(&mut self, id: ConnectionId, side: Side) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let end = connection.end(side);
        end.timer = None;
        let Some(core) = &mut end.core else { return };
        if core.poll_timeout().is_some_and(|at| at <= now) {
            core.handle_timeout(now);
            let fault = core.fault().map(ToString::to_string);
            self.outputs(id, side);
            match fault {
                Some(why) => self.fault(id, side, &why),
                None => self.flush(id, side),
            }
        }
        self.set_timer(id, side);
    }

    /// Sees that this end is looked at when its core wants it.
    pub(super) fn set_timer(&mut self, id: ConnectionId, side: Side) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let end = connection.end(side);
        let Some(at) = end.core.as_ref().and_then(|core| core.poll_timeout()) else {
            return;
        };
        if end.timer.is_none_or(|set| at < set) {
            end.timer = Some(at);
            self.schedule(at, What::Timeout(id, side));
        }
    }

    /// Hands what waits to the network, as far as the buffers take it, and closes if that was all.
    pub(super) fn flush(&mut self, id: ConnectionId, side: Side) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        if side == Side::Client && !connection.established {
            self.set_timer(id, side);
            return;
        }
        let (from, to) = (connection.end(side).node, connection.end(side).peer);
        let link = self.link(from, to);
        loop {
            let Some(connection) = self.connections.get_mut(&id) else {
                return;
            };
            let room = link
                .buffer
                .saturating_sub(connection.occupied(side.other()));
            let end = connection.end(side);
            if let Some(core) = &mut end.core
                && end.outbox.budget() > 0
            {
                core.poll_transmit(now, &mut end.outbox);
            }
            if end.outbox.is_empty() || room == 0 {
                break;
            }
            let first = end.outbox.first();
            let count = first.len().min(room).min(link.segment.max(1));
            let octets = bytes::Bytes::copy_from_slice(&first[..count]);
            end.outbox.advance(count);
            if !self.send(id, side, &link, Some(octets)) {
                return;
            }
        }
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let end = connection.end(side);
        if end.close_when_idle && end.is_idle() {
            self.close(id, side);
            return;
        }
        // A peer that reads again lets this end read again.
        self.schedule_read(id, side);
        self.set_timer(id, side);
    }

    /// Puts a segment on the line to the other side; `false` when that cut the connection.
    fn send(
        &mut self,
        id: ConnectionId,
        side: Side,
        link: &Link,
        octets: Option<bytes::Bytes>,
    ) -> bool {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(&id) else {
            return false;
        };
        let to = connection.end(side.other());
        let length = octets.as_ref().map_or(0, bytes::Bytes::len);
        let transit = link.transit(now, length, &mut to.sending_until, &mut self.random);
        let Some(at) = transit else {
            self.cut(id, "a segment was lost");
            return false;
        };
        to.on_the_way += length;
        to.last_arrival = to.last_arrival.max(at);
        let at = to.last_arrival;
        to.coming.push_back(Segment { at, octets });
        self.schedule(at, What::Arrive(id, side.other()));
        true
    }

    fn arrive(&mut self, id: ConnectionId, side: Side) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let (from, to) = (connection.end(side).peer, connection.end(side).node);
        if self.is_held(from, to) {
            return;
        }
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let end = connection.end(side);
        while let Some(segment) = end.coming.pop_front_if(|segment| segment.at <= now) {
            match segment.octets {
                Some(octets) => {
                    end.on_the_way -= octets.len();
                    // An end that has closed reads no more; what comes makes room all the same.
                    if end.core.is_some() {
                        end.arrived.extend_from_slice(&octets);
                    }
                }
                None => end.end_arrived = true,
            }
        }
        self.schedule_read(id, side);
    }

    /// What was held on the way from one node to the other arrives now.
    pub(super) fn release(&mut self, from: NodeId, to: NodeId) {
        self.held.retain(|held| *held != (from, to));
        let ids: Vec<ConnectionId> = self.connections.keys().copied().collect();
        for id in ids {
            for side in [Side::Client, Side::Server] {
                let Some(connection) = self.connections.get_mut(&id) else {
                    continue;
                };
                let end = connection.end(side);
                if (end.peer, end.node) == (from, to) && !end.coming.is_empty() {
                    self.schedule(self.now, What::Arrive(id, side));
                }
            }
        }
    }

    /// Both ends lose the connection at once; what was on the way is lost.
    pub(super) fn cut(&mut self, id: ConnectionId, why: &str) {
        for side in [Side::Client, Side::Server] {
            self.end_core(id, side, why);
        }
        self.connections.remove(&id);
    }

    /// This end broke off because of what its peer did.
    pub(super) fn fault(&mut self, id: ConnectionId, side: Side, why: &str) {
        if let Some(connection) = self.connections.get_mut(&id) {
            let node = connection.end(side).node;
            let name = &self.nodes[node.0].name;
            self.faults.push(format!("{name}: {why}"));
        }
        self.close(id, side);
    }

    /// This end closes: its last words and then its end go to the peer.
    pub(super) fn close(&mut self, id: ConnectionId, side: Side) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let established = side == Side::Server || connection.established;
        let (from, to) = (connection.end(side).node, connection.end(side).peer);
        if connection.end(side).core.is_none() {
            return;
        }
        let last_words = self.end_core(id, side, "closed here");
        let link = self.link(from, to);
        if established
            && (last_words.is_empty() || self.send(id, side, &link, Some(last_words.into())))
        {
            self.send(id, side, &link, None);
        }
        self.forget_if_over(id);
    }

    pub(super) fn forget_if_over(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get(&id)
            && connection.client.core.is_none()
            && connection.server.core.is_none()
        {
            self.connections.remove(&id);
        }
    }

    /// Client: the call's number, once it is on its way.
    pub(super) fn call(
        &mut self,
        channel: usize,
        mut request: Request,
        slot: &SharedCall,
    ) -> Result<(ConnectionId, CallId), CallError> {
        let (id, now) = self.begin(channel, &mut request);
        let Some(core) = self.client_core(id) else {
            return Err(no_connection());
        };
        let call = core.call(now, request)?;
        if let Some(connection) = self.connections.get_mut(&id)
            && let Role::Client { calls } = &mut connection.client.role
        {
            let before = calls.insert(call, slot.clone());
            assert!(
                before.is_none(),
                "call {} was given out twice",
                call.number()
            );
        }
        self.flush(id, Side::Client);
        Ok((id, call))
    }

    /// The channel's connection and the time; gives the request its deadline.
    pub(super) fn begin(
        &mut self,
        channel: usize,
        request: &mut Request,
    ) -> (ConnectionId, Instant) {
        let now = self.now;
        let timeout = self.channels[channel].call_timeout;
        request.deadline.get_or_insert(now + timeout);
        (self.connection_of(channel), now)
    }

    pub(super) fn client_core(&mut self, id: ConnectionId) -> Option<&mut Box<dyn Core + Send>> {
        self.connections.get_mut(&id)?.client.core.as_mut()
    }
}

pub(super) fn no_connection() -> CallError {
    CallError::not_sent(Origin::Transport, "there is no connection")
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.tie, self.number).cmp(&(other.at, other.tie, other.number))
    }
}
