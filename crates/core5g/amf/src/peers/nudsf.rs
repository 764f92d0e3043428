//! Nudsf_DataRepository (TS 29.598): UEs' contexts, as far as they must outlive this process.
//!
//! Two records a UE: its context under the 5G-S-TMSI, which is what a UE that comes says; and under
//! the SUPI where to find it, which is what other NFs say.
//!
//! A context that is stored is older than the truth: messages may have gone down since. So that no
//! NAS COUNT is used twice (TS 33.501, 6.4.3.1), what is stored says up to where counts may have been
//! used: [`RESERVED`] more than have been. An AMF that restores a context begins there, and stores
//! before it uses any.
//!
//! A UE that was given a new GUTI may not know: both records are kept until it does, and the pointer
//! says which of them is the context.

use crate::context::session::Session;
use crate::context::ue::{Counts, Ue};
use crate::ports::Sbi;
use corewire_core5g_aka::Supi;
use corewire_core5g_nas::{
    NasSecurityContext, STmsi, SavedNasContext, Side, Snssai, UeSecurityCapability,
};
use corewire_core5g_ngap::UeAmbr;
use corewire_core5g_runtime::{SbiFailure, SbiRequest};
use corewire_guti::{Guti, Tmsi};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

impl Ue {
    /// Stores the context as it is now. What cannot be stored is still here.
    pub(crate) async fn save(&mut self) {
        if self.guti.is_some()
            && let Err(failure) = put(self).await
        {
            tracing::warn!(name: "store-failed", "a context is not stored: {failure}");
        }
    }

    /// Sees to it that there are counts for what comes next, and that who restores the context is not
    /// far behind the UE. Seldom more than a comparison: contexts are stored for other reasons, too.
    pub(crate) async fn reserve_counts(&mut self) {
        let Some(stored) = self.stored else { return };
        let uplink = self.uplink_count();
        let behind = uplink.is_some_and(|uplink| uplink > stored.uplink + UPLINK_BEHIND);
        if behind || self.counts_left() < LOW {
            self.save().await;
        }
    }

    /// Stores that the UE's last message was received, unless that is known: who restores the context
    /// takes it no more. For what may begin a connection, before anything is done for it.
    pub(crate) async fn save_uplink(&mut self) {
        let Some(stored) = self.stored else { return };
        if self.uplink_count() != Some(stored.uplink) {
            self.save().await;
        }
    }
}

/// Stores the context under the UE's GUTI.
///
/// # Errors
/// When the store does not take it, or the UE has no GUTI or no keys.
pub(crate) async fn put(ue: &mut Ue) -> Result<(), SbiFailure> {
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

/// Stores that the context of the UE with this SUPI is under this GUTI.
///
/// # Errors
/// When the store does not take it.
pub(crate) async fn put_pointer(sbi: &Sbi, supi: &str, guti: &Guti) -> Result<(), SbiFailure> {
    let record = record_of(guti);
    let request = SbiRequest::put(format!("{RECORDS}/{supi}")).json(&Pointer { record })?;
    sbi.call(SERVICE, request).await.map(drop)
}

/// The stored context of the UE with this temporary identity, now or before its last change; `None`
/// when there is none that can be read.
pub(crate) async fn find(sbi: &Sbi, s_tmsi: STmsi) -> Option<StoredUe> {
    let (record, has_former) = current(sbi, s_tmsi).await?;
    record.readable(has_former)
}

/// The temporary identity under which the context of the UE with this SUPI is stored.
pub(crate) async fn name_of(sbi: &Sbi, supi: &str) -> Option<STmsi> {
    let pointer: Pointer = read(sbi, supi).await?;
    s_tmsi_of(&pointer.record)
}

/// What an earlier process has stored of a UE that has registered anew.
pub(crate) struct StaleContext {
    /// The resources of its sessions.
    pub(crate) sessions: Vec<String>,
    records: Vec<String>,
}

/// What is stored of the UE under its SUPI, if anything is.
pub(crate) async fn find_stale(ue: &Ue) -> Option<StaleContext> {
    let sbi = &ue.sbi;
    let pointer: Pointer = read(sbi, &ue.supi_text()).await?;
    let record: Record = read(sbi, &pointer.record).await?;
    let mut records = Vec::new();
    if let Some(former) = record.former_guti().map(|former| record_of(&former))
        && let Some(before) = read::<Record>(sbi, &former).await
        && before.supi == record.supi
    {
        records.push(former);
    }
    records.push(pointer.record);
    let sessions = record.sessions.into_values();
    Some(StaleContext {
        sessions: sessions.map(|session| session.context).collect(),
        records,
    })
}

/// Removes it. The pointer stays: what is stored next is found there.
pub(crate) async fn remove_stale(ue: &Ue, stale: StaleContext) {
    for record in stale.records {
        delete(ue, &record).await;
    }
}

/// The record that is the context of the UE with this name, and whether the name before is still the
/// UE's.
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

/// A stored context, of which every part could be read.
pub(crate) struct StoredUe {
    pub(crate) supi: Supi,
    guti: Guti,
    former: Option<Guti>,
    security: NasSecurityContext,
    stored: Counts,
    record: Record,
}

impl Record {
    fn former_guti(&self) -> Option<Guti> {
        self.former.as_ref()?.parse().ok()
    }

    fn readable(self, has_former: bool) -> Option<StoredUe> {
        let saved = self.security.clone();
        Some(StoredUe {
            supi: self.supi.parse().ok()?,
            guti: self.guti.parse().ok()?,
            former: self.former_guti().filter(|_| has_former),
            stored: Counts {
                downlink: saved.downlink.unwrap_or(LAST_COUNT),
                uplink: saved.uplink.unwrap_or(LAST_COUNT),
            },
            security: NasSecurityContext::restore(saved, Side::Network).ok()?,
            record: self,
        })
    }
}

impl StoredUe {
    /// Makes `ue` the UE whose context was stored.
    pub(crate) fn restore(self, ue: &mut Ue) {
        let record = self.record;
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

/// Removes what is stored of the UE under this GUTI.
pub(crate) async fn remove(ue: &Ue, guti: &Guti) {
    delete(ue, &record_of(guti)).await;
}

/// Removes where it is found by its SUPI. Not for one that is registered anew: that is found there.
pub(crate) async fn remove_pointer(ue: &Ue) {
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
