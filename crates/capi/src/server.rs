//! The answering face: handlers in C behind a [`Service`].

use crate::body::corewire_slice;
use crate::boundary::{
    borrow, boundary, callback, in_callback, may_block, put, reporting, require, text,
};
use crate::error::{Fault, corewire_code, corewire_error};
use crate::incoming::{Awaited, corewire_incoming, no_answer};
use crate::options::{Settings, TlsFiles, duration, micros, must_be_zero, read};
use crate::server_stream::{self, corewire_server_stream};
use corewire_message::{
    CallContext, CallKind, Code, Event, Inbound, Operation, Outbound, Request, Response, Service,
    Status,
};
use corewire_transport::tls::{ClientCertificates, ServerTls};
use corewire_transport::{OnFault, Protocol, Server, ServerOptions, parse_address};
use std::ffi::{CStr, CString, c_char, c_void};
use std::pin::Pin;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

/// For `protocols`: Corewire's own.
pub const COREWIRE_PROTOCOL_NATIVE: u32 = 1;
/// For `protocols`: gRPC.
pub const COREWIRE_PROTOCOL_GRPC: u32 = 2;
/// For `protocols`: REST over HTTP/2.
pub const COREWIRE_PROTOCOL_REST: u32 = 4;

const PROTOCOLS: [(u32, Protocol); 3] = [
    (COREWIRE_PROTOCOL_NATIVE, Protocol::Native),
    (COREWIRE_PROTOCOL_GRPC, Protocol::Grpc),
    (COREWIRE_PROTOCOL_REST, Protocol::Rest),
];

/// For `tls_client_certificates`: required if there are `tls_authorities`, else not asked for.
pub const COREWIRE_CLIENT_CERTIFICATES_DEFAULT: u32 = 0;
/// For `tls_client_certificates`: not asked for.
pub const COREWIRE_CLIENT_CERTIFICATES_NOT_ASKED: u32 = 1;
/// For `tls_client_certificates`: a client may present one; it must be good then.
pub const COREWIRE_CLIENT_CERTIFICATES_OPTIONAL: u32 = 2;
/// For `tls_client_certificates`: who presents none is refused (mutual TLS).
pub const COREWIRE_CLIENT_CERTIFICATES_REQUIRED: u32 = 3;

/// Is told of a peer whose connection was ended because it broke the protocol or was refused by TLS,
/// and why. `peer` and `why` are texts ended by NUL, borrowed for the duration of the callback. Runs on
/// an event loop, on all loops at once, as often as strangers like: must not block, must not unwind.
pub type corewire_on_fault =
    Option<unsafe extern "C" fn(user: *mut c_void, peer: *const c_char, why: *const c_char)>;

/// Settings of a server. Fill with corewire_server_options_init, then change what you need.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct corewire_server_options {
    /// Octets of this structure.
    pub size: usize,
    /// Event loops, one thread each. 0: one for each core this process may run on.
    pub loops: u32,
    /// COREWIRE_PROTOCOL_* joined by |: what is spoken on every port.
    pub protocols: u32,
    /// How long an event loop asks again and again before it sleeps, microseconds. Burns the CPU
    /// meanwhile. 0: never.
    pub busy_poll_us: u64,
    /// Connections that may be open at a time in each loop; more are closed at once.
    pub max_connections: u64,
    /// Octets that may wait for a peer that does not read, before it is not read either.
    pub max_backlog: u64,
    /// How long an event loop with connections in shared memory looks at them again before it
    /// sleeps, as long as something comes within it; it stops by itself when nothing does. One with
    /// sockets alone asks these for 5 us of it. Microseconds. 0: never.
    pub patience_us: u64,
    /// TLS: a PEM file with this server's certificate and those between it and a root. NULL: clear
    /// text. This and the files below are paths ended by NUL, read again when they change.
    pub tls_certificate: *const c_char,
    /// TLS: a PEM file with that certificate's private key.
    pub tls_key: *const c_char,
    /// TLS: a PEM file with the authorities that may have issued the certificates of clients.
    pub tls_authorities: *const c_char,
    /// TLS: COREWIRE_CLIENT_CERTIFICATES_*.
    pub tls_client_certificates: u32,
    /// TLS: not 0: clients may speak clear text on the same ports.
    pub tls_allow_clear_text: u32,
    /// Not 0: offer shared memory to processes of this host and user beside each TCP address; never
    /// with TLS. The default.
    pub shared_memory: u32,
    /// Must be 0.
    pub reserved: u32,
    /// See there; may be NULL. Refused connections are counted anyway.
    pub on_fault: corewire_on_fault,
    /// Given to `on_fault` as it is; must live as long as the server.
    pub on_fault_user: *mut c_void,
}

