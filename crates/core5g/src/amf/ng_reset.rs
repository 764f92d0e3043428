//! NG Reset (TS 38.413, 8.7.4): a gNB has lost its UEs, all or some.

use super::gnb::Gnb;
use super::ue::Event;
use crate::ngap::{NgReset, NgResetAcknowledge, NgapMessage, ResetScope};
use std::sync::Arc;

/// Tells the UEs that their connection is lost, and the gNB that it is done.
pub(super) fn run(gnb: &Arc<Gnb>, reset: NgReset) {
    let ues = match reset.scope {
        ResetScope::All => {
            gnb.lose_all();
            Vec::new()
        }
        ResetScope::Ues(connections) => {
            for connection in &connections {
                if let Some((slot, link)) = gnb.find(*connection) {
                    slot.deliver(Event::Lost(link));
                }
            }
            connections
        }
    };
    gnb.send(0, &NgapMessage::from(NgResetAcknowledge { ues }));
}
