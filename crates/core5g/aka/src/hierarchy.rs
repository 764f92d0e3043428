//! The keys that follow from an authentication, each from the one above it (TS 33.501 clause 6.2).

use oxirush_security::nas_5gs as algorithms;
use oxirush_security::{Autn as ForeignAutn, Ck, Ik};

use super::octets::{key, public_value};
use super::{Autn, ServingNetwork, Supi};

key! {
    /// K_AUSF, in the home network and the UE (Annex A.2).
    Kausf, 32
}
key! {
    /// K_SEAF, the anchor key of the serving network (Annex A.6).
    Kseaf, 32
}
key! {
    /// K_AMF, from which the NAS keys come (Annex A.7).
    Kamf, 32
}
key! {
    /// K_gNB, from which the keys of the radio come (Annex A.9).
    Kgnb, 32
}
public_value! {
    /// ABBA: which features the keys are bound to, so that nobody bids them down (Annex A.7.1).
    Abba, 2
}

/// Zeros, in all releases so far.
impl Default for Abba {
    fn default() -> Self {
        Self::new([0, 0])
    }
}

impl Kausf {
    /// K_AUSF from what MILENAGE gives.
    pub(super) fn derive(ck: &Ck, ik: &Ik, network: &ServingNetwork, autn: &Autn) -> Self {
        let autn = ForeignAutn::new(autn.as_bytes());
        let key = algorithms::derive_kausf(ck, ik, network.to_string().as_bytes(), &autn)
            .expect("a serving network name has 32 octets");
        Self::new(*key.as_octets())
    }

    /// The anchor key for this serving network.
    #[must_use]
    pub fn kseaf(&self, network: &ServingNetwork) -> Kseaf {
        let key = algorithms::KAusf::new(self.as_bytes());
        let key = algorithms::derive_kseaf(&key, network.to_string().as_bytes())
            .expect("a serving network name has 32 octets");
        Kseaf::new(*key.as_octets())
    }
}

impl Kseaf {
    /// The key of the AMF that serves this subscriber.
    #[must_use]
    pub fn kamf(&self, supi: &Supi, abba: &Abba) -> Kamf {
        let key = algorithms::KSeaf::new(self.as_bytes());
        let supi = algorithms::Supi::imsi(supi.imsi()).expect("6 to 15 digits are an IMSI");
        let key = algorithms::derive_kamf(&key, &supi, abba.as_bytes())
            .expect("two octets are an ABBA parameter");
        Kamf::new(*key.as_octets())
    }
}

impl Kamf {
    /// The key of the gNB, for an uplink NAS COUNT: that of the message that starts the security of
    /// the access stratum.
    ///
    /// # Panics
    /// The count has more than 24 bits, which no NAS COUNT has.
    #[must_use]
    pub fn kgnb(&self, uplink_count: u32) -> Kgnb {
        let count = oxirush_security::NasCount::new(uplink_count).expect("a NAS COUNT has 24 bits");
        let key = algorithms::KAmf::new(self.as_bytes());
        Kgnb::new(*algorithms::derive_kgnb(&key, count).as_octets())
    }
}
