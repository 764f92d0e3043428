//! What a UE does, one step after the other.

use std::fmt;
use std::str::FromStr;

/// A procedure that a UE starts, and that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Step {
    /// Initial registration by SUCI.
    Registration,
    /// Initial registration by GUTI.
    Reregistration,
    /// Periodic registration update.
    Periodic,
    /// PDU session establishment.
    Session,
    /// PDU session modification.
    Modification,
    /// PDU session release.
    Release,
    /// AN release: the gNB finds the UE idle.
    Idle,
    /// Service request.
    Service,
    /// Nothing, for a while: what happens to the network meanwhile must not matter.
    Wait,
    /// Deregistration.
    Detach,
    /// Deregistration that waits for no answer.
    SwitchOff,
}

impl Step {
    /// All of them, in the order of the report.
    pub(crate) const ALL: [Self; 11] = [
        Self::Registration,
        Self::Reregistration,
        Self::Periodic,
        Self::Session,
        Self::Modification,
        Self::Release,
        Self::Idle,
        Self::Service,
        Self::Wait,
        Self::Detach,
        Self::SwitchOff,
    ];

    /// The name on the command line and in results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Registration => "registration",
            Self::Reregistration => "reregistration",
            Self::Periodic => "periodic",
            Self::Session => "session",
            Self::Modification => "modification",
            Self::Release => "release",
            Self::Idle => "idle",
            Self::Service => "service",
            Self::Wait => "wait",
            Self::Detach => "detach",
            Self::SwitchOff => "switch-off",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|step| step.name() == text)
            .ok_or_else(|| {
                let names: Vec<_> = Self::ALL.iter().map(|step| step.name()).collect();
                format!("{text:?} is no step; there are {}", names.join(", "))
            })
    }
}
