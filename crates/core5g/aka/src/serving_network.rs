//! The serving network name, which binds an authentication to a network (TS 24.501 clause 9.12.1).

use std::fmt;
use std::str::FromStr;

use corewire_guti::Plmn;

/// `5G:mnc001.mcc001.3gppnetwork.org`: the network that a UE authenticates for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ServingNetwork(Plmn);

impl ServingNetwork {
    /// The serving network of this PLMN.
    #[must_use]
    pub const fn of(plmn: Plmn) -> Self {
        Self(plmn)
    }

    /// The PLMN. A network code below 100 reads as one of two digits, because the name always has
    /// three (TS 23.003 clause 28.2).
    #[must_use]
    pub const fn plmn(self) -> Plmn {
        self.0
    }
}

impl fmt::Display for ServingNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mnc, mcc) = (self.0.mnc(), self.0.mcc());
        write!(f, "5G:mnc{mnc:03}.mcc{mcc:03}.3gppnetwork.org")
    }
}

impl fmt::Debug for ServingNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServingNetwork({self})")
    }
}

impl FromStr for ServingNetwork {
    type Err = ParseServingNetworkError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (mnc, rest) = text.strip_prefix("5G:mnc")?.split_once(".mcc")?;
            let mcc = rest.strip_suffix(".3gppnetwork.org")?;
            let number = |digits: &str| {
                let three = digits.len() == 3 && digits.bytes().all(|b| b.is_ascii_digit());
                three.then(|| digits.parse::<u16>().ok()).flatten()
            };
            let mnc = number(mnc)?;
            Plmn::new(number(mcc)?, mnc, if mnc < 100 { 2 } else { 3 }).ok()
        };
        parse().map(Self).ok_or(ParseServingNetworkError)
    }
}

/// A text that is no serving network name of a PLMN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseServingNetworkError;

impl fmt::Display for ParseServingNetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a serving network name is 5G:mncNNN.mccNNN.3gppnetwork.org")
    }
}

impl std::error::Error for ParseServingNetworkError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_has_three_digits_each() {
        let network = ServingNetwork::of(Plmn::new(208, 93, 2).unwrap());
        assert_eq!(network.to_string(), "5G:mnc093.mcc208.3gppnetwork.org");
        assert_eq!(network.to_string().parse(), Ok(network));
        let long = ServingNetwork::of(Plmn::new(310, 410, 3).unwrap());
        assert_eq!(long.to_string().parse(), Ok(long));
    }

    #[test]
    fn another_name_is_refused() {
        for wrong in [
            "",
            "5G:NSWO",
            "5G:mnc93.mcc208.3gppnetwork.org",
            "5G:mnc093.mcc2o8.3gppnetwork.org",
            "5G:mnc093.mcc208.3gppnetwork.org:nid",
        ] {
            assert_eq!(
                wrong.parse::<ServingNetwork>(),
                Err(ParseServingNetworkError)
            );
        }
    }
}
