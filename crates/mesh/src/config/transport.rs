//! Which transport a target asks for, by name.

use std::fmt;
use std::str::FromStr;

/// A transport by the name that routes, clusters, endpoints and `COREWIRE_TRANSPORT` use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Transport {
    /// HTTP/2, the body as it is.
    Rest,
    /// HTTP/2 with gRPC framing.
    Grpc,
    /// Corewire's own protocol.
    Native,
    /// Shared memory on one host.
    Shm,
}

impl Transport {
    /// Every transport that has a name.
    pub const ALL: [Self; 4] = [Self::Rest, Self::Grpc, Self::Native, Self::Shm];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rest => "rest",
            Self::Grpc => "grpc",
            Self::Native => "native",
            Self::Shm => "shm",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Transport {
    type Err = TransportFault;

    fn from_str(name: &str) -> Result<Self, TransportFault> {
        Self::ALL
            .into_iter()
            .find(|transport| transport.name() == name)
            .ok_or_else(|| TransportFault(name.into()))
    }
}

/// A name that no transport has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportFault(String);

impl fmt::Display for TransportFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no transport is called {:?}: rest, grpc, native or shm",
            self.0
        )
    }
}

impl std::error::Error for TransportFault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_and_print_alike() {
        for transport in Transport::ALL {
            assert_eq!(transport.to_string().parse(), Ok(transport));
        }
        let fault = "soap".parse::<Transport>().unwrap_err();
        assert!(fault.to_string().contains("soap"));
    }
}
