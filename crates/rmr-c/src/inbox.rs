//! Receiving: one queue for the application, whatever the number of peers and threads.
//!
//! There is no receiving thread. A thread that wants a message takes the [`Driver`] and reads sockets; the
//! others sleep until they are handed a message or the driver. This is no
//! `corewire_driver::LeaderFollower`: receivers write nothing that could be coalesced, and a thread that
//! serves a descriptor leads alone. Only when a program asks for a
//! descriptor to wait on (`rmr_get_rcvfd`) does a thread of ours drive, because a descriptor can
//! only tell of messages that are there as a whole.

use crate::arrival::Arrival;
use crate::deadline::Deadline;
use crate::driver::{Driver, Limits, Observer, Stopped, Verdict};
use crate::link::{Link, Shared};
use crate::log::say;
use crate::message::Message;
use crate::pool::{self, Pool};
use crate::readable::Readable;
use corewire_driver::clock;
use corewire_rmr::{ArrivalCounters, LossKind};
use corewire_sys::{Listener, Socket};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::RawFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Messages that wait for the application while another thread drives; then it stops reading, unless
/// somebody waits for the reply to a call, or nothing was taken for longer than senders are held back:
/// what comes is dropped then, and counted.
const MOST_QUEUED: usize = 4096;
/// As many are dropped at a time; whoever drops them has other things to do.
const MOST_DROPPED: usize = 8192;
/// How long a thread of ours that cannot go on sleeps at most.
const NAP: Duration = Duration::from_millis(100);
/// A program that reads the descriptor and misses a message is told of it after this, for the first
/// time; then it is known.
const REMINDER: Duration = Duration::from_millis(5);

/// The receiving side of a context.
pub(crate) struct Inbox {
    state: Mutex<State>,
    /// For receivers that do not drive.
    arrived: Condvar,
    /// For a thread of ours that drives or delivers.
    server: Condvar,
    /// For who closes while somebody else drives.
    ended: Condvar,
    shared: Arc<Shared>,
    /// The way back over connections that peers made, by number.
    back: Mutex<HashMap<i32, Weak<Link>>>,
    counts: ArrivalCounters,
    /// What is not told any more: until then, the counts had been reset.
    forgotten: Mutex<(u64, u64)>,
}

struct State {
    driver: Option<Box<Driver>>,
    queue: VecDeque<Held>,
    receivers: usize,
    /// Callers that wait, by their calls' numbers.
    calls: HashMap<u8, Call>,
    waiting_calls: usize,
    /// Tells the program that a message is queued.
    readable: Option<Readable>,
    /// A thread of ours drives for good.
    served: bool,
    /// The program reads the descriptor by itself.
    is_read: bool,
    /// It is over, and by when peers are to have what was sent to them.
    closed_by: Option<Instant>,
    /// Somebody has the driver.
    driving: bool,
    /// How many messages had been taken when connections were looked after last.
    maintained_at: u64,
    /// Since when the queue is full and nothing is taken from it.
    full_since: Option<Instant>,
    /// Messages that may still be dropped at this time because of that.
    may_drop: usize,
}

/// A message in a queue.
struct Held(NonNull<Message>);

// SAFETY: a message in a queue is used by whoever takes it out, and by nobody before.
unsafe impl Send for Held {}

/// A caller that waits.
struct Call {
    expected: [u8; 32],
    reply: Option<Held>,
    answered: Arc<Condvar>,
}

/// Who drives.
#[derive(Clone, Copy)]
enum Role {
    /// Somebody who wants the next message, and gives this one to be used for it.
    Receiver(Option<NonNull<Message>>),
    /// Somebody who waits for the reply to this call.
    Caller(u8),
    /// A thread of ours that only moves messages into the queue.
    Server,
}

impl Inbox {
    /// Listens at `listener`, and for peers of this host at the other.
    pub(crate) fn new(
        listener: Listener,
        memory_listener: Option<Listener>,
        shared: Arc<Shared>,
        limits: Limits,
        stamps: bool,
    ) -> io::Result<Self> {
        let driver = Driver::new(
            listener,
            memory_listener,
            Arc::clone(&shared),
            limits,
            stamps,
        )?;
        Ok(Self::with(shared, Some(Box::new(driver))))
    }

