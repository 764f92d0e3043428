//! What the processes of one run find out about each other: ports and route tables.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};

/// The first message type of the tables. Types below 100 are RMR's own.
pub(super) const FIRST_TYPE: u32 = 1000;

/// Below the ports that the kernel gives to connections: one of those could connect to itself while
/// nobody listens there.
const PORTS: std::ops::Range<u16> = 20_001..32_000;

/// A port that nobody uses at this moment, not even a connection that has just been closed: not every
/// library asks to be let over those. RMR takes a number and cannot tell which one it got instead.
/// Only odd ones, and none twice in a row.
pub(super) fn free_port() -> io::Result<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let span = (PORTS.end - PORTS.start) / 2;
    let start = (std::process::id() % u32::from(span)) as u16;
    let used = ports_in_use();
    for _ in 0..span {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = PORTS.start + (start.wrapping_add(step) % span) * 2;
        if !used.contains(&port) && TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::Error::other("no port is free from 20001 to 31999"))
}

/// The local ports of every TCP socket, closing ones too.
fn ports_in_use() -> BTreeSet<u16> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .flat_map(|file| local_ports(&std::fs::read_to_string(file).unwrap_or_default()))
        .collect()
}

/// `sl local_address rem_address st ...`, addresses and ports in hexadecimal: proc(5).
fn local_ports(text: &str) -> Vec<u16> {
    text.lines()
        .skip(1)
        .filter_map(|line| {
            let (_, port) = line.split_ascii_whitespace().nth(1)?.rsplit_once(':')?;
            u16::from_str_radix(port, 16).ok()
        })
        .collect()
}

/// The text of a table: `routes` message types, each to one of `endpoints` in turn.
pub(super) fn text(routes: u32, endpoints: &str) -> String {
    let mut text = String::from("newrt | start | lab\n");
    for route in 0..routes {
        let message_type = FIRST_TYPE + route;
        text.push_str(&format!("mse | {message_type} | -1 | {endpoints}\n"));
    }
    text.push_str(&format!("newrt | end | {routes}\n"));
    text
}

/// A directory of this session for its tables; gone with it.
#[derive(Debug)]
pub(super) struct Tables(PathBuf);

impl Tables {
    /// Makes it.
    pub(super) fn new() -> io::Result<Self> {
        static SESSIONS: AtomicU16 = AtomicU16::new(0);
        let dir = std::env::temp_dir().join(format!(
            "corewire-rmr-{}-{}",
            std::process::id(),
            SESSIONS.fetch_add(1, Ordering::Relaxed)
        ));
        std::fs::create_dir_all(&dir)?;
        Ok(Self(dir))
    }

    /// Writes the table of the next run; it takes the place of the last one's.
    pub(super) fn write(&self, text: &str) -> io::Result<PathBuf> {
        let path = self.0.join("seed.rt");
        std::fs::write(&path, text)?;
        Ok(path)
    }

    /// A file that is not there, for variables that name an optional one.
    pub(super) fn absent(&self) -> PathBuf {
        Path::new(&self.0).join("absent")
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        // In the system's temporary directory; what is left there does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_odd_free_and_not_given_twice_in_a_row() {
        let (first, second) = (free_port().expect("one"), free_port().expect("another"));
        assert_ne!(first, second);
        assert!(first % 2 == 1 && second % 2 == 1);
        assert!(PORTS.contains(&first) && PORTS.contains(&second));
    }

    #[test]
    fn ports_of_closing_connections_count_too() {
        let text = "  sl  local_address rem_address   st tx_queue\n\
                    \x20  0: 0100007F:4E21 00000000:0000 0A 00000000:00000000\n\
                    \x20  1: 0100007F:4E23 0100007F:9C40 06 00000000:00000000\n";
        assert_eq!(local_ports(text), [20_001, 20_003]);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("bound").port();
        assert!(ports_in_use().contains(&port));
    }

    #[test]
    fn a_table_says_how_many_entries_it_has() {
        assert_eq!(
            text(2, "127.0.0.1:1,127.0.0.1:3"),
            "newrt | start | lab\nmse | 1000 | -1 | 127.0.0.1:1,127.0.0.1:3\n\
             mse | 1001 | -1 | 127.0.0.1:1,127.0.0.1:3\nnewrt | end | 2\n"
        );
    }

    #[test]
    fn tables_are_gone_with_their_session() {
        let tables = Tables::new().expect("room");
        let path = tables.write("x").expect("room");
        assert!(path.exists() && !tables.absent().exists());
        drop(tables);
        assert!(!path.exists());
    }
}
