//! `3gpp-Sbi-Oci` and `3gpp-Sbi-Lci`: overload and load of somebody (TS 29.500, 6.4.3, 6.3.3).

use super::{HeaderFault, is_token, read_list, split_outside_quotes};
use crate::HttpDate;
use std::fmt;
use std::str::FromStr;

/// Parts of one entry that are read.
const MAX_PARTS: usize = 16;

/// What an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScopeKind {
    /// An instance of a network function.
    NfInstance,
    /// A set of instances.
    NfSet,
    /// One service of an instance.
    NfServiceInstance,
    /// A set of services.
    NfServiceSet,
    /// A consumer's instance.
    NfcInstance,
    /// A set of consumers.
    NfcSet,
    /// One service of a consumer.
    NfcServiceInstance,
    /// A set of services of consumers.
    NfcServiceSet,
    /// Where notifications go.
    CallbackUri,
    /// A proxy.
    ScpFqdn,
    /// A proxy at the edge of a network.
    SeppFqdn,
}

impl ScopeKind {
    /// All of them, as they are written.
    pub const ALL: [(Self, &'static str); 11] = [
        (Self::NfInstance, "NF-Instance"),
        (Self::NfSet, "NF-Set"),
        (Self::NfServiceInstance, "NF-Service-Instance"),
        (Self::NfServiceSet, "NF-Service-Set"),
        (Self::NfcInstance, "NFC-Instance"),
        (Self::NfcSet, "NFC-Set"),
        (Self::NfcServiceInstance, "NFC-Service-Instance"),
        (Self::NfcServiceSet, "NFC-Service-Set"),
        (Self::CallbackUri, "Callback-Uri"),
        (Self::ScpFqdn, "SCP-FQDN"),
        (Self::SeppFqdn, "SEPP-FQDN"),
    ];

    fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or("", |(_, name)| name)
    }
}

/// What an entry is about, and which part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// What kind of thing.
    pub kind: ScopeKind,
    /// Which one; a callback is written in quotes.
    pub value: String,
    /// What narrows it: `NF-Inst`, `S-NSSAI`, `DNN`, `Service-Name`, as they are written.
    pub details: Vec<(String, String)>,
}

/// `3gpp-Sbi-Oci`: one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oci {
    /// When it was found; a later one replaces it.
    pub timestamp: HttpDate,
    /// Seconds that it holds.
    pub validity: u32,
    /// How many of a hundred requests not to send.
    pub reduction: u8,
    /// Whom it is about.
    pub scope: Scope,
}

/// `3gpp-Sbi-Lci`: one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lci {
    /// When it was found; a later one replaces it.
    pub timestamp: HttpDate,
    /// How busy, of a hundred.
    pub load: u8,
    /// Whom it is about.
    pub scope: Scope,
}

impl Oci {
    /// Reads the whole header.
    ///
    /// # Errors
    /// When an entry does not follow the grammar.
    pub fn read_all(text: &str) -> Result<Vec<Self>, HeaderFault> {
        read_list(text)
    }
}

impl Lci {
    /// Reads the whole header.
    ///
    /// # Errors
    /// When an entry does not follow the grammar.
    pub fn read_all(text: &str) -> Result<Vec<Self>, HeaderFault> {
        read_list(text)
    }
}

/// The `Name: value` parts of an entry.
struct Parts<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Result<Self, HeaderFault> {
        let mut parts = Vec::new();
        for part in split_outside_quotes(text, b';') {
            let (name, value) = part.split_once(':').ok_or(HeaderFault)?;
            if parts.len() == MAX_PARTS {
                return Err(HeaderFault);
            }
            parts.push((name.trim_end(), value.trim_start()));
        }
        Ok(Self(parts))
    }

    fn take(&mut self, name: &str) -> Result<&'a str, HeaderFault> {
        let at = self
            .0
            .iter()
            .position(|(found, _)| found.eq_ignore_ascii_case(name));
        at.map(|at| self.0.remove(at).1).ok_or(HeaderFault)
    }

    fn timestamp(&mut self) -> Result<HttpDate, HeaderFault> {
        let quoted = self.take("Timestamp")?;
        unquoted(quoted)?.parse().map_err(|_| HeaderFault)
    }

    fn scope(mut self) -> Result<Scope, HeaderFault> {
        let mut kinds = ScopeKind::ALL.iter();
        let (kind, value) = kinds
            .find_map(|(kind, name)| self.take(name).ok().map(|value| (*kind, value)))
            .ok_or(HeaderFault)?;
        let value = match kind {
            ScopeKind::CallbackUri => unquoted(value)?,
            _ => Some(value)
                .filter(|value| is_token(value))
                .ok_or(HeaderFault)?,
        };
        let details = self.0.into_iter().map(|(name, value)| {
            // A list within: `a & b`.
            let good = is_token(name) && !name.contains(':');
            let words: Vec<&str> = value.split('&').map(str::trim).collect();
            if good && words.iter().all(|word| is_token(word)) {
                Ok((name.to_owned(), words.join(" & ")))
            } else {
                Err(HeaderFault)
            }
        });
        Ok(Scope {
            kind,
            value: value.to_owned(),
            details: details.collect::<Result<_, _>>()?,
        })
    }
}

fn unquoted(text: &str) -> Result<&str, HeaderFault> {
    let inner = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner
        .filter(|inner| {
            inner
                .bytes()
                .all(|octet| matches!(octet, b' '..=b'~') && octet != b'"')
        })
        .ok_or(HeaderFault)
}

fn percent(text: &str) -> Result<u8, HeaderFault> {
    let digits = text.strip_suffix('%').ok_or(HeaderFault)?;
    let plain = digits.bytes().all(|octet| octet.is_ascii_digit());
    let number = digits.parse().ok().filter(|number| plain && *number <= 100);
    number.ok_or(HeaderFault)
}

impl FromStr for Oci {
    type Err = HeaderFault;

    fn from_str(text: &str) -> Result<Self, HeaderFault> {
        let mut parts = Parts::of(text)?;
        let timestamp = parts.timestamp()?;
        let validity = parts.take("Period-of-Validity")?;
        let validity = validity.strip_suffix('s').ok_or(HeaderFault)?;
        let plain = validity.bytes().all(|octet| octet.is_ascii_digit());
        Ok(Self {
            timestamp,
            validity: validity.parse().ok().filter(|_| plain).ok_or(HeaderFault)?,
            reduction: percent(parts.take("Overload-Reduction-Metric")?)?,
            scope: parts.scope()?,
        })
    }
}

impl FromStr for Lci {
    type Err = HeaderFault;

    fn from_str(text: &str) -> Result<Self, HeaderFault> {
        let mut parts = Parts::of(text)?;
        Ok(Self {
            timestamp: parts.timestamp()?,
            load: percent(parts.take("Load-Metric")?)?,
            scope: parts.scope()?,
        })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ScopeKind::CallbackUri => write!(f, "{}: \"{}\"", self.kind.name(), self.value)?,
            kind => write!(f, "{}: {}", kind.name(), self.value)?,
        }
        for (name, value) in &self.details {
            write!(f, "; {name}: {value}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Oci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Timestamp: \"{}\"; Period-of-Validity: {}s; Overload-Reduction-Metric: {}%; {}",
            self.timestamp, self.validity, self.reduction, self.scope
        )
    }
}

impl fmt::Display for Lci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Timestamp: \"{}\"; Load-Metric: {}%; {}",
            self.timestamp, self.load, self.scope
        )
    }
}
