//! Between this crate's messages and those of `oxirush-nas`: the only place that names its messages.

mod elements;
mod mobility;
mod protocol_options;
mod session;

pub(crate) use elements::can_be_said;

use oxirush_nas::nas_5gs::{Nas5gsMessage, NasQosRules};

use super::{NasError, NasErrorKind, NasMessage};

/// Reads a plain message.
pub(super) fn decode(octets: &[u8]) -> Result<NasMessage, NasError> {
    Nas5gsMessage::decode(octets)
        .map_err(error)
        .and_then(of_foreign)
}

/// Writes a plain message.
pub(super) fn encode(message: &NasMessage) -> Result<Vec<u8>, NasError> {
    to_foreign(message)?.encode().map_err(unencodable)
}

/// Our message of a decoded one.
pub(super) fn of_foreign(message: Nas5gsMessage) -> Result<NasMessage, NasError> {
    match message {
        Nas5gsMessage::Gmm(_, message) => mobility::decode(message),
        Nas5gsMessage::Gsm(header, message) => session::decode(header, message),
        _ => Err(NasError::new(NasErrorKind::Protection)),
    }
}

/// The codec's message of ours.
pub(super) fn to_foreign(message: &NasMessage) -> Result<Nas5gsMessage, NasError> {
    match mobility::encode(message)? {
        Some(message) => Ok(message),
        None => session::encode(message),
    }
}

/// The flow of the default rule.
pub(super) fn default_flow(rules: &[u8]) -> Option<u8> {
    NasQosRules::new(rules)
        .rules()
        .into_iter()
        .find(|rule| rule.dqr)?
        .qfi
}

/// What an error of the codec is to a receiver.
pub(super) fn error(error: oxirush_nas::NasError) -> NasError {
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
pub(super) fn unencodable(error: impl std::fmt::Display) -> NasError {
    NasError::of(NasErrorKind::Encode, error.to_string())
}
