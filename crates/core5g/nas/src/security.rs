//! The protection of NAS messages (TS 33.501 clause 6.4, TS 24.501 clause 4.4).
//!
//! A context is one end of a link: it protects what its side sends and checks what the other side
//! sent, each with a NAS COUNT that goes up by one a message and is never used twice.

use oxirush_nas::nas_5gs as foreign;
use serde::{Deserialize, Serialize};

use super::{Ciphering, Integrity, Ksi, NasAlgorithms, NasError, NasErrorKind, NasMessage, codec};
use corewire_core5g_aka::{Kamf, Kgnb};

/// Octets of the security header: discriminator, type, MAC, sequence number.
const HEADER_LEN: usize = 7;
/// Extended protocol discriminator of 5GMM.
const MOBILITY: u8 = 0x7e;
/// Extended protocol discriminator of 5GSM.
const SESSION: u8 = 0x2e;

/// Which end of the link a context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a link has two ends")]
pub enum Side {
    /// The AMF.
    Network,
    /// The UE.
    Ue,
}

/// The keys, algorithms and counts of one UE.
#[derive(Debug)]
pub struct NasSecurityContext {
    kamf: Kamf,
    ksi: Ksi,
    algorithms: NasAlgorithms,
    side: Side,
    inner: foreign::NasSecurityContext,
}

/// A message whose MAC was right, and which was not received before.
#[derive(Debug)]
pub struct Received {
    /// The message: of an initial message in two parts, the whole one.
    pub message: NasMessage,
    /// The NAS COUNT that it came with; [`NasSecurityContext::kgnb`] takes it.
    pub count: u32,
}

/// What can be kept of a context, and made one again elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedNasContext {
    /// The key below which all others are.
    pub kamf: Kamf,
    /// Its number.
    pub ksi: Ksi,
    /// What is used.
    pub algorithms: NasAlgorithms,
    /// The next NAS COUNT that the network expects; none when all were used.
    pub uplink: Option<u32>,
    /// The next NAS COUNT that the network uses; none when all were used.
    pub downlink: Option<u32>,
}

impl NasSecurityContext {
    /// A context for a key that was just established: its counts begin at zero.
    ///
    /// # Errors
    /// [`NasErrorKind::Protection`]: without integrity there is no ciphering (TS 33.501 clause
    /// 5.5.2).
    pub fn new(
        kamf: Kamf,
        ksi: Ksi,
        algorithms: NasAlgorithms,
        side: Side,
    ) -> Result<Self, NasError> {
        let saved = SavedNasContext {
            kamf,
            ksi,
            algorithms,
            uplink: Some(0),
            downlink: Some(0),
        };
        Self::restore(saved, side)
    }

    /// The context that was saved.
    ///
    /// # Errors
    /// [`NasErrorKind::Protection`]: as [`Self::new`], or a count has more than 24 bits.
    pub fn restore(saved: SavedNasContext, side: Side) -> Result<Self, NasError> {
        let count = |count: Option<u32>| {
            count
                .map(foreign::NasCount::new)
                .transpose()
                .map_err(|_| NasError::of(NasErrorKind::Protection, "NAS COUNT"))
        };
        let SavedNasContext {
            kamf,
            ksi,
            algorithms,
            uplink,
            downlink,
        } = saved;
        let inner = foreign::NasSecurityContext::restore_from_kamf(
            &foreign::KAmf::new(kamf.as_bytes()),
            integrity(algorithms.integrity),
            ciphering(algorithms.ciphering),
            (count(uplink)?, count(downlink)?),
            (None, None),
        )
        .map_err(codec::error)?;
        Ok(Self {
            kamf,
            ksi,
            algorithms,
            side,
            inner,
        })
    }

    /// What to keep, now.
    #[must_use]
    pub fn saved(&self) -> SavedNasContext {
        SavedNasContext {
            kamf: self.kamf.clone(),
            ksi: self.ksi,
            algorithms: self.algorithms,
            uplink: self.next_count(foreign::Direction::Uplink),
            downlink: self.next_count(foreign::Direction::Downlink),
        }
    }

    /// The key set's number.
    #[must_use]
    pub const fn ksi(&self) -> Ksi {
        self.ksi
    }

    /// The algorithms.
    #[must_use]
    pub const fn algorithms(&self) -> NasAlgorithms {
        self.algorithms
    }

    /// The key of the gNB, for the NAS COUNT of the message that starts the security of the radio:
    /// SECURITY MODE COMPLETE or the initial message ([`Received::count`]).
    #[must_use]
    pub fn kgnb(&self, uplink_count: u32) -> Kgnb {
        self.kamf.kgnb(uplink_count)
    }

    /// The next NAS COUNT from the UE; none when all were used.
    #[must_use]
    pub fn uplink_count(&self) -> Option<u32> {
        self.next_count(foreign::Direction::Uplink)
    }

    /// The next NAS COUNT of the network; none when all were used.
    #[must_use]
    pub fn downlink_count(&self) -> Option<u32> {
        self.next_count(foreign::Direction::Downlink)
    }

