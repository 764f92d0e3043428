//! What stands around an NF's service in its process: it may come later than its listener, and says
//! how it is doing.

use crate::trace::{self, Kind, Moment, Trace};
use corewire::{
    Body, CallContext, CallKind, Code, Event, Headers, Inbound, Operation, Outbound, Request,
    Response, Service, Status,
};
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Says how the process is doing: what `corewire core status` asks.
pub(crate) const STATUS: Operation = Operation::from_static("corewire/v1/status");

/// A number that the process tells under a name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauge(Arc<AtomicU64>);

impl Gauge {
    /// One more.
    pub(crate) fn up(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// One fewer.
    pub(crate) fn down(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// So many.
    pub(crate) fn set(&self, number: u64) {
        self.0.store(number, Ordering::Relaxed);
    }

    /// How many.
    pub(crate) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The numbers of a process by name.
#[derive(Clone, Default)]
pub(super) struct Gauges(Arc<Mutex<Vec<(&'static str, Gauge)>>>);

impl Gauges {
    pub(super) fn gauge(&self, name: &'static str) -> Gauge {
        let mut gauges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, gauge)) = gauges.iter().find(|(other, _)| *other == name) {
            return gauge.clone();
        }
        let gauge = Gauge::default();
        gauges.push((name, gauge.clone()));
        gauge
    }

    fn document(&self) -> Value {
        let gauges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fields: Map<String, Value> = gauges
            .iter()
            .map(|(name, gauge)| ((*name).to_owned(), gauge.value().into()))
            .collect();
        Value::Object(fields)
    }
}

/// A service in its process.
pub(super) struct Hosted<S> {
    nf: String,
    instance: String,
    gauges: Gauges,
    trace: Option<Arc<Trace>>,
    service: OnceLock<S>,
}

impl<S> Hosted<S> {
    pub(super) fn new(nf: &str, instance: &str, gauges: Gauges, trace: Option<Arc<Trace>>) -> Self {
        Self {
            nf: nf.to_owned(),
            instance: instance.to_owned(),
            gauges,
            trace,
            service: OnceLock::new(),
        }
    }

    /// The service is there from now on.
    pub(super) fn host(&self, service: S) {
        // Called once; what came first would stay.
        let _already = self.service.set(service);
    }

    fn status(&self) -> Response {
        let document = json!({
            "nf": self.nf,
            "instance": self.instance,
            "pid": std::process::id(),
            "numbers": self.gauges.document(),
        });
        let mut headers = Headers::new();
        // Constants that are valid headers.
        let _fits = headers.append("content-type", "application/json");
        Response::ok(Body::from(document.to_string())).with_headers(headers)
    }
}

/// Serves a call and writes down how long it took, if the caller writes it down too.
async fn traced<S: Service>(
    trace: &Trace,
    service: &S,
    context: &CallContext,
    request: Request,
) -> Response {
    let number = request.headers.get_str(trace::NUMBER);
    let Some(number) = number.and_then(|text| text.parse().ok()) else {
        return service.call(context, request).await;
    };
    let (name, began) = (request.operation.clone(), Moment::now());
    let response = service.call(context, request).await;
    trace.ended(Kind::Serve, number, began, name.as_str());
    response
}

fn not_yet() -> Response {
    Response::failed(Status::new(
        Code::Unavailable,
        "it is still starting: ask again",
    ))
}

impl<S: Service> Service for Hosted<S> {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        match self.service.get() {
            _ if *operation == STATUS => Some(CallKind::Unary),
            Some(service) => service.kind(operation),
            None => Some(CallKind::Unary),
        }
    }

    async fn call(&self, context: &CallContext, request: Request) -> Response {
        if request.operation == STATUS {
            return self.status();
        }
        match self.service.get() {
            Some(service) => match &self.trace {
                None => service.call(context, request).await,
                Some(trace) => traced(trace, service, context, request).await,
            },
            None => not_yet(),
        }
    }

    async fn event(&self, context: &CallContext, event: Event) {
        if let Some(service) = self.service.get() {
            service.event(context, event).await;
        }
    }

    async fn stream(
        &self,
        context: &CallContext,
        request: Request,
        inbound: Inbound,
        outbound: Outbound,
    ) -> Response {
        match self.service.get() {
            Some(service) => service.stream(context, request, inbound, outbound).await,
            None => not_yet(),
        }
    }
}
