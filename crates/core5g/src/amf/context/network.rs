//! What the operator says of the network.

use crate::nas::{Ciphering, Integrity, Snssai, Tac, Tai};
use corewire_guti::{Guami, Plmn};
use std::time::Duration;

/// NAS timers of the AMF (TS 24.501, table 10.2.2): the same for all that wait for a UE's answer.
pub(in crate::amf) const NAS_TIMER: Duration = Duration::from_secs(6);
/// How often a message is sent before the procedure is given up.
pub(in crate::amf) const NAS_ATTEMPTS: u32 = 5;
/// T3513: how long a paged UE may take to come, and how often it is called. Both depend on the network
/// (TS 24.501, table 10.2.2).
pub(in crate::amf) const PAGING_TIMER: Duration = Duration::from_secs(4);
pub(in crate::amf) const PAGING_ATTEMPTS: u8 = 3;
/// How long a gNB may take to answer.
pub(in crate::amf) const NGAP_TIMER: Duration = Duration::from_secs(10);

/// The network that this AMF serves.
#[derive(Clone, Debug)]
pub(in crate::amf) struct Network {
    pub(in crate::amf) name: String,
    pub(in crate::amf) guami: Guami,
    pub(in crate::amf) tacs: Vec<Tac>,
    pub(in crate::amf) slices: Vec<Snssai>,
    /// In the order in which they are preferred.
    pub(in crate::amf) ciphering: Vec<Ciphering>,
    pub(in crate::amf) integrity: Vec<Integrity>,
}

impl Network {
    pub(in crate::amf) const fn plmn(&self) -> Plmn {
        self.guami.plmn()
    }

    /// The tracking areas that it serves.
    pub(in crate::amf) fn tais(&self) -> Vec<Tai> {
        let plmn = self.plmn();
        self.tacs
            .iter()
            .map(|tac| Tai { plmn, tac: *tac })
            .collect()
    }
}
