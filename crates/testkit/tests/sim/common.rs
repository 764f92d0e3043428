//! Two nodes that speak the native protocol.

use corewire_message::{CallError, Caller, Operation, Request, Response};
use corewire_testkit::clock::Clock;
use corewire_testkit::conformance::{Probe, SuiteService};
use corewire_testkit::sim::{Client, NodeId, Sim};
use corewire_wire::native::{Config, Connection};
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct Pair {
    pub(crate) sim: Sim,
    pub(crate) smf: NodeId,
    pub(crate) amf: NodeId,
    pub(crate) client: Client,
    pub(crate) probe: Arc<Probe>,
}

impl Pair {
    pub(crate) fn new(seed: u64) -> Self {
        Self::with_config(seed, Config::default())
    }

    pub(crate) fn with_config(seed: u64, config: Config) -> Self {
        let sim = Sim::new(seed);
        let (smf, amf) = (sim.node("smf"), sim.node("amf"));
        let probe = Arc::new(Probe::default());
        let service = SuiteService::new(Arc::new(sim.network()), Arc::clone(&probe));
        let server_config = config.clone();
        sim.serve(amf, Arc::new(service), move |kind_of, now| {
            Box::new(Connection::server(server_config.clone(), kind_of, now))
        });
        let client = sim.connect(smf, amf, move |now| {
            Box::new(Connection::client(config.clone(), now))
        });
        Self {
            sim,
            smf,
            amf,
            client,
            probe,
        }
    }

    /// A call that is under way while the test goes on.
    pub(crate) fn start(&self, request: Request) -> Started {
        let (client, network) = (self.client.clone(), self.sim.network());
        let ended = Arc::new(std::sync::Mutex::new(None));
        let end = Arc::clone(&ended);
        self.sim.spawn(async move {
            let result = client.call(request).await;
            *end.lock().unwrap() = Some((network.elapsed(), result));
        });
        Started(ended)
    }

    /// A request whose deadline is so far ahead.
    pub(crate) fn request(&self, operation: Operation, within: Duration) -> Request {
        Request::new(operation).with_deadline(self.sim.now() + within)
    }
}

type Ended = Option<(Duration, Result<Response, CallError>)>;

pub(crate) struct Started(Arc<std::sync::Mutex<Ended>>);

impl Started {
    pub(crate) fn is_over(&self) -> bool {
        self.0.lock().unwrap().is_some()
    }

    /// When and how it ended.
    pub(crate) fn end(self) -> (Duration, Result<Response, CallError>) {
        self.0.lock().unwrap().take().expect("the call is not over")
    }

    pub(crate) fn error(self) -> CallError {
        self.end().1.unwrap_err()
    }
}

pub(crate) fn text(response: Response) -> String {
    String::from_utf8(response.body.into_bytes().to_vec()).unwrap()
}
