//! hyper: a connection a replica, HTTP/2 with prior knowledge, its defaults but for windows as large
//! as the other ends have.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::Future;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value};
use tokio::net::{TcpListener, TcpStream};

use crate::load::{Call, patiently};
use crate::messages::{self, CORRELATION, ONE_WAY, PATH, SENT};
use crate::options::Options;
use crate::pace::now_ns;

const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;
const MAX_STREAMS: u32 = 4096;

/// Everything runs on one thread.
#[derive(Clone, Copy, Debug)]
struct Local;

impl<F: Future<Output: 'static> + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}

/// Serves at one port.
pub(crate) async fn serve(listener: TcpListener) {
    let answer = messages::created_data();
    while let Ok((stream, _)) = listener.accept().await {
        // Refused by the kernel only when the connection is gone already.
        let _ = stream.set_nodelay(true);
        let answer = answer.clone();
        tokio::task::spawn_local(async move {
            let service =
                hyper::service::service_fn(move |request| respond(request, answer.clone()));
            // An end of the connection is no news to a replica.
            let _ = hyper::server::conn::http2::Builder::new(Local)
                .initial_stream_window_size(STREAM_WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW)
                .max_concurrent_streams(MAX_STREAMS)
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn respond(
    request: Request<Incoming>,
    answer: Bytes,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let received = now_ns();
    let is_create = request.method() == Method::POST && request.uri().path() == PATH;
    let sent = request
        .headers()
        .get(SENT)
        .and_then(|value| value.to_str().ok());
    let one_way = messages::one_way_since(sent, received);
    let body = request.into_body().collect().await;
    let mut response = Response::new(Full::new(answer));
    if !is_create || body.is_err() {
        *response.status_mut() = StatusCode::NOT_FOUND;
        *response.body_mut() = Full::default();
        return Ok(response);
    }
    let headers = response.headers_mut();
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    if let Ok(value) = HeaderValue::try_from(one_way) {
        headers.insert(ONE_WAY, value);
    }
    Ok(response)
}

/// The gateway's connections, used in turn.
pub(crate) struct Caller {
    connections: Vec<(String, RefCell<SendRequest<Full<Bytes>>>)>,
    body: Bytes,
}

impl Caller {
    pub(crate) async fn connect(options: &Options) -> anyhow::Result<Self> {
        let mut connections = Vec::new();
        for address in &options.target {
            let sender = patiently(options.patience, || connect(address)).await?;
            let uri = format!("http://{address}{PATH}");
            connections.push((uri, RefCell::new(sender)));
        }
        Ok(Self {
            connections,
            body: messages::create_data(options.payload),
        })
    }
}

async fn connect(address: &str) -> anyhow::Result<SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = hyper::client::conn::http2::Builder::new(Local)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .handshake(TokioIo::new(stream))
        .await?;
    tokio::task::spawn_local(connection);
    Ok(sender)
}

impl Call for Caller {
    async fn call(&self, number: u64, sent: u64) -> anyhow::Result<Option<u64>> {
        let at = usize::try_from(number)? % self.connections.len();
        let (uri, sender) = &self.connections[at];
        let request = Request::post(uri.as_str())
            .header(header::CONTENT_TYPE, "application/json")
            .header(CORRELATION, messages::correlation(number))
            .header("3gpp-sbi-max-rsp-time", "10000")
            .header(SENT, sent.to_string())
            .body(Full::new(self.body.clone()))?;
        let answer = sender.borrow_mut().send_request(request);
        let response = answer.await.context("no answer")?;
        if response.status() != StatusCode::OK {
            bail!("HTTP status {}", response.status());
        }
        let way = response.headers().get(ONE_WAY);
        let way = way.and_then(|value| value.to_str().ok()?.parse().ok());
        let body = response.into_body().collect().await?.to_bytes();
        if body.is_empty() {
            bail!("an empty answer");
        }
        Ok(way)
    }

    fn connections(&self) -> usize {
        self.connections.len()
    }

    fn versions(&self) -> Map<String, Value> {
        crate::versions()
    }
}
