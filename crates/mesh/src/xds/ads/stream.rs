//! One stream to a server: what was said on it, and what is to be said next.
//!
//! Requests are made from the state when they can be sent, not queued: however many responses and
//! changes there are, at most one request a kind waits.

use super::store::Store;
use corewire_xds::envoy::config::core::v3::Node;
use corewire_xds::envoy::service::discovery::v3::{DeltaDiscoveryRequest, DiscoveryRequest};
use corewire_xds::google::rpc::Status;
use corewire_xds::{Message, ResourceType};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// The code INVALID_ARGUMENT, with which resources are refused.
const INVALID_ARGUMENT: i32 = 3;
/// Acknowledgements that may wait on an incremental stream; of more, the oldest are left out.
const MAX_ACKS: usize = 64;

/// Names given up that are known one by one on a stream; above, every new name is asked for anew.
const MAX_GIVEN_UP: usize = 4096;

/// A stream by its number; no two of a client are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(pub(super) u64);

/// How responses are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the two variants of the protocol")]
pub enum Variant {
    /// Each response holds all that is asked for of a kind.
    #[default]
    StateOfTheWorld,
    /// Each holds what has changed.
    Incremental,
}

/// What is said on one stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: StreamId,
    pub(super) variant: Variant,
    pub(super) opened: Option<Instant>,
    /// Something came that could be read.
    pub(super) responded: bool,
    node_sent: bool,
    kinds: [Kind; 4],
}

/// What is said of one kind of resource.
#[derive(Debug, Default)]
struct Kind {
    /// The names as the server knows them; `None` before the first request.
    sent: Option<Arc<BTreeSet<Arc<str>>>>,
    /// The same as they stand in requests, which all hold them on a stream of states of the world.
    texts: Vec<String>,
    /// What [`Store::generation`] was when they were sent.
    generation: u64,
    /// Names that were asked for on this stream and then no longer. A server of states of the world
    /// may believe that the client still has them.
    given_up: BTreeSet<Arc<str>>,
    /// They are too many to be known one by one.
    gave_up_many: bool,
    /// The last response's. It outlives unsubscribing: without it the server would take what comes
    /// next for stale (grpc-java#11232).
    nonce: String,
    /// The last response is to be answered; with a text: refused.
    reply: Option<Result<(), String>>,
    /// Acknowledgements of an incremental stream, one a response.
    acks: VecDeque<String>,
    /// Its refusal: the last response's nonce that was refused, and why.
    refusal: Option<(String, String)>,
}

/// What outlives a stream: versions, and when something was last refused.
#[derive(Debug, Default)]
pub(super) struct Lasting {
    /// For each server, the last accepted version of each kind and the names it was for.
    versions: HashMap<usize, [Accepted; 4]>,
    last_refusal: [Option<Instant>; 4],
}

#[derive(Clone, Debug, Default)]
struct Accepted {
    version: String,
    names: Arc<BTreeSet<Arc<str>>>,
}

/// A request, and the names that it asks for first on this stream.
pub(super) struct Request {
    pub(super) octets: Vec<u8>,
    pub(super) kind: ResourceType,
    pub(super) first_asked: Vec<Arc<str>>,
    pub(super) is_refusal: bool,
    pub(super) is_ack: bool,
}

/// What is needed to make a request.
pub(super) struct Context<'a> {
    pub(super) now: Instant,
    pub(super) server: usize,
    pub(super) node: &'a Node,
    pub(super) store: &'a Store,
    pub(super) refusal_interval: std::time::Duration,
}

const fn at(kind: ResourceType) -> usize {
    match kind {
        ResourceType::Listener => 0,
        ResourceType::Route => 1,
        ResourceType::Cluster => 2,
        ResourceType::Endpoints => 3,
    }
}

impl Lasting {
    /// Another server has the say: what the others said is history.
    pub(super) fn forget_others(&mut self, server: usize) {
        self.versions.retain(|known, _| *known == server);
    }

    /// A response was accepted as a whole or in part.
    pub(super) fn accepted(
        &mut self,
        server: usize,
        kind: ResourceType,
        version: String,
        names: Arc<BTreeSet<Arc<str>>>,
    ) {
        self.versions.entry(server).or_default()[at(kind)] = Accepted { version, names };
    }

