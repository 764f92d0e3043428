//! What a response, a silence or a lost stream leads to.

use super::response::{Item, Response, refusal};
use super::servers::ServerState;
use super::store::{Change, Entry, resource_id};
use super::stream::{StreamId, Variant};
use super::{AdsCore, Event, Output};
use crate::config::{Fault, FieldFault};
use crate::xds::validate::decode;
use bytes::Bytes;
use corewire_xds::ResourceType;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

/// What a response did.
#[derive(Default)]
struct Applied {
    faults: Vec<Fault>,
    /// Names of resources whose value changed, if only their values did.
    changed: Vec<Arc<str>>,
    remarks: bool,
    /// Names that were in it, good or not.
    seen: HashSet<Arc<str>>,
    /// Something in it had no name that could be read.
    nameless: bool,
}

impl AdsCore {
    pub(super) fn message(&mut self, now: Instant, id: StreamId, octets: Bytes) {
        let Some((at, server)) = self.server_of(id) else {
            return;
        };
        let variant = server.variant;
        self.counters.responses += 1;
        let most = self.options.max_response;
        if octets.len() > most {
            let length = octets.len();
            let reason = format!("its response has {length} octets, at most {most} are taken");
            self.break_off(now, at, id, reason);
            return;
        }
        let response = match Response::decode(variant, octets) {
            Ok(response) => response,
            Err(error) => {
                let reason = format!("its response cannot be decoded: {error}");
                self.break_off(now, at, id, reason);
                return;
            }
        };
        // A less preferred server is no longer listened to when a better one has answered.
        if self.active.is_some_and(|active| active < at) && self.active_answers() {
            return;
        }
        self.answered(now, at);
        let asked = response.kind().filter(|kind| {
            let stream = self.servers[at].stream();
            stream.is_some_and(|stream| stream.has_asked(*kind))
        });
        let Some(kind) = asked else {
            let type_url = response.type_url;
            self.tell(Event::Ignored { type_url });
            return;
        };
        self.counters.resources += response.resources.len() as u64;
        self.response(now, at, kind, variant, response);
    }

    /// Whether the server that has the say is connected.
    fn active_answers(&self) -> bool {
        let active = self.active.and_then(|active| self.servers.get(active));
        let stream = active.and_then(|server| server.stream());
        stream.is_some_and(|stream| stream.responded)
    }

    /// Something readable came from this server.
    fn answered(&mut self, now: Instant, at: usize) {
        let server = &mut self.servers[at];
        server.answered();
        let first = server
            .stream_mut()
            .is_some_and(|stream| !std::mem::replace(&mut stream.responded, true));
        if first {
            self.tell(Event::Connected { server: at });
        }
        if self.active != Some(at) {
            let switched = self.active.replace(at).is_some();
            self.lasting.forget_others(at);
            if switched {
                self.tell(Event::Switched { server: at });
            }
            for other in at + 1..self.servers.len() {
                let stopped = self.servers[other].stop();
                self.outputs.extend(stopped.map(Output::Disconnect));
            }
            self.tend_servers(now);
        }
    }

    fn response(
        &mut self,
        now: Instant,
        at: usize,
        kind: ResourceType,
        variant: Variant,
        response: Response,
    ) {
        let count = response.resources.len();
        let mut applied = Applied::default();
        for (number, item) in response.resources.into_iter().enumerate() {
            self.item(at, kind, number, item, &mut applied);
        }
        let mut removed = false;
        match variant {
            Variant::StateOfTheWorld => {
                // Each response of these two kinds holds all that there is (gRFC A27). When the
                // name of a part could not be read, nobody knows what is left out.
                let whole = matches!(kind, ResourceType::Listener | ResourceType::Cluster);
                if whole && !applied.nameless {
                    removed = self.remove_others(at, kind, &applied.seen);
                }
            }
            Variant::Incremental => {
                for name in &response.removed {
                    if !applied.seen.contains(name.as_str()) {
                        removed |= self.remove(at, kind, name);
                    }
                }
            }
        }
        let good = applied.faults.is_empty();
        let text = (!good).then(|| refusal(&applied.faults, count, self.options.max_refusal));
        if let Some(stream) = self.servers[at].stream_mut() {
            if good && variant == Variant::StateOfTheWorld {
                let names = stream.sent_names(kind);
                self.lasting.accepted(at, kind, response.version, names);
            }
            stream.responded(kind, response.nonce, text);
        }
        self.remarks_changed |= applied.remarks;
        for fault in applied.faults {
            self.tell(Event::Refused(fault));
        }
        self.follow(now, kind, &applied.changed, removed);
    }

    /// Does what follows from resources that changed.
    fn follow(&mut self, now: Instant, kind: ResourceType, changed: &[Arc<str>], removed: bool) {
        if !removed && kind == ResourceType::Endpoints {
            let mut all = true;
            for name in changed {
                let quick = self.graph.refresh_endpoints(&self.store, &self.hosts, name);
                match quick {
                    Some(seen) => self.publish |= seen,
                    None => all = false,
                }
            }
            if all {
                return;
            }
        }
        if removed || !changed.is_empty() {
            self.refresh(now);
        }
    }

