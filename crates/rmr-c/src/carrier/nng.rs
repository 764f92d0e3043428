//! Messages over NNG push and pull sockets, as RMR's former NNG flavour has them: the RMR header and
//! what follows it, one NNG message each, without SI95's 50 octets.
//!
//! The C library is loaded when it is asked for, so that this one also loads where it is not
//! installed. It has threads and queues of its own: what a push socket has taken, and its peer has
//! not, nobody is told of.

mod library;

use crate::errno;
use crate::log::say;
use crate::send_timeout::SendTimeout;
use crate::state::{self, Refused};
use library::{ALLOCATE, Library, TIMED_OUT, TRY_AGAIN};
use std::ffi::{CStr, CString};
use std::io;
use std::ptr::null_mut;
use std::time::Duration;

/// How long the first message to a peer waits for the connection, which NNG makes by itself.
const FIRST: Duration = Duration::from_millis(200);
/// The least that any other message waits: NNG hands each to threads of its own, and takes the next
/// when they have run.
const LEAST: Duration = Duration::from_millis(10);
/// How often a receiver looks whether it is to end.
const TURN_MILLIS: i32 = 100;

const SEND_TIMEOUT: &CStr = c"send-timeout";
const RECEIVE_TIMEOUT: &CStr = c"recv-timeout";
const LONGEST: &CStr = c"recv-size-max";

/// An NNG socket, closed when it is dropped.
struct Socket {
    library: &'static Library,
    id: u32,
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.library.close(self.id);
    }
}

impl Socket {
    fn set_timeout(&self, name: &CStr, millis: i32) {
        // A timeout that cannot be set leaves NNG's own, which is to wait.
        let _ = self.library.set_millis(self.id, name, millis);
    }
}

/// Fails with the reason where NNG cannot be loaded.
///
/// # Errors
/// What the loader says.
pub(crate) fn load() -> io::Result<()> {
    Library::get().map(drop)
}

/// The sending end towards one peer.
pub(crate) struct NngSender {
    socket: Socket,
    timeout: i32,
    /// Nothing has been sent yet.
    fresh: bool,
}

impl NngSender {
    /// Begins to connect to "host:port". With `waits` the connection is made before this returns.
    ///
    /// # Errors
    /// What NNG says.
    pub(crate) fn dial(name: &str, waits: bool) -> io::Result<Self> {
        let library = Library::get()?;
        let id = library.push_socket()?;
        let socket = Socket { library, id };
        library.dial(id, &url(name)?, waits)?;
        Ok(Self {
            socket,
            timeout: 0,
            fresh: true,
        })
    }

    /// Sends one message.
    ///
    /// # Errors
    /// It was not taken.
    pub(crate) fn send(&mut self, octets: &[u8], timeout: SendTimeout) -> Result<(), Refused> {
        let least = if self.fresh { FIRST } else { LEAST };
        let wait = timeout.0.max(least);
        let millis = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX);
        if self.timeout != millis {
            self.socket.set_timeout(SEND_TIMEOUT, millis);
            self.timeout = millis;
        }
        match self.socket.library.send(self.socket.id, octets) {
            Ok(()) => {
                self.fresh = false;
                Ok(())
            }
            Err(TIMED_OUT | TRY_AGAIN) => Err(Refused::new(state::RETRY, libc::EAGAIN)),
            Err(code) => {
                let error = self.socket.library.error(code);
                say!(Warning, "NNG does not take a message: {error}");
                Err(Refused::new(state::SEND_FAILED, errno::of(&error)))
            }
        }
    }
}

/// The receiving end, for all peers.
pub(crate) struct NngReceiver {
    socket: Socket,
}

impl NngReceiver {
    /// Listens at "address:port" for messages of up to `most_octets`.
    ///
    /// # Errors
    /// What NNG says.
    pub(crate) fn listen(at: &str, most_octets: usize) -> io::Result<Self> {
        let library = Library::get()?;
        let id = library.pull_socket()?;
        let socket = Socket { library, id };
        socket.set_timeout(RECEIVE_TIMEOUT, TURN_MILLIS);
        library.set_size(id, LONGEST, most_octets)?;
        library.listen(id, &url(at)?)?;
        Ok(Self { socket })
    }

    /// Waits a turn for the next message and calls `take` with it; whether there was one.
    ///
    /// # Errors
    /// Nothing comes any more.
    pub(crate) fn receive(&self, take: impl FnOnce(&[u8])) -> io::Result<bool> {
        let library = self.socket.library;
        let mut octets = null_mut();
        let mut length = 0;
        match library.receive(self.socket.id, &mut octets, &mut length, ALLOCATE) {
            Ok(()) => {
                let buffer = Allocated {
                    library,
                    octets,
                    length,
                };
                take(buffer.octets());
                Ok(true)
            }
            Err(TIMED_OUT | TRY_AGAIN) => Ok(false),
            Err(code) => Err(library.error(code)),
        }
    }
}

/// Octets that NNG allocated.
struct Allocated {
    library: &'static Library,
    octets: *mut libc::c_void,
    length: usize,
}

impl Allocated {
    fn octets(&self) -> &[u8] {
        if self.octets.is_null() {
            return &[];
        }
        // SAFETY: NNG gave this many octets, and they are freed with `self`.
        unsafe { std::slice::from_raw_parts(self.octets.cast(), self.length) }
    }
}

impl Drop for Allocated {
    fn drop(&mut self) {
        self.library.free(self.octets, self.length);
    }
}

fn url(at: &str) -> io::Result<CString> {
    CString::new(format!("tcp://{at}")).map_err(io::Error::other)
}
