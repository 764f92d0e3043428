//! SCTP: one thread that serves all sockets of a stack when it rings, senders that send.

use corewire_driver::clock;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use corewire_sys::usrsctp::SctpReceived;
use corewire_sys::{Epoll, Token, WakeFd};

use super::association::{Line, MAX_QUEUED_OCTETS, Queue};
use super::stack::{Sctp, Stack};
use super::{Acceptor, Association, Drive, Ended, MAX_MESSAGE, Message, SendError};

/// The token of the stack's bell.
const STACK_BELL: Token = Token(0);
/// The token of the thread's own bell.
const OWN_BELL: Token = Token(1);
/// Octets received at a time; a longer message comes in pieces.
const RECEIVE: usize = 64 * 1024;
/// Messages that one association may deliver before the others have their turn.
const TURN: usize = 64;
/// How often a socket that connects is looked at.
const LOOK: Duration = Duration::from_millis(1);
/// The thread looks at every socket this often, whatever rang: a ring that came before the bell was
/// hung is made up for.
const ROUND: Duration = Duration::from_millis(500);

/// The driver. Its thread lives as long as the process, as libusrsctp does.
pub(super) struct SctpDriver<S: Stack>(Arc<Shared<S>>);

struct Shared<S: Stack> {
    stack: S,
    bell: WakeFd,
    commands: Mutex<Vec<Command<S>>>,
    tokens: AtomicUsize,
}

enum Command<S: Stack> {
    Listen(usize, S::Socket, Arc<Queue<Association>>),
    Add(usize, Arc<Connection<S>>, Arc<Queue<Message>>),
    Look(usize),
    Forget(usize),
}

struct Connection<S: Stack> {
    token: usize,
    peer: SocketAddr,
    /// Agreed upon when the association was set up.
    streams: u16,
    out: Mutex<Out<S::Socket>>,
    driver: Arc<Shared<S>>,
}

struct Out<T> {
    /// None when the association is over.
    socket: Option<T>,
    unsent: VecDeque<(u16, u32, Bytes)>,
    octets: usize,
    closing: bool,
    resumed: bool,
}

impl<S: Stack> SctpDriver<S> {
    pub(super) fn start(stack: S) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            stack,
            bell: WakeFd::new()?,
            commands: Mutex::new(Vec::new()),
            tokens: AtomicUsize::new(1),
        });
        let epoll = Epoll::new()?;
        epoll.add_bell(shared.stack.bell(), STACK_BELL)?;
        epoll.add_bell(shared.bell.as_fd(), OWN_BELL)?;
        let thread = Thread {
            epoll,
            shared: Arc::clone(&shared),
            listeners: HashMap::new(),
            connections: HashMap::new(),
            buffer: vec![0; RECEIVE],
        };
        std::thread::Builder::new()
            .name("n2-sctp".into())
            .spawn(move || thread.run())?;
        Ok(Self(shared))
    }
}

impl<S: Stack> Clone for SctpDriver<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: Stack> Drive for SctpDriver<S> {
    fn listen(&self, address: SocketAddr) -> io::Result<Acceptor> {
        let socket = self.0.stack.listen(address)?;
        let mut address = address;
        if let Some(port) = socket.local_port() {
            address.set_port(port);
        }
        let (token, queue) = (self.0.token(), Queue::new());
        self.0.stack.ring(&socket, token)?;
        self.0
            .command(Command::Listen(token, socket, Arc::clone(&queue)));
        let listening = Listening(token, Arc::clone(&self.0));
        Ok(Acceptor::new(queue, address, Box::new(listening)))
    }

    fn connect(&self, address: SocketAddr, timeout: Duration) -> io::Result<Association> {
        let deadline = clock() + timeout;
        let socket = self.0.stack.connect(address)?;
        loop {
            let ready = socket.readiness();
            if ready.failed {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            if ready.writable {
                break;
            }
            if clock() >= deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(LOOK);
        }
        let (connection, queue) = (self.0.connection(socket, address), Queue::new());
        self.0.command(Command::Add(
            connection.token,
            Arc::clone(&connection),
            Arc::clone(&queue),
        ));
        Ok(Association::new(queue, connection))
    }
}

/// Ends listening when it is dropped.
struct Listening<S: Stack>(usize, Arc<Shared<S>>);

impl<S: Stack> Drop for Listening<S> {
    fn drop(&mut self) {
        self.1.command(Command::Forget(self.0));
    }
}

impl<S: Stack> Shared<S> {
    fn token(&self) -> usize {
        self.tokens.fetch_add(1, Ordering::Relaxed)
    }

