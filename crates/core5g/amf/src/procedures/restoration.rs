//! Whose UE is behind a temporary identity: one that is here, one whose context is stored, or one of
//! which nothing is known (TS 24.501, 4.4.4.3; TS 23.501, 5.21.2).

use crate::context::ue::{Amf, Claimed, Event, Link, Slot, Ue, start};
use crate::context::ues::Claim;
use crate::peers::{nsmf, nudsf};
use corewire_core5g_nas::STmsi;
use std::sync::Arc;

/// The UE with this temporary identity: one that is here, or one whose context is stored, which is here
/// from then on. A name alone gives nobody another's context: a connection that brings it must show
/// that it is the UE's.
///
/// # Cancel safety
/// Safe: what has come for this UE meanwhile is served as of an unknown one.
pub(crate) async fn find(amf: &Arc<Amf>, s_tmsi: STmsi) -> Option<Arc<Slot>> {
    let slot = match amf.claim_ue(s_tmsi)? {
        Claim::Known(slot) => return Some(slot),
        Claim::New(slot) => slot,
    };
    let search = Search {
        amf: Arc::clone(amf),
        s_tmsi,
        slot,
        known: None,
    };
    search.run().await
}

/// The UE with this permanent identity, as [`find`].
///
/// # Cancel safety
/// As there.
pub(crate) async fn find_supi(amf: &Arc<Amf>, supi: &str) -> Option<Arc<Slot>> {
    find(amf, nudsf::name_of(&amf.sbi(0), supi).await?).await
}

/// Serves the UE behind this connection as one of which nothing is known: the UE that it names has
/// denied it.
pub(crate) fn reroute(amf: &Arc<Amf>, link: &Link, nas: Vec<u8>) {
    let Some(slot) = amf.add_ue() else {
        return link.forget();
    };
    match link.of(&slot, slot.id) {
        Some(link) => {
            let event = Event::UnknownUe(link, nas, Claimed::Denied);
            start(Ue::new(amf, &slot), event);
        }
        None => drop(amf.forget_ue(&slot)),
    }
}

/// The UE is the subscriber that it says: what was known of that one under another connection, or is
/// stored of it, is the past.
pub(crate) async fn claim_supi(ue: &Ue) {
    match ue.amf.ues.name_supi(&ue.supi_text(), &ue.slot) {
        Some(before) => {
            before.deliver(Event::Superseded);
        }
        None => release_stale_context(ue).await,
    }
}

/// The UE registers without its former context, which an earlier process may have stored: its sessions
/// are released, and it is removed.
async fn release_stale_context(ue: &Ue) {
    let Some(stale) = nudsf::find_stale(ue).await else {
        return;
    };
    for context in &stale.sessions {
        nsmf::release(ue, context).await;
    }
    nudsf::remove_stale(ue, stale).await;
}

/// A search in the store for the UE that is known by a name. There is one for a name at a time: what
/// comes for it meanwhile waits in the slot's mailbox.
struct Search {
    amf: Arc<Amf>,
    s_tmsi: STmsi,
    slot: Arc<Slot>,
    /// Another slot is the subscriber's.
    known: Option<Arc<Slot>>,
}

impl Search {
    async fn run(mut self) -> Option<Arc<Slot>> {
        let mut ue = Ue::new(&self.amf, &self.slot);
        let stored = nudsf::find(&ue.sbi, self.s_tmsi).await?;
        // Whoever has the subscriber's name is newer than what is stored.
        let ues = &self.amf.ues;
        self.known = ues.name_free_supi(&stored.supi.to_string(), &self.slot);
        if self.known.is_some() {
            return self.known.clone();
        }
        stored.restore(&mut ue);
        let slot = Arc::clone(&self.slot);
        if let Some((ue, event)) = slot.mailbox.park(ue) {
            start(ue, event);
        }
        // Nothing is left to be given up.
        self.known = Some(Arc::clone(&slot));
        Some(slot)
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        let found = self.known.as_ref();
        if found.is_some_and(|known| Arc::ptr_eq(known, &self.slot)) {
            return;
        }
        self.amf.ues.forget_tmsi(self.s_tmsi, &self.slot);
        for event in self.amf.forget_ue(&self.slot) {
            let Event::Initial(link, octets) = event else {
                continue;
            };
            match found.and_then(|known| Some((known, link.of(known, known.id)?))) {
                Some((known, link)) => {
                    let _gone = known.deliver(Event::Initial(link, octets));
                }
                None => reroute(&self.amf, &link, octets),
            }
        }
    }
}