    /// Without sockets: a thread of ours [delivers](Self::deliver) what comes.
    pub(crate) fn served(shared: Arc<Shared>) -> Self {
        Self::with(shared, None)
    }

    fn with(shared: Arc<Shared>, driver: Option<Box<Driver>>) -> Self {
        Self {
            state: Mutex::new(State {
                served: driver.is_none(),
                is_read: false,
                driver,
                queue: VecDeque::new(),
                receivers: 0,
                calls: HashMap::new(),
                readable: None,
                waiting_calls: 0,
                closed_by: None,
                driving: false,
                maintained_at: 0,
                full_since: None,
                may_drop: 0,
            }),
            arrived: Condvar::new(),
            server: Condvar::new(),
            ended: Condvar::new(),
            shared,
            back: Mutex::default(),
            counts: ArrivalCounters::default(),
            forgotten: Mutex::default(),
        }
    }

    /// All ways back over connections that peers made.
    pub(crate) fn ways_back(&self) -> Vec<Arc<Link>> {
        self.back().values().filter_map(Weak::upgrade).collect()
    }

    /// The way back over the connection of that number.
    pub(crate) fn way_back(&self, number: i32) -> Option<Arc<Link>> {
        self.back().get(&number)?.upgrade()
    }

    /// What came in.
    pub(crate) fn counters(&self) -> &ArrivalCounters {
        &self.counts
    }

