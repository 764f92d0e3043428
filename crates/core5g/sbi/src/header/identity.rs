//! Headers that name network functions: who answered, who is meant, who is not to be chosen.

use super::parameters::Parameters;
use super::{HeaderFault, is_token};
use std::fmt;
use std::str::FromStr;

macro_rules! of_parameters {
    ($($(#[$doc:meta])* $name:ident: $($known:literal)+;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name(pub Parameters);

        impl $name {
            /// The names that the specification knows; others are kept and passed on.
            pub const KNOWN: &'static [&'static str] = &[$($known),+];

            /// What is said of this name.
            pub fn get(&self, name: &str) -> Option<&str> {
                self.0.get(name)
            }
        }

        impl FromStr for $name {
            type Err = HeaderFault;

            fn from_str(text: &str) -> Result<Self, HeaderFault> {
                let parameters: Parameters = text.parse()?;
                // A header of which nothing is known says nothing.
                let knows = |name: &&str| parameters.get(name).is_some();
                if !Self::KNOWN.iter().any(knows) {
                    return Err(HeaderFault);
                }
                Ok(Self(parameters))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

of_parameters! {
    /// `3gpp-Sbi-Target-Nf-Id`: the instance that is meant.
    TargetNfId: "nfinst" "nfservinst";
    /// `3gpp-Sbi-NF-Peer-Info`: who sends and who is meant, hop by hop.
    NfPeerInfo: "srcinst" "srcservinst" "srcscp" "srcsepp" "dstinst" "dstservinst" "dstscp" "dstsepp";
    /// `3gpp-Sbi-Selection-Info`: who is not to be chosen again.
    SelectionInfo: "reselection" "not-select-nfinst" "not-select-nfservinst" "not-select-nfset" "not-select-nfserviceset";
    /// `3gpp-Sbi-Request-Info`: whether a request is one once more.
    RequestInfo: "retrans" "redirect" "reason" "idempotency-key" "receivedrejectioncause" "callback-uri-prefix";
    /// `3gpp-Sbi-Response-Info`: what was done about a request on its way.
    ResponseInfo: "request-retransmitted" "nfinst" "nfset" "nfservinst" "nfserviceset" "context-transferred" "no-retry";
}

/// `3gpp-Sbi-Producer-Id`: who answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProducerId(pub Parameters);

impl ProducerId {
    /// This instance.
    pub fn of(instance: &str) -> Self {
        Self(Parameters::new().with("nfinst", instance))
    }

    /// The instance.
    pub fn instance(&self) -> Option<&str> {
        self.0.get("nfinst")
    }
}

impl FromStr for ProducerId {
    type Err = HeaderFault;

    fn from_str(text: &str) -> Result<Self, HeaderFault> {
        // Open5GS writes the bare instance.
        if !text.contains('=') {
            let text = text.trim();
            return if is_token(text) {
                Ok(Self::of(text))
            } else {
                Err(HeaderFault)
            };
        }
        let parameters: Parameters = text.parse()?;
        let known = parameters.get("nfinst").is_some();
        known.then_some(Self(parameters)).ok_or(HeaderFault)
    }
}

impl fmt::Display for ProducerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
