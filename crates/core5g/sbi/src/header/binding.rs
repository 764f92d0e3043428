//! Binding: which other instances can go on with a resource or a subscription (5.2.3.2.5, .6).

use super::parameters::Parameters;
use super::{HeaderFault, read_list, write_list};
use std::fmt;
use std::str::FromStr;

/// How wide a binding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BindingLevel {
    /// One instance.
    NfInstance,
    /// A set of instances.
    NfSet,
    /// One service of one instance.
    NfServiceInstance,
    /// A set of services.
    NfServiceSet,
}

impl BindingLevel {
    const ALL: [(Self, &'static str); 4] = [
        (Self::NfInstance, "nf-instance"),
        (Self::NfSet, "nf-set"),
        (Self::NfServiceInstance, "nfservice-instance"),
        (Self::NfServiceSet, "nfservice-set"),
    ];

    fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(level, _)| *level == self)
            .map_or("", |(_, name)| name)
    }

    fn of(name: &str) -> Result<Self, HeaderFault> {
        Self::ALL
            .iter()
            .find(|(_, known)| known.eq_ignore_ascii_case(name))
            .map(|(level, _)| *level)
            .ok_or(HeaderFault)
    }
}

/// `3gpp-Sbi-Routing-Binding`: to whom a request belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutingBinding {
    /// How wide.
    pub level: BindingLevel,
    /// `nfinst`, `nfset`, `nfservinst`, `nfserviceset`, `servname`, `backupamfinst`, `scope`, …
    pub parameters: Parameters,
}

impl FromStr for RoutingBinding {
    type Err = HeaderFault;

    fn from_str(text: &str) -> Result<Self, HeaderFault> {
        let mut parameters: Parameters = text.parse()?;
        let level = parameters.take_first("bl").ok_or(HeaderFault)?;
        Ok(Self {
            level: BindingLevel::of(&level)?,
            parameters,
        })
    }
}

impl fmt::Display for RoutingBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bl={}", self.level.name())?;
        if self.parameters.is_empty() {
            return Ok(());
        }
        write!(f, "; {}", self.parameters)
    }
}

/// `3gpp-Sbi-Binding`: a list of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding(pub Vec<RoutingBinding>);

impl FromStr for Binding {
    type Err = HeaderFault;

    fn from_str(text: &str) -> Result<Self, HeaderFault> {
        read_list(text).map(Self)
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(f, &self.0)
    }
}