// SAFETY: integers, pointers that are checked when they are used, and a function pointer that may be
// null; no padding.
unsafe impl Settings for corewire_server_options {}

impl corewire_server_options {
    pub(crate) fn new() -> Self {
        let defaults = ServerOptions::default();
        Self {
            size: size_of::<Self>(),
            loops: 0,
            protocols: COREWIRE_PROTOCOL_NATIVE | COREWIRE_PROTOCOL_GRPC | COREWIRE_PROTOCOL_REST,
            busy_poll_us: micros(defaults.busy_poll),
            max_connections: defaults.max_connections as u64,
            max_backlog: defaults.max_backlog as u64,
            patience_us: micros(defaults.patience),
            tls_certificate: ptr::null(),
            tls_key: ptr::null(),
            tls_authorities: ptr::null(),
            tls_client_certificates: COREWIRE_CLIENT_CERTIFICATES_DEFAULT,
            tls_allow_clear_text: 0,
            shared_memory: u32::from(defaults.shared_memory),
            reserved: 0,
            on_fault: None,
            on_fault_user: ptr::null_mut(),
        }
    }

    /// # Safety
    /// The texts are null or ended by NUL.
    unsafe fn to_options(self) -> Result<ServerOptions, Fault> {
        let mut options = ServerOptions::default();
        if self.loops > 0 {
            options.loops = self.loops as usize;
        }
        let known = PROTOCOLS.iter().fold(0, |all, (bit, _)| all | bit);
        if self.protocols == 0 || self.protocols & !known != 0 {
            return Err(corewire_error::misuse(
                "protocols is not made of COREWIRE_PROTOCOL_*",
            ));
        }
        options.protocols = PROTOCOLS
            .into_iter()
            .filter(|(bit, _)| self.protocols & bit != 0)
            .map(|(_, protocol)| protocol)
            .collect();
        options.busy_poll = duration(self.busy_poll_us);
        options.max_connections = usize::try_from(self.max_connections).unwrap_or(usize::MAX);
        options.max_backlog = usize::try_from(self.max_backlog).unwrap_or(usize::MAX);
        options.patience = duration(self.patience_us);
        options.shared_memory = self.shared_memory != 0;
        must_be_zero(self.reserved, "corewire_server_options.reserved")?;
        // SAFETY: the caller's contract.
        options.tls = unsafe { self.tls() }?;
        options.on_fault = self.on_fault();
        Ok(options)
    }

    /// # Safety
    /// The texts are null or ended by NUL.
    unsafe fn tls(&self) -> Result<Option<ServerTls>, Fault> {
        let files = TlsFiles {
            certificate: self.tls_certificate,
            key: self.tls_key,
            authorities: self.tls_authorities,
        };
        // SAFETY: the caller's contract.
        let files = unsafe { files.read() }?;
        let clients = match self.tls_client_certificates {
            COREWIRE_CLIENT_CERTIFICATES_DEFAULT => None,
            COREWIRE_CLIENT_CERTIFICATES_NOT_ASKED => Some(ClientCertificates::NotAsked),
            COREWIRE_CLIENT_CERTIFICATES_OPTIONAL => Some(ClientCertificates::Optional),
            COREWIRE_CLIENT_CERTIFICATES_REQUIRED => Some(ClientCertificates::Required),
            _ => {
                return Err(corewire_error::misuse(
                    "tls_client_certificates is none of COREWIRE_CLIENT_CERTIFICATES_*",
                ));
            }
        };
        if files.certificate.is_none() {
            if files.authorities.is_some() || clients.is_some() || self.tls_allow_clear_text != 0 {
                return Err(corewire_error::misuse(
                    "tls_certificate is NULL: a TLS server needs a certificate and its key",
                ));
            }
            return Ok(None);
        }
        let tls = match clients {
            None => ServerTls::new(files),
            Some(clients) => ServerTls::with_clients(files, clients),
        }?;
        Ok(Some(if self.tls_allow_clear_text == 0 {
            tls
        } else {
            tls.allowing_clear_text()
        }))
    }

