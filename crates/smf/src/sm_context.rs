//! The messages: SM-Context-Create as TS 29.502 writes it, of the size that is measured.

use corewire::{Bytes, Operation};

/// `POST /nsmf-pdusession/v1/sm-contexts` over REST; over gRPC and native the same name.
pub(crate) const CREATE: Operation = Operation::from_static("nsmf-pdusession/v1/sm-contexts");

/// Octets of a request, unless the user says otherwise.
pub(crate) const REQUEST_OCTETS: usize = 1024;
/// Octets of an answer.
pub(crate) const ANSWER_OCTETS: usize = 256;

/// The time at which a request was sent, nanoseconds of the machine's monotonic clock.
pub(crate) const SENT: &str = "x-sent-ns";
/// How long the request was on its way, nanoseconds: one number a hop, the first hop first.
pub(crate) const ONE_WAY: &str = "x-one-way-ns";

/// Which replica answers, where it has a name.
pub(crate) const NAME: &str = "x-served-by";

const CREATE_DATA: &str = r#"{"supi":"imsi-001010000000001","pei":"imeisv-4370816125816151","gpsi":"msisdn-0900000000","pduSessionId":1,"dnn":"internet","sNssai":{"sst":1,"sd":"000001"},"servingNfId":"6c3ad9c2-5b4e-4d0e-8b4e-1f5e6a7b8c9d","guami":{"plmnId":{"mcc":"001","mnc":"01"},"amfId":"020040"},"servingNetwork":{"mcc":"001","mnc":"01"},"requestType":"INITIAL_REQUEST","n1SmMsg":{"contentId":"5gnas-sm"},"anType":"3GPP_ACCESS","ratType":"NR","ueLocation":{"nrLocation":{"tai":{"plmnId":{"mcc":"001","mnc":"01"},"tac":"000001"},"ncgi":{"plmnId":{"mcc":"001","mnc":"01"},"nrCellId":"000000010"},"ueLocationTimestamp":"2026-01-01T00:00:00Z"}},"ueTimeZone":"+00:00","smContextStatusUri":"http://amf.5gc/namf-callback/v1/sm-context-status/imsi-001010000000001/1","pcfId":"0d6e2c1b-90f0-41ed-9d5b-2d5a0a6d7c11","epsInterworkingInd":"NONE","extended":""#;
const CREATED_DATA: &str = r#"{"hSmfUri":"http://smf.5gc/nsmf-pdusession/v1/pdu-sessions/1","pduSessionId":1,"sNssai":{"sst":1,"sd":"000001"},"upCnxState":"ACTIVATING","n2SmInfoType":"PDU_RES_SETUP_REQ","allocatedEbiList":[],"extended":""#;

/// A request document (SmContextCreateData) of so many octets, as nearly as its fields allow.
pub(crate) fn create_data(octets: usize) -> Bytes {
    padded(CREATE_DATA, octets)
}

/// The answer document (SmContextCreatedData).
pub(crate) fn created_data() -> Bytes {
    padded(CREATED_DATA, ANSWER_OCTETS)
}

/// Fills the last field, so that the document is valid JSON of this length.
fn padded(document: &str, octets: usize) -> Bytes {
    const END: &str = "\"}";
    let fill = octets.saturating_sub(document.len() + END.len());
    Bytes::from([document, &"0".repeat(fill), END].concat())
}

/// Reads [`ONE_WAY`]: a number a hop. Empty when something else stands there.
pub(crate) fn read_one_way(value: &[u8], into: &mut Vec<u64>) {
    into.clear();
    for part in value.split(|octet| *octet == b',') {
        let number = std::str::from_utf8(part)
            .ok()
            .and_then(|text| text.parse().ok());
        match number {
            Some(number) => into.push(number),
            None => return into.clear(),
        }
    }
}

/// Reads [`SENT`].
pub(crate) fn read_sent(value: Option<&[u8]>) -> Option<u64> {
    std::str::from_utf8(value?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_json_of_the_size_asked_for() {
        for (document, octets) in [
            (create_data(REQUEST_OCTETS), REQUEST_OCTETS),
            (create_data(4096), 4096),
            (created_data(), ANSWER_OCTETS),
        ] {
            assert_eq!(document.len(), octets);
            let value: serde_json::Value = serde_json::from_slice(&document).expect("JSON");
            assert_eq!(value["pduSessionId"], 1);
        }
        // Smaller than its fields: as it is.
        serde_json::from_slice::<serde_json::Value>(&create_data(0)).expect("JSON");
    }

    #[test]
    fn ways_of_hops_are_read_or_none_of_them() {
        let mut ways = vec![9];
        read_one_way(b"41000,17", &mut ways);
        assert_eq!(ways, [41_000, 17]);
        for rubbish in [&b""[..], b"1,", b"x", b"1,-2", b"\xff"] {
            read_one_way(rubbish, &mut ways);
            assert!(ways.is_empty(), "{rubbish:?}");
        }
        assert_eq!(read_sent(Some(b"12")), Some(12));
        assert_eq!(read_sent(Some(b"1.5")), None);
        assert_eq!(read_sent(None), None);
    }
}
