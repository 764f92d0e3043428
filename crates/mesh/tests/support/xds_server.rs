//! A small xDS server of the tests: it sends what it is told to, over the real transport.

#![allow(dead_code, reason = "each test uses a part")]

use super::resources;
use corewire_message::{
    CallContext, CallKind, Inbound, Operation, Outbound, Request, Response, Service,
};
use corewire_transport::{Address, Server, ServerOptions};
use corewire_xds::envoy::service::discovery::v3::{DiscoveryRequest, DiscoveryResponse};
use corewire_xds::{Any, Message, ResourceType};
use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// What the server has, and whom to wake when it changes.
#[derive(Default)]
pub(crate) struct Shared(Mutex<State>);

#[derive(Default)]
struct State {
    version: u64,
    resources: BTreeMap<(ResourceType, String), Any>,
    wakers: Vec<Waker>,
    requests: Vec<DiscoveryRequest>,
}

impl Shared {
    /// Replaces everything by the resources that these lines describe.
    pub(crate) fn set(&self, lines: &[&str]) {
        let made = lines.iter().map(|line| {
            let (name, any) = resources::resource(line);
            let kind = ResourceType::from_type_url(&any.type_url).unwrap();
            ((kind, name), any)
        });
        let wakers = {
            let mut state = self.0.lock().unwrap();
            state.resources = made.collect();
            state.version += 1;
            std::mem::take(&mut state.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Replaces one resource.
    pub(crate) fn put(&self, kind: ResourceType, name: &str, any: Any) {
        let wakers = {
            let mut state = self.0.lock().unwrap();
            state.resources.insert((kind, name.to_owned()), any);
            state.version += 1;
            std::mem::take(&mut state.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// What clients said.
    pub(crate) fn requests(&self) -> Vec<DiscoveryRequest> {
        self.0.lock().unwrap().requests.clone()
    }
}

/// The service.
pub(crate) struct Discovery(pub(crate) Arc<Shared>);

/// Starts it at this address.
pub(crate) fn start(shared: &Arc<Shared>, address: &Address) -> Server {
    let mut options = ServerOptions::default();
    options.loops = 1;
    let service = Arc::new(Discovery(Arc::clone(shared)));
    Server::start(std::slice::from_ref(address), service, options).unwrap()
}

impl Service for Discovery {
    fn kind(&self, _: &Operation) -> Option<CallKind> {
        Some(CallKind::Stream)
    }

    async fn call(&self, _: &CallContext, _: Request) -> Response {
        unreachable!("every operation is a stream")
    }

    async fn stream(
        &self,
        _: &CallContext,
        _: Request,
        mut inbound: Inbound,
        mut outbound: Outbound,
    ) -> Response {
        // By kind: the names asked for, and what was sent last.
        let mut asked: HashMap<ResourceType, Vec<String>> = HashMap::new();
        let mut sent: HashMap<ResourceType, Vec<Any>> = HashMap::new();
        let mut seen = 0;
        let mut nonce = 0_u64;
        loop {
            seen = self.0.0.lock().unwrap().version.max(seen);
            for (kind, names) in &asked {
                let (found, version) = {
                    let state = self.0.0.lock().unwrap();
                    let found = names.iter().filter_map(|name| {
                        let key = (*kind, name.clone());
                        state.resources.get(&key).cloned()
                    });
                    (found.collect::<Vec<_>>(), state.version)
                };
                if sent.get(kind) == Some(&found) || (found.is_empty() && !sent.contains_key(kind))
                {
                    continue;
                }
                nonce += 1;
                let response = DiscoveryResponse {
                    version_info: version.to_string(),
                    resources: found.clone(),
                    type_url: kind.type_url().into(),
                    nonce: nonce.to_string(),
                    ..Default::default()
                };
                sent.insert(*kind, found);
                if outbound.send(response.encode_to_vec()).await.is_err() {
                    return Response::ok(Vec::new());
                }
            }
            let message = {
                let mut next = pin!(inbound.message());
                poll_fn(|cx| {
                    {
                        let mut state = self.0.0.lock().unwrap();
                        if state.version > seen {
                            return Poll::Ready(None);
                        }
                        state.wakers.push(cx.waker().clone());
                    }
                    next.as_mut().poll(cx).map(Some)
                })
                .await
            };
            match message {
                // Something changed.
                None => {}
                Some(Ok(Some(body))) => {
                    let request = DiscoveryRequest::decode(body.into_bytes()).unwrap();
                    if let Some(kind) = ResourceType::from_type_url(&request.type_url) {
                        asked.insert(kind, request.resource_names.clone());
                    }
                    self.0.0.lock().unwrap().requests.push(request);
                }
                Some(Ok(None) | Err(_)) => return Response::ok(Vec::new()),
            }
        }
    }
}
