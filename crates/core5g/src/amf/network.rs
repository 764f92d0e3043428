//! What the operator says of the network.

use crate::nas::{Ciphering, Integrity, Snssai, Tac, Tai};
use corewire_guti::{Guami, Plmn};
use std::time::Duration;

/// NAS timers of the AMF (TS 24.501, table 10.2.2): the same for all that wait for a UE's answer.
pub(super) const NAS_TIMER: Duration = Duration::from_secs(6);
/// How often a message is sent before the procedure is given up.
pub(super) const NAS_ATTEMPTS: u32 = 5;
/// How long a gNB may take to answer.
pub(super) const NGAP_TIMER: Duration = Duration::from_secs(10);

/// The network that this AMF serves.
#[derive(Clone, Debug)]
pub(super) struct Network {
    pub(super) name: String,
    pub(super) guami: Guami,
    pub(super) tacs: Vec<Tac>,
    pub(super) slices: Vec<Snssai>,
    /// In the order in which they are preferred.
    pub(super) ciphering: Vec<Ciphering>,
    pub(super) integrity: Vec<Integrity>,
}

impl Network {
    pub(super) const fn plmn(&self) -> Plmn {
        self.guami.plmn()
    }

    /// The tracking areas that it serves.
    pub(super) fn tais(&self) -> Vec<Tai> {
        let plmn = self.plmn();
        self.tacs
            .iter()
            .map(|tac| Tai { plmn, tac: *tac })
            .collect()
    }
}
