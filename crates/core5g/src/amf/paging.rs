//! Paging (TS 23.502, 4.2.3.3): an idle UE is called, in the whole registration area.

use super::ue::Ue;

/// Calls the UE by every gNB. What waits for it stays until it comes; it is not called again for the
/// same (T3513 is not run).
pub(super) fn run(ue: &Ue) {
    let Some(s_tmsi) = ue.s_tmsi() else { return };
    let tais = ue.amf.network.tais();
    ue.amf.gnbs.page(s_tmsi, &tais);
}
