//! tonic: a channel a replica, the stubs that its generator makes, its defaults but for windows as
//! large as the other ends have.

use anyhow::{Context as _, bail};
use bytes::Bytes;
use serde_json::{Map, Value};
use tokio::net::TcpListener;
use tonic::metadata::MetadataValue;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};

use crate::load::{Call, patiently};
use crate::messages::{self, CORRELATION, ONE_WAY, SENT};
use crate::options::Options;
use crate::pace::now_ns;

/// What the generator made.
#[allow(missing_docs, unreachable_pub, clippy::all)]
mod idl {
    tonic::include_proto!("nsmf_pdusession.v1");
}

use idl::sm_contexts_client::SmContextsClient;
use idl::sm_contexts_server::{SmContexts, SmContextsServer};
use idl::{SmContextCreate, SmContextCreated};

const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;
const MAX_STREAMS: u32 = 4096;

struct Replica {
    answer: Bytes,
}

#[tonic::async_trait]
impl SmContexts for Replica {
    async fn create(
        &self,
        request: Request<SmContextCreate>,
    ) -> Result<Response<SmContextCreated>, Status> {
        let sent = request.metadata().get(SENT);
        let sent = sent.and_then(|value| value.to_str().ok());
        let one_way = messages::one_way_since(sent, now_ns());
        let mut response = Response::new(SmContextCreated {
            json_data: self.answer.to_vec(),
        });
        if let Ok(value) = MetadataValue::try_from(one_way) {
            response.metadata_mut().insert(ONE_WAY, value);
        }
        Ok(response)
    }
}

/// Serves at one port.
pub(crate) async fn serve(listener: TcpListener) {
    let service = SmContextsServer::new(Replica {
        answer: messages::created_data(),
    });
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let served = Server::builder()
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(MAX_STREAMS)
        .add_service(service)
        .serve_with_incoming(incoming)
        .await;
    if let Err(error) = served {
        eprintln!("corewire-reference: a port is no longer served: {error}");
    }
}

/// The gateway's channels, used in turn.
pub(crate) struct Caller {
    channels: Vec<SmContextsClient<Channel>>,
    body: Bytes,
}

impl Caller {
    pub(crate) async fn connect(options: &Options) -> anyhow::Result<Self> {
        let mut channels = Vec::new();
        for address in &options.target {
            let endpoint = Endpoint::from_shared(format!("http://{address}"))?
                .initial_stream_window_size(STREAM_WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW);
            let channel = patiently(options.patience, || async { Ok(endpoint.connect().await?) });
            channels.push(SmContextsClient::new(channel.await?));
        }
        Ok(Self {
            channels,
            body: messages::create_data(options.payload),
        })
    }
}

impl Call for Caller {
    async fn call(&self, number: u64, sent: u64) -> anyhow::Result<Option<u64>> {
        let at = usize::try_from(number)? % self.channels.len();
        let mut request = Request::new(SmContextCreate {
            json_data: self.body.to_vec(),
        });
        let metadata = request.metadata_mut();
        metadata.insert(CORRELATION, messages::correlation(number).try_into()?);
        metadata.insert(SENT, sent.to_string().try_into()?);
        // A clone is a handle, as tonic's documentation has it for callers at the same time.
        let response = self.channels[at].clone().create(request).await;
        let response = response.context("no answer")?;
        let way = response.metadata().get(ONE_WAY);
        let way = way.and_then(|value| value.to_str().ok()?.parse().ok());
        if response.get_ref().json_data.is_empty() {
            bail!("an empty answer");
        }
        Ok(way)
    }

    fn connections(&self) -> usize {
        self.channels.len()
    }

    fn versions(&self) -> Map<String, Value> {
        crate::versions()
    }
}
