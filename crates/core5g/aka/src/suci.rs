//! The SUCI: a SUPI as it goes over the air, concealed (TS 23.003 clause 2.2B, TS 33.501 Annex C).

use std::fmt;
use std::str::FromStr;

use corewire_guti::Plmn;
use oxirush_security::identity::{self, ImsiSuci, Plmn as ForeignPlmn};
use oxirush_security::nas_5gs as algorithms;

use super::{HomeNetworkKeys, HomeNetworkPublicKey, Supi};

/// A concealed identity, `suci-0-001-01-0000-0-0-0000000001` on the service interfaces.
///
/// `{:?}` shows network and scheme only: with the null scheme the rest is the subscriber.
#[derive(Clone, PartialEq, Eq)]
pub struct Suci(algorithms::Suci);

/// Which UDM of the home network serves the subscriber: 1 to 4 digits, `0` by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoutingIndicator(identity::RoutingIndicator);

impl fmt::Display for RoutingIndicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

impl FromStr for RoutingIndicator {
    type Err = SuciError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let indicator = identity::RoutingIndicator::new(text);
        indicator.map(Self).map_err(|_| SuciError::Malformed)
    }
}

/// How a UE conceals its SUPI.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "TS 33.501 Annex C: null, or ECIES by the key's profile"
)]
pub enum Protection<'a> {
    /// Not at all.
    Null,
    /// With the home network's public key of this identifier.
    Key {
        /// The identifier, 1 to 254.
        id: u8,
        /// The key; it knows its profile.
        key: &'a HomeNetworkPublicKey,
    },
}

/// Why a SUCI cannot be read, made or deconcealed. The three causes of TS 29.503 clause 6.3.7.3 are
/// told apart, and nothing that would help a forger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SuciError {
    /// Text or octets are not a SUCI of an IMSI.
    Malformed,
    /// A scheme of the operator's own: UNSUPPORTED_PROTECTION_SCHEME.
    Scheme,
    /// No key of this identifier and profile: INVALID_HN_PUBLIC_KEY_IDENTIFIER.
    KeyIdentifier,
    /// The scheme output is not what a UE of ours made: INVALID_SCHEME_OUTPUT.
    SchemeOutput,
}

impl Suci {
    /// Reads the value of a 5GS mobile identity element of type SUCI (TS 24.501 clause 9.11.3.4).
    ///
    /// # Errors
    /// It is none of an IMSI.
    pub fn from_nas(octets: &[u8]) -> Result<Self, SuciError> {
        let suci = algorithms::Suci::from_nas_octets(octets).map_err(kind)?;
        match suci.home_network() {
            algorithms::HomeNetwork::Plmn(_) => Ok(Self(suci)),
            _ => Err(SuciError::Malformed),
        }
    }

    /// The value of the 5GS mobile identity element.
    #[must_use]
    pub fn to_nas(&self) -> Vec<u8> {
        self.0
            .to_nas_octets()
            .expect("a SUCI of an IMSI has octets")
    }

    /// Conceals a SUPI whose network code has this many digits.
    ///
    /// # Errors
    /// The SUPI has no such home network, the key's identifier is no identifier, or the system has
    /// no randomness.
    pub fn conceal(
        supi: &Supi,
        mnc_digits: u8,
        routing_indicator: RoutingIndicator,
        protection: Protection<'_>,
    ) -> Result<Self, SuciError> {
        let plmn = supi.plmn(mnc_digits).ok_or(SuciError::Malformed)?;
        let protection = match protection {
            Protection::Null => algorithms::Protection::Null,
            Protection::Key { id, key } => algorithms::Protection::Ecies {
                key_id: id,
                key: &key.0,
            },
        };
        algorithms::Suci::conceal_imsi(
            foreign_plmn(plmn)?,
            supi.msin(mnc_digits),
            routing_indicator.0,
            protection,
        )
        .map(Self)
        .map_err(kind)
    }

    /// The SUPI behind it.
    ///
    /// # Errors
    /// The home network has no key for it, or the scheme output is forged or damaged.
    pub fn deconceal(&self, keys: &HomeNetworkKeys) -> Result<Supi, SuciError> {
        let key = keys.find(self.0.home_network_public_key_id());
        let supi = self.0.deconceal(key).map_err(kind)?;
        Supi::from_imsi(supi.identity()).map_err(|_| SuciError::SchemeOutput)
    }

    /// The home network.
    #[must_use]
    pub fn plmn(&self) -> Option<Plmn> {
        match self.0.home_network() {
            algorithms::HomeNetwork::Plmn(plmn) => Plmn::from_tbcd(plmn.to_nas_octets()).ok(),
            _ => None,
        }
    }

    /// Which UDM of the home network serves the subscriber.
    #[must_use]
    pub fn routing_indicator(&self) -> RoutingIndicator {
        RoutingIndicator(self.0.routing_indicator())
    }

    /// The protection scheme: 0 null, 1 profile A, 2 profile B.
    #[must_use]
    pub fn scheme(&self) -> u8 {
        self.0.protection_scheme().identifier()
    }
}

/// As the service interfaces write it (TS 29.571 clause 5.3.2).
impl fmt::Display for Suci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Suci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plmn = self.plmn().map(|plmn| plmn.to_string());
        write!(
            f,
            "Suci({}, scheme {}, ..)",
            plmn.unwrap_or_default(),
            self.scheme()
        )
    }
}

impl FromStr for Suci {
    type Err = SuciError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let suci: ImsiSuci = text.parse().map_err(|_| SuciError::Malformed)?;
        Self::from_nas(&suci.to_nas_octets())
    }
}

