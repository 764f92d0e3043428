//! Common types (TS 29.571).

use corewire_guti::Plmn;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A network: `mcc` and `mnc`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PlmnId {
    pub mcc: String,
    pub mnc: String,
}

impl From<Plmn> for PlmnId {
    fn from(plmn: Plmn) -> Self {
        let text = plmn.to_string();
        let (mcc, mnc) = text.split_once('-').unwrap_or((&text, ""));
        Self {
            mcc: mcc.to_owned(),
            mnc: mnc.to_owned(),
        }
    }
}

/// A slice: its type, and what tells it from others of the type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Snssai {
    pub sst: u8,
    /// Six hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<String>,
}

impl Snssai {
    /// The differentiator's octets, when it is one.
    pub fn differentiator(&self) -> Option<[u8; 3]> {
        let digits = self.sd.as_deref().filter(|sd| sd.len() == 6)?;
        let [_, a, b, c] = u32::from_str_radix(digits, 16).ok()?.to_be_bytes();
        Some([a, b, c])
    }

    /// Whether both are the same slice; digits are not case-sensitive.
    pub fn is(&self, other: &Self) -> bool {
        self.sst == other.sst
            && match (&self.sd, &other.sd) {
                (None, None) => true,
                (Some(one), Some(two)) => one.eq_ignore_ascii_case(two),
                _ => false,
            }
    }
}

impl From<corewire_core5g_nas::Snssai> for Snssai {
    fn from(slice: corewire_core5g_nas::Snssai) -> Self {
        let hex = |[a, b, c]: [u8; 3]| format!("{a:02x}{b:02x}{c:02x}");
        Self {
            sst: slice.sst,
            sd: slice.sd.map(hex),
        }
    }
}

/// As a key of a map (TS 29.571, 5.4.4.2): `1` or `1-010203`.
impl fmt::Display for Snssai {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.sst)?;
        match &self.sd {
            Some(sd) => write!(f, "-{sd}"),
            None => Ok(()),
        }
    }
}

/// What is no slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnssaiFault;

impl FromStr for Snssai {
    type Err = SnssaiFault;

    fn from_str(text: &str) -> Result<Self, SnssaiFault> {
        let (sst, sd) = match text.split_once('-') {
            Some((sst, sd)) => (sst, Some(sd)),
            None => (text, None),
        };
        let good = |sd: &&str| sd.len() == 6 && sd.bytes().all(|octet| octet.is_ascii_hexdigit());
        if !sd.iter().all(good) {
            return Err(SnssaiFault);
        }
        Ok(Self {
            sst: sst.parse().map_err(|_| SnssaiFault)?,
            sd: sd.map(str::to_owned),
        })
    }
}

/// An AMF's name within a network.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GuamiModel {
    pub plmn_id: PlmnId,
    /// Region, set and pointer, six hexadecimal digits.
    pub amf_id: String,
}

/// A tracking area.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaiModel {
    pub plmn_id: PlmnId,
    pub tac: String,
}

/// Bit rates, as text with a unit: `1 Gbps`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ambr {
    pub uplink: String,
    pub downlink: String,
}

/// BitRate (TS 29.571, 5.5.2) in bit/s: `"1 Gbps"`.
pub fn bit_rate(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let number: f64 = number.parse().ok()?;
    let factor = match unit {
        "bps" => 1.0,
        "Kbps" => 1e3,
        "Mbps" => 1e6,
        "Gbps" => 1e9,
        "Tbps" => 1e12,
        _ => return None,
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "casting saturates"
    )]
    Some((number * factor) as u64)
}

/// Where something else is (TS 29.571, `Link`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    pub href: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_keys_of_maps() {
        for text in ["1", "255", "1-0a0B0c"] {
            assert_eq!(text.parse::<Snssai>().unwrap().to_string(), text);
        }
        for bad in ["", "256", "1-", "1-00000", "1-00000g", "x"] {
            assert_eq!(bad.parse::<Snssai>(), Err(SnssaiFault), "{bad}");
        }
    }

    #[test]
    fn networks_go_both_ways() {
        for text in ["001-01", "310-410"] {
            let plmn: Plmn = text.parse().unwrap();
            let id = PlmnId::from(plmn);
            assert_eq!(format!("{}-{}", id.mcc, id.mnc), text);
        }
    }
}