    fn on_fault(&self) -> Option<OnFault> {
        let told = FaultReceiver {
            call: self.on_fault?,
            user: self.on_fault_user,
        };
        Some(OnFault::new(move |peer, why| {
            let peer = CString::new(peer.address.as_str()).unwrap_or_default();
            let why = CString::new(why.replace('\0', "\u{fffd}")).unwrap_or_default();
            told.tell(&peer, &why);
        }))
    }
}

/// Who is told of faults.
struct FaultReceiver {
    call: unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char),
    user: *mut c_void,
}

// SAFETY: the header says that it runs on the threads of all loops; what `user` points to is the
// program's to share.
unsafe impl Send for FaultReceiver {}
// SAFETY: as above.
unsafe impl Sync for FaultReceiver {}

impl FaultReceiver {
    fn tell(&self, peer: &CStr, why: &CStr) {
        // SAFETY: the program's function, which keeps the header's contract for callbacks.
        callback(|| unsafe { (self.call)(self.user, peer.as_ptr(), why.as_ptr()) });
    }
}

/// Answers calls. `call` is owned by the handler: answer it with corewire_reply, now or later and
/// from any thread. Runs on the event loop of the connection: must not block, must not unwind.
pub type corewire_on_call =
    Option<unsafe extern "C" fn(user: *mut c_void, call: *mut corewire_incoming)>;

/// Takes events. `event` is borrowed for the duration of the callback. Runs on the event loop of
/// the connection: must not block, must not unwind.
pub type corewire_on_event =
    Option<unsafe extern "C" fn(user: *mut c_void, event: *const corewire_incoming)>;

/// Takes a message of a stream. `message` is borrowed for the duration of the callback. Runs on the
/// event loop of the connection: must not block, must not unwind.
pub type corewire_on_message = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        stream: *mut corewire_server_stream,
        message: corewire_slice,
    ),
>;

/// Told once that no more messages of a stream come. `code` is COREWIRE_OK when the caller has
/// ended its side and waits for the end of the service's; otherwise the call has failed. The stream
/// is owned by the handler from its first callback on: whatever the code, it must be given to
/// corewire_server_stream_finish or corewire_server_stream_free, here or later (or before). Runs on
/// the event loop of the connection: must not block, must not unwind.
pub type corewire_on_end = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        stream: *mut corewire_server_stream,
        code: corewire_code,
    ),
>;

/// Told that a stream has room again after corewire_server_stream_send refused a message. Runs on
/// the event loop of the connection: must not block, must not unwind.
pub type corewire_on_room =
    Option<unsafe extern "C" fn(user: *mut c_void, stream: *mut corewire_server_stream)>;

/// Who answers an operation. Fill with zeros, set `size`, then what you need. With several event
/// loops the callbacks run on all of them at once.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct corewire_handler {
    /// Octets of this structure.
    pub size: usize,
    /// The operation, "service/method", ended by NUL; copied. NULL: every operation that no other
    /// handler names.
    pub operation: *const c_char,
    /// Given to the callbacks as it is; must live as long as the server.
    pub user: *mut c_void,
    /// Answers calls. NULL: they are told COREWIRE_UNIMPLEMENTED.
    pub on_call: corewire_on_call,
    /// Takes events. NULL: they are dropped.
    pub on_event: corewire_on_event,
    /// Takes the messages of streams. Not NULL makes the operation a stream; `on_end` must be set
    /// then and `on_call` not.
    pub on_message: corewire_on_message,
    /// See there.
    pub on_end: corewire_on_end,
    /// See there; may be NULL.
    pub on_room: corewire_on_room,
}

// SAFETY: pointers, which are checked when they are used, and function pointers that may be null;
// what a program writes to those must be one or the other in Rust as in C.
unsafe impl Settings for corewire_handler {}

impl corewire_handler {
    const NONE: Self = Self {
        size: size_of::<Self>(),
        operation: ptr::null(),
        user: ptr::null_mut(),
        on_call: None,
        on_event: None,
        on_message: None,
        on_end: None,
        on_room: None,
    };
}

