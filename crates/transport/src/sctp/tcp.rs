//! Messages as records over TCP: one thread that receives for all associations, senders that write.

use corewire_driver::clock;
use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use corewire_sys::{Address, Epoll, Interest, Listener, Readiness, Socket, Token, WakeFd};

use super::association::{Line, MAX_QUEUED_OCTETS, Queue};
use super::framing::{Frame, FrameKind};
use super::{Acceptor, Association, Drive, Ended, Message, SendError};

/// The token of the bell; sockets have the ones above.
const BELL: Token = Token(0);
/// Octets received at a time.
const RECEIVE: usize = 16 * 1024;
/// Associations that are accepted at a time, so that a flood leaves room for those that are up.
const ACCEPT_A_TURN: usize = 64;
/// How long nobody is accepted when there is no descriptor or no memory for it: those who wait are
/// there all the time, and asking again at once would be all that the thread does.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// The driver. Its thread ends when it was dropped and no association or acceptor is left.
pub(super) struct TcpDriver(Arc<Shared>);

struct Shared {
    bell: WakeFd,
    commands: Mutex<Vec<Command>>,
    tokens: AtomicU64,
}

/// What others want of the thread.
enum Command {
    Listen(Token, Listener, Arc<Queue<Association>>),
    Add(Arc<Connection>, Arc<Queue<Message>>),
    /// Look again at what this connection waits for.
    Look(Token),
    Forget(Token),
    End,
}

struct Connection {
    token: Token,
    socket: Socket,
    peer: Option<SocketAddr>,
    out: Mutex<Out>,
    driver: Arc<Shared>,
}

#[derive(Default)]
struct Out {
    unsent: BytesMut,
    /// Nothing more may be sent; when `unsent` is empty, the end is.
    closing: bool,
    /// The socket is of no use any more.
    broken: bool,
    /// This side has had enough of it.
    aborted: bool,
    resumed: bool,
}

impl TcpDriver {
    pub(super) fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared {
            bell: WakeFd::new()?,
            commands: Mutex::new(Vec::new()),
            tokens: AtomicU64::new(1),
        });
        let epoll = Epoll::new()?;
        epoll.add_bell(shared.bell.as_fd(), BELL)?;
        let thread = Thread {
            epoll,
            shared: Arc::clone(&shared),
            listeners: HashMap::new(),
            resting: None,
            connections: HashMap::new(),
        };
        std::thread::Builder::new()
            .name("n2-tcp".into())
            .spawn(move || thread.run())?;
        Ok(Self(shared))
    }
}

impl Drop for TcpDriver {
    fn drop(&mut self) {
        self.0.command(Command::End);
    }
}

impl Drive for TcpDriver {
    fn listen(&self, address: SocketAddr) -> io::Result<Acceptor> {
        let listener = Listener::bind(&Address::Tcp(address), false)?;
        let address = match listener.address()? {
            Address::Tcp(address) => address,
            _ => address,
        };
        let (token, queue) = (self.0.token(), Queue::new());
        self.0
            .command(Command::Listen(token, listener, Arc::clone(&queue)));
        let listening = Listening(token, Arc::clone(&self.0));
        Ok(Acceptor::new(queue, address, Box::new(listening)))
    }

    fn connect(&self, address: SocketAddr, timeout: Duration) -> io::Result<Association> {
        let socket = Socket::connect(&Address::Tcp(address), timeout)?;
        socket.set_nonblocking(true)?;
        let connection = self.0.connection(socket, Some(address));
        let queue = Queue::new();
        self.0
            .command(Command::Add(Arc::clone(&connection), Arc::clone(&queue)));
        Ok(Association::new(queue, connection))
    }
}

/// Ends listening when it is dropped.
struct Listening(Token, Arc<Shared>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.1.command(Command::Forget(self.0));
    }
}

impl Shared {
    fn token(&self) -> Token {
        Token(self.tokens.fetch_add(1, Ordering::Relaxed))
    }

    fn command(&self, command: Command) {
        lock(&self.commands).push(command);
        self.bell.wake();
    }

    fn connection(self: &Arc<Self>, socket: Socket, peer: Option<SocketAddr>) -> Arc<Connection> {
        Arc::new(Connection {
            token: self.token(),
            socket,
            peer,
            out: Mutex::default(),
            driver: Arc::clone(self),
        })
    }
}

impl Line for Connection {
    fn send(&self, stream: u16, ppid: u32, payload: &[u8]) -> Result<(), SendError> {
        let length = u32::try_from(payload.len()).map_err(|_| SendError::TooLong)?;
        let header = Frame::header(FrameKind::Data, stream, ppid, length);
        let mut out = lock(&self.out);
        if out.closing || out.broken {
            return Err(SendError::Ended);
        }
        if out.unsent.len() + payload.len() > MAX_QUEUED_OCTETS {
            return Err(SendError::Full);
        }
        self.write(&mut out, &header, payload);
        Ok(())
    }

