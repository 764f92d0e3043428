//! Single information elements (TS 24.501 clause 9.11).

use std::time::Duration;

use corewire_guti::{Guti, Plmn};
use oxirush_nas::nas_5gs::{
    NasDnn, NasFGsMobileIdentity, NasFGsTrackingAreaIdentity, NasFGsTrackingAreaIdentityList,
    NasKeySetIdentifier, NasNssai, NasPduSessionReactivationResult, NasPduSessionStatus, NasSNssai,
    NasT3512Value, NasUplinkDataStatus,
};

use super::unencodable;
use crate::{Ksi, MobileIdentity, NasError, NasErrorKind, PduSessionSet, STmsi, Snssai, Tac, Tai};
use corewire_core5g_aka::Suci;

/// The type bits of a mobile identity (clause 9.11.3.4).
const TYPE_MASK: u8 = 0x07;
/// Four ones before type 5G-S-TMSI.
const S_TMSI: u8 = 0xf4;
/// Slices in the longest NSSAI (clause 9.11.3.37).
const MOST_SLICES: usize = 8;

pub(super) fn mandatory(field: &'static str) -> impl FnOnce() -> NasError {
    move || NasError::of(NasErrorKind::Mandatory, field)
}

pub(super) fn conditional(field: &'static str) -> impl FnOnce() -> NasError {
    move || NasError::of(NasErrorKind::Conditional, field)
}

pub(super) fn identity(element: &NasFGsMobileIdentity) -> Option<MobileIdentity> {
    let octets = &element.value[..];
    match octets.first()? & TYPE_MASK {
        0 => Some(MobileIdentity::None),
        1 => Suci::from_nas(octets).ok().map(MobileIdentity::Suci),
        2 => Guti::from_mobile_identity(octets)
            .ok()
            .map(MobileIdentity::Guti),
        3 => element
            .as_imei()
            .map(|imei| MobileIdentity::Imei(imei.as_str().to_owned())),
        4 => {
            let (_, rest) = octets.split_first()?;
            let octets: &[u8; 6] = rest.try_into().ok()?;
            STmsi::from_octets(*octets).map(MobileIdentity::STmsi)
        }
        5 => element
            .as_imeisv()
            .map(|imeisv| MobileIdentity::Imeisv(imeisv.as_str().to_owned())),
        _ => None,
    }
}

/// Of who asks by itself: that it has no identity is only said when one is asked for (clause 9.11.3.4,
/// note 1), and no such message has room for so short an element.
pub(super) fn own_identity(element: &NasFGsMobileIdentity) -> Option<MobileIdentity> {
    identity(element).filter(|identity| *identity != MobileIdentity::None)
}

/// The same, to be written.
pub(super) fn to_own_identity(identity: &MobileIdentity) -> Result<NasFGsMobileIdentity, NasError> {
    match identity {
        MobileIdentity::None => Err(NasError::of(NasErrorKind::Encode, "5GS mobile identity")),
        identity => to_identity(identity),
    }
}

pub(super) fn to_identity(identity: &MobileIdentity) -> Result<NasFGsMobileIdentity, NasError> {
    Ok(match identity {
        MobileIdentity::None => NasFGsMobileIdentity::from_no_identity(),
        MobileIdentity::Suci(suci) => NasFGsMobileIdentity::new(suci.to_nas()),
        MobileIdentity::Guti(guti) => NasFGsMobileIdentity::new(guti.to_mobile_identity()),
        MobileIdentity::STmsi(s_tmsi) => to_s_tmsi(*s_tmsi),
        MobileIdentity::Imei(digits) => NasFGsMobileIdentity::new(to_digits(3, digits)?),
        MobileIdentity::Imeisv(digits) => NasFGsMobileIdentity::new(to_digits(5, digits)?),
    })
}

pub(super) fn to_s_tmsi(s_tmsi: STmsi) -> NasFGsMobileIdentity {
    NasFGsMobileIdentity::new([&[S_TMSI], &s_tmsi.to_octets()[..]].concat())
}

