//! What the operator says of the network.

use corewire_core5g_nas::{Ciphering, Integrity, Snssai, Tac, Tai};
use corewire_guti::{Guami, Plmn};
use std::time::Duration;

/// NAS timers of the AMF (TS 24.501, table 10.2.2): the same for all that wait for a UE's answer.
pub(crate) const NAS_TIMER: Duration = Duration::from_secs(6);
/// How often a message is sent before the procedure is given up.
pub(crate) const NAS_ATTEMPTS: u32 = 5;
/// T3513: how long a paged UE may take to come, and how often it is called. Both depend on the network
/// (TS 24.501, table 10.2.2).
pub(crate) const PAGING_TIMER: Duration = Duration::from_secs(4);
pub(crate) const PAGING_ATTEMPTS: u8 = 3;
/// How long a gNB may take to answer.
pub(crate) const NGAP_TIMER: Duration = Duration::from_secs(10);

/// The network that this AMF serves.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) name: String,
    pub(crate) guami: Guami,
    pub(crate) tacs: Vec<Tac>,
    pub(crate) slices: Vec<Snssai>,
    /// In the order in which they are preferred.
    pub(crate) ciphering: Vec<Ciphering>,
    pub(crate) integrity: Vec<Integrity>,
}

impl Network {
    pub(crate) const fn plmn(&self) -> Plmn {
        self.guami.plmn()
    }

    /// The tracking areas that it serves.
    pub(crate) fn tais(&self) -> Vec<Tai> {
        let plmn = self.plmn();
        self.tacs
            .iter()
            .map(|tac| Tai { plmn, tac: *tac })
            .collect()
    }
}