    fn version(&self, server: usize, kind: ResourceType) -> Option<&Accepted> {
        self.versions.get(&server).map(|kinds| &kinds[at(kind)])
    }

    /// When the next refusal of this kind may leave.
    fn may_refuse(&self, kind: ResourceType, interval: std::time::Duration) -> Option<Instant> {
        self.last_refusal[at(kind)].and_then(|last| last.checked_add(interval))
    }
}

impl Stream {
    pub(super) fn new(id: StreamId, variant: Variant) -> Self {
        Self {
            id,
            variant,
            opened: None,
            responded: false,
            node_sent: false,
            kinds: Default::default(),
        }
    }

    /// Whether resources of this kind were asked for on this stream.
    pub(super) const fn has_asked(&self, kind: ResourceType) -> bool {
        self.kinds[at(kind)].sent.is_some()
    }

    /// The names as the server knows them.
    pub(super) fn sent_names(&self, kind: ResourceType) -> Arc<BTreeSet<Arc<str>>> {
        self.kinds[at(kind)].sent.clone().unwrap_or_default()
    }

    /// A response came; what is wrong with it, if anything.
    pub(super) fn responded(&mut self, kind: ResourceType, nonce: String, wrong: Option<String>) {
        let state = &mut self.kinds[at(kind)];
        match self.variant {
            Variant::StateOfTheWorld => {
                state.nonce = nonce;
                state.reply = Some(wrong.map_or(Ok(()), Err));
            }
            Variant::Incremental => match wrong {
                Some(wrong) => state.refusal = Some((nonce, wrong)),
                None => {
                    if state.acks.len() == MAX_ACKS {
                        state.acks.pop_front();
                    }
                    state.acks.push_back(nonce);
                }
            },
        }
    }

    /// When there is something to say that may not be said yet; only times behind `told` count.
    pub(super) fn next_due(
        &self,
        lasting: &Lasting,
        interval: std::time::Duration,
        told: Option<Instant>,
    ) -> Option<Instant> {
        let waiting = ResourceType::ALL.into_iter().filter(|kind| {
            let state = &self.kinds[at(*kind)];
            state.refusal.is_some() || matches!(state.reply, Some(Err(_)))
        });
        waiting
            .filter_map(|kind| lasting.may_refuse(kind, interval))
            .filter(|at| told.is_none_or(|told| *at > told))
            .min()
    }

    /// The next request.
    pub(super) fn next_request(
        &mut self,
        cx: &Context<'_>,
        lasting: &mut Lasting,
    ) -> Option<Request> {
        self.opened?;
        ResourceType::ALL
            .into_iter()
            .find_map(|kind| match self.variant {
                Variant::StateOfTheWorld => self.state_of_the_world(kind, cx, lasting),
                Variant::Incremental => self.incremental(kind, cx, lasting),
            })
    }

    fn state_of_the_world(
        &mut self,
        kind: ResourceType,
        cx: &Context<'_>,
        lasting: &mut Lasting,
    ) -> Option<Request> {
        let may_refuse = lasting.may_refuse(kind, cx.refusal_interval);
        let state = &mut self.kinds[at(kind)];
        let entries = cx.store.of(kind);
        let changed = match &state.sent {
            None => !entries.is_empty(),
            Some(_) => state.generation != cx.store.generation(kind),
        };
        let damped =
            matches!(state.reply, Some(Err(_))) && may_refuse.is_some_and(|at| cx.now < at);
        if !changed && (state.reply.is_none() || damped) {
            return None;
        }
        let mut first_asked = Vec::new();
        let opening = state.sent.is_none();
        let mut asks_again = false;
        if changed {
            let before = state.sent.take().unwrap_or_default();
            let new = entries.keys().filter(|name| !before.contains(*name));
            first_asked.extend(new.cloned());
            // Asking for nothing is asking for everything, to some servers.
            let was_nothing = !opening && before.is_empty();
            asks_again = !first_asked.is_empty()
                && (was_nothing
                    || state.gave_up_many
                    || first_asked.iter().any(|name| state.given_up.contains(name)));
            let gone = before.iter().filter(|name| !entries.contains_key(*name));
            state.given_up.extend(gone.cloned());
            first_asked.iter().for_each(|name| {
                state.given_up.remove(name);
            });
            if state.given_up.len() > MAX_GIVEN_UP {
                state.given_up.clear();
                state.gave_up_many = true;
            }
            state.sent = Some(Arc::new(entries.keys().cloned().collect()));
            state.texts = entries.keys().map(ToString::to_string).collect();
            state.generation = cx.store.generation(kind);
        }
        let names = state.sent.clone().unwrap_or_default();
        // A version says "I have this". At the beginning of a stream that is true only if it was for
        // all that is asked for now. Later, servers compare it with the state that they have: with the
        // version of that state, go-control-plane sends nothing again that it has sent before.
        let version = match lasting.version(cx.server, kind) {
            _ if asks_again => String::new(),
            Some(accepted) if !opening || names.is_subset(&accepted.names) => {
                accepted.version.clone()
            }
            _ => String::new(),
        };
        let reply = state.reply.take();
        let wrong = reply.clone().and_then(Result::err);
        if wrong.is_some() {
            lasting.last_refusal[at(kind)] = Some(cx.now);
        }
        let request = DiscoveryRequest {
            version_info: version,
            node: (!std::mem::replace(&mut self.node_sent, true)).then(|| cx.node.clone()),
            resource_names: std::mem::take(&mut state.texts),
            resource_locators: Vec::new(),
            type_url: kind.type_url().into(),
            response_nonce: state.nonce.clone(),
            error_detail: wrong.as_deref().map(status),
        };
        let octets = request.encode_to_vec();
        state.texts = request.resource_names;
        Some(Request {
            octets,
            kind,
            first_asked,
            is_refusal: wrong.is_some(),
            is_ack: matches!(reply, Some(Ok(()))),
        })
    }

