//! The rows of table 5.1, and one more that the thesis's chapter 3 asks for.

/// What a framework should offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quality {
    /// Servers are restarted one by one, and no call fails.
    HighAvailability,
    /// An old client and a new server understand each other, and the reverse.
    BackCompatibility,
    /// A client in another language, made from the same description.
    CrossLanguage,
    /// Many messages each way in one call.
    Streaming,
    /// A caller need not wait for one call before it makes the next.
    Asynchronous,
    /// Encrypted, and each end knows the other.
    Tls,
    /// A connection is not much dearer for it.
    Handshakes,
    /// Less to write than by hand.
    Development,
}

impl Quality {
    /// In the thesis's order.
    pub(crate) const ALL: [Self; 8] = [
        Self::HighAvailability,
        Self::BackCompatibility,
        Self::CrossLanguage,
        Self::Streaming,
        Self::Asynchronous,
        Self::Tls,
        Self::Handshakes,
        Self::Development,
    ];

    /// As in the records.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::HighAvailability => "high-availability",
            Self::BackCompatibility => "back-compatibility",
            Self::CrossLanguage => "cross-language",
            Self::Streaming => "bidirectional-streaming",
            Self::Asynchronous => "asynchronous-calls",
            Self::Tls => "tls",
            Self::Handshakes => "tls-connections",
            Self::Development => "ease-of-development",
        }
    }

    /// As the thesis calls it.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::HighAvailability => "High availability",
            Self::BackCompatibility => "Back-compatibility",
            Self::CrossLanguage => "Cross-language support",
            Self::Streaming => "Bidirectional streaming RPC",
            Self::Asynchronous => "Asynchronous RPC calls",
            Self::Tls => "TLS",
            Self::Handshakes => "New connections with TLS",
            Self::Development => "Ease of development",
        }
    }

    /// What is tried.
    pub(crate) const fn check(self) -> &'static str {
        match self {
            Self::HighAvailability => {
                "two servers are restarted one after the other while four clients call; passed when \
                 no call failed. The client is given both where the framework itself balances over a \
                 list, else the first"
            }
            Self::BackCompatibility => {
                "500 calls between today's ends and ends of a later version of the service \
                 (peers/idl/next: fields added, one removed), each way; passed when all were \
                 answered rightly"
            }
            Self::CrossLanguage => {
                "a Python client, made from the service's description by the framework's own \
                 generator, against the server in C++ or Rust"
            }
            Self::Streaming => "500 calls as messages of one bidirectional stream",
            Self::Asynchronous => "500 calls through the framework's asynchronous interface",
            Self::Tls => "500 calls, both ends showing certificates",
            Self::Handshakes => {
                "one client that opens a connection for each call, in clear text, with the server's \
                 certificate and with both ends', in turn, three times; passed when all calls were \
                 answered. The figures are medians of the three; each client reads its certificates \
                 anew and makes a full handshake, those that say `resumed` neither"
            }
            Self::Development => {
                "lines of code, without blank ones and comments, that the user of the synchronous \
                 adapter writes for both ends, and distinct names of the framework in them; passed \
                 when there are fewer lines than by hand (TCP-AS)"
            }
        }
    }

    /// Table 5.1 for gRPC, Thrift and the TCP adapter; empty where it has no such row.
    pub(crate) const fn thesis(self) -> [&'static str; 3] {
        match self {
            Self::HighAvailability => ["++", "-", "-"],
            Self::BackCompatibility => ["+", "+", "-"],
            Self::CrossLanguage => ["++", "++", "-"],
            Self::Streaming => ["+", "-", "-"],
            Self::Asynchronous => ["++", "+", "+"],
            Self::Tls => ["++", "++", "-"],
            Self::Handshakes | Self::Development => ["", "", ""],
        }
    }
}
