//! Paging (TS 23.502, 4.2.3.3): an idle UE is called, in the whole registration area.

use crate::amf::context::ue::Ue;
use crate::nas::STmsi;

/// Calls the UE by every gNB. What waits for it stays until it comes; it is not called again for the
/// same (T3513 is not run).
pub(in crate::amf) fn run(ue: &Ue) {
    let tais = ue.amf.network.tais();
    // It may not have its new name yet.
    for guti in [ue.former, ue.guti].into_iter().flatten() {
        ue.amf.gnbs.page(STmsi::of(guti), &tais);
    }
}
