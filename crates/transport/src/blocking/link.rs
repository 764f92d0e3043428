//! One connection that calling threads drive themselves.

use super::state::{Asleep, State};
use crate::ClientOptions;
use bytes::BytesMut;
use corewire_driver::{Leader, SpinEnd, SpinWait, after, clock, may_yield};
use corewire_message::{CallError, Code, ErrorKind, Event, Origin, Request, Response};
use corewire_sys::{Socket, WaitSet};
use corewire_wire::{CallId, Core, Fault, Input, Outbox};
use std::io::{self, IoSlice};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Pieces given to the kernel in one gathering write.
const PIECES_A_WRITE: usize = 64;

/// Waits shorter than this are made exactly, longer ones by the socket's own timeout, which saves
/// a system call for each receive.
const EXACT_BELOW: Duration = Duration::from_millis(10);

/// Looks at a shared memory between two yields.
const LOOKS_AT_MEMORY: u32 = 64;

/// A connection and the calls of the threads that share it.
pub(super) struct Link {
    socket: Socket,
    busy_poll: Duration,
    spin_before_sleep: Duration,
    /// Where threads sleep that do not lead.
    waiting: WaitSet,
    state: Mutex<State>,
}

/// The state while its lock is held. Whoever lets go of it, be it because of an error, leaves
/// nobody waiting in vain: a thread that waits is woken to read when nobody reads, and to write when
/// the one that reads does not see that octets wait. Who panics ends the connection: what is left of
/// it may be anything.
pub(super) struct Locked<'a> {
    link: &'a Link,
    /// The thread was unwinding already when it came here.
    unwinds: bool,
    /// There until the drop.
    state: Option<MutexGuard<'a, State>>,
}

impl Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        match &self.state {
            Some(state) => state,
            None => unreachable!("the lock is held until the drop"),
        }
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        match &mut self.state {
            Some(state) => state,
            None => unreachable!("the lock is held until the drop"),
        }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let Some(mut state) = self.state.take() else {
            return;
        };
        // Not for a panic that was there already: who unwinds may still end its calls here.
        if std::thread::panicking() && !self.unwinds {
            self.link.abandon(&mut state);
        }
        let waits = !state.outbox.is_empty();
        state.threads.hand_over(waits);
        let woken = state.threads.take_woken();
        drop(state);
        // Only now: they would run into the lock.
        Asleep::wake(&woken, &self.link.waiting);
    }
}

/// This thread leads. If it dies meanwhile the others are told.
struct Leading<'a>(Option<&'a Link>);

impl<'a> Leading<'a> {
    fn end(mut self, link: &'a Link) -> Locked<'a> {
        self.0 = None;
        let mut state = link.lock();
        state.threads.end_to_lead();
        state
    }
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        if let Some(link) = self.0 {
            let mut state = link.lock();
            state.threads.end_to_lead();
            link.abandon(&mut state);
        }
    }
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wait {
    /// The call's end, or a message of it.
    News(CallId),
    /// Room to send on the stream, whatever came in.
    Room(CallId),
    /// What it has written to be taken, at most until then.
    Writing(Instant),
}

/// What a wait does before it sleeps.
#[derive(Debug)]
enum Before {
    Nothing,
    /// Looks again and again until then.
    Polls(Instant),
    /// Looks, so often at a time, and yields between.
    Spins(SpinWait, usize),
}

impl Link {
    pub(super) fn new(
        socket: Socket,
        core: Box<dyn Core + Send>,
        options: &ClientOptions,
        now: Instant,
    ) -> Self {
        // `Socket::connect` left it blocking; reads rely on that.
        Self {
            socket,
            busy_poll: options.busy_poll,
            spin_before_sleep: options.patience,
            waiting: WaitSet::new(),
            state: Mutex::new(State::new(core, now)),
        }
    }

