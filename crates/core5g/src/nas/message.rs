//! Any NAS message that is served here, of either direction.

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

impl NasMessage {
    /// Reads a plain message.
    ///
    /// # Errors
    /// What a receiver does then is [`NasError::mm_cause`]. A message under a security header is
    /// [`NasErrorKind::Protection`]: [`NasSecurityContext::unprotect`] and [`Envelope`] read those.
    pub fn decode(octets: &[u8]) -> Result<Self, NasError> {
        codec::decode(octets)
    }

    /// Reads a message that nobody can check yet: a plain one, or one under a security header that is
    /// not ciphered. So arrives the first message of a UE whose context this AMF does not have
    /// (TS 24.501 clause 4.4.4.3); it is good for finding the context, or for asking the UE to prove
    /// itself, and for nothing else.
    ///
    /// # Errors
    /// As [`Self::decode`]; a ciphered message is [`NasErrorKind::Protection`].
    pub fn decode_unverified(octets: &[u8]) -> Result<Self, NasError> {
        match Envelope::of(octets)? {
            Envelope::Plain => codec::decode(octets),
            Envelope::Protected {
                plain: Some(inner), ..
            } => codec::decode(inner),
            Envelope::Protected { plain: None, .. } => Err(NasError::new(NasErrorKind::Protection)),
        }
    }

    /// The octets of the plain message.
    ///
    /// # Errors
    /// A value does not fit its element: a text that is too long, a timer that no unit can say.
    pub fn encode(&self) -> Result<Vec<u8>, NasError> {
        codec::encode(self)
    }
}
