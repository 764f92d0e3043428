//! NG Reset (TS 38.413, 8.7.4): a gNB has lost its UEs, all or some.

use super::an_release::deliver_lost;
use crate::context::link::COMMON_STREAM;
use crate::context::ue::Gnb;
use corewire_core5g_ngap::{NgReset, NgResetAcknowledge, NgapMessage, ResetScope};

/// Tells the UEs that their connection is lost, and the gNB that it is done.
pub(crate) fn run(gnb: &Gnb, reset: NgReset) {
    let (lost, ues) = match reset.scope {
        ResetScope::All => (gnb.lose_all(), Vec::new()),
        ResetScope::Ues(connections) => (gnb.lose(&connections), connections),
    };
    deliver_lost(lost);
    gnb.send(
        COMMON_STREAM,
        &NgapMessage::from(NgResetAcknowledge { ues }),
    );
}
