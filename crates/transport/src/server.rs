//! A server: one event loop a core, each on a thread of its own, one service.

use crate::ServerOptions;
use crate::endpoint::memory_name;
use crate::event_loop::{EventLoop, LoopHandle, Loops, ServerCounters};
use corewire_message::Service;
use corewire_sys::{Address, Listener};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// A running server. Dropping it cuts what is in flight; [`drain`](Self::drain) does not.
#[derive(Debug)]
pub struct Server {
    addresses: Vec<Address>,
    loops: Loops,
    counters: Arc<ServerCounters>,
}

impl Server {
    /// Serves `service` at these addresses.
    ///
    /// With several loops each has its own listener on every TCP port and the kernel spreads the
    /// connections; the loops of a Unix socket accept from one listener in turn.
    ///
    /// # Errors
    /// When an address cannot be bound (it is named in the error) or a thread not started.
    pub fn start<S: Service>(
        addresses: &[Address],
        service: Arc<S>,
        options: ServerOptions,
    ) -> io::Result<Self> {
        if addresses.is_empty() {
            let text = "a server needs at least one address to listen at";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let options = Arc::new(options);
        let counters = Arc::new(ServerCounters::default());
        let mut server = Self {
            addresses: addresses.to_vec(),
            loops: Loops::default(),
            counters: Arc::clone(&counters),
        };
        let count = options.loops.max(1);
        // Bound here, so that errors come back and port 0 is one port for all loops.
        let mut listeners: Vec<Vec<Listener>> = (0..count).map(|_| Vec::new()).collect();
        for address in &mut server.addresses {
            let shared = count > 1 && matches!(address, Address::Tcp(_));
            let first = bind(address, shared)?;
            *address = first.address()?;
            for others in &mut listeners[1..] {
                others.push(first.bind_another()?);
            }
            let beside = match address {
                Address::Tcp(address) if options.shared_memory && options.tls.is_none() => {
                    memory_listeners(*address)
                }
                _ => Vec::new(),
            };
            listeners[0].push(first);
            for offered in beside {
                for others in &mut listeners[1..] {
                    others.push(offered.share()?);
                }
                listeners[0].push(offered);
            }
        }
        for (index, listeners) in listeners.into_iter().enumerate() {
            let (service, options) = (Arc::clone(&service), Arc::clone(&options));
            let counters = Arc::clone(&counters);
            let make = move || {
                let mut event_loop = EventLoop::new()?;
                for listener in listeners {
                    let service = Arc::clone(&service);
                    let (options, counters) = (Arc::clone(&options), Arc::clone(&counters));
                    event_loop.accept_from(listener, service, options, counters)?;
                }
                Ok(event_loop)
            };
            let run = |mut event_loop: EventLoop| event_loop.run();
            server.loops.start(format!("corewire-{index}"), make, run)?;
        }
        Ok(server)
    }

    /// Where it listens, in the order given, each with its port.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// What it has seen.
    #[must_use]
    pub fn counters(&self) -> &ServerCounters {
        &self.counters
    }

    /// A way to each of its loops, for clients that shall be driven there.
    pub fn loops(&self) -> impl Iterator<Item = &LoopHandle> {
        self.loops.handles.iter()
    }

    /// Takes no more connections and calls, finishes those in flight, and ends; what is still in
    /// flight after `within` is cut.
    ///
    /// # Errors
    /// What a loop ended with.
    pub fn drain(mut self, within: Duration) -> io::Result<()> {
        self.loops().for_each(|handle| handle.drain(within));
        self.join()
    }

    /// Waits until its loops have ended. When one of them ends with an error it stops the others: a
    /// server that has lost some of its loops would leave connections unanswered.
    ///
    /// # Errors
    /// What the first of them that failed ended with.
    pub fn join(&mut self) -> io::Result<()> {
        self.loops.join()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.loops().for_each(LoopHandle::stop);
        // Nobody is left to tell what the loops ended with.
        let _ended = self.join();
    }
}

/// Offers shared memory beside a TCP address. A server at every address of the host is found by the
/// loopback's. When the name is taken, or there is no such thing here, clients use the socket.
fn memory_listeners(address: SocketAddr) -> Vec<Listener> {
    let mut names = vec![address];
    if address.ip().is_unspecified() {
        let port = address.port();
        names.push((Ipv4Addr::LOCALHOST, port).into());
        if address.is_ipv6() {
            names.push((Ipv6Addr::LOCALHOST, port).into());
        }
    }
    let offer = |name| Listener::bind(&Address::Memory(memory_name(name)), false).ok();
    names.into_iter().filter_map(offer).collect()
}

fn bind(address: &Address, shared: bool) -> io::Result<Listener> {
    Listener::bind(address, shared).map_err(|error| {
        io::Error::new(error.kind(), format!("cannot listen at {address}: {error}"))
    })
}
