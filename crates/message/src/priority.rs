//! How urgent a message is.

use std::fmt;

/// How urgent a message is: 0 is the most urgent, 31 the least.
///
/// Range and direction are those of the service-based interfaces' message priority
/// (TS 29.500, 6.8.4.1: 0 to 31, a lower value is a higher priority).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    /// The most urgent.
    pub const HIGHEST: Self = Self(0);
    /// What a message has that says nothing.
    pub const NORMAL: Self = Self(24);
    /// The least urgent.
    pub const LOWEST: Self = Self(31);

    /// Its value, 0 to 31.
    #[must_use]
    pub const fn value(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::NORMAL
    }
}

impl TryFrom<u8> for Priority {
    type Error = PriorityFault;

    fn try_from(value: u8) -> Result<Self, PriorityFault> {
        if value <= Self::LOWEST.0 {
            Ok(Self(value))
        } else {
            Err(PriorityFault(value))
        }
    }
}

/// A priority above 31.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityFault(u8);

impl fmt::Display for PriorityFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message priority {} is outside 0..=31", self.0)
    }
}

impl std::error::Error for PriorityFault {}
