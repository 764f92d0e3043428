//! The network as a test sets it up and disturbs it.

use super::connection::Side;
use super::world::{Channel, ConnectionId, Node, What, World};
use super::{Client, Link, NodeId, Shared};
use crate::clock::{BoxFuture, Clock};
use corewire_message::Service;
use corewire_wire::{Core, KindOf};
use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

/// What a calling end takes for granted when its channel says nothing: as the real drivers do.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// The limit of the real server.
const MAX_BACKLOG: usize = 4 * 1024 * 1024;

/// A simulated network, its clock and its tasks. Clones are the same network; tasks may hold one.
///
/// Nothing happens here by itself: [`Sim`](super::Sim) makes time pass.
#[derive(Clone)]
pub struct Network(pub(super) Arc<Shared>);

impl Network {
    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        // A test that failed with the lock held has said why; its end shall not hide that.
        self.0.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a command reach the core of a connection's end, then writes what it gives.
    pub(super) fn with_core<T>(
        &self,
        id: ConnectionId,
        side: Side,
        command: impl FnOnce(&mut (dyn Core + Send)) -> T,
    ) -> Option<T> {
        let mut world = self.world();
        let core = world.connections.get_mut(&id)?.end(side).core.as_mut()?;
        let result = command(&mut **core);
        world.flush(id, side);
        Some(result)
    }

    /// A new node.
    #[must_use]
    pub fn node(&self, name: &str) -> NodeId {
        let mut world = self.world();
        world.nodes.push(Node {
            name: name.to_owned(),
            service: None,
            listens: false,
            reads: true,
            max_backlog: MAX_BACKLOG,
        });
        NodeId(world.nodes.len() - 1)
    }

    /// Serves `service` at a node; `core` makes the protocol core of each connection.
    pub fn serve<S: Service>(
        &self,
        node: NodeId,
        service: Arc<S>,
        core: impl Fn(KindOf, Instant) -> Box<dyn Core + Send> + Send + Sync + 'static,
    ) {
        let mut world = self.world();
        let node = &mut world.nodes[node.0];
        node.service = Some((service, Arc::new(core)));
        node.listens = true;
    }

    /// A client at node `from` of the service at node `to`; `core` makes the protocol core of each
    /// connection. Calls without a deadline get one 10 s ahead.
    #[must_use]
    pub fn connect(
        &self,
        from: NodeId,
        to: NodeId,
        core: impl Fn(Instant) -> Box<dyn Core + Send> + Send + Sync + 'static,
    ) -> Client {
        let mut world = self.world();
        world.channels.push(Channel {
            from,
            to,
            core: Arc::new(core),
            call_timeout: CALL_TIMEOUT,
            connection: None,
        });
        let channel = world.channels.len() - 1;
        drop(world);
        let network = self.clone();
        Client { network, channel }
    }

    /// Sets what lies between every two nodes that have no link of their own.
    pub fn set_default_link(&self, link: Link) {
        self.world().default_link = link;
    }

    /// Sets what lies between two nodes, both ways.
    pub fn set_link(&self, a: NodeId, b: NodeId, link: Link) {
        self.set_one_way(a, b, link);
        self.set_one_way(b, a, link);
    }

    /// Sets what lies on the way from one node to another, not back.
    pub fn set_one_way(&self, from: NodeId, to: NodeId, link: Link) {
        self.world().links.insert((from, to), link);
    }

    /// Cuts every connection between two nodes: both ends are told at once, what was on the way is
    /// lost.
    pub fn cut(&self, a: NodeId, b: NodeId) {
        self.cut_where(|from, to| (from, to) == (a, b) || (from, to) == (b, a));
    }

    /// From now on nothing from one node arrives at the other, and nobody is told: half of a
    /// half-open connection, or with the other direction a partition.
    pub fn hold(&self, from: NodeId, to: NodeId) {
        self.world().held.push((from, to));
    }

    /// What was held arrives now, in order.
    pub fn release(&self, from: NodeId, to: NodeId) {
        self.world().release(from, to);
    }