    /// Messages taken for the application, and what was lost, since the counts were reset.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let forgotten = *self.forgotten();
        let (taken, lost) = (self.counts.all_taken(), self.counts.all_lost());
        (taken - forgotten.0, lost - forgotten.1)
    }

    /// Counts from zero again, for [`counts`](Self::counts) alone.
    pub(crate) fn reset_counts(&self) {
        *self.forgotten() = (self.counts.all_taken(), self.counts.all_lost());
    }

    fn forgotten(&self) -> MutexGuard<'_, (u64, u64)> {
        let forgotten = self.forgotten.lock();
        forgotten.unwrap_or_else(PoisonError::into_inner)
    }

    /// The next message, waiting at most until `deadline` (`None`: for ever). What it is put into
    /// is `old`, if that is given; when nothing came, `old` is untouched and still the caller's.
    ///
    /// # Safety
    /// `old` is a live message of this context's that nobody else uses.
    pub(crate) unsafe fn receive(
        &self,
        pool: &Pool,
        old: Option<NonNull<Message>>,
        deadline: Deadline,
    ) -> Option<NonNull<Message>> {
        let mut deadline = deadline;
        let mut state = self.state();
        loop {
            if let Some(Held(message)) = state.queue.pop_front() {
                self.popped(&mut state);
                drop(state);
                if let Some(old) = old {
                    // SAFETY: the caller's, who gives it up for the other.
                    unsafe { pool::free(old) };
                }
                return Some(message);
            }
            if let Some(driver) = &mut state.driver
                && let Some(message) = driver.at_hand(|arrival| {
                    if arrival.message.reply_to().is_some() {
                        return None;
                    }
                    self.put(pool, &arrival, old)
                })
            {
                self.counts.at_hand.add_exclusively(1);
                return Some(message);
            }
            if state.closed_by.is_some() {
                return None;
            }
            deadline = deadline.begun();
            if !state.served && state.driver.is_some() {
                let role = Role::Receiver(old);
                let (guard, outcome) = self.drive(state, pool, role, deadline);
                state = guard;
                match outcome {
                    Outcome::Message(message) => return Some(message),
                    Outcome::Late if state.queue.is_empty() => return None,
                    Outcome::Late | Outcome::Again => {}
                }
                continue;
            }
            if deadline.is_over() {
                return None;
            }
            state.receivers += 1;
            state = deadline.sleep(&self.arrived, state);
            state.receivers -= 1;
        }
    }

    /// Puts messages back for later, behind those that wait.
    ///
    /// # Safety
    /// They are live messages that nobody else uses.
    pub(crate) unsafe fn requeue(&self, messages: impl IntoIterator<Item = NonNull<Message>>) {
        let mut state = self.state();
        for message in messages {
            self.queue(&mut state, message);
        }
    }

    /// Announces a call, so that its reply is kept for it. `false` when another thread uses that
    /// number now.
    pub(crate) fn expect(&self, call_id: u8, expected: [u8; 32]) -> bool {
        let mut state = self.state();
        let Entry::Vacant(place) = state.calls.entry(call_id) else {
            return false;
        };
        place.insert(Call {
            expected,
            reply: None,
            answered: Arc::default(),
        });
        true
    }

    /// Announces a call with a number that nobody uses now: the original's, else from the top, where
    /// those that programs choose by themselves seldom are.
    pub(crate) fn expect_any(&self, expected: [u8; 32]) -> Option<u8> {
        let numbers = [1].into_iter().chain((2..=u8::MAX).rev());
        numbers.into_iter().find(|id| self.expect(*id, expected))
    }

    /// Gives an announced call up.
    pub(crate) fn forget(&self, call_id: u8) {
        let call = self.state().calls.remove(&call_id);
        if let Some(Held(reply)) = call.and_then(|call| call.reply) {
            self.refuse(LossKind::LateReply);
            // SAFETY: it was in the queue of this call, which is gone.
            unsafe { pool::free(reply) };
        }
    }

    /// The reply to an announced call, waiting until `deadline`. The call is over either way.
    pub(crate) fn reply(
        &self,
        pool: &Pool,
        call_id: u8,
        deadline: Deadline,
    ) -> Option<NonNull<Message>> {
        let mut state = self.state();
        let reply = loop {
            let Some(ours) = state.calls.get_mut(&call_id) else {
                break None;
            };
            if let Some(Held(reply)) = ours.reply.take() {
                break Some(reply);
            }
            let answered = Arc::clone(&ours.answered);
            if state.closed_by.is_some() {
                break None;
            }
            if !state.served && state.driver.is_some() {
                let (guard, outcome) = self.drive(state, pool, Role::Caller(call_id), deadline);
                state = guard;
                match outcome {
                    Outcome::Message(reply) => break Some(reply),
                    Outcome::Late => break None,
                    Outcome::Again => {}
                }
                continue;
            }
            if deadline.is_over() {
                break None;
            }
            state.waiting_calls += 1;
            // It may have stopped because the queue was full.
            self.server.notify_all();
            state = deadline.sleep(&answered, state);
            state.waiting_calls -= 1;
        };
        let left = state.calls.remove(&call_id);
        self.hand_over(&state);
        drop(state);
        if reply.is_some() {
            self.counts.taken.add(1);
        }
        if let Some(Held(late)) = left.and_then(|call| call.reply) {
            self.refuse(LossKind::LateReply);
            // SAFETY: as in `forget`.
            unsafe { pool::free(late) };
        }
        reply
    }

    /// Takes the driver, drives until there is an outcome, and puts it back.
    fn drive<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        pool: &Pool,
        role: Role,
        deadline: Deadline,
    ) -> (MutexGuard<'a, State>, Outcome) {
        let Some(mut driver) = state.driver.take() else {
            return (state, Outcome::Again);
        };
        state.driving = true;
        drop(state);
        let driven = catch_unwind(AssertUnwindSafe(|| {
            self.drive_with(&mut driver, pool, role, deadline)
        }));
        if driven.is_err() {
            // What it was about would be met again by whoever drives next.
            let mut ended = Ended::of(self);
            driver.abandon(&mut ended);
            ended.tell();
        }
        let mut state = self.state();
        if let Some(deadline) = state.closed_by {
            drop(state);
            self.end(driver, deadline);
            state = self.state();
        } else {
            state.driver = Some(driver);
        }
        state.driving = false;
        self.ended.notify_all();
        self.hand_over(&state);
        match driven {
            Ok(outcome) => (state, outcome),
            Err(panic) => {
                drop(state);
                resume_unwind(panic)
            }
        }
    }

    fn drive_with(
        &self,
        driver: &mut Driver,
        pool: &Pool,
        role: Role,
        deadline: Deadline,
    ) -> Outcome {
        let mut ended = Ended::of(self);
        let mut looked = false;
        loop {
            let stopped = driver.next(&mut ended, |arrival| self.sort(pool, &arrival, role));
            ended.tell();
            match stopped {
                Stopped::Done(Some(message)) => return Outcome::Message(message),
                Stopped::Done(None) | Stopped::Left => return Outcome::Again,
                Stopped::Dry => {}
            }
            // Somebody else may have been served meanwhile, or be about to drive.
            let mut wait = deadline.left();
            {
                let mut state = self.state();
                if matches!(role, Role::Server) && state.served && !state.queue.is_empty() {
                    self.remind_of(&mut state);
                    wait = Some(wait.map_or(REMINDER, |wait| wait.min(REMINDER)));
                }
                let other = !matches!(role, Role::Server) && state.served;
                let queued = matches!(role, Role::Receiver(_)) && !state.queue.is_empty();
                if state.closed_by.is_some() || other || queued {
                    return Outcome::Again;
                }
            }
            if looked && deadline.is_over() {
                return Outcome::Late;
            }
            looked = true;
            let waited = match deadline {
                Deadline::Now => Ok(false),
                _ => driver.doze(&mut ended),
            };
            let waited = match waited {
                Ok(false) => driver.wait(wait, &mut ended),
                Ok(true) => Ok(()),
                Err(error) => Err(error),
            };
            ended.tell();
            if let Err(error) = waited {
                say!(Critical, "waiting for messages failed: {error}");
                return Outcome::Late;
            }
        }
    }

    /// Decides about a message that came while `role` was driving.
    fn sort(
        &self,
        pool: &Pool,
        arrival: &Arrival<'_>,
        role: Role,
    ) -> Verdict<Option<NonNull<Message>>> {
        if let Some(call_id) = arrival.message.reply_to() {
            return self.answer(pool, arrival, call_id, role);
        }
        if let Role::Receiver(old) = role {
            return match self.put(pool, arrival, old) {
                Some(message) => {
                    self.counts.taken.add(1);
                    Verdict::Done(Some(message))
                }
                None => self.no_memory(arrival),
            };
        }
        let mut state = self.state();
        if state.queue.len() >= MOST_QUEUED {
            if matches!(role, Role::Server) && state.waiting_calls == 0 {
                if state.may_drop == 0 || !self.is_abandoned(&mut state) {
                    return Verdict::Leave;
                }
                state.may_drop -= 1;
            }
            drop(state);
            self.crowd_out();
            return Verdict::Next;
        }
        match self.put(pool, arrival, None) {
            Some(message) => {
                self.counts.taken.add(1);
                self.queue(&mut state, message);
                Verdict::Next
            }
            None => self.no_memory(arrival),
        }
    }

    /// A reply came: to whoever waits for it.
    fn answer(
        &self,
        pool: &Pool,
        arrival: &Arrival<'_>,
        call_id: u8,
        role: Role,
    ) -> Verdict<Option<NonNull<Message>>> {
        let mut state = self.state();
        let call = state.calls.get_mut(&call_id);
        let waits =
            call.filter(|call| call.reply.is_none() && &call.expected == arrival.message.xaction());
        let Some(call) = waits else {
            self.refuse(LossKind::LateReply);
            say!(
                Info,
                "a reply to call {call_id} is dropped: nobody waits for it"
            );
            return Verdict::Next;
        };
        let Some(reply) = self.put(pool, arrival, None) else {
            return self.no_memory(arrival);
        };
        if matches!(role, Role::Caller(ours) if ours == call_id) {
            return Verdict::Done(Some(reply));
        }
        call.reply = Some(Held(reply));
        call.answered.notify_one();
        Verdict::Next
    }

    /// Copies a message out of its connection's buffer.
    fn put(
        &self,
        pool: &Pool,
        arrival: &Arrival<'_>,
        old: Option<NonNull<Message>>,
    ) -> Option<NonNull<Message>> {
        let mut message = match old {
            Some(old) => old,
            None => pool.take(arrival.message.room())?,
        };
        // SAFETY: from the pool, or the receiver's, who gave it for this.
        let inside = unsafe { message.as_mut() };
        if !arrival.message.fill(inside, pool.standard()) {
            if old.is_none() {
                // SAFETY: just taken, and nobody has it.
                unsafe { pool::free(message) };
            }
            return None;
        }
        inside.rts_fd = arrival.number;
        inside.set_arrival(arrival.stamp);
        Some(message)
    }

    /// There is no room for a message, and the reply that a caller waits for may stand behind it.
    fn crowd_out(&self) {
        self.refuse(LossKind::QueueFull);
        let count = self.counts.lost(LossKind::QueueFull).get();
        // The log is to tell of a flood, not to be one.
        if count.is_power_of_two() {
            say!(
                Error,
                "{MOST_QUEUED} messages wait and nobody receives them: {count} more are dropped until now"
            );
        }
    }

    fn no_memory<R>(&self, arrival: &Arrival<'_>) -> Verdict<R> {
        self.refuse(LossKind::NoMemory);
        let octets = arrival.message.room();
        say!(
            Critical,
            "a message of {octets} octets is dropped: no memory"
        );
        Verdict::Next
    }

    fn queue(&self, state: &mut State, message: NonNull<Message>) {
        state.queue.push_back(Held(message));
        if state.receivers > 0 {
            self.arrived.notify_one();
        }
        if state.queue.len() == 1
            && let Some(readable) = &state.readable
        {
            readable.fill(state.is_read);
        }
    }

    /// Whether the queue, which is full, is left alone for longer than senders are held back.
    fn is_abandoned(&self, state: &mut State) -> bool {
        let Some(hold) = self.shared.conduct().holds_unread else {
            return false;
        };
        hold.is_zero() || state.full_since.get_or_insert_with(clock).elapsed() >= hold
    }

    fn popped(&self, state: &mut State) {
        state.full_since = None;
        if let Some(readable) = &state.readable
            && (state.queue.is_empty() || state.is_read)
        {
            // It was filled when the first of these messages came.
            state.is_read |= !readable.empty();
            if !state.queue.is_empty() {
                readable.fill(true);
            }
        }
        // Who drives for others stopped when the queue was full.
        if state.queue.len() + 1 == MOST_QUEUED {
            self.hand_over(state);
            self.server.notify_all();
            self.arrived.notify_all();
        }
    }

    /// Wakes somebody who may drive now.
    fn hand_over(&self, state: &State) {
        if state.served {
            self.server.notify_one();
        } else if state.receivers > 0 {
            self.arrived.notify_one();
        } else if state.waiting_calls > 0 {
            for call in state.calls.values() {
                call.answered.notify_one();
            }
        }
    }

    /// A descriptor that is readable while a message is queued, until the inbox is closed. From now on
    /// `serve` must run.
    pub(crate) fn readable(&self) -> io::Result<(RawFd, bool)> {
        let mut state = self.state();
        if let Some(readable) = &state.readable {
            return Ok((readable.number(), false));
        }
        if state.closed_by.is_some() {
            return Err(io::Error::from_raw_os_error(libc::ESHUTDOWN));
        }
        let readable = Readable::new()?;
        let number = readable.number();
        if !state.queue.is_empty() {
            readable.fill(false);
        }
        state.readable = Some(readable);
        let first = !std::mem::replace(&mut state.served, true);
        drop(state);
        // Whoever drives now is to step back.
        self.shared.wake();
        Ok((number, first))
    }

    /// Looks after the descriptor: a program may have read it, and wait for what is there.
    pub(crate) fn remind(&self) {
        self.remind_of(&mut self.state());
    }

    fn remind_of(&self, state: &mut State) {
        if let Some(readable) = &state.readable
            && !state.queue.is_empty()
            && !readable.is_full()
        {
            state.is_read = true;
            readable.fill(true);
        }
    }

    /// Drives until the inbox is closed: the body of the thread behind `readable`.
    pub(crate) fn serve(&self, pool: &Pool) {
        let mut state = self.state();
        while state.closed_by.is_none() {
            self.remind_of(&mut state);
            state.may_drop = MOST_DROPPED;
            let has_room = state.queue.len() < MOST_QUEUED
                || state.waiting_calls > 0
                || self.is_abandoned(&mut state);
            if state.driver.is_some() && has_room {
                (state, _) = self.drive(state, pool, Role::Server, Deadline::NEVER);
            } else {
                state = Deadline::after(NAP).sleep(&self.server, state);
            }
        }
    }

    /// Takes a message from a thread that receives for us; waits while the queue is full, unless
    /// the inbox is closed.
    pub(crate) fn deliver(&self, pool: &Pool, arrival: &Arrival<'_>) {
        self.state().may_drop = MOST_DROPPED;
        while let Verdict::Leave = self.sort(pool, arrival, Role::Server) {
            let state = self.state();
            if state.closed_by.is_some() {
                self.counts.taken.add(1);
                self.refuse(LossKind::Unread);
                return;
            }
            if state.queue.len() >= MOST_QUEUED && state.waiting_calls == 0 {
                drop(Deadline::after(NAP).sleep(&self.server, state));
            }
        }
    }

    /// Something came and does not get to the application.
    pub(crate) fn refuse(&self, kind: LossKind) {
        self.counts.lost(kind).add(1);
    }

    /// Looks after connections while nobody receives: accepts, notices those that ended, and drops what
    /// comes when nobody has for too long. Whether that goes on: then it is to be called again soon.
    pub(crate) fn maintain(&self, pool: &Pool) -> bool {
        let mut state = self.state();
        let taken = self.counts.all_taken();
        let in_use = std::mem::replace(&mut state.maintained_at, taken) != taken;
        let is_full = state.queue.len() >= MOST_QUEUED;
        if state.served || state.closed_by.is_some() || state.driver.is_none() {
            return false;
        }
        if is_full && !self.is_abandoned(&mut state) || !is_full && in_use {
            return false;
        }
        state.may_drop = MOST_DROPPED;
        drop(self.drive(state, pool, Role::Server, Deadline::NOW));
        is_full
    }

    /// Ends all waiting and closes the sockets, when peers have what was sent to them, or at `deadline`.
    pub(crate) fn close(&self, deadline: Instant) {
        let mut state = self.state();
        state.closed_by = Some(deadline);
        let left = std::mem::take(&mut state.queue);
        let driver = state.driver.take();
        self.arrived.notify_all();
        self.server.notify_all();
        for call in state.calls.values() {
            call.answered.notify_all();
        }
        state.readable = None;
        drop(state);
        self.shared.wake();
        self.counts.lost(LossKind::Unread).add(left.len() as u64);
        for Held(message) in left {
            // SAFETY: it was in the queue, and now is in none.
            unsafe { pool::free(message) };
        }
        match driver {
            Some(driver) => self.end(driver, deadline),
            None => self.await_end(deadline),
        }
    }

    /// Whoever drives ends it.
    fn await_end(&self, deadline: Instant) {
        let mut state = self.state();
        let deadline = Deadline::At(deadline);
        while state.driving && !deadline.is_over() {
            state = deadline.sleep(&self.ended, state);
        }
    }

    /// Closes the sockets, when peers have what was sent to them; what comes meanwhile is counted.
    fn end(&self, mut driver: Box<Driver>, deadline: Instant) {
        let unread = || {
            self.counts.taken.add(1);
            self.refuse(LossKind::Unread);
        };
        while driver.at_hand(|_| Some(())).is_some() {
            unread();
        }
        let mut ended = Ended::of(self);
        driver.take_leave(deadline, &mut ended, unread);
        ended.tell();
        driver.close();
    }

    /// How many messages came that nobody received.
    pub(crate) fn unread(&self) -> u64 {
        self.counts.lost(LossKind::Unread).get()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn back(&self) -> MutexGuard<'_, HashMap<i32, Weak<Link>>> {
        self.back.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What driving came to.
enum Outcome {
    Message(NonNull<Message>),
    /// Look at the state again.
    Again,
    /// Nothing came in time.
    Late,
}

/// Collects what the driver tells, to be acted on when it does not run.
struct Ended<'a> {
    inbox: &'a Inbox,
    links: Vec<(Arc<Link>, Arc<Socket>)>,
}

impl<'a> Ended<'a> {
    fn of(inbox: &'a Inbox) -> Self {
        Self {
            inbox,
            links: Vec::new(),
        }
    }

    fn tell(&mut self) {
        for (link, socket) in self.links.drain(..) {
            link.ended(&socket);
        }
    }
}

impl Observer for Ended<'_> {
    fn ended(&mut self, link: &Arc<Link>, socket: &Arc<Socket>) {
        self.links.push((Arc::clone(link), Arc::clone(socket)));
    }

    fn refused(&mut self, kind: LossKind) {
        self.inbox.refuse(kind);
    }

    fn arrived(&mut self, number: i32, link: &Arc<Link>) {
        self.inbox.back().insert(number, Arc::downgrade(link));
    }

    fn departed(&mut self, number: i32) {
        self.inbox.back().remove(&number);
    }
}
