//! RAN Configuration Update (TS 38.413, 8.7.2): a gNB says anew what it serves. UEs keep their connections.

use super::ng_setup::served;
use crate::context::link::COMMON_STREAM;
use crate::context::ue::{Amf, Gnb};
use corewire_core5g_ngap::{
    Cause, NgapMessage, RanConfigurationUpdate, RanConfigurationUpdateAcknowledge,
    RanConfigurationUpdateFailure,
};

/// Takes the areas that are this network's; refuses an update that names none, and keeps those before.
pub(crate) fn run(amf: &Amf, gnb: &Gnb, update: &RanConfigurationUpdate) {
    let tais = update
        .areas
        .as_deref()
        .map(|areas| served(&amf.network, areas));
    let answer: NgapMessage = match tais {
        Some(none) if none.is_empty() => RanConfigurationUpdateFailure {
            cause: Cause::UNKNOWN_PLMN,
            wait: None,
            faults: Vec::new(),
        }
        .into(),
        tais => {
            if let Some(tais) = tais {
                gnb.serve(tais);
            }
            RanConfigurationUpdateAcknowledge.into()
        }
    };
    gnb.send(COMMON_STREAM, &answer);
}
