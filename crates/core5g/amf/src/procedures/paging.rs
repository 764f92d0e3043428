//! Paging (TS 23.502, 4.2.3.3; TS 24.501, 5.6.2): an idle UE is called, in the whole registration area, until
//! it comes or T3513 has expired three times.

use crate::context::network::{PAGING_ATTEMPTS, PAGING_TIMER};
use crate::context::ue::{Paging, Ue};
use crate::peers::transfer_failure;
use corewire_core5g_nas::STmsi;

/// Calls the UE, unless it is being called already. What waits for it stays until it comes.
pub(crate) fn run(ue: &mut Ue) {
    if ue.paging.is_none() {
        call(ue, 1);
    }
}

/// T3513 may have expired: calls the UE again, or gives up.
pub(crate) async fn expired(ue: &mut Ue) {
    match ue.paging {
        Some(paging) if ue.amf.clock.now() < paging.until => {}
        Some(paging) if paging.attempts < PAGING_ATTEMPTS => call(ue, paging.attempts + 1),
        Some(_) => give_up(ue).await,
        // It has come.
        None => {}
    }
}

/// The UE does not answer: what was to be notified of it is, and waits no longer.
pub(crate) async fn give_up(ue: &mut Ue) {
    ue.paging = None;
    for transfer in ue
        .pending
        .extract_if(.., |one| one.failure.is_some())
        .collect::<Vec<_>>()
    {
        if let Some(notice) = transfer.failure {
            transfer_failure::notify(ue, &notice, "UE_NOT_RESPONDING").await;
        }
    }
}

fn call(ue: &mut Ue, attempts: u8) {
    let until = ue.amf.clock.now() + PAGING_TIMER;
    ue.paging = Some(Paging { attempts, until });
    ue.amf.paged.push(until, ue.slot.id);
    let tais = ue.amf.network.tais();
    // It may not have its new name yet.
    for guti in [ue.former, ue.guti].into_iter().flatten() {
        ue.amf.gnbs.page(STmsi::of(guti), &tais);
    }
}