    fn command(&self, command: Command<S>) {
        lock(&self.commands).push(command);
        self.bell.wake();
    }

    fn connection(self: &Arc<Self>, socket: S::Socket, peer: SocketAddr) -> Arc<Connection<S>> {
        Arc::new(Connection {
            token: self.token(),
            peer,
            // Not known of one that is over already: nothing is sent by it any more.
            streams: socket.streams().unwrap_or_default(),
            out: Mutex::new(Out {
                socket: Some(socket),
                unsent: VecDeque::new(),
                octets: 0,
                closing: false,
                resumed: false,
            }),
            driver: Arc::clone(self),
        })
    }
}

impl<S: Stack> Line for Connection<S> {
    fn send(&self, stream: u16, ppid: u32, payload: &[u8]) -> Result<(), SendError> {
        let mut out = lock(&self.out);
        let out = &mut *out;
        let Some(socket) = out.socket.as_ref().filter(|_| !out.closing) else {
            return Err(SendError::Ended);
        };
        if out.octets + payload.len() > MAX_QUEUED_OCTETS {
            return Err(SendError::Full);
        }
        if out.unsent.is_empty() {
            match socket.send(stream, ppid, payload) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => {
                    // The thread finds the end when it receives, and tells the reader.
                    self.driver.command(Command::Look(self.token));
                    return Err(SendError::Ended);
                }
            }
        }
        out.octets += payload.len();
        out.unsent
            .push_back((stream, ppid, Bytes::copy_from_slice(payload)));
        Ok(())
    }

    fn shutdown(&self) {
        let mut out = lock(&self.out);
        if out.closing {
            return;
        }
        out.closing = true;
        drop(out);
        self.driver.command(Command::Look(self.token));
    }

    fn abort(&self) {
        let mut out = lock(&self.out);
        out.closing = true;
        out.unsent = VecDeque::new();
        out.octets = 0;
        // The stack gives up on a peer that does not answer its closing, by itself.
        drop(out.socket.take());
        drop(out);
        self.driver.command(Command::Look(self.token));
    }

    fn resume(&self) {
        lock(&self.out).resumed = true;
        self.driver.command(Command::Look(self.token));
    }

    fn peer(&self) -> Option<SocketAddr> {
        Some(self.peer)
    }

    fn streams(&self) -> u16 {
        self.streams
    }
}

impl<T: Sctp> Out<T> {
    /// Sends what waits, then, when this is the end, says so.
    fn flush(&mut self) {
        let Some(socket) = &self.socket else {
            return;
        };
        while let Some((stream, ppid, payload)) = self.unsent.front() {
            match socket.send(*stream, *ppid, payload) {
                Ok(()) => {
                    self.octets -= payload.len();
                    self.unsent.pop_front();
                }
                Err(_) => return,
            }
        }
        if self.closing {
            socket.shutdown();
        }
    }
}

struct Thread<S: Stack> {
    epoll: Epoll,
    shared: Arc<Shared<S>>,
    listeners: HashMap<usize, (S::Socket, Arc<Queue<Association>>)>,
    connections: HashMap<usize, Receiving<S>>,
    buffer: Vec<u8>,
}

struct Receiving<S: Stack> {
    connection: Arc<Connection<S>>,
    queue: Arc<Queue<Message>>,
    /// The pieces of a message that is not whole yet.
    part: BytesMut,
    paused: bool,
}

