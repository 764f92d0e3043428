//! Where Redis is: one server, the master that Sentinels name, or a cluster.

use super::connection::Connection;
use anyhow::{Context as _, bail};
use corewire_core5g_runtime::tls::TlsArgs;
use redis::cluster::{ClusterClient, ClusterConfig};
use redis::io::tcp::TcpSettings;
use redis::{
    Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _,
    RedisConnectionInfo, RedisError, RedisResult, TlsCertificates,
};
use std::fs;
use std::io;
use std::time::Duration;

/// How the address is written.
pub(super) const FORM: &str = "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], \
     redis-sentinel://[...@]HOST[:PORT][,HOST...]/MASTER[/DATABASE], \
     redis-cluster://[...@]HOST[:PORT][,HOST...]; rediss for TLS";

/// What an address begins with: its scheme, kind, and whether it is TLS.
const SCHEMES: [(&str, Kind, bool); 6] = [
    ("redis://", Kind::Server, false),
    ("rediss://", Kind::Server, true),
    ("redis-sentinel://", Kind::Sentinel, false),
    ("rediss-sentinel://", Kind::Sentinel, true),
    ("redis-cluster://", Kind::Cluster, false),
    ("rediss-cluster://", Kind::Cluster, true),
];

/// The port of a Sentinel that names none.
const SENTINEL_PORT: u16 = 26_379;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Server,
    Sentinel,
    Cluster,
}

/// An address and what it takes to reach it.
pub(super) enum Place {
    Server(Client),
    Sentinel(Sentinels),
    Cluster(Box<ClusterClient>),
}

/// Who knows which server is the master.
pub(super) struct Sentinels {
    each: Vec<Client>,
    master: String,
    settings: RedisConnectionInfo,
    certificates: Option<TlsCertificates>,
    tls: bool,
}

/// Whether this names Redis, and not a folder.
pub(super) fn is_address(text: &str) -> bool {
    SCHEMES.iter().any(|(scheme, ..)| text.starts_with(scheme))
}

impl Place {
    /// Reads an address. A login (`USER:PASSWORD`, `:PASSWORD`) may come apart from it. With TLS the server must have a certificate of these authorities, or of those that
    /// the system trusts where there are none.
    ///
    /// # Errors
    /// When it is none, or a file of `tls` cannot be read. The address's password is in no error.
    pub(super) fn parse(text: &str, login: Option<&str>, tls: &TlsArgs) -> anyhow::Result<Self> {
        let Some((scheme, kind, is_tls)) =
            SCHEMES.iter().find(|(scheme, ..)| text.starts_with(scheme))
        else {
            bail!("no address of Redis: {FORM}");
        };
        let certificates = if *is_tls {
            Some(certificates(tls)?)
        } else {
            None
        };
        let rest = &text[scheme.len()..];
        let (login, rest) = match rest.rsplit_once('@') {
            Some(_) if login.is_some() => {
                bail!("the login stands in the address, and in a file too")
            }
            Some((login, rest)) => (format!("{login}@"), rest),
            None => (
                login.map(|login| format!("{login}@")).unwrap_or_default(),
                rest,
            ),
        };
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        let hosts: Vec<&str> = hosts.split(',').collect();
        if hosts
            .iter()
            .any(|host| host.is_empty() || host.starts_with(':'))
        {
            bail!("a host is missing: {FORM}");
        }
        // The library reads one address at a time; the parts of ours are put together again for it.
        let single = if *is_tls { "rediss" } else { "redis" };
        let read = |host: &str, path: &str| {
            let text = format!("{single}://{login}{host}/{path}");
            let info = text.as_str().into_connection_info();
            // The library's own text may hold the address, with its password.
            info.map(|info| info.set_tcp_settings(tcp()))
                .map_err(|_| anyhow::anyhow!("{host}/{path} cannot be read: {FORM}"))
        };
        Ok(match kind {
            Kind::Server if hosts.len() > 1 => {
                bail!("one host, or redis-cluster:// or redis-sentinel://: {FORM}")
            }
            Kind::Server => {
                let info = read(hosts[0], path)?;
                Self::Server(client(info, certificates.as_ref())?)
            }
            Kind::Cluster if !path.is_empty() => bail!("a cluster has one database: {FORM}"),
            Kind::Cluster => {
                let nodes: Result<Vec<_>, _> = hosts.iter().map(|host| read(host, "")).collect();
                let mut builder = ClusterClient::builder(nodes?);
                if let Some(certificates) = certificates {
                    builder = builder.certs(certificates);
                }
                Self::Cluster(Box::new(builder.build()?))
            }
            Kind::Sentinel => {
                let (master, database) = path.split_once('/').unwrap_or((path, ""));
                if master.is_empty() {
                    bail!("the name of the master is missing: {FORM}");
                }
                let settings = read(hosts[0], database)?.redis_settings().clone();
                let sentinel = |host: &&str| -> anyhow::Result<Client> {
                    // Sentinels have a login of their own, or none; the address's is the servers'.
                    let info = read(host, "")?.set_redis_settings(RedisConnectionInfo::default());
                    let address = match info.addr().clone() {
                        ConnectionAddr::Tcp(name, 6379) if !has_port(host) => {
                            ConnectionAddr::Tcp(name, SENTINEL_PORT)
                        }
                        address => address,
                    };
                    Ok(client(info.set_addr(address), certificates.as_ref())?)
                };
                Self::Sentinel(Sentinels {
                    each: hosts.iter().map(sentinel).collect::<Result<_, _>>()?,
                    master: master.to_owned(),
                    settings,
                    certificates,
                    tls: *is_tls,
                })
            }
        })
    }

