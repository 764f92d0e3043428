//! Who a certificate is for, where it says so: which NF instance, and of which types (TS 33.310, 6.1.3c.3).
//!
//! The instance is a URI in the subject's alternative names, `urn:uuid:` and its id; the types are an
//! extension (RFC 9310). Both are told of a certificate that a handshake has accepted: who issued it is
//! not looked at here.

use corewire_transport::tls::certificate_names;

/// What stands in front of an instance's id.
const URN: &str = "urn:uuid:";
/// `id-pe-nftypes`, 1.3.6.1.5.5.7.1.34, as DER has an object's contents.
const NF_TYPES: [u8; 8] = [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x22];

const SEQUENCE: u8 = 0x30;
const OBJECT: u8 = 0x06;
const OCTETS: u8 = 0x04;
const IA5_STRING: u8 = 0x16;
/// The extensions of a certificate: `[3]`, constructed.
const EXTENSIONS: u8 = 0xa3;

/// The holder of a certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// The instances that it may be; none is named: any.
    instances: Vec<String>,
    /// The types that it may be of; `None`: any.
    types: Option<Vec<String>>,
}

impl Holder {
    /// Of this certificate, as DER.
    pub fn of(certificate: &[u8]) -> Self {
        let names = certificate_names(certificate);
        let instances = names.iter().filter_map(|name| {
            let (scheme, id) = name.split_at_checked(URN.len())?;
            scheme.eq_ignore_ascii_case(URN).then(|| id.to_owned())
        });
        Self {
            instances: instances.collect(),
            types: types(certificate),
        }
    }

    /// The one instance that it is, if it names one.
    pub fn instance(&self) -> Option<&str> {
        match self.instances.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    /// Whether it names its instance or its types: who does is nobody else.
    pub const fn is_named(&self) -> bool {
        !self.instances.is_empty() || self.types.is_some()
    }

    /// Whether it may be this instance.
    pub fn may_be(&self, instance: &str) -> bool {
        let is = |one: &String| one.eq_ignore_ascii_case(instance);
        self.instances.is_empty() || self.instances.iter().any(is)
    }

    /// Whether it may be of this type.
    pub fn may_be_of(&self, nf_type: &str) -> bool {
        let types = self.types.as_ref();
        types.is_none_or(|types| types.iter().any(|one| one == nf_type))
    }
}

/// The types that a certificate names; none of them when they cannot be read.
fn types(certificate: &[u8]) -> Option<Vec<String>> {
    let value = extension(certificate, &NF_TYPES)?;
    let mut types = Vec::new();
    let Some((SEQUENCE, mut list)) = only(value) else {
        return Some(types);
    };
    while let Some((IA5_STRING, text)) = next(&mut list) {
        types.push(String::from_utf8_lossy(text).into_owned());
    }
    Some(types)
}

/// The value of an extension (RFC 5280, 4.1).
fn extension<'a>(certificate: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let (_, mut certificate) = next(&mut { certificate })?;
    let (_, mut to_be_signed) = next(&mut certificate)?;
    let mut extensions = loop {
        if let (EXTENSIONS, found) = next(&mut to_be_signed)? {
            break only(found)?.1;
        }
    };
    loop {
        let (_, mut one) = next(&mut extensions)?;
        let (kind, object) = next(&mut one)?;
        if kind == OBJECT && object == wanted {
            // Between them it may say that it is critical.
            while let Some((kind, value)) = next(&mut one) {
                if kind == OCTETS {
                    return Some(value);
                }
            }
            return Some(&[]);
        }
    }
}

/// An element that nothing follows.
fn only(mut octets: &[u8]) -> Option<(u8, &[u8])> {
    let found = next(&mut octets)?;
    octets.is_empty().then_some(found)
}

/// The next element of DER: its tag, of one octet, and its contents.
fn next<'a>(octets: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&[tag, length], mut rest) = octets.split_first_chunk()?;
    let mut length = usize::from(length);
    if length >= 0x80 {
        let (digits, behind) = rest.split_at_checked(length - 0x80)?;
        if digits.len() > 4 {
            return None;
        }
        length = digits
            .iter()
            .fold(0, |all, digit| all << 8 | usize::from(*digit));
        rest = behind;
    }
    let (contents, rest) = rest.split_at_checked(length)?;
    *octets = rest;
    Some((tag, contents))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    /// Made by OpenSSL, with what `core up --tls` puts into them: of an AMF and SMF, and with neither.
    const NAMED: &str = include_str!("holder/named.pem");
    const UNNAMED: &str = include_str!("holder/unnamed.pem");

    fn der(pem: &str) -> Vec<u8> {
        let lines = pem.lines().filter(|line| !line.starts_with('-'));
        STANDARD.decode(lines.collect::<String>()).expect("base64")
    }

    #[test]
    fn a_certificate_says_whose_it_is_or_nothing() {
        let holder = Holder::of(&der(NAMED));
        let instance = "4947a69a-f61b-4bc1-b9da-47c9c5d14b64";
        assert_eq!(holder.instance(), Some(instance));
        assert!(holder.is_named());
        assert!(holder.may_be(&instance.to_uppercase()));
        assert!(!holder.may_be("4947a69a-f61b-4bc1-b9da-47c9c5d14b65"));
        assert!(holder.may_be_of("AMF") && holder.may_be_of("SMF"));
        assert!(!holder.may_be_of("UDM") && !holder.may_be_of(""));
        let anybody = Holder::of(&der(UNNAMED));
        assert_eq!((anybody.instance(), anybody.is_named()), (None, false));
        assert!(anybody.may_be("a") && anybody.may_be_of("UDM"));
    }

    #[test]
    fn types_that_cannot_be_read_are_nobodys() {
        let whole = der(NAMED);
        let at = whole
            .windows(NF_TYPES.len())
            .position(|some| some == NF_TYPES);
        let at = at.expect("the extension") + NF_TYPES.len();
        // The tag of its value, that of the list, those of its elements.
        for place in [at, at + 2, at + 4] {
            let mut spoilt = whole.clone();
            spoilt[place] ^= 0x40;
            assert!(!Holder::of(&spoilt).may_be_of("AMF"), "octet {place}");
        }
    }

    proptest! {
        #[test]
        fn any_octets_are_read_or_not(octets in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _read = Holder::of(&octets);
        }

        #[test]
        fn a_certificate_with_any_octets_in_it_is_read_or_not(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut octets = der(NAMED);
            for (index, octet) in changes {
                let at = index.index(octets.len());
                octets[at] = octet;
            }
            let _read = Holder::of(&octets);
            let _read = Holder::of(&octets[..cut.index(octets.len())]);
        }
    }
}
