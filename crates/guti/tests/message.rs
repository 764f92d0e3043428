//! The messages against `prost`, in both directions, and against octets that are none.

use bytes::Bytes;
use corewire_guti::message::{
    AllocateRequest, AllocateResponse, DeallocateRequest, DeallocateResponse, DecodeErrorKind,
    Field, GUTI_MESSAGE_MAX, REQUEST_HEAD_MAX, RESPONSE_HEAD_MAX, encode_allocate_request_head,
    encode_allocate_response_head, encode_deallocate_request,
};
use corewire_guti::{AmfPointer, AmfSetId, Guami, Guti, Plmn, Tmsi};
use proptest::prelude::*;
use prost::Message as _;

/// `guti.proto` as `prost-build` would write it.
mod proto {
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Guti {
        #[prost(uint32, tag = "1")]
        pub(super) mcc: u32,
        #[prost(uint32, tag = "2")]
        pub(super) mnc: u32,
        #[prost(uint32, tag = "3")]
        pub(super) mnc_digits: u32,
        #[prost(uint32, tag = "4")]
        pub(super) amf_region: u32,
        #[prost(uint32, tag = "5")]
        pub(super) amf_set: u32,
        #[prost(uint32, tag = "6")]
        pub(super) amf_pointer: u32,
        #[prost(fixed32, tag = "7")]
        pub(super) tmsi: u32,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct AllocateRequest {
        #[prost(bytes = "vec", tag = "1")]
        pub(super) payload: Vec<u8>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct AllocateResponse {
        #[prost(message, optional, tag = "1")]
        pub(super) guti: Option<Guti>,
        #[prost(bytes = "vec", tag = "2")]
        pub(super) payload: Vec<u8>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct DeallocateRequest {
        #[prost(message, optional, tag = "1")]
        pub(super) guti: Option<Guti>,
    }
}

fn to_proto(guti: Guti) -> proto::Guti {
    let guami = guti.guami();
    proto::Guti {
        mcc: guami.plmn().mcc().into(),
        mnc: guami.plmn().mnc().into(),
        mnc_digits: guami.plmn().mnc_digits().into(),
        amf_region: guami.region().value().into(),
        amf_set: guami.set().value().into(),
        amf_pointer: guami.pointer().value().into(),
        tmsi: guti.tmsi().value(),
    }
}

/// What a decoded `Guti` message stands for; `None` for one that is out of range.
fn from_proto(guti: &proto::Guti) -> Option<Guti> {
    let plmn = Plmn::new(
        guti.mcc.try_into().ok()?,
        guti.mnc.try_into().ok()?,
        guti.mnc_digits.try_into().ok()?,
    )
    .ok()?;
    let set = AmfSetId::try_from(u16::try_from(guti.amf_set).ok()?).ok()?;
    let pointer = AmfPointer::try_from(u8::try_from(guti.amf_pointer).ok()?).ok()?;
    let region = u8::try_from(guti.amf_region).ok()?.into();
    let tmsi = Tmsi::try_from(guti.tmsi).ok()?;
    Some(Guti::new(Guami::new(plmn, region, set, pointer), tmsi))
}

fn response(guti: &Guti, payload: &[u8]) -> Vec<u8> {
    let mut head = [0; RESPONSE_HEAD_MAX];
    let len = encode_allocate_response_head(guti, payload.len(), &mut head);
    [&head[..len], payload].concat()
}

fn request(payload: &[u8]) -> Vec<u8> {
    let mut head = [0; REQUEST_HEAD_MAX];
    let len = encode_allocate_request_head(payload.len(), &mut head);
    [&head[..len], payload].concat()
}

fn any_guti() -> impl Strategy<Value = Guti> {
    let plmn = (0..=999_u16, 0..=999_u16, prop_oneof![Just(2_u8), Just(3)]).prop_map(
        |(mcc, mnc, digits)| {
            let mnc = if digits == 2 { mnc % 100 } else { mnc };
            Plmn::new(mcc, mnc, digits).unwrap()
        },
    );
    (plmn, any::<[u8; 3]>(), 0..u32::MAX).prop_map(|(plmn, amf_id, tmsi)| {
        Guti::new(
            Guami::from_amf_id(plmn, amf_id),
            Tmsi::try_from(tmsi).unwrap(),
        )
    })
}

/// Octets that look like a message: fields with numbers and wire types near ours.
fn any_message() -> impl Strategy<Value = Vec<u8>> {
    let field = (0..10_u8, 0..8_u8, prop::collection::vec(any::<u8>(), 0..12)).prop_map(
        |(number, wire_type, body)| {
            let mut field = vec![number << 3 | wire_type];
            match wire_type {
                0 => prost::encoding::encode_varint(
                    body.iter().fold(0, |n, &b| n << 8 | u64::from(b)),
                    &mut field,
                ),
                1 => field.extend([1; 8]),
                2 => {
                    field.push(body.len() as u8);
                    field.extend(body);
                }
                5 => field.extend([5; 4]),
                _ => {}
            }
            field
        },
    );
    prop::collection::vec(field, 0..6).prop_map(|fields| fields.concat())
}

proptest! {
    #[test]
    fn what_we_encode_is_what_prost_encodes(
        guti in any_guti(),
        payload in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let theirs = proto::AllocateResponse { guti: Some(to_proto(guti)), payload: payload.clone() };
        prop_assert_eq!(response(&guti, &payload), theirs.encode_to_vec());

        let theirs = proto::AllocateRequest { payload: payload.clone() };
        prop_assert_eq!(request(&payload), theirs.encode_to_vec());

        let mut ours = [0; GUTI_MESSAGE_MAX];
        let len = encode_deallocate_request(&guti, &mut ours);
        let theirs = proto::DeallocateRequest { guti: Some(to_proto(guti)) };
        prop_assert_eq!(&ours[..len], theirs.encode_to_vec());
    }

    #[test]
    fn what_we_decode_is_what_was_encoded(
        guti in any_guti(),
        payload in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let message = Bytes::from(response(&guti, &payload));
        let decoded = AllocateResponse::decode(&message).unwrap();
        prop_assert_eq!(decoded.guti, guti);
        prop_assert_eq!(&decoded.payload[..], &payload[..]);

        let message = Bytes::from(request(&payload));
        prop_assert_eq!(&AllocateRequest::decode(&message).unwrap().payload[..], &payload[..]);
    }

    /// Anything at all: no panic, and the same verdict and the same values as prost.
    #[test]
    fn on_any_octets_we_agree_with_prost(
        message in prop_oneof![any_message(), prop::collection::vec(any::<u8>(), 0..60)],
    ) {
        let octets = Bytes::from(message);

        let theirs = proto::AllocateRequest::decode(octets.clone()).map(|m| m.payload).ok();
        let ours = AllocateRequest::decode(&octets).map(|m| m.payload.to_vec()).ok();
        prop_assert_eq!(ours, theirs);

        let theirs = proto::AllocateResponse::decode(octets.clone()).ok()
            .and_then(|m| Some((from_proto(&m.guti?)?, m.payload)));
        let ours = AllocateResponse::decode(&octets).map(|m| (m.guti, m.payload.to_vec())).ok();
        prop_assert_eq!(ours, theirs);

        let theirs = proto::DeallocateRequest::decode(octets.clone()).ok()
            .and_then(|m| from_proto(&m.guti?));
        let ours = DeallocateRequest::decode(&octets).map(|m| m.guti).ok();
        prop_assert_eq!(ours, theirs);

        prop_assert_eq!(DeallocateResponse::decode(&octets).is_ok(), <()>::decode(octets).is_ok());
    }

    /// Near misses are where decoders break: a good message with one octet changed, or cut short.
    #[test]
    fn on_damaged_messages_we_agree_with_prost(
        guti in any_guti(),
        payload in prop::collection::vec(any::<u8>(), 0..20),
        at in any::<prop::sample::Index>(),
        octet in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut message = response(&guti, &payload);
        let at = at.index(message.len());
        message[at] = octet;
        message.truncate(cut.index(message.len()) + 1);
        let octets = Bytes::from(message);
        let theirs = proto::AllocateResponse::decode(octets.clone()).ok()
            .and_then(|m| Some((from_proto(&m.guti?)?, m.payload)));
        let ours = AllocateResponse::decode(&octets).map(|m| (m.guti, m.payload.to_vec())).ok();
        prop_assert_eq!(ours, theirs);
    }
}

fn example() -> Guti {
    "5g-guti-00101020040dd00b064".parse().unwrap()
}

#[test]
fn a_decoded_payload_is_a_slice_of_the_message() {
    let message = Bytes::from(response(&example(), &[7; 1000]));
    let decoded = AllocateResponse::decode(&message).unwrap();
    let inside = message.as_ptr_range();
    assert!(inside.contains(&decoded.payload.as_ptr()));

    let message = Bytes::from(request(&[7; 1000]));
    let decoded = AllocateRequest::decode(&message).unwrap();
    assert_eq!(decoded.payload.as_ptr(), message[3..].as_ptr());
}

/// The head of the largest GUTI and payload, so that the buffers are known to be large enough.
#[test]
fn the_largest_heads_fit() {
    let guti: Guti = "5g-guti-999999fffffffffffffe".parse().unwrap();
    let mut head = [0; RESPONSE_HEAD_MAX];
    assert_eq!(
        encode_allocate_response_head(&guti, usize::MAX, &mut head),
        34
    );
    let mut head = [0; REQUEST_HEAD_MAX];
    assert_eq!(encode_allocate_request_head(usize::MAX, &mut head), 11);
    let mut message = [0; GUTI_MESSAGE_MAX];
    assert_eq!(encode_deallocate_request(&guti, &mut message), 23);
}

#[test]
fn each_malformed_message_has_its_error() {
    use DecodeErrorKind as Kind;
    let deep: &[u8] = &[0x7b; 101];
    for (message, kind, offset, field) in [
        (&[0x0a][..], Kind::Truncated, 1, Field::Message),
        (&[0x0a, 3, 1, 2], Kind::Truncated, 2, Field::Message),
        (&[0x0a, 0x80], Kind::Truncated, 1, Field::Message),
        (&[0x0a, 4, 0x3d, 1, 2, 3], Kind::Truncated, 3, Field::Guti),
        (&[0x08, 1], Kind::WireType, 2, Field::Guti),
        (&[0x0a, 2, 0x38, 1], Kind::WireType, 4, Field::Tmsi),
        (&[0x0a, 5, 0x0d, 1, 0, 0, 0], Kind::WireType, 7, Field::Mcc),
        (&[0x7e], Kind::WireType, 0, Field::Message),
        (&[0x00], Kind::FieldNumber, 0, Field::Message),
        (
            &[0xff, 0xff, 0xff, 0xff, 0x7f],
            Kind::FieldNumber,
            0,
            Field::Message,
        ),
        (&[0xff; 10], Kind::Varint, 0, Field::Message),
        (&[0x7c], Kind::EndGroup, 0, Field::Message),
        (&[0x7b, 0x74], Kind::EndGroup, 1, Field::Message),
        (&[0x7b], Kind::Truncated, 1, Field::Message),
        (deep, Kind::GroupDepth, 100, Field::Message),
        (&[], Kind::Missing, 0, Field::Guti),
        (&[0x12, 0], Kind::Missing, 2, Field::Guti),
        (&[0x0a, 0], Kind::OutOfRange, 2, Field::MncDigits),
        (
            &[0x0a, 5, 0x08, 0xe8, 7, 0x18, 2],
            Kind::OutOfRange,
            7,
            Field::Mcc,
        ),
        (
            &[0x0a, 5, 0x18, 2, 0x28, 0x80, 8],
            Kind::OutOfRange,
            7,
            Field::AmfSet,
        ),
        (
            &[0x0a, 4, 0x18, 2, 0x30, 64],
            Kind::OutOfRange,
            6,
            Field::AmfPointer,
        ),
    ] {
        let error = AllocateResponse::decode(&Bytes::copy_from_slice(message)).unwrap_err();
        assert_eq!(
            (error.kind(), error.offset(), error.field()),
            (kind, offset, field),
            "{message:02x?}: {error}"
        );
    }
}

#[test]
fn fields_of_later_versions_are_skipped() {
    let mut message = response(&example(), b"hi");
    message.extend([0x58, 1]); // 11: varint
    message.extend([0x59, 0, 0, 0, 0, 0, 0, 0, 0]); // 11: fixed64
    message.extend([0x5a, 2, 0, 0]); // 11: bytes
    message.extend([0x5b, 0x63, 0x08, 1, 0x64, 0x5c]); // 11: a group with another in it
    message.extend([0x5d, 0, 0, 0, 0]); // 11: fixed32
    let decoded = AllocateResponse::decode(&Bytes::from(message)).unwrap();
    assert_eq!(
        (decoded.guti, &decoded.payload[..]),
        (example(), &b"hi"[..])
    );
}

#[test]
fn an_error_says_where_and_what() {
    let error = DeallocateRequest::decode(&[0x0a, 4, 0x18, 2, 0x30, 64]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "value out of range in field `guti.amf_pointer` at octet 6"
    );
}
