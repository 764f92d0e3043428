//! NG Reset (TS 38.413, 8.7.4): a gNB has lost its UEs, all or some.

use super::gnb::Gnb;
use crate::ngap::{NgReset, NgResetAcknowledge, NgapMessage, ResetScope};

/// Tells the UEs that their connection is lost, and the gNB that it is done.
pub(super) fn run(gnb: &Gnb, reset: NgReset) {
    let ues = match reset.scope {
        ResetScope::All => {
            gnb.lose_all();
            Vec::new()
        }
        ResetScope::Ues(connections) => {
            gnb.lose_each(&connections);
            connections
        }
    };
    gnb.send(0, &NgapMessage::from(NgResetAcknowledge { ues }));
}