    /// A node's process stands still as far as the network sees: it reads nothing.
    pub fn stop_reading(&self, node: NodeId) {
        self.world().nodes[node.0].reads = false;
    }

    /// The node reads again.
    pub fn read_again(&self, node: NodeId) {
        let mut world = self.world();
        world.nodes[node.0].reads = true;
        let ids: Vec<ConnectionId> = world.connections.keys().copied().collect();
        for id in ids {
            world.schedule_read(id, Side::Client);
            world.schedule_read(id, Side::Server);
        }
    }

    /// Octets that may wait at a node for a peer that does not read, before the node does not read
    /// that peer either. Default 4 MiB.
    pub fn set_max_backlog(&self, node: NodeId, octets: usize) {
        self.world().nodes[node.0].max_backlog = octets;
    }

    /// The node's server dies: its connections are cut, new ones refused.
    pub fn stop(&self, node: NodeId) {
        self.world().nodes[node.0].listens = false;
        self.cut_where(|_, to| to == node);
    }

    /// The node's server takes connections again.
    pub fn start(&self, node: NodeId) {
        self.world().nodes[node.0].listens = true;
    }

    /// The node's server takes no more connections and calls, finishes those in flight, and closes.
    pub fn drain(&self, node: NodeId) {
        let mut world = self.world();
        world.nodes[node.0].listens = false;
        let ids: Vec<ConnectionId> = world.connections.keys().copied().collect();
        for id in ids {
            let Some(connection) = world.connections.get_mut(&id) else {
                continue;
            };
            let end = &mut connection.server;
            if end.node == node
                && let Some(core) = &mut end.core
            {
                core.drain();
                end.close_when_idle = true;
                world.flush(id, Side::Server);
            }
        }
    }

    /// Octets that wait at a node to be written, in its drivers and cores.
    #[must_use]
    pub fn backlog(&self, node: NodeId) -> usize {
        let world = self.world();
        let ends = world.connections.values();
        ends.flat_map(|connection| [&connection.client, &connection.server])
            .filter(|end| end.node == node)
            .map(super::connection::End::backlog)
            .sum()
    }

    /// Calls in flight at a node, by its cores.
    #[must_use]
    pub fn in_flight(&self, node: NodeId) -> usize {
        let world = self.world();
        let ends = world.connections.values();
        ends.flat_map(|connection| [&connection.client, &connection.server])
            .filter(|end| end.node == node)
            .filter_map(|end| end.core.as_ref())
            .map(|core| core.in_flight())
            .sum()
    }

    /// Connections that are open or being opened, and how many were ever made.
    #[must_use]
    pub fn connections(&self) -> (usize, usize) {
        let world = self.world();
        (world.connections.len(), world.made)
    }

    /// How often an end broke off because of its peer, each with the node's name and the reason.
    /// Between two cores that keep to the protocol: keep-alive only.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        self.world().faults.clone()
    }

    /// How much time has passed since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        let world = self.world();
        world.now.saturating_duration_since(world.epoch)
    }

    /// A task of its own, polled whenever time passes; dropped with the simulation.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.executor.spawn(Box::pin(task));
    }

    fn cut_where(&self, wanted: impl Fn(NodeId, NodeId) -> bool) {
        let mut world = self.world();
        let ids: Vec<ConnectionId> = world
            .connections
            .iter()
            .filter(|(_, connection)| wanted(connection.client.node, connection.server.node))
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            world.cut(id, "cut");
        }
    }
}

impl Clock for Network {
    fn now(&self) -> Instant {
        self.world().now
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<()> {
        let network = self.clone();
        Box::pin(poll_fn(move |cx| {
            let mut world = network.world();
            if world.now >= at {
                return Poll::Ready(());
            }
            world.schedule(at, What::Wake(cx.waker().clone()));
            Poll::Pending
        }))
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, made) = self.connections();
        write!(f, "Network({open} connections of {made})")
    }
}