    fn shutdown(&self) {
        let mut out = lock(&self.out);
        if out.closing || out.broken {
            return;
        }
        self.write(&mut out, &Frame::header(FrameKind::Shutdown, 0, 0, 0), &[]);
        out.closing = true;
        drop(out);
        self.driver.command(Command::Look(self.token));
    }

    fn abort(&self) {
        let mut out = lock(&self.out);
        (out.broken, out.aborted) = (true, true);
        out.unsent = BytesMut::new();
        drop(out);
        self.driver.command(Command::Look(self.token));
    }

    fn resume(&self) {
        lock(&self.out).resumed = true;
        self.driver.command(Command::Look(self.token));
    }

    fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// A record says its stream, which means nothing more.
    fn streams(&self) -> u16 {
        u16::MAX
    }
}

impl Connection {
    /// Writes what the socket takes now; the thread writes the rest.
    fn write(&self, out: &mut Out, header: &[u8], payload: &[u8]) {
        let mut sent = 0;
        if out.unsent.is_empty() {
            let slices = [IoSlice::new(header), IoSlice::new(payload)];
            sent = match self.socket.send_now(&slices) {
                Ok(sent) => sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(_) => {
                    // The thread finds the same error when it reads, and tells the reader.
                    out.broken = true;
                    return;
                }
            };
            if sent == header.len() + payload.len() {
                return;
            }
            self.driver.command(Command::Look(self.token));
        }
        out.unsent
            .extend_from_slice(&header[sent.min(header.len())..]);
        out.unsent
            .extend_from_slice(&payload[sent.saturating_sub(header.len())..]);
    }

    /// Writes what waits; whether nothing waits any more.
    fn flush(&self, out: &mut Out) -> io::Result<bool> {
        while !out.unsent.is_empty() {
            match self.socket.send_now(&[IoSlice::new(&out.unsent)]) {
                Ok(sent) => out.unsent.advance(sent),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        out.unsent = BytesMut::new();
        Ok(true)
    }
}

/// What the thread keeps.
struct Thread {
    epoll: Epoll,
    shared: Arc<Shared>,
    listeners: HashMap<u64, (Listener, Arc<Queue<Association>>)>,
    /// When listeners are looked at again that could not accept.
    resting: Option<Instant>,
    connections: HashMap<u64, Receiving>,
}

struct Receiving {
    connection: Arc<Connection>,
    queue: Arc<Queue<Message>>,
    received: BytesMut,
    paused: bool,
    /// The peer said that it has no more to say.
    shut_down: bool,
    /// It has closed its end, too: there is nothing to read any more.
    read_all: bool,
    /// What the socket is watched for; not at all when it has an end to tell that nobody may hear yet.
    interest: Option<Interest>,
}

impl Thread {
    fn run(mut self) {
        let mut ending = false;
        while !(ending && self.listeners.is_empty() && self.connections.is_empty()) {
            let rest = self
                .resting
                .map(|until| until.saturating_duration_since(clock()));
            let Ok(ready) = self.epoll.wait(rest) else {
                return;
            };
            for index in 0..ready {
                if let Some(readiness) = self.epoll.readiness(index)
                    && readiness.token != BELL
                {
                    self.ready(readiness);
                }
            }
            self.listen_again();
            let commands = std::mem::take(&mut *lock(&self.shared.commands));
            for command in commands {
                match command {
                    Command::End => ending = true,
                    command => self.obey(command),
                }
            }
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Listen(token, listener, queue) => {
                match self.epoll.add(listener.as_fd(), token, Interest::Read) {
                    Ok(()) => drop(self.listeners.insert(token.0, (listener, queue))),
                    Err(error) => queue.end(Ended::Lost(error.to_string())),
                }
            }
            Command::Add(connection, queue) => self.add(connection, queue),
            Command::Look(token) => self.look(token),
            Command::Forget(token) => drop(self.listeners.remove(&token.0)),
            Command::End => {}
        }
    }

    fn add(&mut self, connection: Arc<Connection>, queue: Arc<Queue<Message>>) {
        let token = connection.token;
        let added = self
            .epoll
            .add(connection.socket.as_fd(), token, Interest::Read);
        if let Err(error) = added {
            queue.end(Ended::Lost(error.to_string()));
            return;
        }
        let receiving = Receiving {
            connection,
            queue,
            received: BytesMut::new(),
            paused: false,
            shut_down: false,
            read_all: false,
            interest: Some(Interest::Read),
        };
        self.connections.insert(token.0, receiving);
    }

    fn ready(&mut self, readiness: Readiness) {
        let token = readiness.token;
        if self.listeners.contains_key(&token.0) {
            return self.accept(token);
        }
        if readiness.readable
            && let Some(receiving) = self.connections.get_mut(&token.0)
            && let Err(ended) = receiving.receive(&self.epoll)
        {
            self.remove(token, ended);
            return;
        }
        self.look(token);
    }

    fn accept(&mut self, token: Token) {
        let Some((listener, queue)) = self.listeners.get(&token.0) else {
            return;
        };
        let queue = Arc::clone(queue);
        let mut accepted = Vec::new();
        while accepted.len() < ACCEPT_A_TURN {
            match listener.accept() {
                Ok(socket) => accepted.push(socket),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // Who waited went; the next may be there.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    let _watched_still = self.epoll.remove(listener.as_fd());
                    self.resting = Some(clock() + ACCEPT_AGAIN);
                    break;
                }
            }
        }
        for socket in accepted {
            let peer = socket.peer().parse().ok();
            let connection = self.shared.connection(socket, peer);
            let messages = Queue::new();
            self.add(Arc::clone(&connection), Arc::clone(&messages));
            queue.push(Association::new(messages, connection), 0);
        }
    }

    /// Looks again whether there are descriptors for those who wait.
    fn listen_again(&mut self) {
        if self.resting.is_none_or(|until| until > clock()) {
            return;
        }
        self.resting = None;
        for (token, (listener, _)) in &self.listeners {
            // Those that did not rest are watched already.
            let token = Token(*token);
            let _watched = self.epoll.add(listener.as_fd(), token, Interest::Read);
        }
    }

    /// Writes what waits, and sets what the connection waits for.
    fn look(&mut self, token: Token) {
        if let Some(receiving) = self.connections.get_mut(&token.0)
            && let Err(ended) = receiving.look(&self.epoll)
        {
            self.remove(token, ended);
        }
    }

    fn remove(&mut self, token: Token, ended: Ended) {
        if let Some(receiving) = self.connections.remove(&token.0) {
            lock(&receiving.connection.out).broken = true;
            let _ = self.epoll.remove(receiving.connection.socket.as_fd());
            receiving.connection.socket.shutdown();
            receiving.queue.end(ended);
        }
    }
}

impl Receiving {
    /// Receives once, so that no peer keeps the thread from the others.
    fn receive(&mut self, epoll: &Epoll) -> Result<(), Ended> {
        if self.read_all {
            // It is not watched for octets: it is broken while something is still to be written.
            return Err(Ended::Lost("the peer is gone before it had all".into()));
        }
        if self.paused {
            // Its end. Told now it would pass those messages that wait; watched it would be told
            // again and again.
            let _watched_no_more = epoll.remove(self.connection.socket.as_fd());
            self.interest = None;
            return Ok(());
        }
        self.received.reserve(RECEIVE);
        match self.connection.socket.receive_now(&mut self.received) {
            // What it is still to be sent goes out first.
            Ok(0) if self.shut_down => self.read_all = true,
            Ok(0) => return Err(Ended::Lost("the peer is gone without a word".into())),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(Ended::Lost(error.to_string())),
        }
        self.deliver()
    }