impl<S: Stack> Thread<S> {
    fn run(mut self) {
        let mut next_round = clock() + ROUND;
        loop {
            let left = next_round.saturating_duration_since(clock());
            if self.epoll.wait(Some(left)).is_err() {
                return;
            }
            let commands = std::mem::take(&mut *lock(&self.shared.commands));
            for command in commands {
                self.obey(command);
            }
            let mut rung = self.shared.stack.rung();
            if clock() >= next_round {
                next_round = clock() + ROUND;
                rung.extend(self.listeners.keys().chain(self.connections.keys()));
            }
            rung.sort_unstable();
            rung.dedup();
            for token in rung {
                self.look(token);
            }
        }
    }

    fn obey(&mut self, command: Command<S>) {
        match command {
            Command::Listen(token, socket, queue) => {
                self.listeners.insert(token, (socket, queue));
                self.look(token);
            }
            Command::Add(token, connection, queue) => self.add(token, connection, queue),
            Command::Look(token) => self.look(token),
            Command::Forget(token) => drop(self.listeners.remove(&token)),
        }
    }

    fn add(&mut self, token: usize, connection: Arc<Connection<S>>, queue: Arc<Queue<Message>>) {
        if let Some(socket) = &lock(&connection.out).socket
            && let Err(error) = self.shared.stack.ring(socket, token)
        {
            queue.end(Ended::Lost(error.to_string()));
        }
        let receiving = Receiving {
            connection,
            queue,
            part: BytesMut::new(),
            paused: false,
        };
        self.connections.insert(token, receiving);
        // What came before the bell was hung.
        self.look(token);
    }

    fn look(&mut self, token: usize) {
        self.accept(token);
        let Some(receiving) = self.connections.get_mut(&token) else {
            return;
        };
        match receiving.serve(&mut self.buffer) {
            Ok(false) => {}
            // There is more: the others first.
            Ok(true) => self.shared.command(Command::Look(token)),
            Err(ended) => {
                let receiving = self.connections.remove(&token);
                if let Some(receiving) = receiving {
                    lock(&receiving.connection.out).socket = None;
                    receiving.queue.end(ended);
                }
            }
        }
    }

    fn accept(&mut self, token: usize) {
        let mut accepted = Vec::new();
        if let Some((listener, _)) = self.listeners.get(&token) {
            accepted.extend(std::iter::from_fn(|| listener.accept().ok()).take(TURN));
        }
        for (socket, peer) in accepted {
            let connection = self.shared.connection(socket, peer);
            let messages = Queue::new();
            let token_of_it = connection.token;
            let association = Association::new(Arc::clone(&messages), Arc::clone(&connection) as _);
            self.add(token_of_it, connection, messages);
            if let Some((_, queue)) = self.listeners.get(&token) {
                queue.push(association, 0);
            }
        }
    }
}

impl<S: Stack> Receiving<S> {
    /// Sends what waits and receives what came; whether there is more.
    fn serve(&mut self, buffer: &mut [u8]) -> Result<bool, Ended> {
        let connection = Arc::clone(&self.connection);
        let mut out = lock(&connection.out);
        if std::mem::take(&mut out.resumed) {
            self.paused = false;
        }
        out.flush();
        for _ in 0..TURN {
            if self.paused {
                return Ok(false);
            }
            let Some(socket) = &out.socket else {
                return Err(Ended::Shutdown);
            };
            match socket.receive(buffer) {
                Ok(SctpReceived::Data {
                    octets,
                    stream,
                    ppid,
                    last,
                }) => self.take(&buffer[..octets], stream, ppid, last)?,
                Ok(SctpReceived::Nothing) => {}
                Ok(SctpReceived::ShutDown) => return Err(Ended::Shutdown),
                Ok(SctpReceived::Lost) => {
                    return Err(Ended::Lost("the peer does not answer any more".into()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(Ended::Lost(error.to_string())),
            }
        }
        Ok(true)
    }

    fn take(&mut self, octets: &[u8], stream: u16, ppid: u32, last: bool) -> Result<(), Ended> {
        if self.part.len() + octets.len() > MAX_MESSAGE {
            return Err(Ended::Lost("a message that is too long".into()));
        }
        self.part.extend_from_slice(octets);
        if last {
            let bytes = self.part.split().freeze();
            let size = bytes.len();
            let message = Message {
                stream,
                ppid,
                bytes,
            };
            self.paused = !self.queue.push(message, size);
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
