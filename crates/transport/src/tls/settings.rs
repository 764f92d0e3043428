//! What each end presents and what it accepts.

use super::configs::{ClientCertificates, ClientConfigs, Clock, client_configs, server_config};
use super::files::{Files, Kept, TlsFault};
use super::peer_names::AcceptNames;
use super::resumption::{Bound, NoTickets};
use crate::Protocol;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::time_provider::DefaultTimeProvider;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// How a server proves who it is, and what it asks of its clients. Clones share the certificates.
#[derive(Clone)]
pub struct ServerTls {
    kept: Arc<Kept<rustls::ServerConfig>>,
    clear_text: bool,
    resumption: bool,
}

impl ServerTls {
    /// A server with this identity. With authorities given, clients must present a certificate
    /// that one of them issued (mutual TLS); see [`with_clients`](Self::with_clients).
    ///
    /// # Errors
    /// When a file cannot be read or used: the error names it and what is wrong.
    pub fn new(files: Files) -> Result<Self, TlsFault> {
        let clients = match files.authorities {
            Some(_) => ClientCertificates::Required,
            None => ClientCertificates::NotAsked,
        };
        Self::with_clients(files, clients)
    }

    /// A server with this identity that asks its clients so.
    ///
    /// # Errors
    /// As [`new`](Self::new), and when clients are asked but no authorities are given.
    pub fn with_clients(files: Files, clients: ClientCertificates) -> Result<Self, TlsFault> {
        Self::by_clock(files, clients, Arc::new(DefaultTimeProvider))
    }

    pub(super) fn by_clock(
        files: Files,
        clients: ClientCertificates,
        clock: Clock,
    ) -> Result<Self, TlsFault> {
        let kept = Kept::new(files, move |files| server_config(files, clients, &clock))?;
        Ok(Self {
            kept: Arc::new(kept),
            clear_text: false,
            resumption: true,
        })
    }

    /// Every connection begins with a full handshake: no tickets. Otherwise a client that comes again
    /// resumes its session for an hour, or until a certificate of its chain ends; other files end all.
    #[must_use]
    pub const fn without_resumption(mut self) -> Self {
        self.resumption = false;
        self
    }

    /// Clients may speak clear text on the same port: for the time in which they change over.
    /// Without this, who does is turned away.
    #[must_use]
    pub const fn allowing_clear_text(mut self) -> Self {
        self.clear_text = true;
        self
    }

    pub(crate) const fn allows_clear_text(&self) -> bool {
        self.clear_text
    }

    /// Reads the files now; connections that begin later use them.
    ///
    /// # Errors
    /// When they cannot be used: the last good ones stay.
    pub fn reload(&self) -> Result<(), TlsFault> {
        self.kept.reload()
    }

    /// Why the files as they are now are not in use.
    #[must_use]
    pub fn fault(&self) -> Option<TlsFault> {
        self.kept.fault()
    }

    pub(crate) fn config(&self, now: Instant) -> Arc<rustls::ServerConfig> {
        let config = self.kept.at(now);
        if self.resumption {
            return config;
        }
        let mut config = (*config).clone();
        config.ticketer = Arc::new(NoTickets);
        Arc::new(config)
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerTls({:?})", self.kept.files())
    }
}

/// Whom a client believes, and how it proves who it is. Clones share the certificates.
#[derive(Clone)]
pub struct ClientTls {
    kept: Arc<Kept<ClientConfigs>>,
    server_name: Option<Arc<str>>,
    resumption: bool,
}

/// A connection that begins.
pub(crate) struct ClientSession {
    pub(super) session: rustls::ClientConnection,
    pub(super) bound: Bound,
}

impl ClientTls {
    /// A client that believes servers whose certificate the files' authorities issued for the host
    /// of the endpoint, and presents the files' own certificate, if there is one, to a server that
    /// asks for it.
    ///
    /// # Errors
    /// When a file cannot be read or used (the error names it and what is wrong), or no
    /// authorities are given.
    pub fn new(files: Files) -> Result<Self, TlsFault> {
        Self::by_clock(files, None, Arc::new(DefaultTimeProvider))
    }

