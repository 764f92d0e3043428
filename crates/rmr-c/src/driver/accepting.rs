//! New connections: those that peers make, and those that senders of this context have made.

use super::{Driver, LISTENER, MEMORY_LISTENER, Observer};
use crate::link::Link;
use crate::log::say;
use corewire_driver::clock;
use corewire_sys::{Interest, Listener, Socket, Token};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

impl Driver {
    /// Accepts again after descriptors had run out.
    pub(super) fn listen_again(&mut self) {
        if self.muted.is_some() && self.listeners_want(Interest::Read) {
            self.muted = None;
        }
    }

    fn listeners_want(&self, interest: Interest) -> bool {
        let change = |listener: &Option<Listener>, token| {
            let Some(listener) = listener else {
                return true;
            };
            let changed = self.epoll.change(listener.as_fd(), token, interest);
            changed.is_ok()
        };
        let changed = change(&self.listener, LISTENER);
        change(&self.memory_listener, MEMORY_LISTENER) && changed
    }

    pub(super) fn accept(&mut self, memory: bool, observer: &mut impl Observer) {
        loop {
            let listener = if memory {
                &self.memory_listener
            } else {
                &self.listener
            };
            let Some(listener) = listener else {
                return;
            };
            match listener.accept() {
                Ok(socket) => {
                    let socket = Arc::new(socket);
                    let link = Arc::new(Link::back(Arc::clone(&socket), &self.shared));
                    // What comes by memory is the native protocol, in which nothing goes back.
                    let number = self.admit(socket, Arc::clone(&link), !memory);
                    if let Some(number) = number
                        && !memory
                    {
                        observer.arrived(number, &link);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    // Out of descriptors, most likely. It would be reported again at once.
                    say!(
                        Error,
                        "cannot accept a connection: {error}; trying again later"
                    );
                    self.listeners_want(Interest::Neither);
                    self.muted = Some(clock());
                    return;
                }
            }
        }
    }

    pub(super) fn adopt_newcomers(&mut self) {
        for (socket, link) in self.shared.newcomers() {
            self.admit(socket, link, false);
        }
    }

    fn admit(&mut self, socket: Arc<Socket>, link: Arc<Link>, accepted: bool) -> Option<i32> {
        let index = self.connections.place();
        let token = Token(index as u64);
        if let Err(error) = self.epoll.add(socket.as_fd(), token, Interest::Read) {
            say!(
                Error,
                "cannot watch the connection to {}: {error}",
                link.name()
            );
            self.connections.leave_free(index);
            return None;
        }
        Some(self.connections.put(index, socket, link, accepted))
    }
}
