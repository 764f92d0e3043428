//! An interceptor at each end: the caller's adds a token to every call, the server's lets only calls
//! with it through to the service.
//!
//! ```sh
//! cargo run -p corewire --example auth_header
//! ```

use corewire::mesh::config::{Snapshot, Transport};
use corewire::mesh::{Mesh, MeshOptions};
use corewire::{
    Body, CallContext, CallError, Caller, Code, Event, EventLoop, Headers, Interceptor, Next,
    Operation, Request, Response, Server, ServerOptions, Service, ServiceInterceptor, Status,
    blocking,
};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

const READ: Operation = Operation::from_static("nudm-sdm/v2/am-data");

/// Adds the token to all that is sent.
#[derive(Clone)]
struct AddToken(Arc<str>);

impl AddToken {
    fn add(&self, headers: &mut Headers) -> Result<(), CallError> {
        let added = headers.append("authorization", format!("Bearer {}", self.0));
        added.map_err(|fault| {
            let what = "the token cannot be a header's value";
            let kind = corewire::ErrorKind::Unsendable;
            CallError::new(kind, corewire::Origin::Local, false, what).with_source(fault)
        })
    }
}

impl Interceptor for AddToken {
    async fn call<N: Next>(&self, mut request: Request, next: &N) -> Result<Response, CallError> {
        self.add(&mut request.headers)?;
        next.call(request).await
    }

    async fn send<N: Next>(&self, mut event: Event, next: &N) -> Result<(), CallError> {
        self.add(&mut event.headers)?;
        next.send(event).await
    }

    async fn open<N: Next>(&self, mut request: Request, next: &N) -> Result<N::Stream, CallError> {
        self.add(&mut request.headers)?;
        next.open(request).await
    }
}

/// Answers calls without the token instead of the service.
struct CheckToken(Arc<str>);

impl CheckToken {
    fn has_token(&self, headers: &Headers) -> bool {
        let value = headers.get_str("authorization");
        value.and_then(|value| value.strip_prefix("Bearer ")) == Some(&*self.0)
    }
}

impl ServiceInterceptor for CheckToken {
    async fn call<S: Service>(
        &self,
        context: &CallContext,
        request: Request,
        next: &S,
    ) -> Response {
        if !self.has_token(&request.headers) {
            return Response::failed(Status::new(Code::Unauthenticated, "a token is needed"));
        }
        next.call(context, request).await
    }

    async fn event<S: Service>(&self, context: &CallContext, event: Event, next: &S) {
        if self.has_token(&event.headers) {
            next.event(context, event).await;
        }
    }
}

struct Udm;

impl Service for Udm {
    async fn call(&self, _context: &CallContext, _request: Request) -> Response {
        Response::ok(Body::from_static(b"{\"gpsis\":[]}"))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let token: Arc<str> = "secret".into();
    let anywhere = [corewire::parse_address("127.0.0.1:0")?];
    let service = Udm.with_interceptor(CheckToken(Arc::clone(&token)));
    let server = Server::start(&anywhere, Arc::new(service), ServerOptions::default())?;

    // Around a channel through the mesh; around a plain client it is the same.
    let mut event_loop = EventLoop::new()?;
    let snapshot = Snapshot::single("udm", server.addresses().to_vec());
    let options = MeshOptions::default()
        .with_loop(event_loop.handle())
        .with_transport(Transport::Grpc);
    let mesh = Mesh::fixed(snapshot, options)?;
    let channel = mesh.channel("udm");
    let with_token = channel
        .clone()
        .with_interceptor(AddToken(Arc::clone(&token)));
    let (without, with) = event_loop.block_on(async {
        channel.ready(Duration::from_secs(5)).await?;
        let without = channel.call(Request::new(READ)).await;
        let with = with_token.call(Request::new(READ)).await;
        Ok::<_, CallError>((without, with))
    })??;
    let refused = without.expect_err("the server asks for a token");
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert_eq!(with?.status.code(), Code::Ok);
    println!("without a token: {refused}; with one: answered");

    // The same interceptor for blocking callers.
    let for_threads = blocking::Caller::with_interceptor(mesh.blocking("udm"), AddToken(token));
    let answer = blocking::Caller::call(&for_threads, Request::new(READ))?;
    println!("a blocking caller: {} bytes", answer.body.len());
    Ok(())
}
