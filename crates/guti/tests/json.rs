//! The messages in JSON.

use corewire_guti::Guti;
use corewire_guti::message::Field;
use corewire_guti::message::json::{
    JsonError, allocate_request_json, allocate_response_json, deallocate_request_json,
    parse_allocate_request_json, parse_allocate_response_json, parse_deallocate_request_json,
};

fn example() -> Guti {
    "5g-guti-310410cafe3fdeadbeef".parse().unwrap()
}

#[test]
fn what_is_written_is_read() {
    let payload: Vec<u8> = (0..=255).collect();
    let text = allocate_request_json(&payload);
    assert_eq!(
        parse_allocate_request_json(text.as_bytes()),
        Ok(payload.clone())
    );
    let text = allocate_response_json(&example(), &payload);
    assert_eq!(
        parse_allocate_response_json(text.as_bytes()),
        Ok((example(), payload))
    );
    let text = deallocate_request_json(&example());
    assert_eq!(
        parse_deallocate_request_json(text.as_bytes()),
        Ok(example())
    );
}

#[test]
fn what_people_type_is_read() {
    for text in ["", "{}", r#"{"payload":""}"#, r#" { "other" : 1 } "#] {
        assert_eq!(
            parse_allocate_request_json(text.as_bytes()),
            Ok(vec![]),
            "{text}"
        );
    }
    for text in [r#"{"payload":"aGk="}"#, r#"{"payload":"aGk"}"#] {
        assert_eq!(
            parse_allocate_request_json(text.as_bytes()),
            Ok(b"hi".to_vec()),
            "{text}"
        );
    }
    for text in [
        r#"{"guti":{"text":"5g-guti-310410cafe3fdeadbeef"}}"#,
        r#"{"guti":{"mcc":310,"mnc":410,"mncDigits":3,"amfRegion":202,"amfSet":1016,"amfPointer":63,"tmsi":3735928559}}"#,
        r#"{"guti":{"mcc":310,"mnc":410,"mnc_digits":3,"amf_region":202,"amf_set":1016,"amf_pointer":63,"tmsi":3735928559}}"#,
        r#"{"guti":{"tmsi":3735928559,"text":"5g-guti-310410cafe3fdeadbeef"}}"#,
    ] {
        assert_eq!(
            parse_deallocate_request_json(text.as_bytes()),
            Ok(example()),
            "{text}"
        );
    }
}

#[test]
fn what_is_no_message_says_why() {
    assert_eq!(
        parse_allocate_request_json(b"{\n \"payload\": 7}"),
        Err(JsonError::Syntax {
            line: 2,
            column: 13
        })
    );
    assert_eq!(
        parse_allocate_request_json(br#"{"payload":"*"}"#),
        Err(JsonError::Base64)
    );
    assert!(matches!(
        parse_deallocate_request_json(b""),
        Err(JsonError::Syntax { line: 1, .. })
    ));
    assert!(matches!(
        parse_deallocate_request_json(br#"{"guti":{"text":"imsi-1"}}"#),
        Err(JsonError::Guti(_))
    ));
    assert_eq!(
        parse_deallocate_request_json(br#"{"guti":{"mcc":1,"mnc":1,"mncDigits":5}}"#),
        Err(JsonError::OutOfRange(Field::MncDigits))
    );
    assert_eq!(
        parse_deallocate_request_json(
            br#"{"guti":{"tmsi":1,"text":"5g-guti-310410cafe3fdeadbeef"}}"#
        ),
        Err(JsonError::Contradiction)
    );
}
