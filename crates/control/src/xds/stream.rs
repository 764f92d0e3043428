//! One stream of one client.

mod status;

use super::diff::{Diff, Held};
use super::fault::StreamFault;
use super::node::{kept, shortened};
use super::subscription::Subscription;
use super::suspects::Suspects;
use super::{
    ACK_PATIENCE, IDENTIFY_WITHIN, MAKE_BEFORE_BREAK, MAX_RESOURCE_NAME, NACK_PAUSE, REQUEST_BURST,
    RESPONSE_OCTETS, response,
};
use crate::resources::{Digest, Resource, TypeSet, View};
use crate::snapshot::Snapshot;
use bytes::Bytes;
use corewire_xds::envoy::config::core::v3::Node;
use corewire_xds::envoy::service::discovery::v3::{DeltaDiscoveryRequest, DiscoveryRequest};
use corewire_xds::{Message, ResourceType};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The order in which types are sent: what is led to before what leads there.
const ORDER: [ResourceType; 4] = [
    ResourceType::Cluster,
    ResourceType::Endpoints,
    ResourceType::Listener,
    ResourceType::Route,
];
/// Events that wait for [`AdsStream::poll`]; older ones go.
const KEPT_EVENTS: usize = 64;

/// Which of the two protocols a stream speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// State of the world.
    Sotw,
    /// Incremental.
    Delta,
}

/// What a stream is given.
#[derive(Debug)]
pub(crate) enum Input {
    /// A message of the client.
    Message(Bytes),
    /// There is another state to serve.
    Snapshot(Arc<Snapshot>),
}

/// What is worth a line in a log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The client said who it is.
    Identified,
    /// The client refused a response.
    Refused {
        kind: ResourceType,
        version: String,
        reason: String,
    },
}

/// A response that waits for its answer.
#[derive(Debug)]
struct Outstanding {
    nonce: u64,
    sent: Instant,
    version: Digest,
    names: Vec<Arc<str>>,
}

#[derive(Debug, Default)]
struct TypeState {
    wanted: Subscription,
    held: Held,
    outstanding: Option<Outstanding>,
    /// Something may differ: look.
    look: bool,
    /// Everything is to be sent, though nothing differs: the client asked anew.
    answer: bool,
    /// Nothing is sent before then.
    silent_until: Option<Instant>,
    /// The whole type as it was last refused (state of the world).
    refused: Option<Digest>,
    /// What was refused together with others: which of them is bad is found by sending them apart.
    suspects: Suspects,
    /// Suspects go before what is new, in turn.
    suspects_first: bool,
    accepted: String,
    acks: u64,
    nacks: u64,
    refusal: String,
    refused_version: String,
}

impl TypeState {
    /// Whether there may be something to send.
    const fn has_something(&self) -> bool {
        self.look || self.answer || !self.suspects.is_empty()
    }

    /// Notes what was refused: one that was alone is bad, of several nobody knows which.
    fn blame(&mut self, names: &[Arc<str>], limit: usize) {
        let mut refused = Vec::with_capacity(names.len());
        for name in names {
            refused.extend(self.held.get(name).map(|it| (Arc::clone(name), it)));
        }
        if refused.len() > 1 {
            refused = self.suspects.split(refused, limit);
        }
        self.held.refuse(&refused, limit);
    }

    /// Suspects to send now, if it is their turn.
    fn suspects(&mut self, set: &TypeSet, nothing_new: bool) -> Option<Vec<Arc<Resource>>> {
        if self.suspects.is_empty() || !(nothing_new || self.suspects_first) {
            self.suspects_first = true;
            return None;
        }
        self.suspects_first = false;
        let (held, wanted) = (&self.held, &self.wanted);
        self.suspects.next(|name, digest| {
            let same = held.get(name) == Some(digest) && wanted.wants(name);
            let current = set.get(name).filter(|it| same && it.digest == digest);
            current.cloned()
        })
    }
}

