//! Who is registered, and for how long: profiles as they came. A sans-IO core: time is an argument, and
//! what happened comes out of [`ProfileStore::poll`].

use corewire_core5g_sbi::Problem;
use corewire_core5g_sbi::model::nrf::NfProfile;
use corewire_core5g_sbi::patch::{self, PatchItem};
use serde_json::{Value, json};
use siphasher::sip::SipHasher13;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::Hasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Instances that may be registered.
pub(super) const MAX_INSTANCES: usize = 20_000;
/// Octets of one profile.
pub(super) const MAX_PROFILE: usize = 256 << 10;
/// Letters of a type.
const MAX_TYPE: usize = 64;
/// Seconds between heartbeats where a profile does not say.
const HEARTBEAT: u32 = 10;
/// Seconds between heartbeats that a profile may ask for.
const HEARTBEATS: std::ops::RangeInclusive<u32> = 1..=3600;

/// A profile as it came, and what the NRF looks at.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Profile {
    /// As it came, with the heartbeat that was granted.
    pub(super) document: Value,
    /// The part of it that is known here.
    pub(super) view: NfProfile,
    /// Names this content.
    pub(super) tag: String,
}

impl Profile {
    /// Seconds between heartbeats.
    pub(super) fn heartbeat(&self) -> u32 {
        self.view.heart_beat_timer.unwrap_or(HEARTBEAT)
    }

    /// How long it stays without one: a heartbeat may come late by half of the time between two.
    pub(super) fn lease(&self) -> Duration {
        let heartbeat = Duration::from_secs(u64::from(self.heartbeat()));
        heartbeat + heartbeat / 2
    }
}

/// What has happened.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// Somebody is new.
    Registered(Arc<Profile>),
    /// Somebody has become another.
    Changed {
        /// What it is now.
        now: Arc<Profile>,
        /// More than its load has changed.
        matters: bool,
    },
    /// Somebody is as before; by its [`key`].
    Heard(String),
    /// Somebody has left, or was silent for too long.
    Gone(Arc<Profile>),
}

struct Entry {
    profile: Arc<Profile>,
    deadline: Instant,
    /// Where it stands among the deadlines: never after its own.
    looked_at: Instant,
}

/// The book.
#[derive(Default)]
pub(super) struct ProfileStore {
    entries: BTreeMap<String, Entry>,
    due: BTreeSet<(Instant, String)>,
    events: VecDeque<Event>,
    generation: u64,
}

impl ProfileStore {
    /// Takes a profile under this id; gives it and whether it is new.
    ///
    /// # Errors
    /// What is wrong with it, or that there is no room.
    pub(super) fn register(
        &mut self,
        now: Instant,
        id: &str,
        document: Value,
    ) -> Result<(Arc<Profile>, bool), Problem> {
        let profile = Arc::new(read(id, document)?);
        let id = &key(id);
        let before = self.entries.get(id).map(|entry| Arc::clone(&entry.profile));
        let event = match &before {
            None if self.entries.len() >= MAX_INSTANCES => {
                return Err(Problem::new(507, "INSUFFICIENT_RESOURCES"));
            }
            None => Event::Registered(Arc::clone(&profile)),
            Some(before) if before.tag == profile.tag => Event::Heard(id.clone()),
            Some(before) => Event::Changed {
                matters: matters(before, &profile),
                now: Arc::clone(&profile),
            },
        };
        self.put(now, id, &profile);
        self.happened(event);
        Ok((profile, before.is_none()))
    }

    /// Changes a profile; counts as a heartbeat. `expected` is the tag that it must have.
    ///
    /// # Errors
    /// 404 for who is not registered, 412 for another tag, 400 or 409 for what cannot be changed so.
    pub(super) fn patch(
        &mut self,
        now: Instant,
        id: &str,
        items: &[PatchItem],
        expected: Option<&str>,
    ) -> Result<Arc<Profile>, Problem> {
        let id = &key(id);
        let before = Arc::clone(&self.entries.get(id).ok_or_else(not_found)?.profile);
        if expected.is_some_and(|expected| !names(expected, &before.tag)) {
            return Err(Problem::new(412, "PRECONDITION_FAILED"));
        }
        // A plain heartbeat says what is known: no copy, no new tag.
        let says_the_same = |item: &PatchItem| {
            item.op == patch::PatchOperation::Replace
                && item.value.is_some()
                && before.document.pointer(&item.path) == item.value.as_ref()
        };
        if items.iter().all(says_the_same) {
            self.put(now, id, &before);
            self.happened(Event::Heard(id.clone()));
            return Ok(before);
        }
        let mut document = before.document.clone();
        patch::apply(&mut document, items)?;
        self.register(now, id, document).map(|(profile, _)| profile)
    }

    /// Ends a registration.
    ///
    /// # Errors
    /// 404 for who is not registered.
    pub(super) fn remove(&mut self, id: &str) -> Result<(), Problem> {
        let id = key(id);
        let entry = self.entries.remove(&id).ok_or_else(not_found)?;
        self.due.remove(&(entry.looked_at, id));
        self.happened(Event::Gone(entry.profile));
        Ok(())
    }