    /// Connects; nothing takes longer than `patience`, now and later.
    ///
    /// # Errors
    /// When nobody answers, or refuses the login.
    pub(super) fn connect(&self, patience: Duration) -> RedisResult<Connection> {
        match self {
            Self::Server(client) => Connection::open(client, patience),
            Self::Sentinel(sentinels) => sentinels.connect(patience),
            Self::Cluster(cluster) => {
                let config = ClusterConfig::new()
                    .set_connection_timeout(patience)
                    .set_response_timeout(patience);
                let connection = cluster.get_connection_with_config(config)?;
                Ok(Connection::Cluster(Box::new(connection)))
            }
        }
    }
}

impl Sentinels {
    /// Asks one Sentinel after the other for the master, until a server says that it is.
    fn connect(&self, patience: Duration) -> RedisResult<Connection> {
        let mut last = RedisError::from(io::Error::other("no Sentinel is known"));
        for sentinel in &self.each {
            match self.by(sentinel, patience) {
                Ok(connection) => return Ok(connection),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn by(&self, sentinel: &Client, patience: Duration) -> RedisResult<Connection> {
        let mut asked = sentinel.get_connection_with_timeout(patience)?;
        asked.set_read_timeout(Some(patience))?;
        asked.set_write_timeout(Some(patience))?;
        let known: Option<(String, u16)> = redis::cmd("SENTINEL")
            .arg("GET-MASTER-ADDR-BY-NAME")
            .arg(&self.master)
            .query(&mut asked)?;
        let Some((host, port)) = known else {
            let why = format!("the Sentinel knows no master {}", self.master);
            return Err(io::Error::other(why).into());
        };
        let address = if self.tls {
            ConnectionAddr::TcpTls {
                host,
                port,
                insecure: false,
                tls_params: None,
            }
        } else {
            ConnectionAddr::Tcp(host, port)
        };
        let info = address.into_connection_info()?.set_tcp_settings(tcp());
        let info = info.set_redis_settings(self.settings.clone());
        let mut connection =
            Connection::open(&client(info, self.certificates.as_ref())?, patience)?;
        // A master that was replaced says so before the Sentinel that was asked knows it.
        if connection.is_master()? {
            Ok(connection)
        } else {
            Err(io::Error::other("the server is a replica").into())
        }
    }
}

fn has_port(host: &str) -> bool {
    host.rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && !port.contains(']'))
}

/// Pipelines are written whole: nothing is gained by waiting for more.
fn tcp() -> TcpSettings {
    TcpSettings::default().set_nodelay(true)
}

fn client(info: ConnectionInfo, certificates: Option<&TlsCertificates>) -> RedisResult<Client> {
    match certificates {
        Some(certificates) => Client::build_with_tls(info, certificates.clone()),
        None => Client::open(info),
    }
}

/// Those that the NF has for its own connections.
fn certificates(tls: &TlsArgs) -> anyhow::Result<TlsCertificates> {
    let read = |file: &Option<std::path::PathBuf>| {
        let text =
            |path: &std::path::PathBuf| fs::read(path).with_context(|| path.display().to_string());
        file.as_ref().map(text).transpose()
    };
    let client_tls = match (read(&tls.certificate)?, read(&tls.key)?) {
        (Some(client_cert), Some(client_key)) => Some(ClientTlsConfig {
            client_cert,
            client_key,
        }),
        _ => None,
    };
    Ok(TlsCertificates {
        client_tls,
        root_cert: read(&tls.authorities)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> anyhow::Result<Place> {
        Place::parse(text, None, &TlsArgs::default())
    }

    #[test]
    fn reads_one_server_with_login_and_database() {
        let Place::Server(client) = parse("redis://user:pass@db.example:7000/2").expect("read")
        else {
            panic!("one server");
        };
        let info = client.get_connection_info();
        assert_eq!(info.addr().to_string(), "db.example:7000");
        let settings = info.redis_settings();
        assert_eq!(settings.username(), Some("user"));
        assert_eq!(settings.password(), Some("pass"));
        assert_eq!(settings.db(), 2);
        let Place::Server(client) = parse("rediss://[::1]").expect("read") else {
            panic!("one server");
        };
        let address = client.get_connection_info().addr().clone();
        assert!(matches!(
            address,
            ConnectionAddr::TcpTls {
                port: 6379,
                insecure: false,
                ..
            }
        ));
    }

    #[test]
    fn takes_a_login_from_elsewhere_or_from_the_address() {
        let with = |text: &str| Place::parse(text, Some("user:pass"), &TlsArgs::default());
        let Place::Server(client) = with("redis://db").expect("read") else {
            panic!("one server");
        };
        let settings = client.get_connection_info().redis_settings().clone();
        assert_eq!(
            (settings.username(), settings.password()),
            (Some("user"), Some("pass"))
        );
        assert!(with("redis://:other@db").is_err());
    }

    #[test]
    fn reads_sentinels_with_their_own_port_and_the_servers_login() {
        let text = "redis-sentinel://:pass@one,two:27000/mymaster/3";
        let Place::Sentinel(sentinels) = parse(text).expect("read") else {
            panic!("Sentinels");
        };
        let addresses = sentinels.each.iter().map(|client| {
            let info = client.get_connection_info();
            assert_eq!(info.redis_settings().password(), None);
            info.addr().to_string()
        });
        assert_eq!(addresses.collect::<Vec<_>>(), ["one:26379", "two:27000"]);
        assert_eq!(sentinels.master, "mymaster");
        assert_eq!(sentinels.settings.password(), Some("pass"));
        assert_eq!(sentinels.settings.db(), 3);
    }

    #[test]
    fn reads_a_cluster() {
        let place = parse("redis-cluster://user:pass@one:7000,two:7001").expect("read");
        assert!(matches!(place, Place::Cluster(_)));
    }

    #[test]
    fn refuses_what_is_no_address_without_telling_the_password() {
        for bad in [
            "redis://",
            "redis://:secret@",
            "redis://:secret@:1",
            "redis://:secret@db/x",
            "redis://:secret@db:port",
            "redis://:secret@one,two",
            "redis-cluster://:secret@one,",
            "redis-cluster://:secret@one/2",
            "redis-sentinel://:secret@one",
            "redis-sentinel://:secret@one/",
            "redis-sentinel://:secret@one/master/x",
        ] {
            let fault = parse(bad).err().unwrap_or_else(|| panic!("{bad}"));
            let fault = format!("{fault:#} {fault:?}");
            assert!(!fault.contains("secret"), "{bad}: {fault}");
        }
        assert!(parse("db:1").is_err() && !is_address("state/redis"));
    }
}