    pub(super) fn lock(&self) -> Locked<'_> {
        Locked {
            link: self,
            unwinds: std::thread::panicking(),
            state: Some(self.state.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Whether calls can be sent; looks at the socket when it was not used for `look_after`.
    pub(super) fn is_usable(&self, now: Instant, look_after: Duration) -> bool {
        let mut state = self.lock();
        let idle = state.threads.leader() == Leader::None
            && now.saturating_duration_since(state.used) > look_after;
        if idle && state.dead.is_none() {
            self.socket.acknowledge_wake();
            let mut buffer = state.take_buffer();
            let received = self.socket.receive_now(&mut buffer);
            self.take_received(&mut state, buffer, received, now);
        }
        state.used = now;
        state.saw(now);
        state.dead.is_none() && !state.draining
    }

    pub(super) fn call(&self, now: Instant, request: Request) -> Result<Response, CallError> {
        let mut state = self.lock();
        let call = state.core.call(now, request)?;
        state.left_over += 1;
        // Coalesced, this thread sleeps next, and the one that leads next writes it.
        if !state.threads.is_coalescing(now) || state.is_worth_writing() {
            self.write(&mut state, now);
        }
        loop {
            state = self.turn(state, Wait::News(call));
            if let Some(result) = state.take_arrived(call) {
                return result;
            }
            if let Some(error) = state.death() {
                return Err(error);
            }
        }
    }

    pub(super) fn send_event(
        &self,
        now: Instant,
        event: Event,
        deadline: Instant,
    ) -> Result<(), CallError> {
        let mut state = self.lock();
        // Only where something waits already can it be too much: only then a copy is needed.
        let mut again = (state.core.queued() > 0).then(|| event.clone());
        let mut sent = state.core.send_event(now, event);
        while let Err(error) = sent {
            let Some(event) = again
                .take()
                .filter(|_| error.kind() == ErrorKind::Overloaded)
            else {
                return Err(error);
            };
            // Only reading brings room: other threads may be waiting for answers, or nobody reads.
            if state.now >= deadline {
                return Err(error);
            }
            state = self.turn(state, Wait::Writing(deadline));
            if state.dead.is_some() {
                return Err(error);
            }
            again = Some(event.clone());
            let now = state.now;
            sent = state.core.send_event(now, event);
        }
        let now = state.now;
        self.write(&mut state, now);
        // Unwritten octets wait for room in the socket or for the peer's credit.
        while (state.core.backlog() > 0 || !state.outbox.is_empty()) && state.dead.is_none() {
            if state.now >= deadline {
                let context = "the peer does not take the event in time";
                return Err(CallError::new(
                    ErrorKind::DeadlineExceeded,
                    Origin::Local,
                    true,
                    context,
                ));
            }
            state = self.turn(state, Wait::Writing(deadline));
        }
        state.death().map_or(Ok(()), Err)
    }

    /// Makes one step towards news: leads one read, or sleeps while another thread leads.
    pub(super) fn turn<'a>(&'a self, mut state: Locked<'a>, wait: Wait) -> Locked<'a> {
        let (name, deadline) = match wait {
            Wait::News(call) if state.has_news(call) => return state,
            Wait::News(call) | Wait::Room(call) => (Some(call), None),
            Wait::Writing(deadline) => (None, Some(deadline)),
        };
        if state.dead.is_some() {
            return state;
        }
        let due = match (state.core.poll_timeout(), deadline) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        state = match state.threads.leader() {
            Leader::None if name.is_some() && state.threads.is_coalescing(state.now) => {
                self.follow(state, name, due)
            }
            Leader::None => self.lead(state, due),
            Leader::Reads if !state.outbox.is_empty() && !state.threads.has_writer() => {
                self.write_on(state, name, due)
            }
            _ => self.follow(state, name, due),
        };
        let now = state.now;
        let is_due = state.core.poll_timeout().is_some_and(|at| at <= now);
        if is_due && state.dead.is_none() {
            state.core.handle_timeout(now);
            if let Some(fault) = state.core.fault().map(ToString::to_string) {
                self.die(&mut state, fault, now);
            }
            state.take_outputs();
            self.write(&mut state, now);
        }
        state
    }

    fn follow<'a>(
        &'a self,
        mut state: Locked<'a>,
        name: Option<CallId>,
        due: Option<Instant>,
    ) -> Locked<'a> {
        let slot = self.waiting.take();
        let me = slot.map_or_else(|| Asleep::Parked(std::thread::current()), Asleep::In);
        state.threads.sleep(name, me.clone(), false);
        let left = due.map(|at| at.saturating_duration_since(state.now));
        let yields = slot.is_some()
            && self.spin_before_sleep > Duration::ZERO
            && may_yield(state.now)
            && state.following.should_spin();
        let now = state.now;
        drop(state);
        let mut end = None;
        match (slot, left) {
            (Some(slot), left) => {
                let mut is_woken = false;
                if yields {
                    let mut awake = SpinWait::begin(now, Duration::ZERO);
                    is_woken = self.waiting.is_woken(slot);
                    while !is_woken && awake.yield_now() {
                        is_woken = self.waiting.is_woken(slot);
                    }
                    end = Some(awake.end(is_woken));
                }
                if !is_woken {
                    self.waiting.sleep(slot, left);
                }
            }
            (None, Some(left)) => std::thread::park_timeout(left),
            (None, None) => std::thread::park(),
        }
        let now = clock();
        let mut state = self.lock();
        state.saw(now);
        state.threads.arrive(&me);
        if let Some(slot) = slot {
            self.waiting.give(slot);
        }
        if let Some(end) = end {
            state.following.learn_from(end);
        }
        state
    }