    fn item(
        &mut self,
        at: usize,
        kind: ResourceType,
        number: usize,
        item: Item,
        applied: &mut Applied,
    ) {
        if ResourceType::from_type_url(&item.type_url) != Some(kind) {
            applied.nameless = true;
            let reason = format!("is of type {:?}", item.type_url);
            let fault = nameless(kind, number, reason);
            applied.faults.push(fault);
            return;
        }
        // The same octets are the same resource: no need to look inside.
        if let Some(name) = item.quick_name()
            && let Some((name, entry)) = self.store.of(kind).get_key_value(name)
            && entry.is_same(&item.octets)
            && !applied.seen.contains(name)
        {
            let name = Arc::clone(name);
            self.counters.unchanged += 1;
            if let Some(entry) = self.store.get_mut(kind, &name)
                && entry.confirm(item.version, at).remarks
            {
                applied.remarks = true;
                self.tell(Event::Recovered(resource_id(kind, &name)));
            }
            applied.seen.insert(name);
            return;
        }
        // What nobody asked for is not even looked at.
        if let Some(name) = &item.outer_name
            && self.store.get(kind, name).is_none()
        {
            return;
        }
        let mut decoded = decode(kind, &item.octets);
        if let Some(outer) = item.outer_name {
            if !decoded.name.is_empty() && decoded.name != outer {
                decoded.value = Err(vec![FieldFault {
                    path: String::new(),
                    reason: format!("is called {:?} inside", decoded.name),
                }]);
            }
            decoded.name = outer;
        }
        if decoded.name.is_empty() {
            applied.nameless = true;
            let faults = decoded.value.err().unwrap_or_default();
            let mut fault = nameless(kind, number, "has no name".into());
            if !faults.is_empty() {
                fault.faults = faults;
            }
            applied.faults.push(fault);
            return;
        }
        let Some((name, _)) = self.store.of(kind).get_key_value(decoded.name.as_str()) else {
            return;
        };
        let name = Arc::clone(name);
        if !applied.seen.insert(Arc::clone(&name)) {
            let reason = "comes more than once in a response: the first counts".into();
            applied.faults.push(Fault {
                resource: resource_id(kind, &name),
                faults: vec![FieldFault {
                    path: String::new(),
                    reason,
                }],
            });
            return;
        }
        let most = self.options.max_octets;
        if self.store.octets_with(kind, &name, item.octets.len()) > most {
            decoded.value = Err(vec![FieldFault {
                path: String::new(),
                reason: format!(
                    "all resources together would have more than {most} octets (max_octets)"
                ),
            }]);
        }
        if let Err(faults) = &decoded.value {
            applied.faults.push(Fault {
                resource: resource_id(kind, &name),
                faults: faults.clone(),
            });
        }
        let accepted = self.store.change(kind, &name, |entry| {
            let was_refused = !entry.refused.is_empty();
            let change = entry.accept(decoded, &item.octets, item.version, at);
            (change, was_refused && entry.refused.is_empty())
        });
        let Some((change, recovered)) = accepted else {
            return;
        };
        if recovered {
            self.tell(Event::Recovered(resource_id(kind, &name)));
        }
        applied.remarks |= change.remarks;
        if change.value {
            applied.changed.push(name);
        }
    }

    fn remove_others(&mut self, at: usize, kind: ResourceType, seen: &HashSet<Arc<str>>) -> bool {
        let gone: Vec<Arc<str>> = self
            .store
            .of(kind)
            .iter()
            // What never came may be on its way: its timer tells.
            .filter(|(name, entry)| entry.value.is_some() && !seen.contains(*name))
            .map(|(name, _)| Arc::clone(name))
            .collect();
        let mut removed = false;
        for name in gone {
            removed |= self.remove(at, kind, &name);
        }
        removed
    }

    fn remove(&mut self, at: usize, kind: ResourceType, name: &str) -> bool {
        let kept = self.servers[at].ignores_deletion;
        let removed = self.store.change(kind, name, |entry| {
            let had = entry.value.is_some();
            let change = if kept && had {
                Change::default()
            } else {
                entry.remove("the control plane says that it does not exist")
            };
            (had, change)
        });
        let Some((had, change)) = removed else {
            return false;
        };
        if had {
            let resource = resource_id(kind, name);
            self.tell(Event::Removed { resource, kept });
        }
        self.remarks_changed |= change.remarks;
        change.value
    }

    /// Ends a stream that cannot be understood.
    fn break_off(&mut self, now: Instant, at: usize, id: StreamId, reason: String) {
        self.outputs.push_back(Output::Disconnect(id));
        self.closed(now, at, reason);
    }