/// The server's side of one stream.
#[derive(Debug)]
pub(crate) struct AdsStream {
    variant: Variant,
    snapshot: Arc<Snapshot>,
    node: Option<Node>,
    view: View,
    types: [TypeState; 4],
    nonce: u64,
    opened: Instant,
    /// Listeners and routes wait until then for their clusters to be taken.
    hold_until: Option<Instant>,
    /// Requests that may come now, in thousandths, as of `filled`.
    tokens: u64,
    filled: Instant,
    events: VecDeque<Event>,
}

impl AdsStream {
    pub(crate) fn new(variant: Variant, now: Instant, snapshot: Arc<Snapshot>) -> Self {
        Self {
            variant,
            snapshot,
            node: None,
            view: View::Corewire,
            types: Default::default(),
            nonce: 0,
            opened: now,
            hold_until: None,
            tokens: u64::from(REQUEST_BURST) * 1000,
            filled: now,
            events: VecDeque::new(),
        }
    }

    /// Takes a message or a snapshot.
    ///
    /// # Errors
    /// When the stream shall be ended.
    pub(crate) fn handle_event(&mut self, now: Instant, input: Input) -> Result<(), StreamFault> {
        match input {
            Input::Snapshot(snapshot) => {
                self.take_snapshot(now, snapshot);
                Ok(())
            }
            Input::Message(octets) => {
                self.spend(now);
                let malformed =
                    |error: prost::DecodeError| StreamFault::Malformed(error.to_string());
                match self.variant {
                    Variant::Sotw => {
                        let request = DiscoveryRequest::decode(octets).map_err(malformed)?;
                        self.sotw_request(request)
                    }
                    Variant::Delta => {
                        let request = DeltaDiscoveryRequest::decode(octets).map_err(malformed)?;
                        self.delta_request(request)
                    }
                }
            }
        }
    }

