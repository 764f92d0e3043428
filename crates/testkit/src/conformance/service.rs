//! The service that every transport carries in the suite.

use super::gate::Gate;
use super::operations as op;
use crate::clock::Clock;
use corewire_message::{
    Body, CallContext, CallKind, Code, Event, Headers, Inbound, Operation, Outbound, Priority,
    Request, Response, Service, Status,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Octets of each message of [`op::STREAM_FLOOD`].
pub const FLOOD_MESSAGE: usize = 16_000;

/// What a test sees of the service from the side.
#[derive(Debug, Default)]
pub struct Probe {
    /// Open: [`op::WAIT`] and [`op::STREAM_LAZY`] go on.
    pub gate: Gate,
    started: AtomicU64,
    dropped: AtomicU64,
    counted: AtomicU64,
    flooded: AtomicU64,
    cancelled: AtomicU64,
    events: Mutex<Vec<Taken>>,
}

/// An event as it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Taken {
    /// Its body, as text.
    pub body: String,
    /// Its headers.
    pub headers: Headers,
    /// Its priority.
    pub priority: Priority,
}

impl Probe {
    /// Calls of waiting operations that began: [`op::WAIT`], [`op::STREAM_LAZY`],
    /// [`op::STREAM_ECHO`], [`op::STREAM_FLOOD`].
    #[must_use]
    pub fn started(&self) -> u64 {
        self.started.load(Ordering::SeqCst)
    }

    /// How many of them were dropped before they ended.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::SeqCst)
    }

    /// Executions of [`op::COUNT`].
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.counted.load(Ordering::SeqCst)
    }

    /// Messages that [`op::STREAM_FLOOD`] could send.
    #[must_use]
    pub fn flooded(&self) -> u64 {
        self.flooded.load(Ordering::SeqCst)
    }

    /// Streams whose service was told by an error that the call is over.
    #[must_use]
    pub fn cancelled(&self) -> u64 {
        self.cancelled.load(Ordering::SeqCst)
    }

    /// The events that came in.
    #[must_use]
    pub fn events(&self) -> Vec<Taken> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.clone()
    }
}

/// The suite's service.
pub struct SuiteService {
    clock: Arc<dyn Clock>,
    probe: Arc<Probe>,
}

impl std::fmt::Debug for SuiteService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SuiteService").field(&self.probe).finish()
    }
}

impl SuiteService {
    /// A service that tells the time by this clock and is seen through this probe.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, probe: Arc<Probe>) -> Self {
        Self { clock, probe }
    }

    fn deadline(&self, request: &Request) -> Response {
        Response::ok(request.deadline.map_or_else(
            || "none".to_owned(),
            |at| {
                let left = at.saturating_duration_since(self.clock.now());
                left.as_micros().to_string()
            },
        ))
    }
}

/// Notes when a call begins, and when it is dropped before its end.
struct Running<'a>(&'a Probe, bool);

impl<'a> Running<'a> {
    fn begin(probe: &'a Probe) -> Self {
        probe.started.fetch_add(1, Ordering::SeqCst);
        Self(probe, false)
    }