/// Digits of an IMEI or IMEISV: the first beside the type, then two an octet, the low half first.
fn to_digits(kind: u8, digits: &str) -> Result<Vec<u8>, NasError> {
    /// Fills the half octet that has no digit.
    const FILLER: u8 = 0xf;
    let wanted = if kind == 3 { 15 } else { 16 };
    let digits: Vec<u8> = digits
        .bytes()
        .map(|digit| digit.wrapping_sub(b'0'))
        .collect();
    if digits.len() != wanted || digits.iter().any(|digit| *digit > 9) {
        return Err(NasError::of(NasErrorKind::Encode, "equipment identity"));
    }
    let odd = digits.len() % 2 == 1;
    let mut octets = vec![digits[0] << 4 | u8::from(odd) << 3 | kind];
    octets.extend(
        digits[1..]
            .chunks(2)
            .map(|pair| pair.get(1).copied().unwrap_or(FILLER) << 4 | pair[0]),
    );
    Ok(octets)
}

pub(super) fn guti(element: &NasFGsMobileIdentity) -> Option<Guti> {
    Guti::from_mobile_identity(&element.value).ok()
}

pub(super) fn ksi(element: NasKeySetIdentifier) -> Option<Ksi> {
    Ksi::from_bits(element.value & 0x0f)
}

pub(super) fn to_ksi(ksi: Option<Ksi>) -> NasKeySetIdentifier {
    NasKeySetIdentifier::new(Ksi::to_bits(ksi))
}

/// One S-NSSAI; a mapped one behind it is of another network and not read.
pub(super) fn snssai(octets: &[u8]) -> Option<Snssai> {
    let (&sst, rest) = octets.split_first()?;
    let sd = match rest.len() {
        // Slice differentiator, alone, with a mapped type, or with both mapped (clause 9.11.2.8).
        3 | 4 | 7 => rest.first_chunk().copied(),
        0 | 1 => None,
        _ => return None,
    };
    Some(Snssai { sst, sd })
}

pub(super) fn to_snssai(snssai: Snssai) -> NasSNssai {
    NasSNssai::new(snssai_octets(snssai))
}

fn snssai_octets(Snssai { sst, sd }: Snssai) -> Vec<u8> {
    let sd = sd.as_ref().map_or(&[][..], |sd| &sd[..]);
    [&[sst], sd].concat()
}

pub(super) fn nssai(element: &NasNssai) -> Vec<Snssai> {
    let mut octets = &element.value[..];
    let mut slices = Vec::new();
    while let [length, rest @ ..] = octets
        && let Some((slice, rest)) = rest.split_at_checked(usize::from(*length))
        && slices.len() < MOST_SLICES
    {
        slices.extend(snssai(slice));
        octets = rest;
    }
    slices
}

pub(super) fn to_nssai(slices: &[Snssai]) -> Result<NasNssai, NasError> {
    if slices.len() > MOST_SLICES {
        return Err(NasError::of(NasErrorKind::Encode, "NSSAI"));
    }
    let mut octets = Vec::new();
    for slice in slices {
        let slice = snssai_octets(*slice);
        octets.push(if slice.len() == 1 { 1 } else { 4 });
        octets.extend(slice);
    }
    Ok(NasNssai::new(octets))
}

pub(super) fn tai(element: &NasFGsTrackingAreaIdentity) -> Option<Tai> {
    let &[a, b, c, d, e, f] = &element.value[..] else {
        return None;
    };
    Some(Tai {
        plmn: Plmn::from_tbcd([a, b, c]).ok()?,
        tac: Tac([d, e, f]),
    })
}

pub(super) fn to_tai(tai: Tai) -> NasFGsTrackingAreaIdentity {
    NasFGsTrackingAreaIdentity::new([&tai.plmn.to_tbcd()[..], &tai.tac.0[..]].concat())
}

