//! Whether a server wants calls: gRPC's health service (`grpc.health.v1.Health`), for any transport.
//!
//! [`Health`] is what the process knows of itself; [`Health::around`] puts the service that tells it in
//! front of another. `Check` answers once, `Watch` on every change. Callers that speak JSON (a query, or
//! `accept`) get it from `Check`: 200 and `{"status":"SERVING"}`, or 503 and `{"status":"NOT_SERVING"}`,
//! so that a plain HTTP/2 probe understands it too (`docs/health.md`).

use crate::{
    Body, CallContext, CallKind, Code, Event, Headers, Inbound, Operation, Outbound, Request,
    Response, Service, Status,
};
use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Answers once: `service` (empty: the whole server) in, [`Serving`] out.
pub const CHECK: Operation = Operation::from_static("grpc.health.v1.Health/Check");
/// Answers at once and on every change, until the caller gives up or the server drains.
pub const WATCH: Operation = Operation::from_static("grpc.health.v1.Health/Watch");

/// Callers that may watch at a time; more are refused as overloaded.
pub const MAX_WATCHERS: usize = 4096;
/// The longest name of a service that is asked for, octets.
const MAX_NAME: usize = 1024;

/// Whether a service wants calls. Numbers are those of `grpc.health.v1.HealthCheckResponse`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the protocol's list")]
#[repr(u8)]
pub enum Serving {
    /// It does not say.
    Unknown = 0,
    /// It does.
    Serving = 1,
    /// It does not: overloaded, broken, or about to stop.
    NotServing = 2,
    /// There is no such service here. Told to watchers only; `Check` fails with `NOT_FOUND`.
    ServiceUnknown = 3,
}

impl Serving {
    /// Its name in the protocol.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Serving => "SERVING",
            Self::NotServing => "NOT_SERVING",
            Self::ServiceUnknown => "SERVICE_UNKNOWN",
        }
    }

    /// Reads a `HealthCheckResponse`; `None` when it is none. A number that is not known is
    /// [`Serving::Unknown`].
    #[must_use]
    pub fn from_message(octets: &[u8]) -> Option<Self> {
        let mut found = Self::Unknown;
        each_field(octets, |number, value| {
            if let (1, Value::Number(value)) = (number, value) {
                found = match value {
                    1 => Self::Serving,
                    2 => Self::NotServing,
                    3 => Self::ServiceUnknown,
                    _ => Self::Unknown,
                };
            }
        })?;
        Some(found)
    }

    /// A `HealthCheckResponse`.
    #[must_use]
    pub const fn to_message(self) -> Body {
        match self {
            Self::Unknown => Body::new(),
            Self::Serving => Body::from_static(&[8, 1]),
            Self::NotServing => Body::from_static(&[8, 2]),
            Self::ServiceUnknown => Body::from_static(&[8, 3]),
        }
    }
}

impl fmt::Display for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The `HealthCheckRequest` that asks for this service; empty: for the whole server.
#[must_use]
pub fn question(service: &str) -> Body {
    if service.is_empty() {
        return Body::new();
    }
    let mut octets = vec![0x0a];
    let mut length = service.len();
    while length >= 0x80 {
        octets.push(length as u8 | 0x80);
        length >>= 7;
    }
    octets.push(length as u8);
    octets.extend(service.as_bytes());
    octets.into()
}

/// What a process knows of itself. Clones share it.
#[derive(Clone, Default)]
pub struct Health(Arc<Mutex<Board>>);

#[derive(Default)]
struct Board {
    /// What was said of each service; of the server as a whole by the empty name.
    services: BTreeMap<String, Serving>,
    draining: bool,
    watchers: BTreeMap<u64, Option<Waker>>,
    next_watcher: u64,
}

impl Board {
    fn of(&self, service: &str) -> Option<Serving> {
        let said = self.services.get(service).copied();
        // A server that says nothing of itself serves.
        let said = said.or_else(|| service.is_empty().then_some(Serving::Serving));
        said.map(|said| {
            if self.draining {
                Serving::NotServing
            } else {
                said
            }
        })
    }
}

impl Health {
    /// A server that serves, and knows no services by name.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says how a service is; the empty name is the server as a whole. Watchers are told.
    pub fn set(&self, service: &str, serving: Serving) {
        self.change(|board| {
            board.services.insert(service.to_owned(), serving);
        });
    }

    /// Says from now on that nothing is served here, whatever was or will be said: to be called
    /// before a server drains, so that callers go elsewhere first. Watchers are told, and let go.
    pub fn drain(&self) {
        self.change(|board| board.draining = true);
    }

    /// What is said of a service; `None` when it is not known.
    #[must_use]
    pub fn of(&self, service: &str) -> Option<Serving> {
        self.board().of(service)
    }

