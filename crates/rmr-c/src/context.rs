//! What `rmr_init` makes: names, sockets, routes, links and the threads behind them.

use crate::arrival::{Arrival, Incoming};
use crate::carrier::CarrierKind;
use crate::carrier::nng::NngReceiver;
use crate::carrier::shm;
use crate::driver::Limits;
use crate::inbox::Inbox;
use crate::interfaces;
use crate::link::{Link, Shared};
use crate::log::say;
use crate::message::{Message, Names, OVERHEAD};
use crate::pool::Pool;
use crate::send_timeout::SendTimeout;
use crate::shared::Conduct;
use corewire_driver::clock;
use corewire_rmr::{
    Bind, EndpointCounters, EndpointId, Identity, LossKind, Router, Settings, Slots, TableLimits,
    Transport,
};
use corewire_sys::{Address, Listener};
use corewire_wire::rmr::MEID_OCTETS;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Flags of `rmr_init` that mean something here.
pub(crate) const NO_THREAD: i32 = 0x01;
pub(crate) const NAME_ONLY: i32 = 0x04;

/// Payload of messages when neither their size nor the usual one was given.
const DEFAULT_PAYLOAD: usize = 2048;
/// The usual payload is taken to be this at least.
const LEAST_PAYLOAD: usize = 1024;
/// Room of received messages beyond the usual payload, so that most replies fit into them.
const SPARE_ROOM: usize = 1024 + 64;
/// How long closing waits for peers that do not read.
const CLOSING: Duration = Duration::from_secs(1);
/// The same at the end of a program that did not close.
const EXITING: Duration = Duration::from_millis(200);
/// How long NNG has to write what it took.
const NNG_LINGER: Duration = Duration::from_millis(50);

/// A router of messages at one port.
pub(crate) struct Context {
    names: Names,
    router: Arc<Router>,
    shared: Arc<Shared>,
    inbox: Inbox,
    pool: Pool,
    links: Slots<Arc<Link>>,
    kind: CarrierKind,
    /// Octets of the longest message, as receivers with the same settings take it.
    longest: usize,
    payload: usize,
    trace: AtomicI32,
    retries: AtomicI32,
    /// Links that wormholes lead along; `None` before the first.
    wormholes: Mutex<Option<Vec<Option<Arc<Link>>>>>,
}

/// All contexts of the process, closed ones as well.
static CONTEXTS: Mutex<Vec<Opened>> = Mutex::new(Vec::new());

