//! `corewire nf nrf`.
#![expect(
    clippy::disallowed_methods,
    reason = "the driver of the registry: its clock"
)]

use super::Nrf;
use super::cache::Cache;
use super::clients::{Allowed, Clients};
use super::issuer::Issuer;
use super::mirror::Mirror;
use super::notifications::Notifier;
use super::profile_store::ProfileStore;
use super::subscribed::Subscriptions;
use anyhow::Context;
use clap::Args;
use corewire::{
    CallContext, CallKind, Code, Event, Inbound, Operation, Outbound, Request, Response, Service,
    Status,
};
use corewire_control::registry::{HEARTBEAT, LEAVE, REGISTER};
use corewire_control::{ControlService, Plane, PlaneOptions};
use corewire_core5g_runtime::{self as runtime, Gauge, NfOptions, Profile, Runtime};
use corewire_core5g_sbi::Router;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How often leases are looked at.
const TICK: Duration = Duration::from_millis(200);

/// The NRF: who is there, and where; also a control plane of the mesh
#[derive(Debug, Args)]
#[command(after_help = "\
  corewire nf nrf --listen 127.0.0.1:7000
  curl --http2-prior-knowledge 'http://127.0.0.1:7000/nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=AUSF'
  corewire control status --at 127.0.0.1:7000

The same port answers xDS: a mesh client or gRPC (xds:///nudm-ueau) finds what is registered here.")]
pub struct NrfArgs {
    #[command(flatten)]
    nf: NfOptions,
    /// A configuration of the mesh (docs/control-plane.md): balancing, routes, retries of services
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Network functions that may register and have access tokens as this type (or ANY) although they do
    /// not have --client-secret: those that show the secret of FILE, or all at a loopback address.
    /// Repeat for more
    #[arg(long, value_name = "TYPE:FILE|TYPE:loopback")]
    allow_nf: Vec<Allowed>,
    /// The key of access tokens, P-256 in PKCS #8 (DER) [default: drawn at the start]
    #[arg(long, value_name = "FILE")]
    token_key: Option<PathBuf>,
    /// Seconds that an access token is good for
    #[arg(long, default_value_t = 3600, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    token_lifetime: u32,
}

impl NrfArgs {
    /// Runs it until it is told to end.
    ///
    /// # Errors
    /// When it cannot start.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let mut options = PlaneOptions::default();
        options.config = self.config;
        let plane = Plane::start(options)?;
        let key = match &self.token_key {
            Some(file) => Some(std::fs::read(file).with_context(|| file.display().to_string())?),
            None => None,
        };
        let profile =
            Profile::new("NRF")
                .service("nnrf-nfm", "v1", &[])
                .service("nnrf-disc", "v1", &[]);
        runtime::serve(&self.nf, profile, |runtime| {
            let issuer = Issuer::new(runtime.instance(), key.as_deref(), self.token_lifetime)
                .context("--token-key")?;
            let nrf = Nrf {
                book: Mutex::new(ProfileStore::default()),
                telling: Mutex::default(),
                cache: Cache::default(),
                subscriptions: Subscriptions::default(),
                notifier: Notifier::through(Some(runtime.clone())),
                mirror: Mirror::into(Some(plane.registry())),
                issuer,
                clients: Clients::with_secret(self.nf.secret()?.as_deref()).and(&self.allow_nf)?,
                api_root: runtime.api_root().to_owned(),
                clock: Instant::now,
            };
            let router = nrf.router();
            keep_time(runtime, Arc::clone(router.state()));
            Ok(NrfService {
                requests: runtime.gauge("requests"),
                router,
                control: plane.service(),
            })
        })
    }
}

impl Nrf {
    /// Its resources.
    pub(super) fn router(self) -> Router<Self> {
        let router = Router::new(Arc::new(self));
        let router = Self::discovery_resources(router);
        let router = Self::instance_resources(router);
        let router = Self::subscription_resources(router);
        let router = Self::token_resources(router);
        Self::agent_resources(router)
    }
}

fn keep_time(runtime: &Runtime, nrf: Arc<Nrf>) {
    let task = runtime.clone();
    let gauge = runtime.gauge("instances");
    runtime.spawn(0, async move {
        while !task.loops()[0].has_ended() {
            task.sleep(TICK).await;
            nrf.handle_timeout(nrf.now());
            gauge.set(nrf.book().len() as u64);
        }
    });
}

/// 3GPP's interface and the control plane's, on one port.
struct NrfService {
    /// Requests that came, for `core status`.
    requests: Gauge,
    router: Router<Nrf>,
    control: ControlService,
}

impl Service for NrfService {
    fn kind(&self, operation: &Operation) -> Option<CallKind> {
        self.control
            .kind(operation)
            .or_else(|| self.router.kind(operation))
    }

    async fn call(&self, context: &CallContext, request: Request) -> Response {
        self.requests.up();
        let clients = &self.router.state().clients;
        if self.control.kind(&request.operation).is_some() {
            // What leads calls to another instance is for identified peers only, whichever
            // interface it comes by.
            let changes = [REGISTER, HEARTBEAT, LEAVE].contains(&request.operation);
            if changes && !clients.may_change_registry(&request.headers, context.peer()) {
                return Response::failed(Status::new(
                    Code::Unauthenticated,
                    "this NRF changes its registry for peers that show its secret (authorization: Bearer, --client-secret)",
                ));
            }
            return self.control.call(context, request).await;
        }
        let path = request.operation.as_str();
        if let Err(problem) = clients.admit(path, &request.headers, context.peer()) {
            return problem.into_response();
        }
        self.router.call(context, request).await
    }

    async fn event(&self, context: &CallContext, event: Event) {
        self.control.event(context, event).await;
    }

    async fn stream(
        &self,
        context: &CallContext,
        request: Request,
        inbound: Inbound,
        outbound: Outbound,
    ) -> Response {
        self.control
            .stream(context, request, inbound, outbound)
            .await
    }
}
