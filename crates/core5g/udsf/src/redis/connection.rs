//! One connection to a server, or those to all of a cluster: pipelines and listings.

use redis::cluster::{ClusterConnection, cluster_pipe};
use redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo, SingleNodeRoutingInfo};
use redis::{Client, Cmd, ConnectionLike, RedisError, RedisResult, Value};
use std::io;
use std::time::Duration;

/// Keys that one step of a listing looks at.
const SCANNED: &str = "1000";

/// To one server, or to the masters of a cluster.
pub(super) enum Connection {
    Server(Box<redis::Connection>),
    Cluster(Box<ClusterConnection>),
}

impl Connection {
    /// Connects to one server; nothing takes longer than `patience`, now and later.
    pub(super) fn open(client: &Client, patience: Duration) -> RedisResult<Self> {
        let connection = client.get_connection_with_timeout(patience)?;
        connection.set_read_timeout(Some(patience))?;
        connection.set_write_timeout(Some(patience))?;
        Ok(Self::Server(Box::new(connection)))
    }

    /// Whether the server takes changes (`ROLE`).
    pub(super) fn is_master(&mut self) -> RedisResult<bool> {
        let Self::Server(connection) = self else {
            return Ok(true);
        };
        let role = connection.req_command(&redis::cmd("ROLE"))?;
        let Value::Array(parts) = role else {
            return Ok(false);
        };
        let is = |name: &[u8]| name == b"master";
        Ok(match parts.first() {
            Some(Value::BulkString(name)) => is(name),
            Some(Value::SimpleString(name)) => is(name.as_bytes()),
            _ => false,
        })
    }

    /// Has all of these commands carried out, each of one key; gives the answers in order, an error for
    /// what was refused.
    ///
    /// # Errors
    /// When the connection is lost, or the server takes no changes any more.
    pub(super) fn ask(&mut self, commands: Vec<Cmd>) -> RedisResult<Vec<RedisResult<Value>>> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let answers: Vec<RedisResult<Value>> = match self {
            Self::Server(connection) => {
                let mut pipe = redis::pipe();
                pipe.ignore_errors();
                for command in commands {
                    pipe.add_command(command);
                }
                let answers: Vec<Value> = pipe.query(connection.as_mut())?;
                answers.into_iter().map(Value::extract_error).collect()
            }
            Self::Cluster(connection) => {
                let mut pipe = cluster_pipe();
                for command in &commands {
                    pipe.add_command(command.clone());
                }
                match pipe.query::<Vec<Value>>(connection) {
                    Ok(answers) => answers.into_iter().map(Ok).collect(),
                    Err(error) if is_lost(&error) => return Err(error),
                    // One was refused, and the library does not tell what became of the others.
                    Err(_) => {
                        let each = commands.iter();
                        each.map(|command| connection.req_command(command))
                            .collect()
                    }
                }
            }
        };
        for answer in &answers {
            if let Err(error) = answer
                && is_lost(error)
            {
                return Err(error.clone());
            }
        }
        Ok(answers)
    }

    /// Names of keys that match a pattern; some perhaps twice.
    ///
    /// # Errors
    /// When the connection is lost.
    pub(super) fn keys(&mut self, pattern: &str) -> RedisResult<Vec<Vec<u8>>> {
        let scan = |cursor: &[u8]| {
            let mut command = redis::cmd("SCAN");
            command.arg(cursor).arg("MATCH").arg(pattern);
            command.arg("COUNT").arg(SCANNED);
            command
        };
        let mut found = Vec::new();
        match self {
            Self::Server(connection) => {
                let mut cursor = b"0".to_vec();
                loop {
                    let (next, keys) = step(connection.req_command(&scan(&cursor))?)?;
                    found.extend(keys);
                    if next == b"0" {
                        return Ok(found);
                    }
                    cursor = next;
                }
            }
            Self::Cluster(connection) => {
                // The first step at all masters tells which there are, too.
                let masters = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
                let begun = connection.route_command(&scan(b"0"), masters)?;
                let Value::Map(begun) = begun else {
                    return Err(unexpected());
                };
                for (address, answer) in begun {
                    let address: String = redis::from_redis_value(address)?;
                    let (host, port) = address.rsplit_once(':').ok_or_else(unexpected)?;
                    let port = port.parse().map_err(|_| unexpected())?;
                    let (mut cursor, keys) = step(answer)?;
                    found.extend(keys);
                    while cursor != b"0" {
                        let node = SingleNodeRoutingInfo::ByAddress {
                            host: host.to_owned(),
                            port,
                        };
                        let routing = RoutingInfo::SingleNode(node);
                        let (next, keys) =
                            step(connection.route_command(&scan(&cursor), routing)?)?;
                        found.extend(keys);
                        cursor = next;
                    }
                }
                Ok(found)
            }
        }
    }
}

/// Whether nothing can be expected of this connection any more: it is closed, or its server has become
/// a replica, or is not ready.
fn is_lost(error: &RedisError) -> bool {
    error.is_io_error()
        || error.is_connection_dropped()
        || matches!(error.code(), Some("READONLY" | "MASTERDOWN" | "LOADING"))
}

/// What SCAN answers: where to go on, and keys.
fn step(answer: Value) -> RedisResult<(Vec<u8>, Vec<Vec<u8>>)> {
    Ok(redis::from_redis_value(answer)?)
}

fn unexpected() -> RedisError {
    io::Error::other("an answer of another kind").into()
}