impl SuciError {
    /// The cause that a SIDF answers with (TS 29.503 clause 6.3.7.3).
    #[must_use]
    pub const fn cause(self) -> &'static str {
        match self {
            Self::Scheme => "UNSUPPORTED_PROTECTION_SCHEME",
            Self::KeyIdentifier => "INVALID_HN_PUBLIC_KEY_IDENTIFIER",
            Self::Malformed | Self::SchemeOutput => "INVALID_SCHEME_OUTPUT",
        }
    }
}

impl fmt::Display for SuciError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "no SUCI of an IMSI",
            Self::Scheme => "a protection scheme that is not served",
            Self::KeyIdentifier => "no home network key of this identifier and profile",
            Self::SchemeOutput => "a scheme output that cannot be deconcealed",
        })
    }
}

impl std::error::Error for SuciError {}

fn kind(error: algorithms::SuciError) -> SuciError {
    use algorithms::SuciError as Foreign;
    match error {
        Foreign::UnknownScheme(_) | Foreign::ProprietaryScheme(_) => SuciError::Scheme,
        Foreign::KeyIdentifier(_) | Foreign::MissingKey | Foreign::WrongKeyType { .. } => {
            SuciError::KeyIdentifier
        }
        Foreign::MacMismatch | Foreign::MalformedPoint | Foreign::Plaintext => {
            SuciError::SchemeOutput
        }
        _ => SuciError::Malformed,
    }
}

fn foreign_plmn(plmn: Plmn) -> Result<ForeignPlmn, SuciError> {
    ForeignPlmn::from_nas_octets(plmn.to_tbcd()).map_err(|_| SuciError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HomeNetworkKey;
    use crate::octets::from_hex;

    /// The home network's private keys of TS 33.501 Annex C.4.3 and C.4.4.
    const PRIVATE_A: &str = "c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d";
    const PRIVATE_B: &str = "f1ab1074477ebcc7f554ea1c5fc368b1616730155e0041ac447d6301975fecda";
    /// The scheme outputs of the same clauses: both conceal the MSIN 001002086 of 274 012.
    const OUTPUT_A: &str = "b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457d\
                            cb02352410cddd9e730ef3fa87";
    const OUTPUT_B: &str = "039aab8376597021e855679a9778ea0b67396e68c66df32c0f41e9acca2da9b9d1\
                            46a33fc2716ac7dae96aa30a4d";

    fn keys() -> HomeNetworkKeys {
        let mut keys = HomeNetworkKeys::default();
        let octets = |text| from_hex("key", text).unwrap();
        keys.insert(27, HomeNetworkKey::profile_a(&octets(PRIVATE_A)));
        keys.insert(28, HomeNetworkKey::profile_b(&octets(PRIVATE_B)).unwrap());
        keys
    }

    fn suci(scheme: u8, id: u8, output: &str) -> Suci {
        format!("suci-0-274-012-0-{scheme}-{id}-{output}")
            .parse()
            .unwrap()
    }

    #[test]
    fn the_vectors_of_ts_33_501_annex_c_are_deconcealed() {
        for suci in [suci(1, 27, OUTPUT_A), suci(2, 28, OUTPUT_B)] {
            let supi = suci.deconceal(&keys()).unwrap();
            assert_eq!(supi.to_string(), "imsi-274012001002086");
        }
    }

    #[test]
    fn a_changed_tag_another_key_and_another_scheme_have_their_causes() {
        let changed = format!("{}8", &OUTPUT_A[..OUTPUT_A.len() - 1]);
        let refused = |suci: Suci| suci.deconceal(&keys()).unwrap_err().cause();
        assert_eq!(refused(suci(1, 27, &changed)), "INVALID_SCHEME_OUTPUT");
        assert_eq!(
            refused(suci(1, 28, OUTPUT_A)),
            "INVALID_HN_PUBLIC_KEY_IDENTIFIER"
        );
        assert_eq!(
            refused(suci(1, 29, OUTPUT_A)),
            "INVALID_HN_PUBLIC_KEY_IDENTIFIER"
        );
        let own: Suci = "suci-0-274-012-0-c-1-aabb".parse().unwrap();
        assert_eq!(refused(own), "UNSUPPORTED_PROTECTION_SCHEME");
    }

    #[test]
    fn what_is_concealed_is_deconcealed_through_text_and_octets() {
        let supi = Supi::from_imsi("001010000000001").unwrap();
        let keys = keys();
        let public = |id| HomeNetworkPublicKey(keys.find(id).unwrap().public_key());
        let (a, b) = (public(27), public(28));
        for protection in [
            Protection::Null,
            Protection::Key { id: 27, key: &a },
            Protection::Key { id: 28, key: &b },
        ] {
            let suci = Suci::conceal(&supi, 2, RoutingIndicator::default(), protection).unwrap();
            assert_eq!(suci.plmn(), Plmn::new(1, 1, 2).ok());
            assert_eq!(suci.to_string().parse::<Suci>().unwrap(), suci);
            assert_eq!(Suci::from_nas(&suci.to_nas()).unwrap(), suci);
            assert_eq!(suci.deconceal(&keys), Ok(supi));
            assert!(!format!("{suci:?}").contains("0000000001"), "{suci:?}");
        }
    }

    #[test]
    fn what_is_no_suci_is_refused() {
        for wrong in [
            "",
            "imsi-001010000000001",
            "suci-0-001-01-0000-0-0-",
            "suci-1-x-0-0-0-u",
        ] {
            assert_eq!(wrong.parse::<Suci>(), Err(SuciError::Malformed), "{wrong}");
        }
        assert_eq!(Suci::from_nas(&[]), Err(SuciError::Malformed));
        assert_eq!(Suci::from_nas(&[0x02, 0, 0]), Err(SuciError::Malformed));
    }
}