// SAFETY: the header says that callbacks run on the threads of all loops; what `user` points to is
// the program's to share. `operation` is read before the server starts only.
unsafe impl Send for corewire_handler {}
// SAFETY: as above.
unsafe impl Sync for corewire_handler {}

struct Handlers {
    named: Vec<(Operation, corewire_handler)>,
    others: Option<corewire_handler>,
}

impl Handlers {
    /// # Safety
    /// `first` is null or points to `count` handlers as the header describes them.
    unsafe fn read(first: *const corewire_handler, count: usize) -> Result<Self, Fault> {
        if first.is_null() || count == 0 {
            return Err(corewire_error::misuse(
                "a server needs at least one handler",
            ));
        }
        let mut handlers = Self {
            named: Vec::new(),
            others: None,
        };
        // The program's handlers may be longer or shorter than this library's.
        // SAFETY: there is one at least, and it begins with its size.
        let stride = unsafe { first.cast::<usize>().read() };
        for index in 0..count {
            let at = first.cast::<u8>().wrapping_add(index.wrapping_mul(stride));
            // SAFETY: the caller's contract: each is `stride` octets long.
            let handler = unsafe { read(at.cast(), corewire_handler::NONE) }?;
            if handler.size != stride {
                return Err(corewire_error::misuse("handlers differ in their size"));
            }
            if handler.on_message.is_some() != handler.on_end.is_some()
                || handler.on_message.is_some() && handler.on_call.is_some()
            {
                return Err(corewire_error::misuse(
                    "a handler has either on_call, or on_message and on_end",
                ));
            }
            if handler.operation.is_null() {
                handlers.others = Some(handler);
                continue;
            }
            // SAFETY: not null, and ended by NUL, says the header.
            let name = unsafe { text(handler.operation, "operation") }?;
            let operation = Operation::parse(name)
                .map_err(|fault| corewire_error::misuse(format!("{name:?}: {fault}")))?;
            handlers.named.push((operation, handler));
        }
        Ok(handlers)
    }

    /// A server has few operations: going through them is quicker than hashing a name.
    fn find(&self, operation: &Operation) -> Option<&corewire_handler> {
        let named = self.named.iter().find(|(name, _)| name == operation);
        named.map(|(_, handler)| handler).or(self.others.as_ref())
    }
}

/// The answer of a call, once its handler has given it.
enum Answering {
    Awaited(Awaited),
    Refused(Option<Response>),
}

impl Future for Answering {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response> {
        match &mut *self {
            Self::Awaited(awaited) => awaited.poll(cx),
            Self::Refused(refused) => refused.take().map_or(Poll::Pending, Poll::Ready),
        }
    }
}

impl Service for Handlers {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        let handler = self.find(operation)?;
        Some(if handler.on_message.is_some() {
            CallKind::Stream
        } else {
            CallKind::Unary
        })
    }

    fn call(
        &self,
        context: &CallContext,
        request: Request,
    ) -> impl Future<Output = Response> + Send {
        // The handler is called here and not by the future: that would hold the request as well.
        let handler = self.find(&request.operation);
        let Some((on_call, handler)) = handler.and_then(|of| Some((of.on_call?, of))) else {
            let text = format!("{} is not served here", request.operation);
            let refused = Response::failed(Status::new(Code::Unimplemented, text));
            return Answering::Refused(Some(refused));
        };
        let call = Arc::new(corewire_incoming::new(context, request));
        let awaited = Awaited::new(&call);
        // SAFETY: the program's function, which keeps the header's contract for handlers; it owns
        // this count of the call from now on.
        callback(|| unsafe { on_call(handler.user, Arc::into_raw(call).cast_mut()) });
        Answering::Awaited(awaited)
    }

    async fn event(&self, context: &CallContext, event: Event) {
        let handler = self.find(&event.operation);
        let Some((on_event, handler)) = handler.and_then(|of| Some((of.on_event?, of))) else {
            return;
        };
        let mut request = Request::new(event.operation).with_headers(event.headers);
        request.body = event.body;
        request.priority = event.priority;
        let event = corewire_incoming::new(context, request);
        // SAFETY: the program's function, which keeps the header's contract for handlers.
        callback(|| unsafe { on_event(handler.user, &raw const event) });
    }

    async fn stream(
        &self,
        context: &CallContext,
        request: Request,
        inbound: Inbound,
        outbound: Outbound,
    ) -> Response {
        match self.find(&request.operation) {
            Some(handler) => {
                let request = corewire_incoming::new(context, request);
                server_stream::serve(handler, request, inbound, outbound).await
            }
            None => no_answer("a stream came for an operation without a handler"),
        }
    }
}