    /// Does what is due; call it at [`poll_timeout`](Self::poll_timeout).
    ///
    /// # Errors
    /// When the stream shall be ended.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Result<(), StreamFault> {
        if self.node.is_none() && now >= self.opened + IDENTIFY_WITHIN {
            return Err(StreamFault::Silent);
        }
        if self.hold_until.is_some_and(|until| now >= until) {
            self.hold_until = None;
        }
        for state in &mut self.types {
            if state.silent_until.is_some_and(|until| now >= until) {
                state.silent_until = None;
            }
            let waited = state
                .outstanding
                .as_ref()
                .map(|outstanding| outstanding.sent);
            if waited.is_some_and(|sent| now >= sent + ACK_PATIENCE) {
                state.outstanding = None;
            }
        }
        Ok(())
    }

    /// The next response, if one is due. Call it only when it can be sent: it is made of what is
    /// current now.
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Bytes> {
        self.node.as_ref()?;
        ORDER.into_iter().find_map(|kind| {
            let state = &self.types[kind as usize];
            let due = state.has_something()
                && state.wanted.asked
                && state.outstanding.is_none()
                && state.silent_until.is_none_or(|until| now >= until);
            if !due || self.is_held(now, kind) {
                return None;
            }
            match self.variant {
                Variant::Sotw => self.sotw_response(now, kind),
                Variant::Delta => self.delta_response(now, kind),
            }
        })
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) and then
    /// [`poll_transmit`](Self::poll_transmit).
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let identify = self.node.is_none().then(|| self.opened + IDENTIFY_WITHIN);
        let of_types = self.types.iter().filter_map(|state| {
            let answered = state.outstanding.as_ref().map(|o| o.sent + ACK_PATIENCE);
            answered
                .into_iter()
                .chain(state.silent_until)
                .min()
                .filter(|_| state.has_something())
        });
        identify
            .into_iter()
            .chain(self.hold_until)
            .chain(of_types)
            .min()
    }

    /// What is worth a line in a log.
    pub(crate) fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When the next message may be read; one that comes faster than it may waits at its sender.
    pub(crate) fn reads_from(&self, now: Instant) -> Option<Instant> {
        if self.available(now) >= 1000 {
            return None;
        }
        let missing = 1000 - self.available(now);
        let rate = u64::from(self.snapshot.limits.requests_per_second.max(1));
        // Thousandths over thousandths a millisecond, rounded up.
        Some(now + Duration::from_millis(missing.div_ceil(rate).max(1)))
    }

    fn available(&self, now: Instant) -> u64 {
        let passed = now.saturating_duration_since(self.filled).as_millis();
        let rate = u128::from(self.snapshot.limits.requests_per_second);
        let filled = u64::try_from(passed * rate).unwrap_or(u64::MAX);
        self.tokens
            .saturating_add(filled)
            .min(u64::from(REQUEST_BURST) * 1000)
    }

    fn spend(&mut self, now: Instant) {
        self.tokens = self.available(now).saturating_sub(1000);
        self.filled = now;
    }

    fn take_snapshot(&mut self, now: Instant, snapshot: Arc<Snapshot>) {
        let before = std::mem::replace(&mut self.snapshot, snapshot);
        if let Some(node) = &self.node {
            let view = View::of(node, &self.snapshot.sidecars);
            let seen = std::mem::replace(&mut self.view, view);
            for kind in ResourceType::ALL {
                let (old, new) = (before.set(&seen, kind), self.snapshot.set(&self.view, kind));
                if Arc::ptr_eq(old, new) {
                    continue;
                }
                self.types[kind as usize].look = true;
                if kind == ResourceType::Cluster && old.digest() != new.digest() {
                    self.hold_until = Some(now + MAKE_BEFORE_BREAK);
                }
            }
        }
    }

    /// Whether a type waits because what it leads to has not been taken yet. Only for clients that
    /// take every cluster (Envoy): others ask for clusters after they have seen the routes.
    fn is_held(&self, now: Instant, kind: ResourceType) -> bool {
        let leads = matches!(kind, ResourceType::Listener | ResourceType::Route);
        let state = |kind: ResourceType| &self.types[kind as usize];
        let clusters = state(ResourceType::Cluster);
        if !leads || !clusters.wanted.wildcard || self.hold_until.is_none_or(|until| now >= until) {
            return false;
        }
        let endpoints = state(ResourceType::Endpoints);
        if clusters.outstanding.is_some() || endpoints.outstanding.is_some() {
            return true;
        }
        // Its clusters are known; it asks for the endpoints of new ones next.
        let set = self.snapshot.set(&self.view, ResourceType::Cluster);
        set.iter().any(|cluster| {
            self.snapshot.endpoints.get(&cluster.name).is_some()
                && !endpoints.wanted.wants(&cluster.name)
        })
    }

    fn identify(&mut self, node: Option<Node>) {
        if self.node.is_some() {
            return;
        }
        let node = kept(&node.unwrap_or_default());
        self.view = View::of(&node, &self.snapshot.sidecars);
        self.node = Some(node);
        self.tell(Event::Identified);
    }

    fn sotw_request(&mut self, mut request: DiscoveryRequest) -> Result<(), StreamFault> {
        self.identify(request.node.take());
        let Some(kind) = ResourceType::from_type_url(&request.type_url) else {
            // Another kind of resource, of which there is none here.
            return Ok(());
        };
        self.check_names(kind, &request.resource_names, 0)?;
        self.take_verdict(
            kind,
            &request.response_nonce,
            request.error_detail.map(|status| status.message),
        );
        let full = is_full(kind);
        let state = &mut self.types[kind as usize];
        let first = !state.wanted.asked;
        // The list counts whatever the nonce says: requests of one stream come in order, so the
        // last of them is what the client wants now.
        let gone = state.wanted.replace(request.resource_names, full);
        for name in gone {
            if !state.wanted.wildcard {
                state.held.forget(&name);
            }
        }
        state.look = true;
        if first {
            let set = self.snapshot.set(&self.view, kind);
            let wanted = Held::wanted(&state.wanted, set, full);
            if wanted.digest().to_string() == request.version_info {
                // It has all this from before: nothing to say.
                state.accepted = request.version_info;
                state.held.settle(&state.wanted, set, full);
            } else if full {
                // Also "there is nothing" is an answer.
                state.answer = true;
            }
        }
        Ok(())
    }

    fn delta_request(&mut self, mut request: DeltaDiscoveryRequest) -> Result<(), StreamFault> {
        self.identify(request.node.take());
        let Some(kind) = ResourceType::from_type_url(&request.type_url) else {
            return Ok(());
        };
        let known = self.types[kind as usize].wanted.names.len();
        self.check_names(kind, &request.resource_names_subscribe, known)?;
        let limit = self.snapshot.limits.subscriptions;
        if request.initial_resource_versions.len() > limit {
            return Err(StreamFault::TooManyNames { kind, limit });
        }
        self.take_verdict(
            kind,
            &request.response_nonce,
            request.error_detail.map(|status| status.message),
        );
        let state = &mut self.types[kind as usize];
        let first = !state.wanted.asked;
        let may_be_wildcard = is_full(kind);
        let (added, gone) = state.wanted.change(
            request.resource_names_subscribe,
            &request.resource_names_unsubscribe,
            may_be_wildcard,
        );
        for name in gone {
            if !state.wanted.wildcard {
                state.held.forget(&name);
            }
        }
        // Who subscribes wants an answer, also when it had the resource: it may have dropped it.
        for name in added {
            state.held.forget(&name);
        }
        if first {
            let set = self.snapshot.set(&self.view, kind);
            // Who had something before needs no word that nothing is new.
            state.answer = state.wanted.wildcard && request.initial_resource_versions.is_empty();
            for (name, version) in request.initial_resource_versions {
                if !state.wanted.wants(&name) {
                    continue;
                }
                let current = set.get(&name);
                match current.filter(|resource| resource.digest.to_string() == version) {
                    Some(resource) => state.held.set(&resource.name, resource.digest),
                    // It has something else under this name, or something that is gone.
                    None => state.held.set(&name.into(), Digest::default()),
                }
            }
        }
        state.look = true;
        Ok(())
    }

    fn check_names(
        &self,
        kind: ResourceType,
        names: &[String],
        known: usize,
    ) -> Result<(), StreamFault> {
        let limit = self.snapshot.limits.subscriptions;
        if names.len() + known > limit {
            return Err(StreamFault::TooManyNames { kind, limit });
        }
        let good = |name: &String| !name.is_empty() && name.len() <= MAX_RESOURCE_NAME;
        if names.iter().all(good) {
            Ok(())
        } else {
            Err(StreamFault::Name { kind })
        }
    }

    /// What a request says of the response it answers, if it answers the one that is outstanding.
    fn take_verdict(&mut self, kind: ResourceType, nonce: &str, error: Option<String>) {
        let limit = self.snapshot.limits.subscriptions;
        let state = &mut self.types[kind as usize];
        let answers = |outstanding: &Outstanding| nonce.parse() == Ok(outstanding.nonce);
        if !state.outstanding.as_ref().is_some_and(answers) {
            return;
        }
        let Some(outstanding) = state.outstanding.take() else {
            return;
        };
        // What comes after it may have been held back by it.
        state.look = true;
        let version = outstanding.version.to_string();
        let Some(reason) = error else {
            state.acks += 1;
            state.held.accept(&outstanding.names);
            state.accepted = version;
            state.refused = None;
            return;
        };
        state.nacks += 1;
        state.refusal = shortened(&reason);
        state.refused_version.clone_from(&version);
        state.refused = Some(outstanding.version);
        state.blame(&outstanding.names, limit);
        state.silent_until = Some(outstanding.sent + NACK_PAUSE);
        let reason = state.refusal.clone();
        self.tell(Event::Refused {
            kind,
            version,
            reason,
        });
    }

    fn sotw_response(&mut self, now: Instant, kind: ResourceType) -> Option<Bytes> {
        let full = is_full(kind);
        let set = Arc::clone(self.snapshot.set(&self.view, kind));
        let state = &mut self.types[kind as usize];
        let diff = state.held.diff(&state.wanted, &set, full);
        if let Some(suspects) = state.suspects(&set, diff.is_empty()) {
            let version = state.held.digest();
            let nonce = self.sent(now, kind, version, &suspects);
            return Some(response::sotw(kind, &nonce, version, &suspects));
        }
        let answer = std::mem::take(&mut state.answer);
        state.look = false;
        if diff.is_empty() && !answer {
            return None;
        }
        let resources = if full {
            // What is not in the response does not exist.
            let wanted = Held::wanted(&state.wanted, &set, full);
            if state.refused == Some(wanted.digest()) {
                return None;
            }
            state.held.settle(&state.wanted, &set, full);
            if state.wanted.wildcard {
                set.iter().cloned().collect()
            } else {
                let names = state.wanted.names.iter();
                names.filter_map(|name| set.get(name).cloned()).collect()
            }
        } else {
            let (now, later) = first_part(diff.changed);
            for resource in &now {
                state.held.set(&resource.name, resource.digest);
            }
            state.look = later;
            now
        };
        let version = state.held.digest();
        // Those of a full type are not kept by name: the whole of it was refused.
        let names = if full { &[][..] } else { &resources };
        let nonce = self.sent(now, kind, version, names);
        Some(response::sotw(kind, &nonce, version, &resources))
    }

    fn delta_response(&mut self, now: Instant, kind: ResourceType) -> Option<Bytes> {
        let set = Arc::clone(self.snapshot.set(&self.view, kind));
        let state = &mut self.types[kind as usize];
        let diff = state.held.diff(&state.wanted, &set, true);
        if let Some(suspects) = state.suspects(&set, diff.is_empty()) {
            let version = state.held.digest();
            let nonce = self.sent(now, kind, version, &suspects);
            return Some(response::delta(kind, &nonce, version, &suspects, &[]));
        }
        let Diff { changed, removed } = diff;
        let answer = std::mem::take(&mut state.answer);
        state.look = false;
        if changed.is_empty() && removed.is_empty() && !answer {
            return None;
        }
        let (changed, later) = first_part(changed);
        state.look = later;
        for resource in &changed {
            state.held.set(&resource.name, resource.digest);
        }
        for name in &removed {
            if state.wanted.names.contains(name) {
                state.held.set(name, Resource::absent(name));
            } else {
                state.held.forget(name);
            }
        }
        let version = state.held.digest();
        let nonce = self.sent(now, kind, version, &changed);
        Some(response::delta(kind, &nonce, version, &changed, &removed))
    }

    fn sent(
        &mut self,
        now: Instant,
        kind: ResourceType,
        version: Digest,
        resources: &[Arc<Resource>],
    ) -> String {
        self.nonce += 1;
        let names = resources.iter().map(|resource| Arc::clone(&resource.name));
        self.types[kind as usize].outstanding = Some(Outstanding {
            nonce: self.nonce,
            sent: now,
            version,
            names: names.collect(),
        });
        self.nonce.to_string()
    }

    fn tell(&mut self, event: Event) {
        if self.events.len() >= KEPT_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// How many resources it names, of all types.
    pub(crate) fn named(&self) -> usize {
        let types = self.types.iter();
        types.map(|state| state.wanted.names.len()).sum()
    }

    /// The name of the client's node; empty before it has said it.
    pub(crate) fn node_id(&self) -> &str {
        self.node.as_ref().map_or("", |node| &node.id)
    }
}

/// Whether a state-of-the-world response of this type holds all resources of it.
const fn is_full(kind: ResourceType) -> bool {
    matches!(kind, ResourceType::Listener | ResourceType::Cluster)
}

/// As many as fit one response, and whether there are more.
fn first_part(mut resources: Vec<Arc<Resource>>) -> (Vec<Arc<Resource>>, bool) {
    let mut octets = 0;
    let fits = resources.iter().position(|resource| {
        let before = octets;
        octets += resource.any.len() + resource.name.len();
        before > 0 && octets > RESPONSE_OCTETS
    });
    match fits {
        Some(count) => {
            resources.truncate(count);
            (resources, true)
        }
        None => (resources, false),
    }
}
