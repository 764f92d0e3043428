//! NG Setup (TS 38.413, 8.7.1): a gNB says what it serves, and learns what the AMF does.

use crate::context::link::COMMON_STREAM;
use crate::context::network::Network;
use crate::context::ue::{Amf, Gnb};
use corewire_core5g_nas::Tai;
use corewire_core5g_ngap::{
    Cause, NgSetupFailure, NgSetupRequest, NgSetupResponse, NgapMessage, PlmnSlices, SupportedArea,
};

/// Takes a gNB that serves an area of this network; refuses one that does not.
pub(crate) fn run(amf: &Amf, gnb: &Gnb, request: &NgSetupRequest) {
    let network = &amf.network;
    let tais = served(network, &request.areas);
    let answer: NgapMessage = if tais.is_empty() {
        NgSetupFailure {
            cause: Cause::UNKNOWN_PLMN,
            wait: None,
            faults: Vec::new(),
        }
        .into()
    } else {
        amf.gnbs.set_up(gnb, tais);
        NgSetupResponse {
            amf_name: network.name.clone(),
            guamis: vec![network.guami],
            capacity: 255,
            plmns: vec![PlmnSlices {
                plmn: network.plmn(),
                slices: network.slices.clone(),
            }],
        }
        .into()
    };
    gnb.send(COMMON_STREAM, &answer);
}

/// The areas of a gNB that are this network's.
pub(crate) fn served(network: &Network, areas: &[SupportedArea]) -> Vec<Tai> {
    let (plmn, here) = (network.plmn(), network.tais());
    areas
        .iter()
        .filter(|area| area.plmns.iter().any(|one| one.plmn == plmn))
        .map(|area| Tai {
            plmn,
            tac: area.tac,
        })
        .filter(|tai| here.contains(tai))
        .collect()
}
