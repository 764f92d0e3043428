//! Connecting, and who waits for it.
//!
//! One thread connects, outside the lock; others that come meanwhile wait for it, each no longer
//! than its own deadline, and share what becomes of it. Only when the one that connects had less
//! time than the options allow does its failure say nothing about the service: then the next tries.

use super::link::{Link, take_all};
use crate::client_core::client_core;
use crate::event_loop::NO_TLS_THERE;
use crate::names::Addresses;
use crate::{ClientOptions, Endpoint};
use bytes::BytesMut;
use corewire_driver::{after, clock};
use corewire_message::{CallError, Origin};
use corewire_sys::{Address, Socket};
use corewire_wire::{Core, Outbox};
use std::io::{self, IoSlice};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A connection unused for so long is looked at before a call is sent on it: a peer that drains or
/// has gone meanwhile is noticed before and not after, when the call's fate would be unknown. Costs
/// one system call; callers in a tight loop do not pay it.
const LOOK_AFTER: Duration = Duration::from_millis(1);

/// Room to read into during a TLS handshake: a server's messages with its chain of certificates.
const READ_IN_A_HANDSHAKE: usize = 16 * 1024;

/// The way to a client's current connection.
#[derive(Debug)]
pub(super) struct Connecting {
    addresses: Addresses,
    current: Mutex<Current>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Current {
    link: Option<Arc<Link>>,
    /// Some thread connects.
    attempt: Option<Arc<OnceLock<Outcome>>>,
}

/// What became of an attempt, for those who waited for it.
#[derive(Debug)]
enum Outcome {
    /// The client's link is to be looked at again.
    Open,
    Failed(Arc<io::Error>),
}

impl Connecting {
    pub(super) fn new(endpoint: &Endpoint, options: &ClientOptions) -> Self {
        Self {
            addresses: Addresses::of(endpoint, &options.resolver),
            current: Mutex::default(),
            ended: Condvar::default(),
        }
    }

    /// A link that calls can be sent on, and what time it is: later than `now` when it had to be
    /// waited for.
    pub(super) fn link(
        &self,
        endpoint: &Endpoint,
        options: &ClientOptions,
        now: Instant,
        deadline: Instant,
    ) -> Result<(Arc<Link>, Instant), CallError> {
        let mut current = self.lock();
        let mut time = now;
        loop {
            if let Some(link) = &current.link
                && link.is_usable(time, LOOK_AFTER)
            {
                return Ok((Arc::clone(link), time));
            }
            let Some(attempt) = current.attempt.clone() else {
                break;
            };
            current = self.wait(current, &attempt, deadline)?;
            if let Some(Outcome::Failed(error)) = attempt.get() {
                return Err(unreachable(endpoint, Arc::clone(error)));
            }
            time = clock();
        }
        if time >= deadline {
            return Err(CallError::deadline_exceeded(false));
        }
        current.link = None;
        let attempt = Arc::new(OnceLock::new());
        current.attempt = Some(Arc::clone(&attempt));
        drop(current);

        let until = after(time, options.connect_timeout);
        let core = client_core(endpoint, options, time);
        let connected = match core {
            Ok(core) => connect(endpoint, options, &self.addresses, until.min(deadline))
                .and_then(|socket| agree(socket, core, until.min(deadline))),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidInput, error)),
        };
        let now = clock();
        let mut current = self.lock();
        current.attempt = None;
        let (outcome, result) = match connected {
            Ok((socket, core)) => {
                let link = Arc::new(Link::new(socket, core, options, now));
                current.link = Some(Arc::clone(&link));
                (Outcome::Open, Ok((link, now)))
            }
            Err(error) if deadline < until && error.kind() == io::ErrorKind::TimedOut => {
                let told = CallError::deadline_exceeded(false).with_source(error);
                (Outcome::Open, Err(told))
            }
            Err(error) => {
                let error = Arc::new(error);
                let told = unreachable(endpoint, Arc::clone(&error));
                (Outcome::Failed(error), Err(told))
            }
        };
        // It was not set before: only who made the attempt sets it.
        let _set = attempt.set(outcome);
        drop(current);
        self.ended.notify_all();
        result
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until another thread's attempt has ended.
    fn wait<'a>(
        &'a self,
        mut current: MutexGuard<'a, Current>,
        attempt: &OnceLock<Outcome>,
        deadline: Instant,
    ) -> Result<MutexGuard<'a, Current>, CallError> {
        while attempt.get().is_none() {
            let left = deadline.saturating_duration_since(clock());
            if left.is_zero() {
                return Err(CallError::deadline_exceeded(false));
            }
            let waited = self.ended.wait_timeout(current, left);
            current = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(current)
    }
}