    /// The profile of this id.
    ///
    /// # Errors
    /// 404 for who is not registered.
    pub(super) fn find(&self, id: &str) -> Result<&Arc<Profile>, Problem> {
        let entry = self.entries.get(&key(id)).ok_or_else(not_found)?;
        Ok(&entry.profile)
    }

    /// All profiles, by id.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Profile>> {
        self.entries.values().map(|entry| &entry.profile)
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Grows with every change of what can be discovered.
    pub(super) const fn generation(&self) -> u64 {
        self.generation
    }

    /// Ends the leases that are over.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        while let Some((when, _)) = self.due.first()
            && *when <= now
        {
            let Some((_, id)) = self.due.pop_first() else {
                return;
            };
            let Some(entry) = self.entries.get_mut(&id) else {
                continue;
            };
            if entry.deadline > now {
                entry.looked_at = entry.deadline;
                self.due.insert((entry.deadline, id));
            } else if let Some(entry) = self.entries.remove(&id) {
                self.happened(Event::Gone(entry.profile));
            }
        }
    }

    /// What has happened.
    pub(super) fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn happened(&mut self, event: Event) {
        if !matches!(event, Event::Heard(_)) {
            self.generation += 1;
        }
        self.events.push_back(event);
    }

    fn put(&mut self, now: Instant, id: &str, profile: &Arc<Profile>) {
        let deadline = now + profile.lease();
        if let Some(entry) = self.entries.get_mut(id) {
            entry.profile = Arc::clone(profile);
            entry.deadline = deadline;
            // A later deadline is found when the earlier one is looked at.
            if deadline < entry.looked_at {
                self.due.remove(&(entry.looked_at, id.to_owned()));
                self.due.insert((deadline, id.to_owned()));
                entry.looked_at = deadline;
            }
            return;
        }
        self.due.insert((deadline, id.to_owned()));
        let entry = Entry {
            profile: Arc::clone(profile),
            deadline,
            looked_at: deadline,
        };
        self.entries.insert(id.to_owned(), entry);
    }
}

/// What an instance is known by: a UUID is the same in whichever case its digits are (RFC 9562, 4).
pub(super) fn key(id: &str) -> String {
    id.to_ascii_lowercase()
}

/// Whether a condition (`"a", "b"` or `*`) names this tag (RFC 9110, 13.1.1).
pub(super) fn names(condition: &str, tag: &str) -> bool {
    condition.split(',').any(|one| {
        let one = one.trim();
        one == "*" || one.strip_prefix("W/").unwrap_or(one).trim_matches('"') == tag
    })
}

/// A tag for these octets.
pub(super) fn tag_of(octets: &[u8]) -> String {
    let mut hasher = SipHasher13::new();
    hasher.write(octets);
    format!("{:016x}", hasher.finish())
}

/// An instance's id is a UUID (TS 29.571, 5.3.2; RFC 9562, 4).
fn is_uuid(id: &str) -> bool {
    let is_hexadecimal = |group: &str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    id.split('-').map(str::len).eq([8, 4, 4, 4, 12]) && id.split('-').all(is_hexadecimal)
}

fn read(id: &str, mut document: Value) -> Result<Profile, Problem> {
    let view: NfProfile =
        serde_json::from_value(document.clone()).map_err(|error| unreadable(&error))?;
    if !is_uuid(id) {
        return Err(Problem::mandatory_incorrect("nfInstanceID", "no UUID"));
    }
    if !view.nf_instance_id.eq_ignore_ascii_case(id) {
        let reason = "another instance than the path's";
        return Err(Problem::mandatory_incorrect("/nfInstanceId", reason));
    }
    if view.nf_type.is_empty() || view.nf_type.len() > MAX_TYPE {
        return Err(Problem::mandatory_incorrect("/nfType", "1 to 64 letters"));
    }
    let asked = view.heart_beat_timer.unwrap_or(HEARTBEAT);
    let granted = asked.clamp(*HEARTBEATS.start(), *HEARTBEATS.end());
    document["heartBeatTimer"] = json!(granted);
    // Written to memory: it was read from there.
    let octets = serde_json::to_vec(&document).unwrap_or_default();
    if octets.len() > MAX_PROFILE {
        let most = format!("a profile of more than {MAX_PROFILE} octets");
        return Err(Problem::new(413, "PAYLOAD_TOO_LARGE").detail(most));
    }
    Ok(Profile {
        view: NfProfile {
            heart_beat_timer: Some(granted),
            ..view
        },
        tag: tag_of(&octets),
        document,
    })
}

fn unreadable(error: &serde_json::Error) -> Problem {
    let sentence = error.to_string();
    let missing = sentence.strip_prefix("missing field `");
    match missing.and_then(|rest| rest.split_once('`')) {
        Some((name, _)) => Problem::mandatory_missing(&format!("/{name}")),
        None => Problem::new(400, "MANDATORY_IE_INCORRECT").detail(sentence),
    }
}

/// Whether two profiles differ in more than their load.
fn matters(before: &Profile, now: &Profile) -> bool {
    let without_load = |profile: &Profile| {
        let mut document = profile.document.clone();
        if let Some(members) = document.as_object_mut() {
            members.remove("load");
            members.remove("loadTimeStamp");
        }
        document
    };
    without_load(before) != without_load(now)
}

fn not_found() -> Problem {
    Problem::new(404, "CONTEXT_NOT_FOUND").detail("no such instance is registered (any more)")
}
