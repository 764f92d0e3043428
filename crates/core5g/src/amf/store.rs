//! UEs' contexts in the UDSF (TS 29.598): what must outlive this process.
//!
//! Two records a UE: its context under the 5G-S-TMSI, which is what a UE that comes says; and under
//! the SUPI where to find it, which is what other NFs say.
//!
//! A context that is stored is older than the truth: messages may have gone down since. So that no
//! NAS COUNT is used twice (TS 33.501, 6.4.3.1), what is stored says up to where counts may have been
//! used: [`RESERVED`] more than have been. Who restores begins there, and stores before he uses any.
//!
//! A UE that was given a new GUTI may not know: both records are kept until it does, and the pointer
//! says which of them is the context.

use super::session_transport::Session;
use super::ue::{self, Event, Ue};
use super::ues::{Claim, Slot};
use super::{Amf, gnb};
use crate::aka::Supi;
use crate::nas::{NasSecurityContext, STmsi, SavedNasContext, Side, Snssai, UeSecurityCapability};
use crate::ngap::UeAmbr;
use crate::runtime::{Sbi, SbiFailure, SbiRequest, both};
use corewire_guti::{Guti, Tmsi};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

const SERVICE: &str = "nudsf-dr";
const RECORDS: &str = "/nudsf-dr/v1/corewire/amf/records";

/// Downlink counts that are reserved when a context is stored. A UE sees eight bits of a count: it
/// follows over an AMF that was killed five times before the UE heard of it once.
const RESERVED: u32 = 48;
/// More are reserved when fewer are left: more than one procedure sends without a word to the store.
const LOW: u32 = 16;
/// Uplink counts that the store may be behind; a UE's 256th could not be told from its first.
const UPLINK_BEHIND: u32 = 64;
/// The last NAS COUNT (TS 24.501, 4.4.3.1).
const LAST_COUNT: u32 = (1 << 24) - 1;

/// What the store has of a context's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    /// The first downlink count that is not reserved.
    downlink: u32,
    /// The next uplink count as it was.
    uplink: u32,
}

/// A UE's context as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    supi: String,
    guti: String,
    /// The GUTI before, when the UE may have no other.
    former: Option<String>,
    registration: u64,
    /// Its downlink count is the first that is not reserved.
    security: SavedNasContext,
    capability: Option<UeSecurityCapability>,
    /// None in what was stored before it was kept: then it is what is allowed.
    #[serde(default)]
    subscribed: Vec<String>,
    allowed: Vec<String>,
    downlink: u64,
    uplink: u64,
    sessions: BTreeMap<u8, Box<Session>>,
}

/// Where a UE's context is.
#[derive(Serialize, Deserialize)]
struct Pointer {
    record: String,
}

/// Gives the UE a new GUTI, and stores its context under it. The former stays good until the UE is
/// known to have the new one; one that it has not confirmed is offered again.
///
/// # Errors
/// When there is no GUTI, or the store does not answer.
pub(super) async fn new_guti(ue: &mut Ue) -> Result<(), SbiFailure> {
    if ue.former.is_none() {
        let guti = ue.amf.gutis.allocate(&ue.sbi).await?;
        ue.former = ue.guti.replace(guti);
        ue.amf.ues.name_tmsi(STmsi::of(guti), &ue.slot);
    }
    let before = ue.stored;
    let pointer = Pointer {
        record: ue.guti.as_ref().map(record_of).unwrap_or_default(),
    };
    let path = format!("{RECORDS}/{}", ue.supi_text());
    let pointer = SbiRequest::put(path).json(&pointer)?;
    let sbi = ue.sbi.clone();
    // A pointer to nothing says as little as none.
    let (record, pointed) = both(put(ue), sbi.call(SERVICE, pointer)).await;
    if pointed.is_err() && before.is_some() {
        // The former record may still be the one that is found: what it has reserved counts.
        ue.stored = before;
    }
    record?;
    pointed.map(drop)
}

/// The UE has its new GUTI: the former is given back.
pub(super) async fn confirm_guti(ue: &mut Ue) {
    let Some(former) = ue.former.take() else {
        return;
    };
    ue.amf.ues.forget_tmsi(STmsi::of(former), &ue.slot);
    delete(ue, &record_of(&former)).await;
    ue.amf.gutis.deallocate(&former, &ue.sbi).await;
}