    fn deliver(&mut self) -> Result<(), Ended> {
        while !self.paused {
            match Frame::take(&mut self.received) {
                Ok(None) => break,
                Ok(Some(frame)) if frame.kind == FrameKind::Shutdown => {
                    self.shut_down = true;
                    // What is still to be sent to it goes first; then our end, which it waits for.
                    self.connection.shutdown();
                }
                Ok(Some(frame)) => {
                    let octets = frame.payload.len();
                    let message = Message {
                        stream: frame.stream,
                        ppid: frame.ppid,
                        bytes: frame.payload,
                    };
                    self.paused = !self.queue.push(message, octets);
                }
                Err(error) => return Err(Ended::Lost(error.to_string())),
            }
        }
        if self.received.is_empty() {
            // An idle association holds no buffer.
            self.received = BytesMut::new();
        }
        Ok(())
    }

    fn look(&mut self, epoll: &Epoll) -> Result<(), Ended> {
        let connection = Arc::clone(&self.connection);
        let lost = |error: io::Error| Ended::Lost(error.to_string());
        let mut out = lock(&connection.out);
        if out.aborted {
            return Err(Ended::Shutdown);
        }
        if std::mem::take(&mut out.resumed) {
            self.paused = false;
        }
        drop(out);
        self.deliver()?;
        let mut out = lock(&connection.out);
        let flushed = match connection.flush(&mut out) {
            Ok(flushed) => flushed,
            Err(error) if !self.paused => return Err(lost(error)),
            // The peer's end is told when its messages are read.
            Err(_) => {
                out.broken = true;
                out.unsent = BytesMut::new();
                true
            }
        };
        if flushed && out.closing {
            connection.socket.shutdown_sending();
            if self.shut_down {
                return Err(Ended::Shutdown);
            }
        }
        drop(out);
        let wanted = match (self.paused || self.read_all, flushed) {
            (false, true) => Interest::Read,
            (false, false) => Interest::ReadWrite,
            (true, true) => Interest::Neither,
            (true, false) => Interest::Write,
        };
        let socket = connection.socket.as_fd();
        let watched = match self.interest {
            Some(interest) if interest == wanted => return Ok(()),
            Some(_) => epoll.change(socket, connection.token, wanted),
            // It has ended, and is not to be heard yet.
            None if self.paused => return Ok(()),
            None => epoll.add(socket, connection.token, wanted),
        };
        watched.map_err(lost)?;
        self.interest = Some(wanted);
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
