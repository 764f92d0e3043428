//! What stands around an NF's service in its process: it may come later than its listener, and says
//! how it is doing.

use super::gate::Gate;
use super::gauge::Gauges;
use super::guard::Guard;
use super::notices::Notices;
use crate::trace::{self, Kind, Moment, Trace};
use corewire::{
    Body, CallContext, CallKind, Code, Event, Headers, Inbound, Operation, Outbound, Request,
    Response, Service, Status,
};
use corewire_core5g_sbi::Problem;
use serde_json::json;
use std::sync::Arc;

/// Says how the process is doing: what `corewire core status` asks.
pub const STATUS: Operation = Operation::from_static("corewire/v1/status");

/// A service in its process. What comes before it is there waits: a caller who knows this address
/// from before calls as soon as there is a listener.
pub(super) struct Hosted<S> {
    nf: String,
    instance: String,
    gauges: Gauges,
    trace: Option<Arc<Trace>>,
    notices: Arc<Notices>,
    inside: Gate<Inside<S>>,
}

struct Inside<S> {
    service: S,
    /// Who may call; `None`: everybody.
    guard: Option<Arc<Guard>>,
}

impl<S> Inside<S> {
    async fn admit(&self, request: &Request) -> Result<(), Response> {
        match &self.guard {
            Some(guard) => guard.admit(request).await.map_err(Problem::into_response),
            None => Ok(()),
        }
    }
}

impl<S> Hosted<S> {
    pub(super) fn new(
        nf: &str,
        instance: &str,
        gauges: Gauges,
        trace: Option<Arc<Trace>>,
        notices: Arc<Notices>,
    ) -> Self {
        Self {
            notices,
            nf: nf.to_owned(),
            instance: instance.to_owned(),
            gauges,
            trace,
            inside: Gate::closed(),
        }
    }

    /// The service is there from now on.
    pub(super) fn host(&self, service: S, guard: Option<Arc<Guard>>) {
        self.inside.open(Inside { service, guard });
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
        "it is still starting, and many wait for it: ask again",
    ))
}

impl<S: Service> Service for Hosted<S> {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        match self.inside.now() {
            _ if *operation == STATUS || Notices::is_one(operation.as_str()) => {
                Some(CallKind::Unary)
            }
            Some(inside) => inside.service.kind(operation),
            None => Some(CallKind::Unary),
        }
    }

    async fn call(&self, context: &CallContext, request: Request) -> Response {
        if request.operation == STATUS {
            return self.status();
        }
        // The NRF shows no token: it is the one that grants them. The path holds a key of its own.
        if Notices::is_one(request.operation.as_str()) {
            return self.notices.answer(&request);
        }
        let Some(inside) = self.inside.wait().await else {
            return not_yet();
        };
        if let Err(refusal) = inside.admit(&request).await {
            return refusal;
        }
        match &self.trace {
            None => inside.service.call(context, request).await,
            Some(trace) => traced(trace, &inside.service, context, request).await,
        }
    }

    async fn event(&self, context: &CallContext, event: Event) {
        // Events show no token: who is guarded takes none.
        if let Some(inside) = self.inside.now().filter(|inside| inside.guard.is_none()) {
            inside.service.event(context, event).await;
        }
    }

    async fn stream(
        &self,
        context: &CallContext,
        request: Request,
        inbound: Inbound,
        outbound: Outbound,
    ) -> Response {
        let Some(inside) = self.inside.wait().await else {
            return not_yet();
        };
        match inside.admit(&request).await {
            Ok(()) => {
                let service = &inside.service;
                service.stream(context, request, inbound, outbound).await
            }
            Err(refusal) => refusal,
        }
    }
}
