//! How connections end, and how a loop does: drained, or at once.

use super::arena::Key;
use super::connection::{Connection, Received, Role, State};
use super::dispatch::Limits;
use super::listener::{Accepting, ServerCounters};
use super::{EventLoop, Phase, UNDECIDED_GRACE};
use corewire_driver::after;
use corewire_wire::Input;
use std::os::fd::AsFd;
use std::time::Duration;

/// Why a client's connection ended in the middle of the handshake.
pub(crate) const NO_TLS_THERE: &str =
    "the peer closed the connection during the TLS handshake: does it speak TLS at this port?";

/// How long a peer that broke the protocol, or said goodbye, is given to hear the last words.
const LINGER: Duration = Duration::from_secs(1);

/// Shares of a turn that are spent on the last words of a peer that is gone.
const HEARD_OUT: usize = 64;

/// Octets that such a peer may send meanwhile.
const LINGER_OCTETS: usize = 1024 * 1024;

impl EventLoop {
    /// Writing failed. What the peer said before it closed is heard all the same: that it drains,
    /// for example, so that a call it did not take is known to be refused and not lost.
    pub(super) fn drain_input(&mut self, key: Key) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        for _ in 0..HEARD_OUT {
            let was_left = connection.has_more();
            let received =
                connection.receive(
                    &mut self.buffers,
                    |connection, buffer| match &mut connection.core {
                        Some(core) => core
                            .handle_event(now, Input::Octets(buffer))
                            .map_err(|fault| fault.to_string()),
                        None => Err(String::new()),
                    },
                );
            // The connection ends either way.
            if received != Received::Octets || !was_left && !connection.has_more() {
                break;
            }
        }
        self.do_outputs(key);
    }

    /// Closes a connection: everybody who waits for it is told.
    pub(super) fn close(&mut self, key: Key, why: Option<String>) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        if let Some(why) = &why
            && connection
                .core
                .as_ref()
                .is_some_and(|core| core.fault().is_some())
        {
            self.note_fault(key, why);
        }
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        // Peers that do not speak TLS say nothing when they hang up.
        let agreeing = connection.state == State::Open
            && connection.settle_by.is_some()
            && matches!(connection.role, Role::Client { .. });
        let why = why.or_else(|| agreeing.then(|| NO_TLS_THERE.to_owned()));
        connection.why.clone_from(&why);
        // The core's last words tell the peer what it did wrong; it may be gone. They go before the
        // core learns of the end, since from then on it has nothing more to say.
        if connection.state != State::Connecting {
            let _peer_gone = connection.flush_last(now);
        }
        connection.end_core(now);
        self.dispatch_outputs(key, Limits::NONE);
        if self.lingers(key) {
            return self.linger(key, why.as_deref());
        }
        let Some(mut connection) = self.connections.remove(key) else {
            return;
        };
        if connection.socket.is_memory() {
            self.shm_links.remove(key);
        }
        if let Some((_, timer)) = connection.timer {
            self.timers.remove(timer);
        }
        let failed_to_connect = connection.settle_by.is_some();
        if let Role::Client { channel, .. } = connection.role
            && let Some(Some(channel)) = self.channels.get_mut(channel)
            // Not of a channel that has another connection by now, or another owner.
            && channel.connection == Some(key)
        {
            if failed_to_connect {
                let spread = now.elapsed().subsec_nanos();
                channel.failed(now, why.clone().unwrap_or_default(), spread);
            }
            channel.disconnected(why.as_deref().unwrap_or("the peer closed it"));
        }
        self.leave_tasks(&mut connection.role);
        end_callers(&mut connection.role, why.as_deref());
        // An event was accepted when it began: it goes on.
        if let Role::Server { service, .. } = connection.role
            && let Some(Some(accepting)) = self.listeners.get_mut(service)
        {
            accepting.orphans += connection.events;
        }
        drop(connection);
        self.give_memory_back();
    }

    /// Whether the peer of a connection that is over shall hear the last words: it broke the protocol
    /// and was told, or it said goodbye; either may be sending still, and what meets a closed socket
    /// is answered with a reset, which takes from the peer what it has not read yet.
    fn lingers(&mut self, key: Key) -> bool {
        self.phase != Phase::Ended
            && self.connections.get_mut(key).is_some_and(|connection| {
                matches!(connection.role, Role::Server { .. })
                    && connection.state == State::Open
                    && connection.outbox.is_empty()
                    && connection
                        .core
                        .as_ref()
                        .is_some_and(|core| core.fault().is_some() || core.is_over())
            })
    }

    fn linger(&mut self, key: Key, why: Option<&str>) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        connection.socket.shutdown_sending();
        connection.core = None;
        connection.state = State::Lingering {
            patience: LINGER_OCTETS,
        };
        connection.settle_by = Some(after(self.now, LINGER));
        let left = connection.role.leave();
        if let Some(mut role) = left {
            self.leave_tasks(&mut role);
            end_callers(&mut role, why);
        }
        self.mark_dirty(key);
    }

    /// Calls that nobody waits for are dropped, even those that the core did not name any more.
    fn leave_tasks(&mut self, role: &mut Role) {
        let Role::Server { service, tasks, .. } = role else {
            return;
        };
        if let Some(service) = self.services.get_mut(*service) {
            tasks.drain().for_each(|(_, place)| service.abandon(place));
        }
    }

    fn note_fault(&mut self, key: Key, why: &str) {
        if let Some(connection) = self.connections.get_mut(key)
            && let Role::Server {
                service, context, ..
            } = &connection.role
            && let Some(Some(accepting)) = self.listeners.get(*service)
        {
            ServerCounters::count(&accepting.counters.faults);
            if let Some(on_fault) = &accepting.detector.options.on_fault {
                on_fault.tell(context.peer(), why);
            }
        }
    }

    /// A connection whose peer drains finishes its calls; the channel's next call makes another.
    pub(super) fn retire(&mut self, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let Role::Client { channel, .. } = connection.role else {
            return;
        };
        connection.close_when_idle = true;
        if let Some(Some(channel)) = self.channels.get_mut(channel)
            && channel.connection == Some(key)
        {
            channel.draining();
        }
    }

    pub(super) fn drain(&mut self, until: std::time::Instant) {
        if self.phase != Phase::Running {
            return;
        }
        self.phase = Phase::Draining {
            since: self.now,
            until,
            callers: false,
        };
        // Their places stay: services are numbered alike.
        for listener in 0..self.listeners.len() {
            // Those who have come already are told, not cut off.
            self.accept(listener);
            let Some(accepting) = &mut self.listeners[listener] else {
                continue;
            };
            // Closed, so that whoever connects from now on is refused and may go elsewhere: a
            // socket that only stopped accepting would let them wait until the loop ends. Taken out
            // of the set first: other loops may share it, then closing does not take it out.
            if let Some(socket) = accepting.socket.take() {
                let _already_out = self.epoll.remove(socket.as_fd());
            }
        }
        self.drain_cores(|role| matches!(role, Role::Server { .. }));
        self.flush_dirty();
    }

    fn drain_cores(&mut self, which: impl Fn(&Role) -> bool) {
        for key in self.connections.keys() {
            if let Some(connection) = self.connections.get_mut(key)
                && which(&connection.role)
            {
                if let Some(core) = &mut connection.core {
                    core.drain();
                }
                self.mark_dirty(key);
            }
        }
    }

    /// Ends a loop that drains when it has nothing left to do. Those who call here go first: the
    /// calls in progress for them may need calls from here.
    pub(super) fn end_when_drained(&mut self) {
        let Phase::Draining { since, until, .. } = self.phase else {
            return;
        };
        let undecided_are_idle = self.now >= since + UNDECIDED_GRACE;
        let orphans = |accepting: &Accepting| accepting.orphans;
        let mut left: usize = self.listeners.iter().flatten().map(orphans).sum();
        left += self.close_idle(|connection| {
            let decided = connection.settle_by.is_none() || undecided_are_idle;
            matches!(connection.role, Role::Server { .. }).then(|| decided && connection.is_idle())
        });
        if left == 0 {
            if let Phase::Draining { callers, .. } = &mut self.phase
                && !std::mem::replace(callers, true)
            {
                self.drain_cores(|role| matches!(role, Role::Client { .. }));
                self.flush_dirty();
            }
            left = self.close_idle(|connection| {
                matches!(connection.role, Role::Client { .. }).then(|| connection.is_idle())
            });
        }
        if left == 0 || self.now >= until {
            self.flush_dirty();
            self.end();
        }
    }

    /// Closes the connections of which `idle` says that they are; gives how many it says are not.
    fn close_idle(&mut self, idle: impl Fn(&Connection) -> Option<bool>) -> usize {
        let mut left = 0;
        for key in self.connections.keys() {
            let Some(connection) = self.connections.get_mut(key) else {
                continue;
            };
            match idle(connection) {
                Some(true) if connection.state != State::Closing => {
                    connection.state = State::Closing;
                    self.mark_dirty(key);
                }
                Some(false) => left += 1,
                _ => {}
            }
        }
        left
    }

    pub(super) fn end(&mut self) {
        // First: from here on no connection lingers.
        self.phase = Phase::Ended;
        for key in self.connections.keys() {
            self.close(key, Some("the event loop has ended".into()));
        }
        self.listeners.clear();
        self.spawned.clear();
        self.refuse_the_rest();
    }
}

/// Ends what the core did not: nothing may be left waiting for a connection that is gone.
fn end_callers(role: &mut Role, why: Option<&str>) {
    use corewire_message::CallError;
    let lost = || {
        let why = why.unwrap_or("the peer closed it");
        let context = format!("the connection is lost: {why}");
        CallError::fate_unknown(context)
    };
    if let Role::Client { calls, .. } = role {
        calls
            .drain()
            .for_each(|(_, completion)| completion.complete(Err(lost())));
    }
    role.streams()
        .drain()
        .for_each(|(_, stream)| stream.end(Err(lost()), true));
}