    /// Protects a message. Its type decides the security header: SECURITY MODE COMMAND and COMPLETE
    /// start a context, all others are ciphered under the one in use.
    ///
    /// # Errors
    /// The message cannot be written, or every count was used.
    pub fn protect(&mut self, message: &NasMessage) -> Result<Vec<u8>, NasError> {
        use foreign::Nas5gsSecurityHeaderType as Header;
        let header = match message {
            NasMessage::SecurityModeCommand(_) => {
                Header::IntegrityProtectedWithNewFiveGNasSecurityContext
            }
            NasMessage::SecurityModeComplete(_) => {
                Header::IntegrityProtectedAndCipheredWithNewFiveGNasSecurityContext
            }
            _ => Header::IntegrityProtectedAndCiphered,
        };
        let direction = self.sends();
        self.inner
            .protect(&codec::to_foreign(message)?, header, direction)
            .map_err(codec::unencodable)
    }

    /// Protects a UE's initial message: integrity for all of it, and what is not a cleartext element
    /// ciphered in a container (TS 24.501 clause 4.4.6).
    ///
    /// # Errors
    /// As [`Self::protect`].
    pub fn protect_initial(&mut self, message: &NasMessage) -> Result<Vec<u8>, NasError> {
        self.inner
            .protect_initial(&codec::to_foreign(message)?)
            .map_err(codec::unencodable)
    }

    /// Checks and reads what the other side sent. The count moves on as soon as the MAC is right,
    /// also when the message is then found faulty.
    ///
    /// # Errors
    /// [`NasErrorKind::Integrity`]: forged, damaged or received before; discard it. Others say what
    /// is wrong with an authentic message.
    pub fn unprotect(&mut self, octets: &[u8]) -> Result<Received, NasError> {
        let direction = match self.side {
            Side::Network => foreign::Direction::Uplink,
            Side::Ue => foreign::Direction::Downlink,
        };
        let verified = self
            .inner
            .unprotect(octets, direction)
            .map_err(codec::error)?;
        Ok(Received {
            message: codec::of_foreign(verified.message)?,
            count: verified.count.get(),
        })
    }

    const fn sends(&self) -> foreign::Direction {
        match self.side {
            Side::Network => foreign::Direction::Downlink,
            Side::Ue => foreign::Direction::Uplink,
        }
    }

    fn next_count(&self, direction: foreign::Direction) -> Option<u32> {
        self.inner
            .nas_count(direction, foreign::NasConnection::ThreeGpp)
            .map(foreign::NasCount::get)
    }
}

/// What stands around a message, before anybody checked it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a message is under a security header or is not"
)]
pub enum Envelope<'a> {
    /// No security header.
    Plain,
    /// A security header.
    Protected {
        /// The message starts a new security context.
        new_context: bool,
        /// Low octet of the NAS COUNT.
        sequence: u8,
        /// The message, when it is not ciphered.
        plain: Option<&'a [u8]>,
    },
}

impl<'a> Envelope<'a> {
    /// Looks at the header only.
    ///
    /// # Errors
    /// [`NasErrorKind::NotNas`]: too short, another protocol, or a reserved header.
    pub fn of(octets: &'a [u8]) -> Result<Self, NasError> {
        /// Security header types of TS 24.501 clause 9.3.1.
        const INTEGRITY: u8 = 1;
        const CIPHERED: u8 = 2;
        const NEW: u8 = 3;
        const NEW_CIPHERED: u8 = 4;
        let kind = match octets {
            [SESSION, ..] => return Ok(Self::Plain),
            [MOBILITY, kind, _, ..] => kind & 0x0f,
            _ => return Err(NasError::new(NasErrorKind::NotNas)),
        };
        if kind == 0 {
            return Ok(Self::Plain);
        }
        let (header, inner) = octets
            .split_at_checked(HEADER_LEN)
            .filter(|(_, inner)| !inner.is_empty())
            .ok_or_else(|| NasError::new(NasErrorKind::NotNas))?;
        if !(INTEGRITY..=NEW_CIPHERED).contains(&kind) {
            return Err(NasError::of(NasErrorKind::NotNas, "security header type"));
        }
        Ok(Self::Protected {
            new_context: kind >= NEW,
            sequence: header[HEADER_LEN - 1],
            plain: (kind != CIPHERED && kind != NEW_CIPHERED).then_some(inner),
        })
    }
}

const fn integrity(algorithm: Integrity) -> foreign::IntegrityAlgorithm {
    match algorithm {
        Integrity::Nia0 => foreign::IntegrityAlgorithm::NIA0,
        Integrity::Nia1 => foreign::IntegrityAlgorithm::NIA1,
        Integrity::Nia2 => foreign::IntegrityAlgorithm::NIA2,
    }
}

const fn ciphering(algorithm: Ciphering) -> foreign::CipheringAlgorithm {
    match algorithm {
        Ciphering::Nea0 => foreign::CipheringAlgorithm::NEA0,
        Ciphering::Nea1 => foreign::CipheringAlgorithm::NEA1,
        Ciphering::Nea2 => foreign::CipheringAlgorithm::NEA2,
    }
}

impl NasMessage {
    /// Reads a message that nobody can check yet: a plain one, or one under a security header that is
    /// not ciphered. So arrives the first message of a UE whose context this AMF does not have
    /// (TS 24.501 clause 4.4.4.3); it is good for finding the context, or for asking the UE to prove
    /// itself, and for nothing else.
    ///
    /// # Errors
    /// As [`Self::decode`]; a ciphered message is [`NasErrorKind::Protection`].
    pub fn decode_unverified(octets: &[u8]) -> Result<Self, NasError> {
        match Envelope::of(octets)? {
            Envelope::Plain => Self::decode(octets),
            Envelope::Protected {
                plain: Some(inner), ..
            } => Self::decode(inner),
            Envelope::Protected { plain: None, .. } => Err(NasError::new(NasErrorKind::Protection)),
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
