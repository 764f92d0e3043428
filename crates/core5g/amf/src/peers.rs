//! What an AMF asks of other NFs: one file a service.

pub(crate) mod flow;
pub(crate) mod gutis;
pub(crate) mod nausf;
pub(crate) mod nsmf;
pub(crate) mod nudm;
pub(crate) mod nudsf;
pub(crate) mod source3;
pub(crate) mod three_gpp;
pub(crate) mod transfer_failure;

use crate::context::ue::Ue;
use crate::peers::flow::{Flow, Milestone};
use crate::peers::source3::Source3;
use crate::peers::three_gpp::ThreeGpp;
use corewire_core5g_runtime::Flow as Chosen;

/// The operations that drive this AMF's procedures.
pub(crate) fn flow_of(ue: &Ue) -> &'static dyn Flow {
    match ue.amf.own.flow {
        Chosen::ThreeGpp => &ThreeGpp,
        Chosen::Source3 => &Source3,
    }
}

/// Tells the home network what has become of the UE, where it wants to know.
pub(crate) async fn note(ue: &Ue, milestone: Milestone<'_>) {
    if let Some(told) = flow_of(ue).note(ue, milestone) {
        told.await;
    }
}
