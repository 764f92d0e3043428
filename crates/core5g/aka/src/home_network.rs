//! The key pairs of the home network that conceal and deconceal SUPIs (TS 33.501 Annex C.3).

use std::collections::BTreeMap;
use std::fmt;

use oxirush_security::nas_5gs as algorithms;

/// A private key of the home network. Wiped when it is dropped; `{:?}` shows its profile.
#[derive(Debug)]
pub struct HomeNetworkKey(algorithms::HomeNetworkPrivateKey);

/// What a UE conceals its SUPI with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeNetworkPublicKey(pub(super) algorithms::HomeNetworkPublicKey);

/// Octets that are no key of the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidKey;

/// The private keys of a home network by their identifiers, for whoever deconceals (the SIDF in the
/// UDM).
#[derive(Debug, Default)]
pub struct HomeNetworkKeys(BTreeMap<u8, HomeNetworkKey>);

impl HomeNetworkKey {
    /// A key of profile A: an X25519 private key.
    #[must_use]
    pub fn profile_a(octets: &[u8; 32]) -> Self {
        Self(algorithms::HomeNetworkPrivateKey::profile_a(octets))
    }

    /// A key of profile B: a private key of secp256r1.
    ///
    /// # Errors
    /// The number is zero, or not below the order of the curve.
    pub fn profile_b(octets: &[u8; 32]) -> Result<Self, InvalidKey> {
        algorithms::HomeNetworkPrivateKey::profile_b(octets)
            .map(Self)
            .map_err(|_| InvalidKey)
    }

    /// The public key that belongs to it.
    #[must_use]
    pub fn public(&self) -> HomeNetworkPublicKey {
        HomeNetworkPublicKey(self.0.public_key())
    }
}

impl HomeNetworkPublicKey {
    /// A key of profile A: an X25519 public key.
    #[must_use]
    pub fn profile_a(octets: &[u8; 32]) -> Self {
        Self(algorithms::HomeNetworkPublicKey::profile_a(octets))
    }

    /// A key of profile B: a point of secp256r1, in 33 or 65 octets.
    ///
    /// # Errors
    /// The octets are no point of the curve.
    pub fn profile_b(octets: &[u8]) -> Result<Self, InvalidKey> {
        algorithms::HomeNetworkPublicKey::profile_b(octets)
            .map(Self)
            .map_err(|_| InvalidKey)
    }

    /// The octets, as a subscriber file holds them.
    #[must_use]
    pub fn to_octets(&self) -> Vec<u8> {
        self.0.to_octets()
    }
}

impl HomeNetworkKeys {
    /// Adds a key under its identifier; one that was there before goes.
    pub fn insert(&mut self, id: u8, key: HomeNetworkKey) {
        self.0.insert(id, key);
    }

    pub(super) fn find(&self, id: u8) -> Option<&algorithms::HomeNetworkPrivateKey> {
        self.0.get(&id).map(|key| &key.0)
    }
}

impl fmt::Display for InvalidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the octets are no key of this profile")
    }
}

impl std::error::Error for InvalidKey {}
