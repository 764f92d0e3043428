//! UEs' contexts in the UDSF (TS 29.598): what must outlive this process.
//!
//! Two records a UE: its context under the 5G-S-TMSI, which is what a UE that comes says; and under
//! the SUPI where to find it, which is what other NFs say.
//!
//! A context that is stored is a little older than the truth: messages may have gone down since. Who
//! restores it skips [`SKIPPED_DOWNLINK`] counts, so that no count is used twice (TS 33.501, 6.4.3.1);
//! contexts are stored often enough for that, at the latest when a UE becomes idle.

use super::session_transport::Session;
use super::ue::{Ue, Uplink};
use crate::nas::{NasSecurityContext, STmsi, SavedNasContext, Side, Snssai, UeSecurityCapability};
use crate::ngap::UeAmbr;
use crate::runtime::{SbiFailure, SbiRequest, both};
use corewire_guti::{Guti, Tmsi};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

const SERVICE: &str = "nudsf-dr";
const RECORDS: &str = "/nudsf-dr/v1/corewire/amf/records";

/// Counts that are left out when a context is restored. Less than 256, so that the UE, which sees
/// eight bits of a count, follows.
const SKIPPED_DOWNLINK: u32 = 64;

/// A UE's context as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    supi: String,
    guti: String,
    security: SavedNasContext,
    capability: Option<UeSecurityCapability>,
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

/// Gives the UE a new GUTI, and stores its context under it; the former is given back.
///
/// # Errors
/// When there is no GUTI, or the store does not answer.
pub(super) async fn new_guti(ue: &mut Ue) -> Result<(), SbiFailure> {
    let before = ue.guti;
    let guti = ue.amf.gutis.allocate(&ue.sbi).await?;
    ue.guti = Some(guti);
    let slot = Arc::clone(&ue.slot);
    ue.amf.ues.name_tmsi(guti.tmsi(), &slot);
    let pointer = Pointer {
        record: record_of(&guti),
    };
    let path = format!("{RECORDS}/{}", ue.supi_text());
    let pointer = SbiRequest::put(path).json(&pointer)?;
    // A pointer to nothing says as little as none.
    let (record, pointer) = both(put(ue), ue.sbi.call(SERVICE, pointer)).await;
    record.and(pointer)?;
    if let Some(before) = before {
        ue.amf.ues.forget_tmsi(before.tmsi(), &slot);
        delete(ue, &record_of(&before)).await;
        ue.amf.gutis.deallocate(&before, &ue.sbi).await;
    }
    Ok(())
}

impl Ue {
    /// Stores the context as it is now. What cannot be stored is still here.
    pub(super) async fn save(&self) {
        if self.guti.is_some()
            && let Err(failure) = put(self).await
        {
            eprintln!("amf: a context is not stored: {failure}");
        }
    }
}

async fn put(ue: &Ue) -> Result<(), SbiFailure> {
    let (Some(guti), Some(security)) = (ue.guti, &ue.security) else {
        return Err(SbiFailure::local(
            "a UE without a name or keys is not stored",
        ));
    };
    let record = Record {
        supi: ue.supi_text(),
        guti: guti.to_string(),
        security: security.saved(),
        capability: ue.capability.clone(),
        allowed: ue.allowed.iter().map(ToString::to_string).collect(),
        downlink: ue.ambr.downlink,
        uplink: ue.ambr.uplink,
        sessions: ue.sessions.clone(),
    };
    let path = format!("{RECORDS}/{}", record_of(&guti));
    ue.sbi
        .call(SERVICE, SbiRequest::put(path).json(&record)?)
        .await
        .map(drop)
}

