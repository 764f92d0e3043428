//! The client's side: sessions that servers have given tickets for, each to be used once.

use super::Bound;
use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use rustls::time_provider::TimeProvider;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Sessions that are kept for one server: as many connections can begin at a time.
const MOST_OF_ONE: usize = 4;
/// Servers that sessions are kept for. Who calls more makes full handshakes now and then.
const MOST_SERVERS: usize = 1024;

/// By the server's name and place.
type Servers = HashMap<(ServerName<'static>, u64), Server>;

#[derive(Default)]
struct Server {
    sessions: VecDeque<Session>,
    /// The key exchange that it wanted: offered at once the next time.
    group: Option<NamedGroup>,
}

struct Session {
    value: Tls13ClientSessionValue,
    until: u64,
}

/// What may be resumed, with its bound.
pub(crate) struct Sessions {
    servers: Mutex<Servers>,
    clock: Arc<dyn TimeProvider>,
}

impl Sessions {
    pub(crate) fn new(clock: Arc<dyn TimeProvider>) -> Self {
        let servers = Mutex::default();
        Self { servers, clock }
    }

    fn servers(&self) -> MutexGuard<'_, Servers> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn edit(&self, name: ServerName<'static>, edit: impl FnOnce(&mut Server)) {
        let mut servers = self.servers();
        let server = (name, Bound::current().place);
        if servers.len() >= MOST_SERVERS && !servers.contains_key(&server) {
            servers.clear();
        }
        edit(servers.entry(server).or_default());
    }

    fn now(&self) -> Option<u64> {
        self.clock.current_time().map(|now| now.as_secs())
    }
}

impl ClientSessionStore for Sessions {
    fn insert_tls13_ticket(&self, name: ServerName<'static>, value: Tls13ClientSessionValue) {
        let (Some(until), Some(now)) = (Bound::current().until, self.now()) else {
            return;
        };
        if until <= now {
            return;
        }
        self.edit(name, |server| {
            if server.sessions.len() >= MOST_OF_ONE {
                server.sessions.pop_front();
            }
            server.sessions.push_back(Session { value, until });
        });
    }

    fn take_tls13_ticket(&self, name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        let now = self.now()?;
        let mut servers = self.servers();
        let server = servers.get_mut(&(name.clone(), Bound::current().place))?;
        while let Some(Session { value, until }) = server.sessions.pop_back() {
            if until > now {
                Bound::set_current(until);
                return Some(value);
            }
        }
        None
    }

    fn set_kx_hint(&self, name: ServerName<'static>, group: NamedGroup) {
        self.edit(name, |server| server.group = Some(group));
    }

    fn kx_hint(&self, name: &ServerName<'_>) -> Option<NamedGroup> {
        let server = (name.to_owned(), Bound::current().place);
        self.servers().get(&server)?.group
    }

    // TLS 1.2 is not spoken.
    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}
