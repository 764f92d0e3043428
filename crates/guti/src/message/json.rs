//! The same messages in JSON: for people with `curl`, not for speed.
//!
//! Names follow protobuf's JSON mapping (`mncDigits`; `mnc_digits` is read as well), bytes are
//! base64. A GUTI carries its text form too, and is read from either.
//!
//! ```
//! use corewire_guti::{Guti, message::json};
//!
//! let guti: Guti = "5g-guti-00101020040dd00b064".parse()?;
//! assert_eq!(
//!     json::allocate_response_json(&guti, b"hi"),
//!     concat!(
//!         r#"{"guti":{"mcc":1,"mnc":1,"mncDigits":2,"amfRegion":2,"amfSet":1,"amfPointer":0,"#,
//!         r#""tmsi":3707809892,"text":"5g-guti-00101020040dd00b064"},"payload":"aGk="}"#,
//!     ),
//! );
//! let short = br#"{"guti":{"text":"5g-guti-00101020040dd00b064"}}"#;
//! assert_eq!(json::parse_deallocate_request_json(short)?, guti);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::{Deserialize, Serialize};

use super::decode::{Field, GutiNumbers};
use crate::{Guti, ParseGutiError};

/// Standard alphabet; writes padding and reads with or without it, as protobuf asks.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// An `AllocateRequest` as JSON.
#[must_use]
pub fn allocate_request_json(payload: &[u8]) -> String {
    write(&PayloadJson {
        payload: BASE64.encode(payload),
    })
}

/// The payload of an `AllocateRequest` in JSON. No text at all is a request without payload, so
/// that `curl -X POST` is enough.
///
/// # Errors
/// Says where the text is no such message.
pub fn parse_allocate_request_json(text: &[u8]) -> Result<Vec<u8>, JsonError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    parse_payload(&read::<PayloadJson>(text)?.payload)
}

/// An `AllocateResponse` as JSON.
#[must_use]
pub fn allocate_response_json(guti: &Guti, payload: &[u8]) -> String {
    write(&AllocateResponseJson {
        guti: guti.into(),
        payload: BASE64.encode(payload),
    })
}

/// GUTI and payload of an `AllocateResponse` in JSON.
///
/// # Errors
/// Says where the text is no such message.
pub fn parse_allocate_response_json(text: &[u8]) -> Result<(Guti, Vec<u8>), JsonError> {
    let response: AllocateResponseJson = read(text)?;
    Ok((response.guti.guti()?, parse_payload(&response.payload)?))
}

/// A `DeallocateRequest` as JSON.
#[must_use]
pub fn deallocate_request_json(guti: &Guti) -> String {
    write(&DeallocateRequestJson { guti: guti.into() })
}

/// The GUTI of a `DeallocateRequest` in JSON.
///
/// # Errors
/// Says where the text is no such message.
pub fn parse_deallocate_request_json(text: &[u8]) -> Result<Guti, JsonError> {
    read::<DeallocateRequestJson>(text)?.guti.guti()
}

/// A `DeallocateResponse` as JSON: an object without members.
#[must_use]
pub const fn deallocate_response_json() -> &'static str {
    "{}"
}

#[derive(Serialize, Deserialize)]
struct PayloadJson {
    #[serde(default)]
    payload: String,
}

#[derive(Serialize, Deserialize)]
struct AllocateResponseJson {
    guti: GutiJson,
    #[serde(default)]
    payload: String,
}

#[derive(Serialize, Deserialize)]
struct DeallocateRequestJson {
    guti: GutiJson,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GutiJson {
    mcc: Option<u32>,
    mnc: Option<u32>,
    #[serde(alias = "mnc_digits")]
    mnc_digits: Option<u32>,
    #[serde(alias = "amf_region")]
    amf_region: Option<u32>,
    #[serde(alias = "amf_set")]
    amf_set: Option<u32>,
    #[serde(alias = "amf_pointer")]
    amf_pointer: Option<u32>,
    tmsi: Option<u32>,
    text: Option<String>,
}

impl GutiJson {
    /// The GUTI of the text if there is one, else of the numbers (zero where absent).
    fn guti(&self) -> Result<Guti, JsonError> {
        let Some(text) = &self.text else {
            return self
                .numbers(GutiNumbers::default())
                .guti()
                .map_err(JsonError::OutOfRange);
        };
        let guti = text.parse().map_err(JsonError::Guti)?;
        // Two truths are none: a client that changed one form only would free another's GUTI.
        let numbers = GutiNumbers::from(&guti);
        if self.numbers(numbers) != numbers {
            return Err(JsonError::Contradiction);
        }
        Ok(guti)
    }

    /// The numbers present, over those given.
    fn numbers(&self, other: GutiNumbers) -> GutiNumbers {
        GutiNumbers {
            mcc: self.mcc.unwrap_or(other.mcc),
            mnc: self.mnc.unwrap_or(other.mnc),
            mnc_digits: self.mnc_digits.unwrap_or(other.mnc_digits),
            amf_region: self.amf_region.unwrap_or(other.amf_region),
            amf_set: self.amf_set.unwrap_or(other.amf_set),
            amf_pointer: self.amf_pointer.unwrap_or(other.amf_pointer),
            tmsi: self.tmsi.unwrap_or(other.tmsi),
        }
    }
}

impl From<&Guti> for GutiJson {
    fn from(guti: &Guti) -> Self {
        let numbers = GutiNumbers::from(guti);
        Self {
            mcc: Some(numbers.mcc),
            mnc: Some(numbers.mnc),
            mnc_digits: Some(numbers.mnc_digits),
            amf_region: Some(numbers.amf_region),
            amf_set: Some(numbers.amf_set),
            amf_pointer: Some(numbers.amf_pointer),
            tmsi: Some(numbers.tmsi),
            text: Some(guti.to_string()),
        }
    }
}

fn write(message: &impl Serialize) -> String {
    serde_json::to_string(message).expect("strings and numbers always serialise")
}

fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, JsonError> {
    serde_json::from_slice(text).map_err(|error| JsonError::Syntax {
        line: error.line(),
        column: error.column(),
    })
}

fn parse_payload(text: &str) -> Result<Vec<u8>, JsonError> {
    BASE64.decode(text).map_err(|_| JsonError::Base64)
}

/// Why a text is no message of the GUTI service in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonError {
    /// No JSON, or a member is missing or of another type: about here.
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// `payload` is no base64.
    Base64,
    /// `guti.text` is no GUTI.
    Guti(ParseGutiError),
    /// A number of `guti` is none that it can be.
    OutOfRange(Field),
    /// `guti.text` and a number beside it name different GUTIs.
    Contradiction,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { line, column } => write!(
                f,
                "not the JSON of this message at line {line}, column {column}"
            ),
            Self::Base64 => f.write_str("`payload` is no base64"),
            Self::Guti(_) => f.write_str("`guti.text` is no 5G-GUTI"),
            Self::OutOfRange(field) => write!(f, "`{field}` is out of range"),
            Self::Contradiction => {
                f.write_str("`guti.text` and the numbers of `guti` name different GUTIs")
            }
        }
    }
}

impl std::error::Error for JsonError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Guti(cause) => Some(cause),
            _ => None,
        }
    }
}