    fn incremental(
        &mut self,
        kind: ResourceType,
        cx: &Context<'_>,
        lasting: &mut Lasting,
    ) -> Option<Request> {
        let may_refuse = lasting.may_refuse(kind, cx.refusal_interval);
        let state = &mut self.kinds[at(kind)];
        let entries = cx.store.of(kind);
        let first = state.sent.is_none();
        let changed = match &state.sent {
            None => !entries.is_empty(),
            Some(_) => state.generation != cx.store.generation(kind),
        };
        let damped = may_refuse.is_some_and(|at| cx.now < at);
        let refusal = if damped { None } else { state.refusal.take() };
        let ack = if refusal.is_none() {
            state.acks.pop_front()
        } else {
            None
        };
        if !changed && refusal.is_none() && ack.is_none() {
            return None;
        }
        let sent = state.sent.clone().unwrap_or_default();
        let (mut added, mut gone) = (Vec::new(), Vec::new());
        if changed {
            added.extend(entries.keys().filter(|name| !sent.contains(*name)).cloned());
            gone.extend(
                sent.iter()
                    .filter(|name| !entries.contains_key(*name))
                    .cloned(),
            );
            state.sent = Some(Arc::new(entries.keys().cloned().collect()));
            state.generation = cx.store.generation(kind);
        }
        let is_ack = ack.is_some();
        let (nonce, wrong) = match refusal {
            Some((nonce, wrong)) => (nonce, Some(wrong)),
            None => (ack.unwrap_or_default(), None),
        };
        if wrong.is_some() {
            lasting.last_refusal[at(kind)] = Some(cx.now);
        }
        let held = entries.iter().filter(|(_, entry)| {
            first && entry.value.is_some() && entry.server == cx.server && !entry.version.is_empty()
        });
        let texts = |names: &[Arc<str>]| names.iter().map(ToString::to_string).collect();
        let request = DeltaDiscoveryRequest {
            node: (!std::mem::replace(&mut self.node_sent, true)).then(|| cx.node.clone()),
            type_url: kind.type_url().into(),
            resource_names_subscribe: texts(&added),
            resource_names_unsubscribe: texts(&gone),
            initial_resource_versions: held
                .map(|(name, entry)| (name.to_string(), entry.version.clone()))
                .collect(),
            response_nonce: nonce,
            error_detail: wrong.as_deref().map(status),
            ..DeltaDiscoveryRequest::default()
        };
        Some(Request {
            octets: request.encode_to_vec(),
            kind,
            first_asked: added,
            is_refusal: wrong.is_some(),
            is_ack,
        })
    }
}

fn status(wrong: &str) -> Status {
    Status {
        code: INVALID_ARGUMENT,
        message: wrong.to_owned(),
        details: Vec::new(),
    }
}
