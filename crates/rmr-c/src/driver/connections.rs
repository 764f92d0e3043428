//! The connections that a driver reads: their places, whose turn it is, and what they hold.

use super::burst::Burst;
use super::room::{Held, Limits, who_makes_room};
use crate::arrival::Framing;
use crate::link::Link;
use bytes::BytesMut;
use corewire_sys::Socket;
use std::collections::VecDeque;
use std::sync::Arc;

/// One connection.
pub(super) struct Connection {
    pub(super) socket: Arc<Socket>,
    pub(super) link: Arc<Link>,
    pub(super) framing: Framing,
    /// What has come of a message.
    pub(super) kept: Option<BytesMut>,
    /// The number of its last read.
    pub(super) heard: u64,
    /// By which it is known to the program.
    pub(super) number: i32,
    /// A peer made it, and messages may go back over it.
    pub(super) accepted: bool,
    pub(super) burst: Burst,
    /// Octets that it takes for what has come of a message.
    held: usize,
    queued: bool,
}

/// All of them, by the index that epoll knows them by.
pub(super) struct Connections {
    places: Vec<Option<Connection>>,
    free: Vec<usize>,
    /// Those with something to read that have not had their turn.
    ready: VecDeque<usize>,
    /// Those in shared memory.
    in_memory: Vec<usize>,
    next_number: i32,
    limits: Limits,
    /// Octets of messages that are there in part, all connections together.
    held: usize,
}

impl Connections {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
            ready: VecDeque::new(),
            in_memory: Vec::new(),
            next_number: 0,
            limits: limits.usable(),
            held: 0,
        }
    }

    /// Has a place for one more.
    pub(super) fn place(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        })
    }

    /// Leaves a place free that was asked for.
    pub(super) fn leave_free(&mut self, index: usize) {
        self.free.push(index);
    }

    /// Takes a connection in at its place, and gives it a number.
    pub(super) fn put(
        &mut self,
        index: usize,
        socket: Arc<Socket>,
        link: Arc<Link>,
        accepted: bool,
    ) -> i32 {
        let number = self.next_number;
        self.next_number = number.checked_add(1).unwrap_or(0);
        if socket.is_memory() {
            self.in_memory.push(index);
        }
        self.places[index] = Some(Connection {
            socket,
            link,
            framing: Framing::new(self.limits.message),
            kept: None,
            held: 0,
            heard: 0,
            queued: false,
            number,
            accepted,
            burst: Burst::default(),
        });
        number
    }

    /// Takes a connection out. Its place is [left free](Self::leave_free) by whoever took it.
    pub(super) fn take(&mut self, index: usize) -> Option<Connection> {
        let connection = self.places.get_mut(index)?.take()?;
        self.held -= connection.held;
        self.in_memory.retain(|other| *other != index);
        Some(connection)
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&Connection> {
        self.places.get(index)?.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Connection> {
        self.places.get_mut(index)?.as_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.places.iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.places.iter_mut().flatten()
    }

    /// There is something to read: it has its turn behind the others.
    pub(super) fn enqueue(&mut self, index: usize) {
        if let Some(Some(connection)) = self.places.get_mut(index)
            && !connection.queued
        {
            connection.queued = true;
            self.ready.push_back(index);
        }
    }

    /// Whose turn it is.
    #[inline]
    pub(super) fn next_ready(&mut self) -> Option<(usize, &mut Connection)> {
        while let Some(index) = self.ready.pop_front() {
            // It may have ended meanwhile.
            if matches!(self.places.get(index), Some(Some(_))) {
                let connection = self.places[index].as_mut()?;
                connection.queued = false;
                return Some((index, connection));
            }
        }
        None
    }

    /// How many are in shared memory.
    #[inline]
    pub(super) fn in_memory(&self) -> usize {
        self.in_memory.len()
    }

    /// Enqueues those in shared memory of which `is_wanted` is true; whether there are any.
    pub(super) fn enqueue_in_memory(&mut self, is_wanted: impl Fn(&Socket) -> bool) -> bool {
        let mut any = false;
        for &index in &self.in_memory {
            if let Some(Some(connection)) = self.places.get_mut(index)
                && is_wanted(&connection.socket)
            {
                any = true;
                if !connection.queued {
                    connection.queued = true;
                    self.ready.push_back(index);
                }
            }
        }
        any
    }

    /// Counts anew what the connection of that index holds.
    pub(super) fn account(&mut self, index: usize) {
        if let Some(connection) = self.places[index].as_mut() {
            let kept = connection.kept.as_ref().map_or(0, BytesMut::capacity);
            self.held -= connection.held;
            connection.held = kept + connection.framing.held();
            self.held += connection.held;
        }
    }

    /// Which connection is to be closed, because all together hold more than they may; and how much it
    /// is that they, that one alone and all at most hold.
    pub(super) fn crowded(&self) -> Option<(usize, [usize; 3])> {
        if self.held <= self.limits.partial {
            return None;
        }
        let each = self.places.iter().enumerate();
        let each = each.filter_map(|(index, connection)| {
            let Connection { held, heard, .. } = *connection.as_ref()?;
            Some(Held { index, held, heard })
        });
        let index = who_makes_room(each)?;
        let own = self.get(index)?.held;
        Some((index, [self.held, own, self.limits.partial]))
    }

    /// Whether bursts of single messages are to be gathered by their senders.
    pub(super) const fn holds_bursts(&self) -> bool {
        self.limits.holds_bursts
    }

    /// Takes all out.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Connection> {
        self.free.clear();
        self.ready.clear();
        self.in_memory.clear();
        self.held = 0;
        self.places.drain(..).flatten()
    }

    /// Octets of messages that are there in part.
    #[cfg(test)]
    pub(super) const fn held(&self) -> usize {
        self.held
    }

    #[cfg(test)]
    pub(super) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits.usable();
    }
}