/// A context and the process that opened it: a child has its locks and sockets, as they happened to be
/// when it was forked, and none of its threads.
type Opened = (u32, &'static Context);

impl Context {
    /// A context for the messages of a route manager.
    pub(crate) fn open_control(settings: &Settings, port: u16) -> io::Result<&'static Self> {
        let context = Self::listen(settings, port, 5 * 1024, NO_THREAD)?;
        context.router.set_ready();
        Ok(context)
    }

    /// A context that listens at `port`, without routes.
    ///
    /// # Errors
    /// What the system says, or that the settings ask for what is not there.
    pub(crate) fn listen(
        settings: &Settings,
        port: u16,
        payload: i32,
        flags: i32,
    ) -> io::Result<&'static Self> {
        let (addresses, bind) = addresses(settings)?;
        let at = SocketAddr::new(bind, port);
        // An xApp may change from the O-RAN SC library to this one, and back, on one port.
        let listener = Listener::bind_handed_over(at).inspect_err(|error| {
            say!(Critical, "cannot listen at {at}: {error}");
        })?;
        // Port 0 has become a real one.
        let (at, port) = match listener.address()? {
            Address::Tcp(address) => (address.to_string(), address.port()),
            Address::Unix(_) | Address::Memory(_) => (at.to_string(), port),
        };
        let host = interfaces::host_name();
        let identity = Identity::of_host(settings.src_id.as_deref(), &host, port)
            .map_err(|error| {
                say!(Critical, "{error}");
                io::Error::from_raw_os_error(libc::EINVAL)
            })?
            .with_addresses(
                addresses
                    .into_iter()
                    .map(|address| interfaces::with_port(address, port)),
            );
        let name_only = settings.name_only || flags & NAME_ONLY != 0;
        let names = Names {
            name: identity.name().into(),
            address: identity.source_ip(name_only).into(),
        };
        let shared = Arc::new(Shared::new(Conduct {
            gathers: settings.gather,
            holds_unread: settings.hold_unread,
        }));
        let usual = usize::try_from(payload).unwrap_or(0);
        let stamps = std::env::var("RMR_RX_TIME").is_ok_and(|value| value == "1");
        let (inbox, nng) = if settings.transport == Transport::Nng {
            drop(listener);
            let receiver = NngReceiver::listen(&at, settings.max_message).inspect_err(|error| {
                say!(Critical, "cannot listen at {at}: {error}");
            })?;
            (Inbox::served(Arc::clone(&shared)), Some(receiver))
        } else {
            let limits = Limits {
                message: settings.max_message,
                partial: settings.max_partial,
                holds_bursts: settings.hold_floods,
            };
            let memory = (settings.transport == Transport::Shm)
                .then(|| offer_memory(SocketAddr::new(bind, port)))
                .flatten();
            let inbox = Inbox::new(listener, memory, Arc::clone(&shared), limits, stamps)?;
            (inbox, None)
        };
        let context = Self {
            names,
            router: Arc::new(Router::new(identity, TableLimits::default())),
            inbox,
            shared,
            pool: Pool::new(OVERHEAD + usual.max(LEAST_PAYLOAD) + SPARE_ROOM),
            links: Slots::new(),
            kind: match settings.transport {
                Transport::Si95 => CarrierKind::Si95,
                Transport::Native => CarrierKind::Native {
                    most_octets: settings.max_message,
                },
                Transport::Shm => CarrierKind::Shm {
                    most_octets: settings.max_message,
                },
                Transport::Nng => CarrierKind::Nng {
                    waits: !settings.async_connect,
                },
            },
            longest: settings.max_message,
            payload: if usual == 0 { DEFAULT_PAYLOAD } else { usual },
            trace: AtomicI32::new(0),
            retries: AtomicI32::new(1),
            wormholes: Mutex::new(None),
        };
        // Never freed: other threads of the program may hold its address when it is closed.
        let context: &'static Self = Box::leak(Box::new(context));
        context.register();
        thread::Builder::new()
            .name("rmr-flusher".to_owned())
            .spawn(move || {
                context
                    .shared
                    .flusher
                    .run(|| context.inbox.maintain(&context.pool))
            })?;
        if let Some(receiver) = nng {
            thread::Builder::new()
                .name("rmr-receiver".to_owned())
                .spawn(move || context.receive_by_nng(&receiver))?;
        }
        say!(
            Info,
            "listening at {bind}, port {port}, as {}",
            context.name()
        );
        Ok(context)
    }

    /// The body of the thread that receives where NNG has the sockets.
    fn receive_by_nng(&self, receiver: &NngReceiver) {
        while !self.shared.is_closed() {
            let received = receiver.receive(|octets| match Incoming::of_nng(octets) {
                Ok(message) => self.inbox.deliver(&self.pool, &Arrival::of_nng(message)),
                Err(fault) => {
                    self.inbox.refuse(LossKind::Malformed);
                    say!(Error, "a message is dropped: {fault}");
                }
            });
            self.inbox.remind();
            if let Err(error) = received {
                say!(Critical, "receiving by NNG failed: {error}");
                return;
            }
        }
    }

    fn register(&'static self) {
        static AT_EXIT: Once = Once::new();
        AT_EXIT.call_once(|| {
            // SAFETY: a function that takes nothing; the library is never unloaded.
            unsafe { libc::atexit(at_exit) };
        });
        contexts().push((std::process::id(), self));
    }

    /// Our name, "host:port".
    pub(crate) fn name(&self) -> String {
        String::from_utf8_lossy(&self.names.name).into_owned()
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    pub(crate) fn router(&self) -> &Arc<Router> {
        &self.router
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(crate) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn wormholes(&self) -> MutexGuard<'_, Option<Vec<Option<Arc<Link>>>>> {
        self.wormholes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The link to an endpoint.
    pub(crate) fn link(&self, id: EndpointId) -> &Arc<Link> {
        self.links.get_or_init(id.index(), || {
            let endpoint = self.router.endpoints().get(id);
            Arc::new(Link::to(endpoint, &self.shared, self.kind))
        })
    }

    /// The link to whoever is known by that name; `None` when it is no name or there are too many.
    pub(crate) fn link_to(&self, name: &str) -> Option<Arc<Link>> {
        name.contains(':').then_some(())?;
        let id = self.router.endpoints().intern(name).ok()?;
        Some(Arc::clone(self.link(id)))
    }

    /// All links that were ever needed.
    pub(crate) fn all_links(&self) -> impl Iterator<Item = &Arc<Link>> {
        self.links.iter().map(|(_, link)| link)
    }

    /// How long sends wait where nothing else is said.
    pub(crate) fn send_timeout(&self) -> SendTimeout {
        SendTimeout::from_retries(self.retries.load(Ordering::Relaxed))
    }

    pub(crate) fn set_retries(&self, retries: i32) {
        self.retries.store(retries.max(0), Ordering::Relaxed);
    }

    pub(crate) fn set_trace(&self, octets: i32) {
        self.trace.store(octets.max(0), Ordering::Relaxed);
    }

    /// Octets of the longest message that may be sent, its headers included.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Octets of trace data in new messages.
    pub(crate) fn trace(&self) -> usize {
        usize::try_from(self.trace.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// A message to be filled and sent; `size` and `trace` as the context has them if not given.
    pub(crate) fn allocate(
        &self,
        size: Option<usize>,
        trace: Option<usize>,
    ) -> Option<NonNull<Message>> {
        let size = size.unwrap_or(self.payload);
        let trace = trace.unwrap_or_else(|| self.trace());
        let capacity = OVERHEAD.checked_add(size)?.checked_add(trace)?;
        let mut message = self.pool.take(capacity)?;
        // SAFETY: just taken, and nobody else has it.
        if unsafe { message.as_mut() }.begin(size, trace, &self.names) {
            return Some(message);
        }
        // SAFETY: as above.
        unsafe { crate::pool::free(message) };
        None
    }

    /// Makes of a message that was sent the next one to be filled: at least as much room.
    pub(crate) fn renew(&self, message: &mut Message) {
        let trace = self.trace();
        let usual = OVERHEAD + trace + self.payload;
        let room = message.octets().len().max(usual);
        // When there is no memory for more, there is as much as before.
        if message.grow(room) {
            message.set_usable(room);
        }
        message.begin_again(trace, &self.names);
    }

    /// What became of messages: for each endpoint, and for all peers together that are known by
    /// their connection only.
    pub(crate) fn sent(&self) -> impl Iterator<Item = &EndpointCounters> {
        let links = self.all_links().map(|link| &*link.counts);
        links.chain([&*self.shared.back_counts])
    }

    /// Messages that were accepted and not written, all peers together.
    pub(crate) fn dropped(&self) -> u64 {
        self.sent().map(EndpointCounters::all_dropped).sum()
    }

    /// A descriptor that is readable while there is a message; a thread of ours sees to that.
    pub(crate) fn receive_descriptor(&'static self) -> io::Result<i32> {
        let (descriptor, first) = self.inbox.readable()?;
        if first {
            thread::Builder::new()
                .name("rmr-receiver".to_owned())
                .spawn(|| self.inbox.serve(&self.pool))?;
        }
        Ok(descriptor)
    }

    /// Writes what waits, at most for `wait`, and lets go of everything.
    pub(crate) fn close(&self, wait: Duration) {
        if !self.shared.close() {
            return;
        }
        let deadline = clock() + wait;
        self.linger();
        self.finish(deadline);
        for link in self.all_links() {
            link.close();
        }
        self.shared.flusher.close();
        self.inbox.close(deadline);
        let unread = self.inbox.unread();
        if unread > 0 {
            say!(Warning, "{unread} messages were received and not asked for");
        }
        self.pool.clear();
        // A program may still look at the context after this: it finds an empty table.
        self.router.clear();
    }

    /// Writes what waits, also for peers that are known by their connection only.
    fn finish(&self, deadline: Instant) {
        for link in self.all_links().chain(&self.inbox.ways_back()) {
            link.finish(deadline);
        }
    }

    /// Gives NNG time to write what it took: it does not tell when it has.
    fn linger(&self) {
        if let CarrierKind::Nng { .. } = self.kind
            && self.all_links().next().is_some()
        {
            thread::sleep(NNG_LINGER);
        }
    }

    /// Closes as `rmr_close` does.
    pub(crate) fn close_now(&self) {
        self.close(CLOSING);
    }
}

fn contexts() -> MutexGuard<'static, Vec<Opened>> {
    CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes what was gathered when the program ends: its senders were told that it is on its way.
extern "C" fn at_exit() {
    crate::boundary::boundary((), || {
        let deadline = clock() + EXITING;
        let ours = std::process::id();
        let Ok(contexts) = CONTEXTS.try_lock() else {
            return;
        };
        for (process, context) in contexts.iter() {
            if *process == ours && !context.shared.is_closed() {
                context.linger();
                context.finish(deadline);
            }
        }
    });
}

/// Listens for peers of this host beside the port. Where that cannot be, they come by TCP.
fn offer_memory(at: SocketAddr) -> Option<Listener> {
    let name = shm::offered_at(at);
    let listener = Listener::bind(&name, false);
    let told = listener.inspect_err(|error| {
        say!(
            Warning,
            "shared memory cannot be offered as {name}: {error}; peers of this host come by TCP"
        );
    });
    told.ok()
}

/// Under which addresses we are known, and where to listen.
fn addresses(settings: &Settings) -> io::Result<(Vec<IpAddr>, IpAddr)> {
    let unusable = |what: &str| {
        say!(
            Critical,
            "RMR_BIND_IF={what}: no such address or interface here"
        );
        io::Error::from_raw_os_error(libc::EADDRNOTAVAIL)
    };
    match &settings.bind {
        Bind::Any => {
            let all = interfaces::addresses(None);
            let any = match all.first() {
                Some(IpAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
                _ => Ipv4Addr::UNSPECIFIED.into(),
            };
            Ok((all, any))
        }
        Bind::Address(text) => {
            let bare = text.trim_start_matches('[').trim_end_matches(']');
            let address = bare.parse().map_err(|_| unusable(text))?;
            Ok((vec![address], address))
        }
        Bind::Interface(name) => {
            let its = interfaces::addresses(Some(name));
            let first = *its.first().ok_or_else(|| unusable(name))?;
            Ok((its, first))
        }
    }
}

const _: () = assert!(MEID_OCTETS == 32, "rmr.h says so");
