//! The 5G-GUTI, its allocator and its service messages.
//!
//! A 5G-GUTI is what a mobile network calls a UE over the air instead of its permanent identity
//! (TS 23.003 clause 2.10): the GUAMI says which AMF knows the UE, the 5G-TMSI says which UE it is.
//!
//! ```text
//! 5G-GUTI = GUAMI                                            + 5G-TMSI (32 bits)
//!           PLMN (MCC, MNC) + AMF region (8) + set (10) + pointer (6)
//! ```
//!
//! Four things live here and nothing else does:
//! - the identities, with their 3GPP encodings ([`Guti`], [`Guami`], [`Plmn`], ...);
//! - the [`Allocator`], which hands out GUTIs that are unique and cannot be guessed;
//! - the [`message`]s of the GUTI service, in protobuf and in JSON;
//! - the [`service`] itself, which sees only messages.
//!
//! How a message travels is no business of this crate: it knows no transport.
//!
//! ```
//! use corewire_guti::{Allocator, Guami};
//!
//! let allocator = Allocator::new(Guami::default())?;
//! let guti = allocator.allocate()?;
//! println!("{guti}"); // 5g-guti-00101020040b1d4c0de
//! allocator.deallocate(&guti)?;
//! assert!(allocator.deallocate(&guti).is_err(), "it is allocated no more");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests begin at the time of the clock"
    )
)]

mod allocator;
mod amf_id;
pub mod c_face;
mod guti;
pub mod message;
mod mobile_identity;
mod permutation;
mod plmn;
pub mod service;
mod tmsi;

pub use allocator::{AllocateError, Allocator, Capacity, CapacityError, DeallocateError};
pub use amf_id::{AmfPointer, AmfRegionId, AmfSetId};
pub use guti::{Guami, Guti, ParseGutiError};
pub use mobile_identity::{MOBILE_IDENTITY_LEN, MobileIdentityError};
pub use permutation::{NoEntropy, TmsiKey};
pub use plmn::{Plmn, PlmnError};
pub use tmsi::{ReservedTmsi, Tmsi};

/// A number that does not fit the bits its field has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfRange {
    field: &'static str,
    value: u32,
    max: u32,
}

impl OutOfRange {
    /// The field, in the words of TS 23.003.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        self.field
    }

    /// The value that was refused.
    #[must_use]
    pub const fn value(&self) -> u32 {
        self.value
    }
}

impl std::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { field, value, max } = self;
        write!(f, "{field} {value} is out of range: 0 to {max}")
    }
}

impl std::error::Error for OutOfRange {}
