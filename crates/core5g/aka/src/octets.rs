//! Values of a fixed number of octets: keys, which are wiped and never printed, and public values.
//!
//! Both compare in constant time and travel as hexadecimal text in JSON (TS 29.503 clause 6.3.6).

use std::fmt;

/// Why a text is not a value of octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseOctetsError {
    name: &'static str,
    octets: usize,
}

impl ParseOctetsError {
    /// The value that was expected.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl fmt::Display for ParseOctetsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, octets } = self;
        write!(f, "{name} is {} hexadecimal digits", octets * 2)
    }
}

impl std::error::Error for ParseOctetsError {}

/// Reads exactly `N` octets of hexadecimal digits.
pub(crate) fn from_hex<const N: usize>(
    name: &'static str,
    text: &str,
) -> Result<[u8; N], ParseOctetsError> {
    let error = ParseOctetsError { name, octets: N };
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return Err(error);
    }
    let mut octets = [0; N];
    for (octet, pair) in octets.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16).ok_or(error);
        *octet = u8::try_from(digit(0)? << 4 | digit(1)?).map_err(|_| error)?;
    }
    Ok(octets)
}

/// Writes octets as lower-case hexadecimal digits.
pub(crate) fn to_hex(octets: &[u8]) -> String {
    use fmt::Write as _;
    octets.iter().fold(
        String::with_capacity(octets.len() * 2),
        |mut text, octet| {
            let _ = write!(text, "{octet:02x}");
            text
        },
    )
}

/// What keys and public values have in common.
macro_rules! octets {
    ($(#[$attribute:meta])* $name:ident, $octets:literal) => {
        $(#[$attribute])*
        #[derive(Clone)]
        pub struct $name([u8; $octets]);

        impl $name {
            /// Octets of a value.
            pub const LEN: usize = $octets;

            /// The value of these octets.
            #[must_use]
            pub const fn new(octets: [u8; $octets]) -> Self {
                Self(octets)
            }

            /// The octets.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; $octets] {
                &self.0
            }

            /// Lower-case hexadecimal digits, as the service interfaces write the value.
            #[must_use]
            pub fn to_hex(&self) -> String {
                $crate::octets::to_hex(&self.0)
            }
        }

        /// In a time that does not depend on where the two differ.
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                oxirush_security::constant_time_eq(&self.0, &other.0)
            }
        }

        impl Eq for $name {}

        impl TryFrom<&[u8]> for $name {
            type Error = std::array::TryFromSliceError;

            fn try_from(octets: &[u8]) -> Result<Self, Self::Error> {
                octets.try_into().map(Self)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::ParseOctetsError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::octets::from_hex(stringify!($name), text).map(Self)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(&self.to_hex())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use octets;

/// A secret: wiped when it is dropped, and `{:?}` prints its name alone.
macro_rules! key {
    ($(#[$attribute:meta])* $name:ident, $octets:literal) => {
        $crate::octets::octets! {
            $(#[$attribute])*
            $name, $octets
        }

        impl Drop for $name {
            fn drop(&mut self) {
                zeroize::Zeroize::zeroize(&mut self.0);
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        }
    };
}
pub(crate) use key;

/// A value that goes over the air in clear, and may be printed.
macro_rules! public_value {
    ($(#[$attribute:meta])* $name:ident, $octets:literal) => {
        $crate::octets::octets! {
            $(#[$attribute])*
            $name, $octets
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.to_hex())
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.to_hex())
            }
        }
    };
}
pub(crate) use public_value;

#[cfg(test)]
mod tests {
    use crate::{Autn, Kamf, Rand};

    #[test]
    fn a_key_is_never_printed_and_a_public_value_is() {
        assert_eq!(format!("{:?}", Kamf::new([0x5a; 32])), "Kamf(..)");
        let rand = Rand::new([0xab; 16]);
        assert_eq!(format!("{rand:?}"), format!("Rand({})", "ab".repeat(16)));
    }

    #[test]
    fn hexadecimal_text_of_the_right_length_is_read_and_nothing_else() {
        let autn: Autn = "55f328b43577b9b94a9ffac354dfafb3".parse().unwrap();
        assert_eq!(autn.to_hex(), "55f328b43577b9b94a9ffac354dfafb3");
        for wrong in [
            "",
            "55f3",
            "55f328b43577b9b94a9ffac354dfafbg",
            &"0".repeat(33),
        ] {
            let error = wrong.parse::<Autn>().unwrap_err();
            assert_eq!(error.to_string(), "Autn is 32 hexadecimal digits");
        }
    }

    #[test]
    fn json_is_hexadecimal_text() {
        let rand = Rand::new([0x0f; 16]);
        let json = serde_json::to_string(&rand).unwrap();
        assert_eq!(json, format!("\"{}\"", "0f".repeat(16)));
        assert_eq!(serde_json::from_str::<Rand>(&json).unwrap(), rand);
        assert!(serde_json::from_str::<Rand>("\"0f\"").is_err());
    }
}
