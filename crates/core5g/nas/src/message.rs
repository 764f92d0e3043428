//! Any NAS message that is served here, of either direction. The codec reads and writes it.

use super::*;

/// Makes the enum of all messages, a conversion from each, and their names.
macro_rules! messages {
    ($($name:ident)+) => {
        /// A NAS message.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum NasMessage {
            $(
                #[doc = concat!("[`", stringify!($name), "`].")]
                $name($name),
            )+
        }

        $(
            impl From<$name> for NasMessage {
                fn from(message: $name) -> Self {
                    Self::$name(message)
                }
            }
        )+

        impl NasMessage {
            /// The name of the message, for logs and counters.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => stringify!($name),)+
                }
            }
        }
    };
}

messages! {
    RegistrationRequest
    RegistrationAccept
    RegistrationComplete
    RegistrationReject
    DeregistrationRequestFromUe
    DeregistrationAcceptToUe
    DeregistrationRequestToUe
    DeregistrationAcceptFromUe
    ServiceRequest
    ServiceAccept
    ServiceReject
    ConfigurationUpdateCommand
    ConfigurationUpdateComplete
    AuthenticationRequest
    AuthenticationResponse
    AuthenticationReject
    AuthenticationFailure
    IdentityRequest
    IdentityResponse
    SecurityModeCommand
    SecurityModeComplete
    SecurityModeReject
    MmStatus
    UplinkNasTransport
    DownlinkNasTransport
    PduSessionEstablishmentRequest
    PduSessionEstablishmentAccept
    PduSessionEstablishmentReject
    PduSessionModificationRequest
    PduSessionModificationReject
    PduSessionModificationCommand
    PduSessionModificationComplete
    PduSessionModificationCommandReject
    PduSessionReleaseRequest
    PduSessionReleaseReject
    PduSessionReleaseCommand
    PduSessionReleaseComplete
    SmStatus
}