    fn end(mut self) {
        self.1 = true;
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Service for SuiteService {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        if *operation == op::RESOURCE {
            return Some(CallKind::Unary);
        }
        if operation.service() != op::ECHO.service() || *operation == op::UNKNOWN {
            return None;
        }
        Some(if operation.method().starts_with("Stream") {
            CallKind::Stream
        } else {
            CallKind::Unary
        })
    }

    async fn call(&self, context: &CallContext, request: Request) -> Response {
        let operation = &request.operation;
        if *operation == op::ECHO {
            Response::ok(request.body)
        } else if *operation == op::ECHO_HEADERS {
            Response::ok(Body::new()).with_headers(own_headers(&request.headers))
        } else if *operation == op::FAIL {
            failure(&request)
        } else if *operation == op::WAIT {
            let running = Running::begin(&self.probe);
            self.probe.gate.passed().await;
            running.end();
            Response::ok(request.body)
        } else if *operation == op::COUNT {
            let count = self.probe.counted.fetch_add(1, Ordering::SeqCst) + 1;
            Response::ok(count.to_string())
        } else if *operation == op::LARGE {
            Response::ok(vec![7; number(&request.body)])
        } else if *operation == op::DEADLINE {
            self.deadline(&request)
        } else if *operation == op::PRIORITY {
            Response::ok(request.priority.value().to_string())
        } else if *operation == op::PROTOCOL {
            Response::ok(context.peer().protocol.to_owned())
        } else if *operation == op::PANIC {
            panic!("the suite asked for this panic");
        } else if *operation == op::RESOURCE {
            resource(&request)
        } else {
            Response::failed(Status::of(Code::Unimplemented))
        }
    }

    async fn event(&self, _context: &CallContext, event: Event) {
        let taken = Taken {
            body: text(&event.body),
            headers: own_headers(&event.headers),
            priority: event.priority,
        };
        let mut events = self
            .probe
            .events
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        events.push(taken);
    }

    async fn stream(
        &self,
        _context: &CallContext,
        request: Request,
        inbound: Inbound,
        outbound: Outbound,
    ) -> Response {
        let running = Running::begin(&self.probe);
        let response = self.stream_of(request, inbound, outbound).await;
        running.end();
        response.unwrap_or_else(|error| {
            self.probe.cancelled.fetch_add(1, Ordering::SeqCst);
            Response::failed(error.to_status())
        })
    }
}

type Streamed = Result<Response, corewire_message::CallError>;

impl SuiteService {
    async fn stream_of(
        &self,
        request: Request,
        mut inbound: Inbound,
        mut outbound: Outbound,
    ) -> Streamed {
        let operation = &request.operation;
        if *operation == op::STREAM_ECHO {
            echo(inbound, outbound).await
        } else if *operation == op::STREAM_SUM {
            let mut sum = 0;
            while let Some(message) = inbound.message().await? {
                sum += number(&message);
            }
            Ok(Response::ok(sum.to_string()))
        } else if *operation == op::STREAM_COUNT {
            let first = inbound.message().await?;
            for count in 0..first.as_ref().map_or(0, number) {
                outbound.send(count.to_string()).await?;
            }
            Ok(Response::ok(Body::new()))
        } else if *operation == op::STREAM_FAIL {
            outbound.send("one".to_owned()).await?;
            outbound.send("two".to_owned()).await?;
            let mut failure = failure(&request);
            failure.body = Body::new();
            Ok(failure)
        } else if *operation == op::STREAM_LAZY {
            self.probe.gate.passed().await;
            let mut octets = 0;
            while let Some(message) = inbound.message().await? {
                octets += message.len();
            }
            Ok(Response::ok(octets.to_string()))
        } else if *operation == op::STREAM_FLOOD {
            loop {
                outbound.send(vec![7; FLOOD_MESSAGE]).await?;
                self.probe.flooded.fetch_add(1, Ordering::SeqCst);
            }
        } else if *operation == op::STREAM_EARLY {
            inbound.message().await?;
            Ok(Response::ok("enough".to_owned()))
        } else if *operation == op::STREAM_CANCEL {
            inbound.message().await?;
            outbound.cancel(Code::Aborted);
            Ok(Response::ok(Body::new()))
        } else {
            Ok(Response::failed(Status::of(Code::Unimplemented)))
        }
    }
}

async fn echo(mut inbound: Inbound, mut outbound: Outbound) -> Streamed {
    let mut count = 0u64;
    while let Some(message) = inbound.message().await? {
        outbound.send(message).await?;
        count += 1;
    }
    let mut trailers = Headers::new();
    append(&mut trailers, "x-count", count.to_string().as_bytes());
    Ok(Response::ok(Body::new()).with_headers(trailers))
}

/// What was asked of the resource, and the answer as the test wants it.
fn resource(request: &Request) -> Response {
    let said = |name: &str| request.headers.get_str(name).unwrap_or_default();
    let mut headers = Headers::new();
    append(&mut headers, "x-method", said("corewire-method").as_bytes());
    append(&mut headers, "x-query", said("corewire-query").as_bytes());
    append(&mut headers, "location", b"/conformance/v1/resources/one");
    append(
        &mut headers,
        "corewire-http-status",
        said("x-http-status").as_bytes(),
    );
    let code = said("x-code").parse().map_or(Code::Ok, Code::from_number);
    Response {
        status: Status::of(code),
        headers,
        body: request.body.clone(),
    }
}

fn failure(request: &Request) -> Response {
    let code = request
        .headers
        .get_str("x-code")
        .and_then(|code| code.parse().ok());
    let message = request
        .headers
        .get_str("x-message")
        .unwrap_or_default()
        .to_owned();
    let mut headers = Headers::new();
    append(&mut headers, "x-detail", b"in a header");
    Response {
        status: Status::new(code.map_or(Code::Unknown, Code::from_number), message),
        headers,
        body: request.body.clone(),
    }
}

/// The headers that the suite sent: transports may add others.
pub(super) fn own_headers(headers: &Headers) -> Headers {
    let mut own = Headers::new();
    for (name, value) in headers.iter().filter(|(name, _)| name.starts_with("x-")) {
        append(&mut own, name, value);
    }
    own
}

pub(super) fn append(headers: &mut Headers, name: &str, value: &[u8]) {
    headers
        .append(name, value)
        .expect("the suite's headers are well formed");
}

fn number(body: &Body) -> usize {
    text(body).parse().unwrap_or(0)
}

/// A body as text.
pub(super) fn text(body: &Body) -> String {
    String::from_utf8_lossy(&body.clone().into_bytes()).into_owned()
}
