//! An HTTP/2 server that is not Corewire: it answers each request with a bare status, and ends its
//! connections as servers and proxies of other projects do.

use bytes::Bytes;
use corewire_mesh::config::Address;
use corewire_wire::http2::{ErrorCode, Event, Field, Limits, Role, Session, Sink};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A request as the server sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
}

/// Gives the HTTP status of an answer; `None`: the request is never answered.
type Answer = dyn Fn(&Seen) -> Option<u16> + Send + Sync;

/// A running server; its threads end with the process.
pub(crate) struct Foreign {
    pub(crate) address: Address,
    pub(crate) connections: Arc<AtomicU64>,
    pub(crate) answered: Arc<AtomicU64>,
}

impl Foreign {
    /// A server that says GOAWAY on a connection after so many requests (0: never).
    pub(crate) fn start(
        requests_per_connection: u64,
        answer: impl Fn(&Seen) -> Option<u16> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        let (connections, answered) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let (opened, counted) = (Arc::clone(&connections), Arc::clone(&answered));
        let answer: Arc<Answer> = Arc::new(answer);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                opened.fetch_add(1, Ordering::SeqCst);
                let (answer, counted) = (Arc::clone(&answer), Arc::clone(&counted));
                std::thread::spawn(move || {
                    serve(stream, requests_per_connection, &*answer, &counted);
                });
            }
        });
        Self {
            address: Address::Tcp(address),
            connections,
            answered,
        }
    }
}

struct Out(Vec<u8>);

impl Sink for Out {
    fn put(&mut self, octets: &[u8]) {
        self.0.extend_from_slice(octets);
    }

    fn put_shared(&mut self, octets: Bytes) {
        self.0.extend_from_slice(&octets);
    }

    fn budget(&self) -> usize {
        1 << 20
    }
}

fn serve(mut stream: TcpStream, most: u64, answer: &Answer, answered: &AtomicU64) {
    let mut session = Session::new(Role::Server, &Limits::default()).unwrap();
    let (mut buffer, mut waiting, mut count) = (vec![0; 64 << 10], Vec::new(), 0);
    let (mut open, mut asked) = (0_usize, Vec::new());
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    loop {
        let mut out = Out(Vec::new());
        while session.send(&mut out) {}
        if stream.write_all(&out.0).is_err() {
            return;
        }
        if most > 0 && count >= most && open == 0 {
            return;
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(length) => waiting.extend_from_slice(&buffer[..length]),
        }
        let Ok(taken) = session.receive(Instant::now(), &waiting) else {
            return;
        };
        waiting.drain(..taken);
        while let Some(event) = session.next_event() {
            match event {
                Event::Headers { stream, fields, .. } => {
                    let mut seen = Seen::default();
                    for (name, value) in session.fields(fields) {
                        let value = String::from_utf8_lossy(value).into_owned();
                        match name {
                            b":method" => seen.method = value,
                            b":path" => seen.path = value,
                            _ => {}
                        }
                    }
                    asked.push((stream, seen));
                    open += 1;
                }
                Event::Data { stream, octets } => session.consume_stream(stream, octets.len()),
                Event::End { stream } => {
                    let Some(at) = asked.iter().position(|(asked, _)| *asked == stream) else {
                        continue;
                    };
                    let (_, seen) = asked.swap_remove(at);
                    if let Some(status) = answer(&seen) {
                        let status = status.to_string();
                        let fields = [Field::named(":status", status.as_bytes())];
                        session.answer(stream, None, &fields, false).unwrap();
                        answered.fetch_add(1, Ordering::SeqCst);
                        open -= 1;
                    }
                    count += 1;
                    if count == most {
                        session.go_away(ErrorCode::NO_ERROR);
                    }
                }
                _ => {}
            }
        }
    }
}