/// A running server.
pub struct corewire_server {
    /// `None` once it was drained.
    server: Mutex<Option<Server>>,
    addresses: Vec<CString>,
}

/// Starts a server with threads of its own.
///
/// `addresses`: "HOST:PORT" (port 0: any free one), "unix:PATH" or "shm:NAME" (shared memory alone),
/// each ended by NUL; every protocol is told apart by its first octets. `options` may be NULL. `handlers` is copied, but
/// what its `user` pointers point to is not. *server is owned by the caller, who gives it to
/// corewire_server_free. Any thread.
///
/// COREWIRE_UNAVAILABLE: an address cannot be bound (the message names it).
/// COREWIRE_INVALID_ARGUMENT: also a TLS file that cannot be used (the message names it).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_server_start(
    addresses: *const *const c_char,
    address_count: usize,
    options: *const corewire_server_options,
    handlers: *const corewire_handler,
    handler_count: usize,
    server: *mut *mut corewire_server,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let run = || {
        require!(server);
        // SAFETY: an array of texts ended by NUL, says the header.
        let addresses = unsafe { crate::body::array(addresses, address_count, "addresses") }?
            .iter()
            // SAFETY: as above.
            .map(|address| Ok(parse_address(unsafe { text(*address, "an address") }?)?))
            .collect::<Result<Vec<_>, Fault>>()?;
        // SAFETY: null or filled by the init function, says the header.
        let options = unsafe { read(options, corewire_server_options::new()) }?;
        // SAFETY: its texts are null or ended by NUL, says the header.
        let options = unsafe { options.to_options() }?;
        // SAFETY: an array of handlers, says the header.
        let handlers = unsafe { Handlers::read(handlers, handler_count) }?;
        let started = Server::start(&addresses, Arc::new(handlers), options)?;
        let addresses = started.addresses().iter();
        let addresses = addresses.map(|at| CString::new(at.to_string()).unwrap_or_default());
        let addresses = addresses.collect();
        let server_ = corewire_server {
            server: Mutex::new(Some(started)),
            addresses,
        };
        // SAFETY: not null, and writable, says the header.
        unsafe { put(server, Box::into_raw(Box::new(server_))) };
        Ok(())
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, run) }
}

/// Where it listens: the address at `index`, in the order given, with its port, ended by NUL.
/// Borrowed from the server. NULL when there is none. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_server_address(
    server: *const corewire_server,
    index: usize,
) -> *const c_char {
    boundary(ptr::null(), || {
        // SAFETY: null, or not yet freed, says the header.
        let addresses = unsafe { server.as_ref() }.map(|server| &server.addresses);
        addresses
            .and_then(|addresses| addresses.get(index))
            .map_or(ptr::null(), |address| address.as_ptr())
    })
}

/// Takes no more connections and calls, waits until those in flight have ended, at most
/// `timeout_us` microseconds, and ends; what is still in flight then is cut. The server is still to
/// be freed. Any thread, but not from a callback.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_server_drain(
    server: *mut corewire_server,
    timeout_us: u64,
    error: *mut *mut corewire_error,
) -> corewire_code {
    let run = || {
        let server = borrow!(server);
        may_block()?;
        let running = server
            .server
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(running) = running {
            running.drain(duration(timeout_us))?;
        }
        Ok(())
    };
    // SAFETY: null or writable, says the header.
    unsafe { reporting(error, run) }
}

/// Frees a server and waits until its threads have ended; what is in flight is cut. No callback
/// runs afterwards. NULL is allowed. Any thread; in a callback, where it could wait for itself, it
/// does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corewire_server_free(server: *mut corewire_server) {
    boundary((), || {
        if !server.is_null() && !in_callback() {
            // SAFETY: it came from `Box::into_raw`, and the header makes its owner free it once.
            drop(unsafe { Box::from_raw(server) });
        }
    });
}
