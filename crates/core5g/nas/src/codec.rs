//! Between this crate's messages and those of `oxirush-nas`: the only place that names its messages.

mod elements;
mod mobility;
mod protocol_options;
mod session;

pub use elements::can_be_said;

use oxirush_nas::nas_5gs::{Nas5gsMessage, NasQosRules};

use crate::{NasError, NasErrorKind, NasMessage, QosRules};

impl NasMessage {
    /// Reads a plain message.
    ///
    /// # Errors
    /// What a receiver does then is [`NasError::mm_cause`]. A message under a security header is
    /// [`NasErrorKind::Protection`]: [`NasSecurityContext::unprotect`] and [`Envelope`] read those.
    ///
    /// [`NasSecurityContext::unprotect`]: crate::NasSecurityContext::unprotect
    /// [`Envelope`]: crate::Envelope
    pub fn decode(octets: &[u8]) -> Result<Self, NasError> {
        Nas5gsMessage::decode(octets)
            .map_err(error)
            .and_then(of_foreign)
    }

    /// The octets of the plain message.
    ///
    /// # Errors
    /// A value does not fit its element: a text that is too long, a timer that no unit can say.
    pub fn encode(&self) -> Result<Vec<u8>, NasError> {
        to_foreign(self)?.encode().map_err(unencodable)
    }
}

impl QosRules {
    /// The flow of the default rule; none when the rules are malformed or have no default.
    #[must_use]
    pub fn default_flow(&self) -> Option<u8> {
        let rules = NasQosRules::new(&self.0).rules();
        rules.into_iter().find(|rule| rule.dqr)?.qfi
    }
}

/// Our message of a decoded one.
pub(crate) fn of_foreign(message: Nas5gsMessage) -> Result<NasMessage, NasError> {
    match message {
        Nas5gsMessage::Gmm(_, message) => mobility::decode(message),
        Nas5gsMessage::Gsm(header, message) => session::decode(header, message),
        _ => Err(NasError::new(NasErrorKind::Protection)),
    }
}

/// The codec's message of ours.
pub(crate) fn to_foreign(message: &NasMessage) -> Result<Nas5gsMessage, NasError> {
    match mobility::encode(message)? {
        Some(message) => Ok(message),
        None => session::encode(message),
    }
}

/// What an error of the codec is to a receiver.
pub(crate) fn error(error: oxirush_nas::NasError) -> NasError {
    use oxirush_nas::NasError as Foreign;
    match error {
        Foreign::UnknownMessageType(kind)
        | Foreign::UnknownSessionMessageType {
            message_type: kind, ..
        } => NasError::of(NasErrorKind::MessageType, format!("{kind:#04x}")),
        Foreign::InvalidMandatoryIe { ie, .. } => {
            NasError::of(NasErrorKind::Mandatory, ie.to_string())
        }
        Foreign::UnknownIeCutShort { iei, .. } => {
            NasError::of(NasErrorKind::Mandatory, format!("element {iei:#04x}"))
        }
        Foreign::IntegrityCheckFailed => NasError::new(NasErrorKind::Integrity),
        Foreign::NasCountExhausted => NasError::new(NasErrorKind::CountExhausted),
        Foreign::AuthenticMessageRefused { error: inner, .. } => self::error(*inner),
        Foreign::SecurityRefused(what) => NasError::of(NasErrorKind::Protection, what),
        other => NasError::of(NasErrorKind::NotNas, other.to_string()),
    }
}

/// What an error of the codec is to a sender.
pub(crate) fn unencodable(error: impl std::fmt::Display) -> NasError {
    NasError::of(NasErrorKind::Encode, error.to_string())
}