    pub(super) fn closed(&mut self, now: Instant, at: usize, reason: String) {
        let server = &mut self.servers[at];
        server.closed(now, reason.clone(), &self.options, &mut self.random);
        // Its timers ran for what was asked on this stream.
        for (_, _, entry) in self.store.iter_mut() {
            entry.timer = None;
        }
        self.tell(Event::Disconnected { server: at, reason });
        self.time_resources_out(now);
    }

    /// Until when a server that is connected may say nothing: only when there is another to ask, and
    /// something that nobody has told.
    pub(super) fn silence_of(&self, at: usize) -> Option<Instant> {
        let stream = self.servers[at].stream()?;
        let another = at + 1 < self.servers.len();
        if !another || stream.responded || !self.is_anything_unknown() {
            return None;
        }
        stream.opened?.checked_add(self.options.silence_timeout)
    }

    fn is_anything_unknown(&self) -> bool {
        let mut all = self.store.iter();
        all.any(|(_, _, entry)| entry.value.is_none())
    }

    /// No stream is open, and the last attempt of every server failed.
    fn why_unreachable(&self) -> Option<&str> {
        let talks = |server: &super::Server| {
            let stream = server.stream();
            stream.is_some_and(|stream| stream.opened.is_some())
        };
        if self.servers.iter().any(talks) {
            return None;
        }
        let mut servers = self.servers.iter().rev();
        servers.find_map(|server| server.last_failure.as_deref())
    }

    /// Somebody can be asked again: what was missing only for that is waited for.
    pub(super) fn ask_again(&mut self, now: Instant) {
        let mut changed = false;
        for (_, _, entry) in self.store.iter_mut() {
            if std::mem::take(&mut entry.unasked) && entry.value.is_none() {
                entry.missing = None;
                changed = true;
            }
        }
        if changed {
            self.refresh(now);
        }
    }

    /// When a resource first counts as missing.
    pub(super) fn next_resource_timeout(&self) -> Option<Instant> {
        let unreachable = self.why_unreachable().is_some();
        let times = self.store.iter().filter_map(|(_, _, entry)| {
            if entry.is_settled() {
                return None;
            }
            let waits = self.unreachable_at(entry).filter(|_| unreachable);
            [entry.timer, waits].into_iter().flatten().min()
        });
        times.min()
    }

    fn unreachable_at(&self, entry: &Entry) -> Option<Instant> {
        entry.since.checked_add(self.options.unreachable_after)
    }

    pub(super) fn time_resources_out(&mut self, now: Instant) {
        let unreachable = self.why_unreachable().map(ToOwned::to_owned);
        let after = self.options.unreachable_after;
        let mut told = Vec::new();
        let mut changed = false;
        for (kind, name, entry) in self.store.iter_mut() {
            if entry.is_settled() {
                continue;
            }
            if entry.timer.is_some_and(|at| at <= now) {
                entry.remove("the control plane did not send it");
                told.push(Event::TimedOut(resource_id(kind, name)));
                changed = true;
            } else if let Some(why) = &unreachable
                && entry.since.checked_add(after).is_some_and(|at| at <= now)
            {
                entry.remove(&format!("no control plane can be reached: {why}"));
                entry.unasked = true;
                changed = true;
            }
        }
        told.into_iter().for_each(|event| self.tell(event));
        if changed {
            self.refresh(now);
        }
        self.resource_deadline = self.next_resource_timeout();
    }

    /// Asks for hosts that are due, and connects to whom it should: the first server always, the next ones while those before them
    /// have failed and something is not known.
    pub(super) fn tend_servers(&mut self, now: Instant) {
        for (host, port) in self.hosts.take_due(now) {
            self.outputs.push_back(Output::Resolve { host, port });
        }
        let wanted = !self.watches.is_empty();
        let mut before_failed = true;
        for at in 0..self.servers.len() {
            let needed =
                at == 0 || before_failed && (self.active == Some(at) || self.is_anything_unknown());
            before_failed &= self.servers[at].has_failed();
            if !(wanted && needed) {
                let stopped = self.servers[at].stop();
                self.outputs.extend(stopped.map(Output::Disconnect));
                continue;
            }
            let due = match &self.servers[at].state {
                ServerState::Idle => true,
                ServerState::Waiting(until) => *until <= now,
                ServerState::Stream(_) => false,
            };
            if due {
                let stream = StreamId(self.next_stream);
                self.next_stream += 1;
                self.servers[at].connect(now, stream);
                self.outputs.push_back(Output::Connect {
                    stream,
                    server: at,
                    variant: self.servers[at].variant,
                });
            }
        }
    }
}

fn nameless(kind: ResourceType, number: usize, reason: String) -> Fault {
    Fault {
        resource: resource_id(kind, &format!("resources[{number}]")),
        faults: vec![FieldFault {
            path: String::new(),
            reason,
        }],
    }
}