impl Ue {
    /// Stores the context as it is now. What cannot be stored is still here.
    pub(super) async fn save(&mut self) {
        if self.guti.is_some()
            && let Err(failure) = put(self).await
        {
            tracing::warn!(name: "store-failed", "a context is not stored: {failure}");
        }
    }

    /// Downlink counts that may be used: as many as there are while nothing is stored that another
    /// could restore.
    pub(super) fn counts_left(&self) -> u32 {
        let next = self
            .security
            .as_ref()
            .and_then(NasSecurityContext::downlink_count);
        match (self.stored, next) {
            (Some(stored), Some(next)) => stored.downlink.saturating_sub(next),
            _ => u32::MAX,
        }
    }

    /// Sees to it that there are counts for what comes next, and that who restores the context is not
    /// far behind the UE. Seldom more than a comparison: contexts are stored for other reasons, too.
    pub(super) async fn reserve_counts(&mut self) {
        let Some(stored) = self.stored else { return };
        let uplink = self
            .security
            .as_ref()
            .and_then(NasSecurityContext::uplink_count);
        let behind = uplink.is_some_and(|uplink| uplink > stored.uplink + UPLINK_BEHIND);
        if behind || self.counts_left() < LOW {
            self.save().await;
        }
    }

    /// Stores that the UE's last message was received, unless that is known: who restores the context
    /// takes it no more. For what may begin a connection, before anything is done for it.
    pub(super) async fn save_uplink(&mut self) {
        let Some(stored) = self.stored else { return };
        let uplink = self
            .security
            .as_ref()
            .and_then(NasSecurityContext::uplink_count);
        if uplink != Some(stored.uplink) {
            self.save().await;
        }
    }
}

async fn put(ue: &mut Ue) -> Result<(), SbiFailure> {
    let (Some(guti), Some(security)) = (ue.guti, &ue.security) else {
        return Err(SbiFailure::local(
            "a UE without a name or keys is not stored",
        ));
    };
    let mut saved = security.saved();
    let next = saved.downlink.unwrap_or(LAST_COUNT);
    saved.downlink = Some(next + RESERVED).filter(|first| *first <= LAST_COUNT);
    let counts = Counts {
        downlink: saved.downlink.unwrap_or(LAST_COUNT),
        uplink: saved.uplink.unwrap_or(LAST_COUNT),
    };
    let record = Record {
        supi: ue.supi_text(),
        guti: guti.to_string(),
        former: ue.former.map(|former| former.to_string()),
        registration: ue.registration,
        security: saved,
        capability: ue.capability.clone(),
        subscribed: ue.subscribed.iter().map(ToString::to_string).collect(),
        allowed: ue.allowed.iter().map(ToString::to_string).collect(),
        downlink: ue.ambr.downlink,
        uplink: ue.ambr.uplink,
        sessions: ue.sessions.clone(),
    };
    let path = format!("{RECORDS}/{}", record_of(&guti));
    let request = SbiRequest::put(path).json(&record)?;
    // Also a request that was not answered may have been the first that is found under these keys.
    ue.stored.get_or_insert(counts);
    ue.sbi.call(SERVICE, request).await?;
    ue.stored = Some(counts);
    Ok(())
}

/// The UE with this temporary identity: one that is here, or one whose context is stored, which is here
/// from then on. A name alone gives nobody another's context: who says it must show that he is the UE.
///
/// # Cancel safety
/// Safe: whoever has come by this name meanwhile is served as a stranger.
pub(super) async fn find(amf: &Arc<Amf>, s_tmsi: STmsi) -> Option<Arc<Slot>> {
    let slot = match amf.ues.claim(s_tmsi, amf.runtime.loops().len())? {
        Claim::Known(slot) => return Some(slot),
        Claim::New(slot) => slot,
    };
    let claim = Finding {
        amf: Arc::clone(amf),
        s_tmsi,
        slot,
        known: None,
    };
    claim.run().await
}

