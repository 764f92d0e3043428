//! Why octets are not an NGAP message that can be acted on, and the answer to them.

use std::fmt;

use super::{
    Cause, ElementFault, ErrorIndication, NgSetupFailure, NgapMessage,
    RanConfigurationUpdateFailure, RanUeNgapId,
};
use crate::AmfUeNgapId;

/// What is wrong with received octets, or with a message that is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NgapError {
    pub(super) kind: NgapErrorKind,
    pub(super) what: String,
    pub(super) amf: Option<AmfUeNgapId>,
    pub(super) ran: Option<RanUeNgapId>,
    pub(super) answered_by: AnsweredBy,
    /// Elements that are missing or not understood.
    pub(super) faults: Vec<ElementFault>,
}

/// Which message answers a faulty one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnsweredBy {
    /// None: it was the outcome of a procedure of one's own, which has failed here.
    Nothing,
    ErrorIndication,
    /// The outcome of its own procedure (clause 10.3.5).
    NgSetupFailure,
    RanConfigurationUpdateFailure,
}

/// The classes of TS 38.413 clause 10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NgapErrorKind {
    /// The octets are no NGAP message (clause 10.2).
    TransferSyntax,
    /// A procedure that does not exist or is not served (clause 10.3.4.1).
    Procedure,
    /// A mandatory element is missing or cannot be read (clause 10.3.5).
    Element,
    /// An element holds a value that makes no sense (clause 10.4).
    Semantic,
    /// The message cannot be written: a value does not fit its element.
    Encode,
}

impl NgapError {
    /// The class.
    #[must_use]
    pub const fn kind(&self) -> NgapErrorKind {
        self.kind
    }

    /// What clause 10 wants to be sent: the unsuccessful outcome of the procedure where it has one, else
    /// ERROR INDICATION; nothing for the outcome of a procedure of one's own, which has then failed.
    #[must_use]
    pub fn answer(&self) -> Option<NgapMessage> {
        let cause = match self.kind {
            NgapErrorKind::TransferSyntax => Cause::TRANSFER_SYNTAX_ERROR,
            NgapErrorKind::Procedure | NgapErrorKind::Element => Cause::ABSTRACT_SYNTAX_ERROR,
            NgapErrorKind::Semantic => Cause::SEMANTIC_ERROR,
            NgapErrorKind::Encode => return None,
        };
        let (wait, faults) = (None, self.faults.clone());
        Some(match self.answered_by {
            AnsweredBy::Nothing => return None,
            AnsweredBy::ErrorIndication => ErrorIndication {
                amf: self.amf,
                ran: self.ran,
                cause: Some(cause),
            }
            .into(),
            AnsweredBy::NgSetupFailure => NgSetupFailure {
                cause,
                wait,
                faults,
            }
            .into(),
            AnsweredBy::RanConfigurationUpdateFailure => RanConfigurationUpdateFailure {
                cause,
                wait,
                faults,
            }
            .into(),
        })
    }
}

impl fmt::Display for NgapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            NgapErrorKind::TransferSyntax => "no NGAP message: ",
            NgapErrorKind::Procedure => "a procedure that is not served: ",
            NgapErrorKind::Element => "an element is missing or wrong: ",
            NgapErrorKind::Semantic => "a value makes no sense: ",
            NgapErrorKind::Encode => "a value does not fit its element: ",
        })?;
        f.write_str(&self.what)
    }
}

impl std::error::Error for NgapError {}