    /// Writes what is left over once there is room, while another thread sleeps in a plain read and
    /// does not see that octets wait. Comes back when there was room, or for anything that a
    /// follower is woken for.
    fn write_on<'a>(
        &'a self,
        mut state: Locked<'a>,
        name: Option<CallId>,
        due: Option<Instant>,
    ) -> Locked<'a> {
        // Without a descriptor to be woken by, the octets wait for the leader's next turn.
        let Ok(wake) = state.wake_fd() else {
            return self.follow(state, name, due);
        };
        let me = Asleep::Writes(Arc::clone(&wake), std::thread::current());
        state.threads.sleep(name, me.clone(), true);
        drop(state);
        // A failure shows in the write.
        let _waited = self.socket.wait_writable(&wake, due);
        let now = clock();
        let mut state = self.lock();
        state.saw(now);
        state.threads.arrive(&me);
        wake.clear();
        self.write(&mut state, now);
        state.threads.wake_senders();
        state
    }

    /// Reads once for all threads.
    fn lead<'a>(&'a self, mut state: Locked<'a>, due: Option<Instant>) -> Locked<'a> {
        if state.left_over > 0 {
            let now = state.now;
            self.write(&mut state, now);
        }
        let mut buffer = state.take_buffer();
        let writable = !state.outbox.is_empty();
        let exact = writable || due.is_some_and(|at| at < state.now + EXACT_BELOW);
        if !exact {
            self.bound_receive(&mut state, due);
        }
        let before = self.before_sleep(&mut state);
        state.threads.begin_to_lead(writable);
        drop(state);
        let leading = Leading(Some(self));
        let (received, end) = self.receive(&mut buffer, exact.then_some(writable), due, before);
        let now = clock();
        let mut state = leading.end(self);
        state.saw(now);
        if let Some(end) = end {
            state.reading.learn_from(end);
        }
        self.take_received(&mut state, buffer, received, now);
        state.threads.wake_senders();
        state.threads.delivered(now);
        state
    }

    /// Sees that a blocking receive ends in time, and not much earlier, without setting the
    /// socket's timeout anew for each call: three quarters of the time left serve many calls.
    fn bound_receive(&self, state: &mut State, due: Option<Instant>) {
        let left = due.map(|at| at.saturating_duration_since(state.now));
        let fits = match (state.receive_timeout, left) {
            (Some(set), Some(left)) => set <= left && set >= left / 2,
            (None, None) => true,
            _ => false,
        };
        if !fits {
            let timeout = left.map(|left| left / 4 * 3);
            // If it cannot be set, the old bound holds; the deadline is looked at after it.
            if self.socket.set_receive_timeout(timeout).is_ok() {
                state.receive_timeout = timeout;
            }
        }
    }

    /// Waits for octets: awake as long as `before` says, then asleep. Says too how being awake
    /// ended, where that is to be learned from.
    fn receive(
        &self,
        buffer: &mut BytesMut,
        exact: Option<bool>,
        due: Option<Instant>,
        before: Before,
    ) -> (io::Result<usize>, Option<SpinEnd>) {
        let mut end = None;
        let is_due = |now| due.is_some_and(|at| now >= at);
        match before {
            // Who has octets left over writes them before it sleeps as well.
            _ if exact == Some(true) => {}
            Before::Nothing => {}
            Before::Polls(until) => loop {
                match self.look(buffer) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    other => return (other, None),
                }
                let now = clock();
                if now >= until || is_due(now) {
                    break;
                }
                std::hint::spin_loop();
            },
            Before::Spins(mut awake, looks) => {
                // Who would run meanwhile waits for what is read here.
                let mut yields = looks == 0;
                while !is_due(awake.looked()) && (!yields || awake.yield_now()) {
                    for _ in 0..looks.max(1) {
                        match self.look(buffer) {
                            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                            other => return (other, Some(awake.end(true))),
                        }
                    }
                    yields = true;
                }
                end = Some(awake.end(false));
            }
        }
        let received = match exact {
            None => self.socket.receive(buffer),
            Some(writable) => self
                .socket
                .wait(writable, due)
                .and_then(|_ready| self.socket.receive_now(buffer)),
        };
        (received, end)
    }

    /// Receives if there is something. Shared memory is looked at for a moment: that costs less than
    /// a yield.
    fn look(&self, buffer: &mut BytesMut) -> io::Result<usize> {
        if self.socket.is_memory() {
            for _ in 0..LOOKS_AT_MEMORY {
                if self.socket.is_readable() {
                    break;
                }
                std::hint::spin_loop();
            }
        }
        self.socket.receive_now(buffer)
    }

    /// What this wait does before it sleeps: as was asked for, or as has paid.
    fn before_sleep(&self, state: &mut State) -> Before {
        if self.busy_poll > Duration::ZERO {
            Before::Polls(after(state.now, self.busy_poll))
        } else if self.spin_before_sleep > Duration::ZERO
            && may_yield(state.now)
            && state.reading.should_spin()
        {
            let looks = if state.threads.returning() > 0 {
                0
            } else {
                state.threads.asleep()
            };
            Before::Spins(SpinWait::begin(state.now, self.spin_before_sleep), looks)
        } else {
            Before::Nothing
        }
    }

    fn take_received(
        &self,
        state: &mut State,
        mut buffer: BytesMut,
        received: io::Result<usize>,
        now: Instant,
    ) {
        let end = match received {
            Ok(0) => Some("the peer closed the connection".into()),
            Ok(_) => take_all(&mut *state.core, now, &mut buffer)
                .err()
                .map(|fault| fault.to_string()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(error) => Some(error.to_string()),
        };
        state.give_buffer(buffer);
        state.take_outputs();
        match end {
            None => self.write(state, now),
            Some(why) => self.die(state, why, now),
        }
    }

    /// Writes what waits, as far as the kernel takes it.
    pub(super) fn write(&self, state: &mut State, now: Instant) {
        state.left_over = 0;
        while state.dead.is_none() {
            if state.outbox.budget() > 0 {
                state.core.poll_transmit(now, &mut state.outbox);
            }
            if state.outbox.is_empty() {
                return;
            }
            match self.send(&state.outbox) {
                Ok(count) => state.outbox.advance(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => return self.break_off(state, error.to_string(), now),
            }
        }
    }

    fn send(&self, outbox: &Outbox) -> io::Result<usize> {
        if outbox.pieces() == 1 {
            return self.socket.send_now(&[IoSlice::new(outbox.first())]);
        }
        let mut slices = [IoSlice::new(&[]); PIECES_A_WRITE];
        let count = outbox.slices(&mut slices);
        self.socket.send_now(&slices[..count])
    }

    /// Writing failed. What the peer said before it closed is heard all the same: that it drains,
    /// for example, so that a call it did not take is known to be refused and not lost.
    fn break_off(&self, state: &mut State, why: String, now: Instant) {
        if state.threads.leader() != Leader::None {
            // The thread that reads for all hears it, and finds the end.
            return;
        }
        let mut buffer = state.take_buffer();
        if matches!(self.socket.receive_now(&mut buffer), Ok(1..)) {
            // The connection ends either way.
            let _fault = take_all(&mut *state.core, now, &mut buffer);
        }
        state.give_buffer(buffer);
        state.take_outputs();
        self.die(state, why, now);
    }

    fn die(&self, state: &mut State, why: String, now: Instant) {
        if state.dead.is_some() {
            return;
        }
        if state.core.fault().is_some() {
            self.say_why(state, now);
        }
        state.dead = Some(why);
        // The connection ends either way.
        let _fault_at_the_end = state.core.handle_event(now, Input::Closed);
        state.take_outputs();
        self.socket.shutdown();
        state.threads.wake_all();
    }

    /// The thread that held the state or led has panicked: the core is not asked any more.
    fn abandon(&self, state: &mut State) {
        state
            .dead
            .get_or_insert_with(|| "a thread that drove the connection panicked".to_owned());
        self.socket.shutdown();
        state.threads.wake_all();
    }

    /// Tells the peer what it did wrong, as far as it still reads: the core's last words, which it
    /// forgets once it is told that the connection is closed.
    fn say_why(&self, state: &mut State, now: Instant) {
        state.core.poll_transmit(now, &mut state.outbox);
        while !state.outbox.is_empty()
            && let Ok(count) = self.send(&state.outbox)
        {
            state.outbox.advance(count);
        }
    }

    /// Gives a call up.
    pub(super) fn cancel(&self, call: CallId, code: Code) {
        let mut state = self.lock();
        state.core.cancel(call, code);
        state.streams.remove(&call);
        self.write(&mut state, clock());
    }
}

/// Gives a core all that came: nobody else has a turn on this connection.
pub(super) fn take_all(
    core: &mut dyn Core,
    now: Instant,
    octets: &mut BytesMut,
) -> Result<(), Fault> {
    loop {
        core.handle_event(now, Input::Octets(octets))?;
        if !core.has_more() {
            return Ok(());
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.socket.shutdown();
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Link({:?})", self.socket)
    }
}

#[cfg(test)]
mod tests;
