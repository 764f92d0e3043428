//! The values that an authentication exchanges, and the secrets behind them (TS 33.102, TS 33.501).

use oxirush_security::nas_5gs as algorithms;

use super::octets::{key, public_value};

key! {
    /// K: what a USIM and its home network share.
    SubscriberKey, 16
}
key! {
    /// OP: the operator's variant of MILENAGE. [`Opc::from_op`] gives what the functions take.
    Op, 16
}
key! {
    /// OPc: OP as it was mixed with one subscriber's K (TS 35.206 clause 4.1).
    Opc, 16
}
key! {
    /// RES*: the UE's answer to a challenge (TS 33.501 Annex A.4).
    ResStar, 16
}
key! {
    /// XRES*: the answer that the home network expects.
    XresStar, 16
}
key! {
    /// HXRES*: what the serving network can check an answer with, and not make one from (Annex A.5).
    HxresStar, 16
}
public_value! {
    /// RAND: the challenge.
    Rand, 16
}
public_value! {
    /// AUTN: proves to the USIM that its home network made the challenge, and made it now.
    Autn, 16
}
public_value! {
    /// AUTS: what a USIM answers when the challenge's sequence number is not fresh.
    Auts, 14
}
public_value! {
    /// AMF, the authentication management field of an AUTN (TS 33.102 Annex H).
    AuthManagementField, 2
}

impl Opc {
    /// OPc from OP and K.
    #[must_use]
    pub fn from_op(key: &SubscriberKey, op: &Op) -> Self {
        use oxirush_security::milenage;
        let opc = milenage::Opc::from_op(
            &milenage::K::new(key.as_bytes()),
            &milenage::Op::new(op.as_bytes()),
        );
        Self::new(*opc.as_octets())
    }
}

impl Rand {
    /// A challenge that nobody can predict.
    ///
    /// # Errors
    /// The operating system has no randomness to give: no vector may be made.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut octets = [0; Self::LEN];
        getrandom::fill(&mut octets)?;
        Ok(Self::new(octets))
    }
}

/// The separation bit is set: a vector for 5GS (TS 33.501 clause 6.1.3.2.0).
impl Default for AuthManagementField {
    fn default() -> Self {
        Self::new([0x80, 0x00])
    }
}

impl XresStar {
    /// Whether this is the answer that was expected.
    #[must_use]
    pub fn accepts(&self, answer: &ResStar) -> bool {
        oxirush_security::constant_time_eq(self.as_bytes(), answer.as_bytes())
    }
}

impl HxresStar {
    /// What the serving network gets to check the answer to `rand` with.
    #[must_use]
    pub fn of(rand: &Rand, expected: &XresStar) -> Self {
        let hash = algorithms::compute_hxres_star(
            &oxirush_security::Rand::new(rand.as_bytes()),
            &algorithms::XresStar::new(expected.as_bytes()),
        );
        Self::new(*hash.as_octets())
    }

    /// Whether the hash of this answer to `rand` is the expected one (TS 33.501 clause 6.1.3.2.0,
    /// step 9).
    #[must_use]
    pub fn accepts(&self, rand: &Rand, answer: &ResStar) -> bool {
        *self == Self::of(rand, &XresStar::new(*answer.as_bytes()))
    }
}