/// Fills in what is stored of the UE with this temporary identity, when `octets` are a message under
/// its context; gives the message. Otherwise the UE stays one of which nothing is known: a name alone
/// gives nobody another's context.
pub(super) async fn restore(ue: &mut Ue, s_tmsi: STmsi, octets: &[u8]) -> Option<Uplink> {
    if ue.amf.ues.by_tmsi(s_tmsi.tmsi).is_some() {
        // It is here, newer than what is stored: what it refused is refused, a replay above all.
        return None;
    }
    let name = record_name(s_tmsi);
    let answer = ue
        .sbi
        .call(SERVICE, SbiRequest::get(format!("{RECORDS}/{name}")))
        .await;
    let record = match answer.and_then(|answer| answer.json::<Record>()) {
        Ok(record) => record,
        Err(failure) => {
            if failure.status() != Some(404) {
                eprintln!("amf: a stored context cannot be read: {failure}");
            }
            return None;
        }
    };
    let received = record.context()?.unprotect(octets).ok()?;
    fill(ue, record)?;
    // Once more, so that the count is taken in the context that stays.
    ue.read(octets)
        .ok()
        .filter(|uplink| uplink.count == Some(received.count))
}

/// Fills in what is stored of the UE with this SUPI; `false` when there is nothing.
pub(super) async fn find(ue: &mut Ue, supi: &str) -> bool {
    let path = format!("{RECORDS}/{supi}");
    let answer = ue.sbi.call(SERVICE, SbiRequest::get(path)).await;
    let Ok(pointer) = answer.and_then(|answer| answer.json::<Pointer>()) else {
        return false;
    };
    let path = format!("{RECORDS}/{}", pointer.record);
    let answer = ue.sbi.call(SERVICE, SbiRequest::get(path)).await;
    let record = answer.and_then(|answer| answer.json::<Record>());
    record.is_ok_and(|record| fill(ue, record).is_some())
}

impl Record {
    /// The NAS context, beyond every count that may have been used since it was stored.
    fn context(&self) -> Option<NasSecurityContext> {
        let mut saved = self.security.clone();
        saved.downlink = saved.downlink.map(|count| count + SKIPPED_DOWNLINK);
        NasSecurityContext::restore(saved, Side::Network).ok()
    }
}

/// Makes the UE what the record says; `None` when it says nothing that can be used.
fn fill(ue: &mut Ue, record: Record) -> Option<()> {
    let (supi, guti) = (record.supi.parse().ok()?, record.guti.parse::<Guti>().ok()?);
    ue.security = Some(record.context()?);
    ue.supi = Some(supi);
    ue.guti = Some(guti);
    ue.capability = record.capability;
    ue.allowed = record
        .allowed
        .iter()
        .filter_map(|slice| slice.parse::<Snssai>().ok())
        .collect();
    ue.ambr = UeAmbr {
        downlink: record.downlink,
        uplink: record.uplink,
    };
    ue.sessions = record.sessions;
    let slot = Arc::clone(&ue.slot);
    ue.amf.ues.name_tmsi(guti.tmsi(), &slot);
    // Nobody else can have it: who came first restored it.
    let _before = ue.amf.ues.name_supi(&record.supi, &slot);
    ue.set_registered(true);
    Some(())
}

/// The UE registers without its former context, which an earlier process may have stored: its sessions
/// are let go of, and it is removed.
pub(super) async fn let_go(ue: &Ue) {
    let path = format!("{RECORDS}/{}", ue.supi_text());
    let answer = ue.sbi.call(SERVICE, SbiRequest::get(path)).await;
    let Ok(pointer) = answer.and_then(|answer| answer.json::<Pointer>()) else {
        return;
    };
    let path = format!("{RECORDS}/{}", pointer.record);
    let answer = ue.sbi.call(SERVICE, SbiRequest::get(path)).await;
    if let Ok(record) = answer.and_then(|answer| answer.json::<Record>()) {
        for session in record.sessions.values() {
            super::peers::nsmf::release(ue, &session.context).await;
        }
        delete(ue, &pointer.record).await;
    }
}

/// Removes the context that is stored of the UE.
pub(super) async fn remove(ue: &Ue) {
    if let Some(guti) = ue.guti {
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
            eprintln!("amf: a stored context is not removed: {failure}");
        }
        _ => {}
    }
}

fn record_of(guti: &Guti) -> String {
    record_name(STmsi::of(*guti))
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
