//! The home network's side: authentication vectors and resynchronisation (TS 33.501 clause 6.1.3).

use std::fmt;

use oxirush_security::milenage::{self, Milenage};

use super::{
    AuthManagementField, Autn, Auts, HxresStar, Kausf, Opc, Rand, ServingNetwork, Sqn,
    SubscriberKey, XresStar,
};

/// What the home network knows of a USIM.
#[derive(Clone, Debug)]
pub struct Subscriber {
    key: SubscriberKey,
    opc: Opc,
}

/// A 5G home environment authentication vector: what the UDM gives the AUSF.
#[derive(Clone, Debug)]
pub struct AuthVector {
    /// The challenge.
    pub rand: Rand,
    /// Its proof.
    pub autn: Autn,
    /// The answer that is expected.
    pub xres_star: XresStar,
    /// The key that the home network and the UE then share.
    pub kausf: Kausf,
}

/// An AUTS that this subscriber's USIM did not make for this challenge: the network keeps its
/// sequence number (TS 33.102 clause 6.3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutsMacFailure;

impl Subscriber {
    /// The subscriber with this K and OPc.
    #[must_use]
    pub const fn new(key: SubscriberKey, opc: Opc) -> Self {
        Self { key, opc }
    }

    /// A vector for one use: `sqn` is one that was never used before for this subscriber
    /// ([`Sqn::next`] of the last).
    #[must_use]
    pub fn vector(
        &self,
        rand: Rand,
        sqn: Sqn,
        field: &AuthManagementField,
        network: &ServingNetwork,
    ) -> AuthVector {
        let vector = self.milenage().authentication_vector(
            &oxirush_security::Rand::new(rand.as_bytes()),
            &foreign_sqn(sqn),
            &milenage::Amf::new(field.as_bytes()),
        );
        let autn = Autn::new(*vector.autn().as_octets());
        let xres_star = vector
            .xres_star(network.to_string().as_bytes())
            .expect("a serving network name has 32 octets");
        AuthVector {
            kausf: Kausf::derive(vector.ck(), vector.ik(), network, &autn),
            rand,
            autn,
            xres_star: XresStar::new(*xres_star.as_octets()),
        }
    }

    /// The sequence number that the USIM is at, from the AUTS that it answered the challenge `rand`
    /// with. The home network goes on with the [next](Sqn::next) one.
    ///
    /// # Errors
    /// The USIM did not make it; the sequence number stays as it is.
    pub fn resynchronise(&self, rand: &Rand, auts: &Auts) -> Result<Sqn, AutsMacFailure> {
        let rand = oxirush_security::Rand::new(rand.as_bytes());
        let auts = milenage::Auts::new(auts.as_bytes());
        let sqn = self
            .milenage()
            .verify_auts(&rand, &auts)
            .map_err(|_| AutsMacFailure)?;
        Sqn::new(sqn.get()).ok_or(AutsMacFailure)
    }

    pub(super) fn milenage(&self) -> Milenage {
        Milenage::new(
            &milenage::K::new(self.key.as_bytes()),
            &milenage::Opc::new(self.opc.as_bytes()),
        )
    }
}

impl AuthVector {
    /// What the serving network checks the answer with.
    #[must_use]
    pub fn hxres_star(&self) -> HxresStar {
        HxresStar::of(&self.rand, &self.xres_star)
    }
}

impl fmt::Display for AutsMacFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the AUTS does not come from this subscriber's USIM")
    }
}

impl std::error::Error for AutsMacFailure {}

pub(super) fn foreign_sqn(sqn: Sqn) -> milenage::Sqn {
    milenage::Sqn::try_from(sqn.value()).expect("48 bits are a sequence number")
}