/// Connects by shared memory where it is wanted and offered, otherwise by socket: to the addresses that
/// are known, and when none of them answers, to those that the name has by now.
fn connect(
    endpoint: &Endpoint,
    options: &ClientOptions,
    addresses: &Addresses,
    until: Instant,
) -> io::Result<Socket> {
    let offered = options.memory_of(endpoint);
    if let Some(Ok(socket)) = offered.map(|address| Socket::connect(&address, Duration::ZERO)) {
        return Ok(socket);
    }
    let known = addresses.known();
    match connect_in_turn(known.iter(), until) {
        Ok(socket) => Ok(socket),
        Err(error) => match addresses.others_than(&known, until) {
            Some(others) => connect_in_turn(others.iter(), until),
            None => Err(error),
        },
    }
}

/// Connects to the first of these that answers. An address that does not gets its share of the time
/// that is left, so that the others are tried too.
fn connect_in_turn<'a>(
    addresses: impl ExactSizeIterator<Item = &'a Address>,
    until: Instant,
) -> io::Result<Socket> {
    let mut untried = addresses.len();
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        let share = u32::try_from(untried).unwrap_or(u32::MAX);
        match Socket::connect(address, until.saturating_duration_since(clock()) / share) {
            Ok(socket) => return Ok(socket),
            Err(error) => failure = error,
        }
        untried -= 1;
    }
    Err(failure)
}

/// Lets the two ends agree on how to speak (TLS), before the connection is given to callers. Without
/// TLS there is nothing to agree on.
fn agree(
    socket: Socket,
    mut core: Box<dyn Core + Send>,
    until: Instant,
) -> io::Result<(Socket, Box<dyn Core + Send>)> {
    let mut outbox = Outbox::new();
    let mut buffer = BytesMut::new();
    while !core.is_established() {
        core.poll_transmit(clock(), &mut outbox);
        send_out(&socket, &mut outbox, until)?;
        if clock() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.wait(false, Some(until))?;
        buffer.reserve(READ_IN_A_HANDSHAKE);
        match socket.receive_now(&mut buffer) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::ConnectionReset, NO_TLS_THERE)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        }
        if let Err(fault) = take_all(&mut *core, clock(), &mut buffer) {
            // The peer is told why, as far as it still reads; the fault counts either way.
            core.poll_transmit(clock(), &mut outbox);
            let _peer_gone = send_out(&socket, &mut outbox, until);
            return Err(io::Error::new(io::ErrorKind::InvalidData, fault));
        }
    }
    Ok((socket, core))
}

fn send_out(socket: &Socket, outbox: &mut Outbox, until: Instant) -> io::Result<()> {
    while !outbox.is_empty() {
        match socket.send_now(&[IoSlice::new(outbox.first())]) {
            Ok(count) => outbox.advance(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && clock() < until => {
                socket.wait(true, Some(until))?;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn unreachable(endpoint: &Endpoint, error: Arc<io::Error>) -> CallError {
    let context = format!("{endpoint} could not be reached");
    CallError::not_sent(Origin::Transport, context).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn the_next_address_is_tried_when_one_refuses() {
        let open = TcpListener::bind("127.0.0.1:0").unwrap();
        // Nobody listens at the first.
        let closed = ([127, 1, 1, 1], 1).into();
        let addresses = [closed, open.local_addr().unwrap()].map(Address::Tcp);
        let soon = Instant::now() + Duration::from_secs(30);
        let socket = connect_in_turn(addresses.iter(), soon).unwrap();
        assert_eq!(socket.peer(), addresses[1].to_string());
        let refused = connect_in_turn(addresses[..1].iter(), soon).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}
