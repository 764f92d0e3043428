//! New 5G-GUTIs (TS 24.501, 5.3.3 and 5.5.1.2.8): given with REGISTRATION ACCEPT, in use when the UE has
//! confirmed it.

use crate::context::ue::Ue;
use crate::peers::nudsf;
use corewire_core5g_nas::STmsi;
use corewire_core5g_runtime::{SbiFailure, both};
use corewire_guti::Guti;

/// Gives the UE a new GUTI, and stores its context under it. The former stays good until the UE is
/// known to have the new one; one that it has not confirmed is offered again.
///
/// # Errors
/// When there is no GUTI, or the store does not answer.
pub(crate) async fn run(ue: &mut Ue) -> Result<(), SbiFailure> {
    if ue.former.is_none() {
        let guti = ue.amf.gutis.allocate(&ue.sbi).await?;
        ue.former = ue.guti.replace(guti);
        ue.amf.ues.name_tmsi(STmsi::of(guti), &ue.slot);
    }
    let Some(guti) = ue.guti else {
        return Err(SbiFailure::local("a UE without a GUTI"));
    };
    let before = ue.stored;
    let (sbi, supi) = (ue.sbi.clone(), ue.supi_text());
    // A pointer to nothing says as little as none.
    let pointer = nudsf::put_pointer(&sbi, &supi, &guti);
    let (record, pointed) = both(nudsf::put(ue), pointer).await;
    if pointed.is_err() && before.is_some() {
        // The former record may still be the one that is found: what it has reserved counts.
        ue.stored = before;
    }
    record?;
    pointed
}

/// The UE has its new GUTI: the former is given back.
pub(crate) async fn confirm(ue: &mut Ue) {
    if let Some(former) = ue.former.take() {
        give_back(ue, former).await;
    }
}

/// The UE is not registered after all: what it would have been called by is given back.
pub(crate) async fn take_back(ue: &mut Ue) {
    for guti in [ue.former.take(), ue.guti.take()].into_iter().flatten() {
        give_back(ue, guti).await;
    }
}

async fn give_back(ue: &Ue, guti: Guti) {
    ue.amf.ues.forget_tmsi(STmsi::of(guti), &ue.slot);
    nudsf::remove(ue, &guti).await;
    ue.amf.gutis.deallocate(&guti, &ue.sbi).await;
}
