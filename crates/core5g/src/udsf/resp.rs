//! What Redis speaks (RESP 2): commands out, replies in. Bounded, whatever the other end says.

use bytes::Bytes;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Octets of one line.
const MAX_LINE: u64 = 64 << 10;
/// Octets of one value.
const MAX_BULK: usize = 16 << 20;
/// Members of one list.
const MAX_MEMBERS: usize = 100_000;
/// Lists within lists.
const MAX_DEPTH: usize = 4;

/// What the server says to one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// `OK` and the like.
    Simple(String),
    /// It will not.
    Error(String),
    /// A number.
    Number(i64),
    /// A value, or none.
    Value(Option<Bytes>),
    /// Several.
    List(Vec<Self>),
}

/// A server's address: `redis://[:PASSWORD@]HOST:PORT[/DATABASE]`.
#[derive(Clone)]
pub(super) struct Address {
    host: String,
    password: Option<String>,
    database: Option<String>,
}

impl Address {
    /// Reads it.
    pub(super) fn parse(url: &str) -> Option<Self> {
        let rest = url.strip_prefix("redis://")?;
        let (login, rest) = match rest.rsplit_once('@') {
            Some((login, rest)) => (Some(login), rest),
            None => (None, rest),
        };
        let (host, database) = rest.split_once('/').unwrap_or((rest, ""));
        let host = if host.contains(':') {
            host.to_owned()
        } else {
            format!("{host}:6379")
        };
        let digits = database.bytes().all(|octet| octet.is_ascii_digit());
        (digits && host.len() > 1 && !host.starts_with(':')).then(|| Self {
            host,
            password: login.map(|login| {
                login
                    .split_once(':')
                    .map_or(login, |(_, word)| word)
                    .to_owned()
            }),
            database: (!database.is_empty()).then(|| database.to_owned()),
        })
    }
}

/// A connection to a server.
pub(super) struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects; nothing takes longer than `patience`.
    pub(super) fn open(address: &Address, patience: Duration) -> io::Result<Self> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for candidate in address.host.to_socket_addrs()? {
            match TcpStream::connect_timeout(&candidate, patience) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(patience))?;
                    stream.set_write_timeout(Some(patience))?;
                    let mut connection = Self {
                        stream: BufReader::with_capacity(64 << 10, stream),
                    };
                    connection.begin(address)?;
                    return Ok(connection);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn begin(&mut self, address: &Address) -> io::Result<()> {
        let mut commands: Vec<Vec<&[u8]>> = Vec::new();
        if let Some(password) = &address.password {
            commands.push(vec![b"AUTH", password.as_bytes()]);
        }
        if let Some(database) = &address.database {
            commands.push(vec![b"SELECT", database.as_bytes()]);
        }
        commands.push(vec![b"PING"]);
        for reply in self.ask(&commands)? {
            if let Reply::Error(why) = reply {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
        }
        Ok(())
    }

    /// Sends all commands in one write and reads a reply to each.
    pub(super) fn ask(&mut self, commands: &[Vec<&[u8]>]) -> io::Result<Vec<Reply>> {
        let mut octets = Vec::new();
        for command in commands {
            write!(octets, "*{}\r\n", command.len())?;
            for word in command {
                write!(octets, "${}\r\n", word.len())?;
                octets.extend_from_slice(word);
                octets.extend_from_slice(b"\r\n");
            }
        }
        self.stream.get_mut().write_all(&octets)?;
        commands.iter().map(|_| read(&mut self.stream, 0)).collect()
    }
}

/// Reads one reply.
pub(super) fn read(stream: &mut impl BufRead, depth: usize) -> io::Result<Reply> {
    let mut line = Vec::new();
    stream.take(MAX_LINE).read_until(b'\n', &mut line)?;
    let line = line
        .strip_suffix(b"\r\n")
        .ok_or_else(|| odd("a line that does not end"))?;
    let (kind, text) = line.split_first().ok_or_else(|| odd("an empty line"))?;
    let text = std::str::from_utf8(text).map_err(|_| odd("a line that is no text"))?;
    let number = || {
        text.parse::<i64>()
            .map_err(|_| odd("a number that is none"))
    };
    match kind {
        b'+' => Ok(Reply::Simple(text.to_owned())),
        b'-' => Ok(Reply::Error(text.to_owned())),
        b':' => number().map(Reply::Number),
        b'$' if text == "-1" => Ok(Reply::Value(None)),
        b'$' => {
            let length = usize::try_from(number()?)
                .ok()
                .filter(|length| *length <= MAX_BULK);
            let length = length.ok_or_else(|| odd("a value of such a length"))?;
            let mut value = Vec::new();
            // Grows with what comes, not with what is announced.
            let wanted = length as u64 + 2;
            if stream.take(wanted).read_to_end(&mut value)? as u64 != wanted
                || !value.ends_with(b"\r\n")
            {
                return Err(odd("a value that is cut"));
            }
            value.truncate(length);
            Ok(Reply::Value(Some(value.into())))
        }
        b'*' if text == "-1" => Ok(Reply::Value(None)),
        b'*' => {
            let members = usize::try_from(number()?)
                .ok()
                .filter(|count| *count <= MAX_MEMBERS);
            let members = members.ok_or_else(|| odd("a list of such a length"))?;
            if depth == MAX_DEPTH {
                return Err(odd("lists within lists"));
            }
            let all: io::Result<Vec<_>> = (0..members).map(|_| read(stream, depth + 1)).collect();
            all.map(Reply::List)
        }
        _ => Err(odd("a reply of no kind")),
    }
}

fn odd(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_whole_or_refused() {
        let text = b"*5\r\n+OK\r\n-ERR no\r\n:-7\r\n$3\r\na\r\n\r\n*1\r\n$-1\r\n";
        let expected = Reply::List(vec![
            Reply::Simple("OK".into()),
            Reply::Error("ERR no".into()),
            Reply::Number(-7),
            Reply::Value(Some(Bytes::from_static(b"a\r\n"))),
            Reply::List(vec![Reply::Value(None)]),
        ]);
        assert_eq!(read(&mut &text[..], 0).unwrap(), expected);
        for cut in 0..text.len() {
            assert!(read(&mut &text[..cut], 0).is_err(), "{cut}");
        }
        for bad in [
            "$99999999999\r\n",
            "*99999999\r\n",
            "$-2\r\n",
            "?\r\n",
            ":x\r\n",
            "\r\n",
            "$1\r\nabc",
        ] {
            assert!(read(&mut bad.as_bytes(), 0).is_err(), "{bad:?}");
        }
        let deep = "*1\r\n".repeat(100);
        assert!(read(&mut deep.as_bytes(), 0).is_err());
    }

    #[test]
    fn addresses_are_read() {
        let address = Address::parse("redis://user:pass@db.example:7000/2").unwrap();
        assert_eq!(address.host, "db.example:7000");
        assert_eq!(address.password.as_deref(), Some("pass"));
        assert_eq!(address.database.as_deref(), Some("2"));
        assert_eq!(Address::parse("redis://db").unwrap().host, "db:6379");
        for bad in ["redis://", "db:1", "redis://:1", "redis://db/x"] {
            assert!(Address::parse(bad).is_none(), "{bad}");
        }
    }
}
