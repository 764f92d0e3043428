//! Certificates for a session with TLS: an authority, one for the server, one for the client; ECDSA on
//! P-256, as network functions have them.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use corewire_transport::tls::{Authority, Issued, Subject};

/// The folder in that of the results. The keys are worth nothing: no one else believes the authority.
const FOLDER: &str = "certificates";

const AUTHORITY: &str = "authority";

/// An end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Server,
    Client,
}

/// What their files are called.
const ENDS: [&str; 2] = ["server", "client"];

/// How long they are valid: a session may be resumed much later.
const LIFE: Duration = Duration::from_secs(3650 * 86_400);

/// Where they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Certificates {
    folder: PathBuf,
}

impl Certificates {
    /// Makes them in the folder of the results; those of a session that is resumed are taken again.
    /// The server's is for this machine, and for `host` where that is another.
    ///
    /// # Errors
    /// When they cannot be made or written.
    pub(crate) fn make(results: &Path, host: Option<Host>) -> anyhow::Result<Self> {
        // Programs are given the names of the files wherever they run.
        let results = std::path::absolute(results)
            .with_context(|| format!("{} is no path", results.display()))?;
        let made = Self {
            folder: results.join(FOLDER),
        };
        let files = [AUTHORITY, ENDS[0], ENDS[1]];
        if files.iter().all(|name| made.file(name, "pem").is_file()) {
            return Ok(made);
        }
        fs::create_dir_all(&made.folder)
            .with_context(|| format!("{} cannot be made", made.folder.display()))?;
        let authority = Authority::new("Corewire lab", LIFE)?;
        let mut server = Subject {
            name: ENDS[0].to_owned(),
            hosts: vec!["localhost".to_owned()],
            addresses: vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            ..Subject::default()
        };
        match host {
            Some(Host::Name(name)) => server.hosts.push(name),
            Some(Host::Address(address)) => server.addresses.push(address),
            None => {}
        }
        let client = Subject {
            name: ENDS[1].to_owned(),
            hosts: vec!["client.corewire.test".to_owned()],
            ..Subject::default()
        };
        for (end, subject) in [(End::Server, server), (End::Client, client)] {
            made.write(end, &authority.issue(&subject)?)?;
        }
        let path = made.authorities();
        fs::write(&path, authority.pem())
            .with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(made)
    }

    fn write(&self, end: End, issued: &Issued) -> anyhow::Result<()> {
        issued
            .write(&self.certificate(end), &self.key(end))
            .with_context(|| format!("{} cannot be written", self.certificate(end).display()))
    }

    fn file(&self, name: &str, extension: &str) -> PathBuf {
        self.folder.join(format!("{name}.{extension}"))
    }

    /// The certificate of an end.
    pub(crate) fn certificate(&self, end: End) -> PathBuf {
        self.file(ENDS[end as usize], "pem")
    }

    /// Its key.
    pub(crate) fn key(&self, end: End) -> PathBuf {
        self.file(ENDS[end as usize], "key")
    }

    /// Whom both believe.
    pub(crate) fn authorities(&self) -> PathBuf {
        self.file(AUTHORITY, "pem")
    }

    /// The options by which a program is told where they are.
    pub(crate) fn options(&self, end: End) -> Vec<String> {
        let files = [
            ("--tls-certificate", self.certificate(end)),
            ("--tls-key", self.key(end)),
            ("--tls-authorities", self.authorities()),
        ];
        let words = files.into_iter();
        words
            .flat_map(|(option, file)| [option.to_owned(), file.display().to_string()])
            .collect()
    }
}

/// Where a server listens that is not this machine's loopback.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Host {
    Name(String),
    Address(IpAddr),
}

/// The host that a server listens at, when the usual names are not its own.
pub(crate) fn host_of(listen: &str) -> Option<Host> {
    let host = listen.rsplit_once(':').map_or(listen, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host {
        "" | "localhost" | "127.0.0.1" | "::1" => None,
        address if address.parse::<IpAddr>().is_ok() => address.parse().ok().map(Host::Address),
        name => Some(Host::Name(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_gets_what_it_needs() {
        let made = Certificates {
            folder: PathBuf::from("/x"),
        };
        let server = made.options(End::Server).join(" ");
        assert_eq!(
            server,
            "--tls-certificate /x/server.pem --tls-key /x/server.key \
             --tls-authorities /x/authority.pem"
        );
        assert!(
            made.options(End::Client)
                .contains(&"/x/client.key".to_owned())
        );
    }

    #[test]
    fn a_certificate_is_for_the_host_that_is_listened_at() {
        let address = |text: &str| Some(Host::Address(text.parse().unwrap()));
        for (listen, host) in [
            ("127.0.0.1:0", None),
            ("[::1]:0", None),
            ("10.0.0.7:5000", address("10.0.0.7")),
            ("[fe80::1]:1", address("fe80::1")),
            ("amf.local:1", Some(Host::Name("amf.local".to_owned()))),
        ] {
            assert_eq!(host_of(listen), host, "{listen}");
        }
    }

    #[test]
    fn what_was_made_once_is_taken_again() {
        let folder = tempfile::tempdir().unwrap();
        let read = |made: &Certificates| {
            let files = [
                made.certificate(End::Server),
                made.key(End::Client),
                made.authorities(),
            ];
            files.map(|file| fs::read_to_string(file).unwrap())
        };
        let made = Certificates::make(folder.path(), host_of("amf.local:1")).unwrap();
        let again = Certificates::make(folder.path(), None).unwrap();
        assert_eq!(read(&made), read(&again));
    }
}
