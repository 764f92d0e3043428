//! Why the registry refuses something.

use corewire_message::{Code, Status};
use std::fmt;

/// What is wrong with a field of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldFault {
    /// The field, as the message writes it.
    pub field: &'static str,
    /// What is wrong.
    pub reason: String,
}

/// Why the registry refuses something.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The instance is not valid; every fault of it.
    Invalid(Vec<FieldFault>),
    /// There is no such instance: it lapsed, left or never registered.
    NotRegistered,
    /// Only services of the configuration file may be registered here.
    UnknownService,
    /// There are as many instances as there may be.
    Full {
        /// How many may be.
        limit: usize,
    },
    /// The caller's certificate does not stand for this service.
    NotYours {
        /// Which.
        service: String,
        /// What it is for.
        names: Vec<String>,
    },
    /// The caller did not show who it is.
    NotIdentified,
    /// There are as many services as there may be.
    TooManyServices {
        /// How many may be.
        limit: usize,
    },
}

impl Refusal {
    pub(super) fn of(faults: Vec<FieldFault>) -> Result<(), Self> {
        if faults.is_empty() {
            Ok(())
        } else {
            Err(Self::Invalid(faults))
        }
    }

    pub(crate) fn to_status(&self) -> Status {
        let code = match self {
            Self::Invalid(_) => Code::InvalidArgument,
            Self::NotRegistered => Code::NotFound,
            Self::UnknownService => Code::FailedPrecondition,
            Self::NotYours { .. } => Code::PermissionDenied,
            Self::NotIdentified => Code::Unauthenticated,
            Self::Full { .. } | Self::TooManyServices { .. } => Code::ResourceExhausted,
        };
        Status::new(code, self.to_string())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(faults) => {
                for (index, fault) in faults.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "; " };
                    write!(f, "{separator}{}: {}", fault.field, fault.reason)?;
                }
                Ok(())
            }
            Self::NotRegistered => f.write_str("not registered (any more): register again"),
            Self::UnknownService => f.write_str(
                "this registry takes only services of its configuration file: add a [[service]] there, or set open = true in [registry]",
            ),
            Self::Full { limit } => write!(
                f,
                "{limit} instances are registered, which is the limit: raise limits.instances"
            ),
            Self::NotYours { service, names } if names.is_empty() => write!(
                f,
                "who registers {service:?} must present a certificate that stands for it, and none with a name came"
            ),
            Self::NotYours { service, names } => write!(
                f,
                "this certificate stands for {}, not for {service:?}",
                names.join(", ")
            ),
            Self::NotIdentified => f.write_str(
                "who registers, renews or removes instances must show the secret of registry.secret-file (authorization: Bearer …), or a certificate where registry.by-certificate is set; without either only callers on this host may",
            ),
            Self::TooManyServices { limit } => write!(
                f,
                "there are {limit} services, which is the limit: raise limits.services"
            ),
        }
    }
}

impl std::error::Error for Refusal {}
