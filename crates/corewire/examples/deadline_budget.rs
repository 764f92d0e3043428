//! A deadline budget through a chain of services: each passes on what is left of its caller's time
//! less what it needs for its own answer, and nobody begins work that nobody waits for any more.
//!
//! ```text
//!   caller ── 200 ms ──▶ AMF ── 150 ms at most ──▶ SMF
//! ```
//!
//! ```sh
//! cargo run -p corewire --example deadline_budget
//! ```

use corewire::{
    Body, CallContext, CallError, Caller, Client, ClientOptions, Code, Endpoint, EventLoop,
    Intercepted, Interceptor, Next, Operation, Request, Response, Server, ServerOptions, Service,
    ServiceInterceptor,
};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

const REGISTER: Operation = Operation::from_static("namf-comm/v1/register");
const CREATE: Operation = Operation::from_static("nsmf-pdusession/v1/sm-contexts");

/// Leaves calls at most this much time, and keeps a reserve of what their deadline says.
#[derive(Clone, Copy)]
struct DeadlineBudget {
    most: Duration,
    reserve: Duration,
}

impl DeadlineBudget {
    /// The deadline of a call that begins now.
    fn deadline(self, now: Instant, deadline: Option<Instant>) -> Result<Instant, CallError> {
        let latest = now + self.most;
        let deadline = match deadline {
            Some(deadline) => latest.min(deadline.checked_sub(self.reserve).unwrap_or(now)),
            None => latest,
        };
        if deadline <= now {
            return Err(CallError::deadline_exceeded(false));
        }
        Ok(deadline)
    }
}

impl Interceptor for DeadlineBudget {
    async fn call<N: Next>(&self, mut request: Request, next: &N) -> Result<Response, CallError> {
        request.deadline = Some(self.deadline(Instant::now(), request.deadline)?);
        next.call(request).await
    }

    async fn open<N: Next>(&self, mut request: Request, next: &N) -> Result<N::Stream, CallError> {
        request.deadline = Some(self.deadline(Instant::now(), request.deadline)?);
        next.open(request).await
    }
}

/// Answers calls at once for which there is no time left.
struct RefuseLate;

impl ServiceInterceptor for RefuseLate {
    async fn call<S: Service>(
        &self,
        context: &CallContext,
        request: Request,
        next: &S,
    ) -> Response {
        if request.deadline.is_some_and(|at| at <= Instant::now()) {
            return Response::failed(CallError::deadline_exceeded(false).to_status());
        }
        next.call(context, request).await
    }
}

/// Says how much time it was given.
struct Smf;

impl Service for Smf {
    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        let left = request.deadline.map(|at| at - Instant::now());
        Response::ok(Body::from(format!("{left:?}").into_bytes()))
    }
}

/// Asks the SMF within what its own caller left it.
struct Amf(Intercepted<DeadlineBudget, Client>);

impl Service for Amf {
    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        let mut further = Request::new(CREATE);
        further.deadline = request.deadline;
        match self.0.call(further).await {
            Ok(response) => response,
            Err(error) => Response::failed(error.to_status()),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let anywhere = [corewire::parse_address("127.0.0.1:0")?];
    let mut event_loop = EventLoop::new()?;
    let connect =
        |server: &Server, handle: &corewire::LoopHandle| -> Result<Client, Box<dyn Error>> {
            let endpoint: Endpoint = format!("native://{}", server.addresses()[0]).parse()?;
            Ok(handle.connect(endpoint, ClientOptions::default()))
        };

    let smf = Arc::new(Smf.with_interceptor(RefuseLate));
    let smf = Server::start(&anywhere, smf, ServerOptions::default())?;
    let budget = DeadlineBudget {
        most: Duration::from_secs(1),
        reserve: Duration::from_millis(50),
    };
    let to_smf = connect(&smf, &event_loop.handle())?.with_interceptor(budget);
    let amf = event_loop.listen(
        &anywhere[0],
        Arc::new(Amf(to_smf).with_interceptor(RefuseLate)),
        Arc::new(ServerOptions::default()),
    )?;
    let to_amf: Endpoint = format!("native://{amf}").parse()?;
    let caller = event_loop
        .handle()
        .connect(to_amf, ClientOptions::default());

    let within = |time| {
        let request = Request::new(REGISTER).with_deadline(Instant::now() + time);
        caller.call(request)
    };
    let answer = event_loop.block_on(within(Duration::from_millis(200)))??;
    let left = String::from_utf8_lossy(&answer.body.into_bytes()).into_owned();
    println!("of 200 ms the SMF was left {left}");

    // Less than the AMF keeps for itself: it does not ask the SMF at all.
    let error = event_loop
        .block_on(within(Duration::from_millis(40)))?
        .unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
    println!("of 40 ms nothing: {error}");
    Ok(())
}