pub(super) fn tai_list(element: &NasFGsTrackingAreaIdentityList) -> Vec<Tai> {
    element
        .tais()
        .into_iter()
        .filter_map(|foreign| {
            Some(Tai {
                plmn: Plmn::from_tbcd(foreign.plmn().to_nas_octets()).ok()?,
                tac: Tac::new(foreign.tac())?,
            })
        })
        .collect()
}

/// A list of type 10, where each area brings its network (clause 9.11.3.9), at most 16.
pub(super) fn to_tai_list(list: &[Tai]) -> Result<NasFGsTrackingAreaIdentityList, NasError> {
    const TYPE_EACH_WITH_PLMN: u8 = 0b10 << 5;
    let count = u8::try_from(list.len().wrapping_sub(1))
        .ok()
        .filter(|count| *count < 16)
        .ok_or_else(|| unencodable("1 to 16 tracking areas"))?;
    let mut octets = vec![TYPE_EACH_WITH_PLMN | count];
    for tai in list {
        octets.extend(tai.plmn.to_tbcd());
        octets.extend(tai.tac.0);
    }
    Ok(NasFGsTrackingAreaIdentityList::new(octets))
}

/// Sessions 0 to 7 in the first octet, from its lowest bit, 8 to 15 in the second.
fn sessions(octets: &[u8]) -> PduSessionSet {
    let octet = |at: usize| octets.get(at).copied().unwrap_or(0);
    PduSessionSet(u16::from_le_bytes([octet(0), octet(1)]) & !1)
}

pub(super) fn session_status(element: &NasPduSessionStatus) -> PduSessionSet {
    sessions(&element.value)
}

pub(super) fn to_session_status(set: PduSessionSet) -> NasPduSessionStatus {
    NasPduSessionStatus::new(set.0.to_le_bytes())
}

pub(super) fn uplink_data(element: &NasUplinkDataStatus) -> PduSessionSet {
    sessions(&element.value)
}

pub(super) fn to_uplink_data(set: PduSessionSet) -> NasUplinkDataStatus {
    NasUplinkDataStatus::new(set.0.to_le_bytes())
}

pub(super) fn reactivation(element: &NasPduSessionReactivationResult) -> PduSessionSet {
    sessions(&element.value)
}

pub(super) fn to_reactivation(set: PduSessionSet) -> NasPduSessionReactivationResult {
    NasPduSessionReactivationResult::new(set.0.to_le_bytes())
}

/// The labels of a data network name, with dots between them (TS 23.003 clause 9A).
pub(super) fn dnn(element: &NasDnn) -> Option<String> {
    let mut octets = &element.value[..];
    let mut labels = Vec::new();
    while let [length, rest @ ..] = octets {
        let (label, rest) = rest.split_at_checked(usize::from(*length))?;
        labels.push(std::str::from_utf8(label).ok().filter(|l| !l.is_empty())?);
        octets = rest;
    }
    (!labels.is_empty()).then(|| labels.join("."))
}

pub(super) fn to_dnn(text: &str) -> Result<NasDnn, NasError> {
    /// Octets of the longest name, lengths included (clause 9.11.2.1B).
    const LONGEST: usize = 100;
    let mut octets = Vec::with_capacity(text.len() + 1);
    for label in text.split('.') {
        let length = u8::try_from(label.len())
            .ok()
            .filter(|length| (1..64).contains(length))
            .ok_or_else(|| unencodable("a label of a DNN has 1 to 63 octets"))?;
        octets.push(length);
        octets.extend(label.bytes());
    }
    if octets.len() > LONGEST {
        return Err(unencodable("a DNN has at most 100 octets"));
    }
    Ok(NasDnn::new(octets))
}

/// Whether GPRS timer 3 can say this time (TS 24.008, 10.5.7.4a).
#[must_use]
pub fn can_be_said(period: Duration) -> bool {
    NasT3512Value::from_seconds(period.as_secs()).is_ok()
}

pub(super) fn seconds(seconds: Option<u64>) -> Option<Duration> {
    seconds.map(Duration::from_secs)
}