    /// The same service with the health service in front of it.
    pub fn around<S: Service>(&self, service: S) -> WithHealth<S> {
        WithHealth {
            health: self.clone(),
            service,
        }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Board)) {
        let wakers: Vec<Waker> = {
            let mut board = self.board();
            change(&mut board);
            let watchers = board.watchers.values_mut();
            watchers.filter_map(Option::take).collect()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    fn check(&self, request: Request) -> Response {
        let json = wants_json(&request.headers);
        let Some(service) = asked(&request, json) else {
            return Response::failed(Status::new(
                Code::InvalidArgument,
                "this is no grpc.health.v1.HealthCheckRequest",
            ));
        };
        match self.of(&service) {
            None => Response::failed(Status::new(
                Code::NotFound,
                "nothing is known of a service of this name",
            )),
            Some(serving) if json => json_answer(serving),
            Some(serving) => Response::ok(serving.to_message()),
        }
    }

    async fn watch(&self, inbound: &mut Inbound, outbound: &mut Outbound) -> Result<(), Status> {
        let message = inbound.message().await;
        let message = message.map_err(|error| error.to_status())?;
        let body =
            message.ok_or_else(|| Status::new(Code::InvalidArgument, "nothing was asked"))?;
        let service = read_question(&body.into_bytes())
            .ok_or_else(|| Status::new(Code::InvalidArgument, "this is no HealthCheckRequest"))?;
        let watcher = Watcher::new(self)?;
        let mut told = None;
        loop {
            let (serving, draining) = watcher.changed(&service, told).await;
            let sent = outbound.send(serving.to_message()).await;
            sent.map_err(|error| error.to_status())?;
            if draining {
                // An open watch must not hold the server up.
                return Err(Status::new(Code::Unavailable, "the server drains"));
            }
            told = Some(serving);
        }
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let board = self.board();
        f.debug_struct("Health")
            .field("services", &board.services)
            .field("draining", &board.draining)
            .finish_non_exhaustive()
    }
}

/// A place among those who are told of changes.
struct Watcher<'a> {
    health: &'a Health,
    number: u64,
}

impl<'a> Watcher<'a> {
    fn new(health: &'a Health) -> Result<Self, Status> {
        let mut board = health.board();
        if board.watchers.len() >= MAX_WATCHERS {
            let what = "as many as allowed watch this server's health";
            return Err(Status::new(Code::ResourceExhausted, what));
        }
        let number = board.next_watcher;
        board.next_watcher += 1;
        board.watchers.insert(number, None);
        Ok(Self { health, number })
    }

    /// What is said of a service once it is not what was told, and whether the server drains.
    async fn changed(&self, service: &str, told: Option<Serving>) -> (Serving, bool) {
        poll_fn(|cx| {
            let mut board = self.health.board();
            let said = board.of(service).unwrap_or(Serving::ServiceUnknown);
            let draining = board.draining;
            if told != Some(said) || draining {
                return Poll::Ready((said, draining));
            }
            let waker = Some(cx.waker().clone());
            board.watchers.insert(self.number, waker);
            Poll::Pending
        })
        .await
    }
}

impl Drop for Watcher<'_> {
    fn drop(&mut self) {
        let waker = self.health.board().watchers.remove(&self.number);
        // Outside of the lock: dropping a waker may run anything.
        drop(waker);
    }
}

/// A service with the health service in front of it: what [`Health::around`] makes.
#[derive(Debug)]
pub struct WithHealth<S> {
    health: Health,
    service: S,
}

impl<S: Service> Service for WithHealth<S> {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        if *operation == CHECK {
            Some(CallKind::Unary)
        } else if *operation == WATCH {
            Some(CallKind::Stream)
        } else {
            self.service.kind(operation)
        }
    }

    async fn call(&self, context: &CallContext, request: Request) -> Response {
        if request.operation == CHECK {
            return self.health.check(request);
        }
        self.service.call(context, request).await
    }

    fn event(&self, context: &CallContext, event: Event) -> impl Future<Output = ()> + Send {
        self.service.event(context, event)
    }

    async fn stream(
        &self,
        context: &CallContext,
        request: Request,
        mut inbound: Inbound,
        mut outbound: Outbound,
    ) -> Response {
        if request.operation != WATCH {
            return self
                .service
                .stream(context, request, inbound, outbound)
                .await;
        }
        match self.health.watch(&mut inbound, &mut outbound).await {
            Ok(()) => Response::ok(Body::new()),
            Err(status) => Response::failed(status),
        }
    }
}

/// The service that is asked for: by the query, or by a `HealthCheckRequest`.
fn asked(request: &Request, json: bool) -> Option<String> {
    if !json {
        return read_question(&request.body.clone().into_bytes());
    }
    let query = request.headers.get_str("corewire-query").unwrap_or("");
    let mut pairs = query.split('&');
    let service = pairs.find_map(|pair| pair.strip_prefix("service="));
    Some(service.unwrap_or("").to_owned())
}

fn wants_json(headers: &Headers) -> bool {
    let says = |name, what: &str| headers.get_str(name).is_some_and(|it| it.contains(what));
    headers.get("corewire-query").is_some()
        || says("accept", "application/json")
        || says("accept", "*/*")
        || says("content-type", "application/json")
}

