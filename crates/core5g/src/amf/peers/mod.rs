//! What an AMF asks of other NFs: one file a service.

pub(in crate::amf) mod flow;
pub(in crate::amf) mod gutis;
pub(in crate::amf) mod nausf;
pub(in crate::amf) mod nsmf;
pub(in crate::amf) mod nudm;
pub(in crate::amf) mod nudsf;
pub(in crate::amf) mod source3;
pub(in crate::amf) mod three_gpp;
pub(in crate::amf) mod transfer_failure;

use crate::amf::context::ue::Ue;
use crate::amf::peers::flow::{Flow, Milestone};
use crate::amf::peers::source3::Source3;
use crate::amf::peers::three_gpp::ThreeGpp;
use crate::runtime::Flow as Chosen;

/// The operations that drive this AMF's procedures.
pub(in crate::amf) fn flow_of(ue: &Ue) -> &'static dyn Flow {
    match ue.amf.own.flow {
        Chosen::ThreeGpp => &ThreeGpp,
        Chosen::Source3 => &Source3,
    }
}

/// Tells the home network what has become of the UE, where it wants to know.
pub(in crate::amf) async fn note(ue: &Ue, milestone: Milestone<'_>) {
    if let Some(told) = flow_of(ue).note(ue, milestone) {
        told.await;
    }
}