    pub(super) fn by_clock(
        files: Files,
        accept: Option<AcceptNames>,
        clock: Clock,
    ) -> Result<Self, TlsFault> {
        let make = move |files: &Files| client_configs(files, accept.clone(), &clock);
        Ok(Self {
            kept: Arc::new(Kept::new(files, make)?),
            server_name: None,
            resumption: true,
        })
    }

    /// The same, but a server's certificate must have the names that `accept` wants instead of the
    /// endpoint's host: those that a control plane demands, SPIFFE identities among them.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_names(files: Files, accept: AcceptNames) -> Result<Self, TlsFault> {
        Self::by_clock(files, Some(accept), Arc::new(DefaultTimeProvider))
    }

    /// Every connection begins with a full handshake. Otherwise one to a server that was spoken to
    /// before resumes its session, as [`ServerTls::without_resumption`] says; `accept` is asked at full
    /// handshakes alone.
    #[must_use]
    pub const fn without_resumption(mut self) -> Self {
        self.resumption = false;
        self
    }

    /// Expects the server's certificate to be for this name (or address) instead of the
    /// endpoint's host. After [`with_names`](Self::with_names): only asks for it (SNI).
    ///
    /// # Errors
    /// When it is neither a host name nor an address.
    pub fn with_server_name(mut self, name: &str) -> Result<Self, TlsFault> {
        server_name(name)?;
        self.server_name = Some(name.into());
        Ok(self)
    }

    /// As [`ServerTls::reload`].
    ///
    /// # Errors
    /// When they cannot be used: the last good ones stay.
    pub fn reload(&self) -> Result<(), TlsFault> {
        self.kept.reload()
    }

    /// Reads the files now if they are others than those in use; what is in use, sessions included, stays
    /// otherwise.
    ///
    /// # Errors
    /// When they cannot be used: the last good ones stay.
    pub fn refresh(&self) -> Result<(), TlsFault> {
        self.kept.refresh()
    }

    /// As [`ServerTls::fault`].
    #[must_use]
    pub fn fault(&self) -> Option<TlsFault> {
        self.kept.fault()
    }

    pub(crate) fn session(
        &self,
        protocol: Protocol,
        authority: &str,
        now: Instant,
    ) -> Result<ClientSession, TlsFault> {
        let configs = self.kept.at(now);
        let config = match protocol {
            Protocol::Native => &configs.native,
            _ => &configs.http2,
        };
        let name = match &self.server_name {
            Some(name) => server_name(name)?,
            None => server_name(host(authority))?,
        };
        let mut config = Arc::clone(config);
        if !self.resumption {
            Arc::make_mut(&mut config).resumption = Resumption::disabled();
        }
        let mut bound = Bound::at(authority);
        let session = bound.within(|| rustls::ClientConnection::new(config, name));
        let session = session.map_err(|error| TlsFault::new(Path::new(""), error.to_string()))?;
        Ok(ClientSession { session, bound })
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientTls({:?})", self.kept.files())
    }
}

fn server_name(name: &str) -> Result<ServerName<'static>, TlsFault> {
    ServerName::try_from(name.to_owned()).map_err(|_| {
        let text = format!("{name:?} is no name that a certificate can be for");
        TlsFault::new(Path::new(""), text)
    })
}

/// `host:port` and `[::1]:port` without the port and the brackets.
fn host(authority: &str) -> &str {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|octet| octet.is_ascii_digit()) => host,
        _ => authority,
    };
    host.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_in_every_form_of_an_authority() {
        for (authority, expected) in [
            ("amf.local:80", "amf.local"),
            ("127.0.0.1:7000", "127.0.0.1"),
            ("[::1]:7000", "::1"),
            ("localhost", "localhost"),
        ] {
            assert_eq!(host(authority), expected);
            server_name(host(authority)).unwrap();
        }
    }
}
