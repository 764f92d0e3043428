//! NG Setup (TS 38.413, 8.7.1): a gNB says what it serves, and learns what the AMF does.

use crate::amf::context::link::COMMON_STREAM;
use crate::amf::context::ue::{Amf, Gnb};
use crate::nas::Tai;
use crate::ngap::{
    Cause, NgSetupFailure, NgSetupRequest, NgSetupResponse, NgapMessage, PlmnSlices,
};

/// Takes a gNB that serves an area of this network; refuses one that does not.
pub(in crate::amf) fn run(amf: &Amf, gnb: &Gnb, request: &NgSetupRequest) {
    let network = &amf.network;
    let here = network.tais();
    let tais: Vec<_> = request
        .areas
        .iter()
        .filter(|area| area.plmns.iter().any(|plmn| plmn.plmn == network.plmn()))
        .map(|area| Tai {
            plmn: network.plmn(),
            tac: area.tac,
        })
        .filter(|tai| here.contains(tai))
        .collect();
    if tais.is_empty() {
        gnb.send(
            COMMON_STREAM,
            &NgapMessage::from(NgSetupFailure {
                cause: Cause::UNKNOWN_PLMN,
                wait: None,
            }),
        );
        return;
    }
    amf.gnbs.set_up(gnb, tais);
    gnb.send(
        COMMON_STREAM,
        &NgapMessage::from(NgSetupResponse {
            amf_name: network.name.clone(),
            guamis: vec![network.guami],
            capacity: 255,
            plmns: vec![PlmnSlices {
                plmn: network.plmn(),
                slices: network.slices.clone(),
            }],
        }),
    );
}
