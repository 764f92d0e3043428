//! `3gpp-Sbi-Correlation-Info`: whom a request concerns, for logs and traces (5.2.3.2.19).

use super::{HeaderFault, MAX_VALUE, is_token};
use std::fmt;
use std::str::FromStr;

/// What kind of identity it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the identities of TS 23.003")]
#[non_exhaustive]
pub enum CorrelationKind {
    Imsi,
    Impi,
    Suci,
    Nai,
    Gci,
    Gli,
    Impu,
    Msisdn,
    Extid,
    Imei,
    Imeisv,
    Mac,
    Eui,
}

impl CorrelationKind {
    /// All of them, as they are written.
    pub const ALL: [(Self, &'static str); 13] = [
        (Self::Imsi, "imsi"),
        (Self::Impi, "impi"),
        (Self::Suci, "suci"),
        (Self::Nai, "nai"),
        (Self::Gci, "gci"),
        (Self::Gli, "gli"),
        (Self::Impu, "impu"),
        (Self::Msisdn, "msisdn"),
        (Self::Extid, "extid"),
        (Self::Imei, "imei"),
        (Self::Imeisv, "imeisv"),
        (Self::Mac, "mac"),
        (Self::Eui, "eui"),
    ];
}

/// One or more identities. `Debug` hides them.
#[derive(Clone, PartialEq, Eq)]
pub struct CorrelationInfo(Vec<(CorrelationKind, String)>);

impl CorrelationInfo {
    /// One identity, if it can be written here.
    pub fn of(kind: CorrelationKind, value: &str) -> Option<Self> {
        is_token(value).then(|| Self(vec![(kind, value.to_owned())]))
    }

    /// A SUPI or SUCI in the form of TS 29.571: its type stands in front.
    pub fn of_identity(identity: &str) -> Option<Self> {
        identity.parse().ok()
    }

    /// The identities.
    pub fn iter(&self) -> impl Iterator<Item = (CorrelationKind, &str)> {
        self.0.iter().map(|(kind, value)| (*kind, &**value))
    }
}

impl FromStr for CorrelationInfo {
    type Err = HeaderFault;

    fn from_str(text: &str) -> Result<Self, HeaderFault> {
        if text.len() > MAX_VALUE {
            return Err(HeaderFault);
        }
        let one = |part: &str| {
            let (name, value) = part.trim().split_once('-').ok_or(HeaderFault)?;
            let known = CorrelationKind::ALL
                .iter()
                .find(|(_, known)| *known == name)
                .ok_or(HeaderFault)?;
            if !is_token(value) {
                return Err(HeaderFault);
            }
            Ok((known.0, value.to_owned()))
        };
        text.split(';').map(one).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for CorrelationInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (kind, value)) in self.0.iter().enumerate() {
            let separator = if number == 0 { "" } else { "; " };
            let name = CorrelationKind::ALL
                .iter()
                .find(|(known, _)| known == kind)
                .map_or("", |(_, name)| name);
            write!(f, "{separator}{name}-{value}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for CorrelationInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CorrelationInfo({} hidden)", self.0.len())
    }
}