fn json_answer(serving: Serving) -> Response {
    let mut headers = Headers::new();
    // Name and value are constants that are valid headers.
    let _ = headers.append("content-type", "application/json");
    let status = match serving {
        Serving::Serving => Status::of(Code::Ok),
        _ => Status::of(Code::Unavailable),
    };
    Response {
        status,
        headers,
        body: format!("{{\"status\":\"{serving}\"}}\n").into(),
    }
}

/// The service that a `HealthCheckRequest` asks for; `None` when it is none, or the name is longer than
/// 1024 octets.
#[must_use]
pub fn read_question(octets: &[u8]) -> Option<String> {
    let mut service = Some(String::new());
    each_field(octets, |number, value| {
        if let (1, Value::Octets(name)) = (number, value) {
            let name = std::str::from_utf8(name).ok();
            service = name
                .filter(|name| name.len() <= MAX_NAME)
                .map(str::to_owned);
        }
    })?;
    service
}

/// One field's value, as far as protobuf tells without a schema.
enum Value<'a> {
    Number(u64),
    Octets(&'a [u8]),
    Fixed,
}

/// Shows each field of a protobuf message; `None` when the octets are none.
fn each_field(mut octets: &[u8], mut see: impl FnMut(u64, Value<'_>)) -> Option<()> {
    while !octets.is_empty() {
        let key = varint(&mut octets)?;
        let value = match key & 7 {
            0 => Value::Number(varint(&mut octets)?),
            1 => {
                octets = octets.get(8..)?;
                Value::Fixed
            }
            2 => {
                let length = usize::try_from(varint(&mut octets)?).ok()?;
                let (value, rest) = octets.split_at_checked(length)?;
                octets = rest;
                Value::Octets(value)
            }
            5 => {
                octets = octets.get(4..)?;
                Value::Fixed
            }
            _ => return None,
        };
        see(key >> 3, value);
    }
    Some(())
}

fn varint(octets: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&octet, rest) = octets.split_first()?;
        *octets = rest;
        number |= u64::from(octet & 0x7f) << shift;
        if octet & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(health: &Health, body: Body, headers: &[(&str, &str)]) -> Response {
        let mut request = Request::new(CHECK).with_body(body);
        for (name, value) in headers {
            request.headers.append(name, value).unwrap();
        }
        health.check(request)
    }

    #[test]
    fn questions_and_answers_are_the_protocols() {
        assert_eq!(question("a.B"), Body::from_static(b"\x0a\x03a.B"));
        let long = "x".repeat(300);
        let octets = question(&long).into_bytes();
        assert_eq!(octets[..3], [0x0a, 0xac, 0x02]);
        assert_eq!(read_question(&octets), Some(long));
        for serving in [
            Serving::Serving,
            Serving::NotServing,
            Serving::ServiceUnknown,
        ] {
            let octets = serving.to_message().into_bytes();
            assert_eq!(Serving::from_message(&octets), Some(serving));
        }
        // Fields of a later version are passed over.
        let later = [
            0x11, 0, 0, 0, 0, 0, 0, 0, 0, 8, 1, 0x1a, 1, b'x', 0x25, 1, 2, 3, 4,
        ];
        assert_eq!(Serving::from_message(&later), Some(Serving::Serving));
        for broken in [
            &[8][..],
            &[0x0a, 9, 1],
            &[0x0b],
            &[0xff; 11],
            &[0x0a, 1, 0xff],
        ] {
            assert_eq!(read_question(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn a_server_serves_until_it_drains() {
        let health = Health::new();
        health.set("a.B", Serving::NotServing);
        assert_eq!(health.of(""), Some(Serving::Serving));
        assert_eq!(health.of("a.B"), Some(Serving::NotServing));
        assert_eq!(health.of("a.C"), None);
        health.drain();
        health.set("a.B", Serving::Serving);
        assert_eq!(health.of(""), Some(Serving::NotServing));
        assert_eq!(health.of("a.B"), Some(Serving::NotServing));
    }

    #[test]
    fn probes_get_json_and_a_status() {
        let health = Health::new();
        health.set("a.B", Serving::NotServing);
        let query = ("corewire-query", "x=1&service=a.B");
        let answer = check(&health, Body::new(), &[query]);
        assert_eq!(answer.status.code(), Code::Unavailable);
        assert_eq!(
            answer.body,
            Body::from_static(b"{\"status\":\"NOT_SERVING\"}\n")
        );
        let answer = check(&health, Body::new(), &[("accept", "*/*")]);
        assert!(answer.status.is_ok());
        let answer = check(&health, question("a.C"), &[]);
        assert_eq!(answer.status.code(), Code::NotFound);
        let answer = check(&health, Body::from_static(b"\xff"), &[]);
        assert_eq!(answer.status.code(), Code::InvalidArgument);
        let answer = check(&health, question("a.B"), &[]);
        assert_eq!(answer.body, Serving::NotServing.to_message());
        assert!(answer.status.is_ok());
    }
}