/// The UE with this permanent identity, as [`find`].
///
/// # Cancel safety
/// As there.
pub(super) async fn find_supi(amf: &Arc<Amf>, supi: &str) -> Option<Arc<Slot>> {
    let pointer: Pointer = read(&amf.runtime.sbi(0), supi).await?;
    find(amf, s_tmsi_of(&pointer.record)?).await
}

/// A search in the store for the UE that is known by a name. There is one for a name at a time: who
/// comes by it waits in the slot's mailbox.
struct Finding {
    amf: Arc<Amf>,
    s_tmsi: STmsi,
    slot: Arc<Slot>,
    /// Another slot is the subscriber's.
    known: Option<Arc<Slot>>,
}

impl Finding {
    async fn run(mut self) -> Option<Arc<Slot>> {
        let mut ue = ue::new(&self.amf, &self.slot);
        let (record, has_former) = current(&ue.sbi, self.s_tmsi).await?;
        let context = record.context(has_former)?;
        // Whoever has the subscriber's name is newer than what is stored.
        self.known = self.amf.ues.name_free_supi(&record.supi, &self.slot);
        if self.known.is_some() {
            return self.known.clone();
        }
        context.fill(&mut ue, record);
        let slot = Arc::clone(&self.slot);
        if let Some((ue, event)) = slot.park(ue) {
            ue::start(ue, event);
        }
        // Nothing is left to be given up.
        self.known = Some(Arc::clone(&slot));
        Some(slot)
    }
}

impl Drop for Finding {
    fn drop(&mut self) {
        let found = self.known.as_ref();
        if found.is_some_and(|known| Arc::ptr_eq(known, &self.slot)) {
            return;
        }
        self.amf.ues.forget_tmsi(self.s_tmsi, &self.slot);
        for event in self.amf.ues.forget(&self.slot) {
            let Event::Initial(link, octets) = event else {
                continue;
            };
            match found.and_then(|known| Some((known, link.of(known)?))) {
                Some((known, link)) => {
                    let _gone = known.deliver(Event::Initial(link, octets));
                }
                None => gnb::divert(&self.amf, &link, octets),
            }
        }
    }
}

/// The record that is the context of the UE with this name, now or before its last change; and whether
/// the name before is still the UE's.
async fn current(sbi: &Sbi, s_tmsi: STmsi) -> Option<(Record, bool)> {
    let name = record_name(s_tmsi);
    let found: Record = read(sbi, &name).await?;
    let pointer: Pointer = read(sbi, &found.supi).await?;
    if pointer.record != name {
        let Some(now) = read::<Record>(sbi, &pointer.record).await else {
            return Some((found, false));
        };
        let is_former = now.former.as_ref() == Some(&found.guti) && now.supi == found.supi;
        return is_former.then_some((now, true));
    }
    let Some(former) = found.former_guti() else {
        return Some((found, false));
    };
    // Confirmed perhaps, and another UE's by now.
    let before: Option<Record> = read(sbi, &record_of(&former)).await;
    let has_former = before.is_some_and(|before| before.supi == found.supi);
    Some((found, has_former))
}

/// A stored document; `None` when there is none that can be read.
async fn read<T: DeserializeOwned>(sbi: &Sbi, name: &str) -> Option<T> {
    let request = SbiRequest::get(format!("{RECORDS}/{name}"));
    match sbi
        .call(SERVICE, request)
        .await
        .and_then(|answer| answer.json())
    {
        Ok(document) => Some(document),
        Err(failure) if failure.status() == Some(404) => None,
        Err(failure) => {
            tracing::warn!(name: "store-failed", "a stored context cannot be read: {failure}");
            None
        }
    }
}

/// What of a record may be unreadable.
struct Context {
    supi: Supi,
    guti: Guti,
    former: Option<Guti>,
    security: NasSecurityContext,
    stored: Counts,
}

impl Record {
    fn former_guti(&self) -> Option<Guti> {
        self.former.as_ref()?.parse().ok()
    }

    fn context(&self, has_former: bool) -> Option<Context> {
        let saved = self.security.clone();
        Some(Context {
            supi: self.supi.parse().ok()?,
            guti: self.guti.parse().ok()?,
            former: self.former_guti().filter(|_| has_former),
            stored: Counts {
                downlink: saved.downlink.unwrap_or(LAST_COUNT),
                uplink: saved.uplink.unwrap_or(LAST_COUNT),
            },
            security: NasSecurityContext::restore(saved, Side::Network).ok()?,
        })
    }
}

