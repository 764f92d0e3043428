//! A server: one event loop a core, each on a thread of its own, one service.

use crate::ServerOptions;
use crate::event_loop::{EventLoop, LoopHandle, ServerCounters};
use corewire_message::Service;
use corewire_sys::{Address, Listener};
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A running server. Dropping it cuts what is in flight; [`drain`](Self::drain) does not.
#[derive(Debug)]
pub struct Server {
    addresses: Vec<Address>,
    loops: Vec<(LoopHandle, JoinHandle<io::Result<()>>)>,
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
            loops: Vec::new(),
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
                others.push(match address {
                    Address::Tcp(_) => bind(address, true)?,
                    Address::Unix(_) => first.share()?,
                });
            }
            listeners[0].push(first);
        }
        for (index, listeners) in listeners.into_iter().enumerate() {
            let (service, options) = (Arc::clone(&service), Arc::clone(&options));
            let counters = Arc::clone(&counters);
            let (ready, started) = std::sync::mpsc::sync_channel(1);
            // A loop's tasks never leave their thread, so it is made there.
            let run = move || {
                let made = EventLoop::new().and_then(|mut event_loop| {
                    for listener in listeners {
                        let service = Arc::clone(&service);
                        let (options, counters) = (Arc::clone(&options), Arc::clone(&counters));
                        event_loop.accept_from(listener, service, options, counters)?;
                    }
                    Ok(event_loop)
                });
                let mut event_loop = match made {
                    Ok(event_loop) => event_loop,
                    Err(error) => {
                        let _starter_gone = ready.send(Err(error));
                        return Ok(());
                    }
                };
                let _starter_gone = ready.send(Ok(event_loop.handle()));
                event_loop.run()
            };
            let name = format!("corewire-{index}");
            let thread = std::thread::Builder::new().name(name).spawn(run)?;
            let handle = started.recv().map_err(io::Error::other)??;
            server.loops.push((handle, thread));
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
        self.loops.iter().map(|(handle, _)| handle)
    }

    /// Takes no more connections and calls, finishes those in flight, and ends; what is still in
    /// flight after `within` is cut.
    ///
    /// # Errors
    /// What a loop ended with.
    pub fn drain(mut self, within: Duration) -> io::Result<()> {
        for (handle, _) in &self.loops {
            handle.drain(within);
        }
        self.join()
    }

    /// Waits until its loops have ended.
    ///
    /// # Errors
    /// What a loop ended with.
    pub fn join(&mut self) -> io::Result<()> {
        for (_, thread) in self.loops.drain(..) {
            thread
                .join()
                .map_err(|_| io::Error::other("an event loop panicked"))??;
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for (handle, _) in &self.loops {
            handle.stop();
        }
        // Nobody is left to tell what the loops ended with.
        let _ended = self.join();
    }
}

fn bind(address: &Address, shared: bool) -> io::Result<Listener> {
    Listener::bind(address, shared).map_err(|error| {
        io::Error::new(error.kind(), format!("cannot listen at {address}: {error}"))
    })
}
