//! Any NGAP message that is served here, of either direction.

use super::*;

/// Makes the enum of all messages, a conversion from each, and their names.
macro_rules! messages {
    ($($name:ident)+) => {
        /// An NGAP message.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum NgapMessage {
            $(
                #[doc = concat!("[`", stringify!($name), "`].")]
                $name($name),
            )+
        }

        $(
            impl From<$name> for NgapMessage {
                fn from(message: $name) -> Self {
                    Self::$name(message)
                }
            }
        )+

        impl NgapMessage {
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
    NgSetupRequest
    NgSetupResponse
    NgSetupFailure
    RanConfigurationUpdate
    RanConfigurationUpdateAcknowledge
    RanConfigurationUpdateFailure
    NgReset
    NgResetAcknowledge
    ErrorIndication
    Paging
    OverloadStart
    OverloadStop
    InitialUeMessage
    DownlinkNas
    UplinkNas
    NasNonDeliveryIndication
    InitialContextSetupRequest
    InitialContextSetupResponse
    InitialContextSetupFailure
    PduSessionResourceSetupRequest
    PduSessionResourceSetupResponse
    PduSessionResourceModifyRequest
    PduSessionResourceModifyResponse
    PduSessionResourceReleaseCommand
    PduSessionResourceReleaseResponse
    UeContextReleaseRequest
    UeContextReleaseCommand
    UeContextReleaseComplete
}

impl NgapMessage {
    /// Reads a message.
    ///
    /// # Errors
    /// What the receiver sends then is [`NgapError::answer`].
    pub fn decode(octets: &[u8]) -> Result<Self, NgapError> {
        codec::decode(octets)
    }

    /// The octets.
    ///
    /// # Errors
    /// A value does not fit its element: a list that must not be empty, a name that is too long.
    pub fn encode(&self) -> Result<Vec<u8>, NgapError> {
        codec::encode(self)
    }
}