impl Context {
    /// Makes the UE what the record says.
    fn fill(self, ue: &mut Ue, record: Record) {
        ue.security = Some(self.security);
        // Its first message needs counts that are reserved first: none are left.
        ue.stored = Some(self.stored);
        ue.supi = Some(self.supi);
        ue.guti = Some(self.guti);
        ue.former = self.former;
        ue.registration = record.registration;
        ue.capability = record.capability;
        ue.allowed = slices(&record.allowed);
        ue.subscribed = match slices(&record.subscribed) {
            none if none.is_empty() => ue.allowed.clone(),
            subscribed => subscribed,
        };
        ue.ambr = UeAmbr {
            downlink: record.downlink,
            uplink: record.uplink,
        };
        ue.sessions = record.sessions;
        // The gNB that had their resources has lost the connection to the process before.
        for session in ue.sessions.values_mut() {
            session.take_down |= std::mem::take(&mut session.active);
        }
        if ue.sessions.values().any(|session| session.take_down) {
            ue.amf.releases.push(ue.slot.id);
        }
        for guti in [ue.guti, ue.former].into_iter().flatten() {
            ue.amf.ues.name_tmsi(STmsi::of(guti), &ue.slot);
        }
        ue.set_registered(true);
    }
}

fn slices(texts: &[String]) -> Vec<Snssai> {
    let slices = texts.iter().map(|text| text.parse());
    slices.filter_map(Result::ok).collect()
}

/// The UE registers without its former context, which an earlier process may have stored: its sessions
/// are let go of, and it is removed.
pub(super) async fn let_go(ue: &Ue) {
    let Some(pointer) = read::<Pointer>(&ue.sbi, &ue.supi_text()).await else {
        return;
    };
    if let Some(record) = read::<Record>(&ue.sbi, &pointer.record).await {
        for session in record.sessions.values() {
            super::peers::nsmf::release(ue, &session.context).await;
        }
        if let Some(former) = record.former_guti().map(|former| record_of(&former))
            && let Some(before) = read::<Record>(&ue.sbi, &former).await
            && before.supi == record.supi
        {
            delete(ue, &former).await;
        }
        delete(ue, &pointer.record).await;
    }
}

/// Removes the context that is stored of the UE.
pub(super) async fn remove(ue: &Ue) {
    for guti in [ue.guti, ue.former].into_iter().flatten() {
        delete(ue, &record_of(&guti)).await;
    }
}

/// Removes where it is found by its SUPI. Not for one that is registered anew: that is found there.
pub(super) async fn remove_pointer(ue: &Ue) {
    delete(ue, &ue.supi_text()).await;
}

async fn delete(ue: &Ue, name: &str) {
    let request = SbiRequest::delete(format!("{RECORDS}/{name}"));
    match ue.sbi.call(SERVICE, request).await {
        Err(failure) if failure.status() != Some(404) => {
            tracing::warn!(name: "store-failed", "a stored context is not removed: {failure}");
        }
        _ => {}
    }
}

fn record_of(guti: &Guti) -> String {
    record_name(STmsi::of(*guti))
}

/// The name that a record is stored under.
fn s_tmsi_of(record: &str) -> Option<STmsi> {
    let part = |range: std::ops::Range<usize>| {
        let digits = record.get(range)?;
        u32::from_str_radix(digits, 16).ok()
    };
    Some(STmsi {
        set: u16::try_from(part(0..3)?).ok()?.try_into().ok()?,
        pointer: u8::try_from(part(3..5)?).ok()?.try_into().ok()?,
        tmsi: part(5..13)?.try_into().ok()?,
    })
}

/// Set, pointer and TMSI in hexadecimal digits.
fn record_name(s_tmsi: STmsi) -> String {
    let STmsi { set, pointer, tmsi } = s_tmsi;
    let tmsi: Tmsi = tmsi;
    format!(
        "{:03x}{:02x}{:08x}",
        set.value(),
        pointer.value(),
        tmsi.value()
    )
}
