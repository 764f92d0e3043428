//! The columns of table 5.1, and ours.

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framework {
    Grpc,
    Thrift,
    TcpAs,
    Corewire,
}

impl Framework {
    pub(crate) const ALL: [Self; 4] = [Self::Grpc, Self::Thrift, Self::TcpAs, Self::Corewire];

    /// As in the records.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Grpc => "gRPC",
            Self::Thrift => "Thrift",
            Self::TcpAs => "TCP-AS",
            Self::Corewire => "Corewire",
        }
    }

    /// The adapter of its plainest use.
    pub(super) const fn plain(self) -> &'static str {
        match self {
            Self::Grpc => "GRPC-S",
            Self::Thrift => "THRIFT-S",
            Self::TcpAs => "TCP-AS",
            Self::Corewire => "CW-S",
        }
    }

    /// The adapters whose connections are opened one a call.
    pub(super) const fn opening(self) -> &'static [&'static str] {
        match self {
            Self::Grpc => &["GRPC-S"],
            Self::Thrift => &["THRIFT-S"],
            Self::TcpAs => &["TCP-AS"],
            Self::Corewire => &["CW-S", "CW-GRPC", "CW-REST"],
        }
    }

    /// The adapter that streams, or why there is none.
    pub(super) const fn streaming(self) -> Result<&'static str, &'static str> {
        match self {
            Self::Grpc => Ok("GRPC-BI"),
            Self::Corewire => Ok("CW-BI"),
            Self::Thrift => Err("its description of services knows no streams (table 5.3: none)"),
            Self::TcpAs => Err("its messages say one request and one answer (table 5.4: none)"),
        }
    }

    /// The adapter whose callers do not wait, or why there is none.
    pub(super) const fn asynchronous(self) -> Result<&'static str, &'static str> {
        match self {
            Self::Grpc => Ok("GRPC-AS"),
            Self::Thrift => Ok("THRIFT-AS"),
            Self::TcpAs => Ok("TCP-AS"),
            Self::Corewire => Ok("CW-AS"),
        }
    }
}
