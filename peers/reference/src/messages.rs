//! The messages of the mesh experiment, the same as in crates/smf and in peers/mesh.

use bytes::Bytes;

pub(crate) const PATH: &str = "/nsmf-pdusession/v1/sm-contexts";
/// When a request was sent, nanoseconds of the machine's monotonic clock.
pub(crate) const SENT: &str = "x-sent-ns";
/// How long it was on its way.
pub(crate) const ONE_WAY: &str = "x-one-way-ns";
pub(crate) const CORRELATION: &str = "3gpp-sbi-correlation-info";
pub(crate) const ANSWER_OCTETS: usize = 256;

const CREATE_DATA: &str = concat!(
    r#"{"supi":"imsi-001010000000001","pei":"imeisv-4370816125816151","gpsi":"msisdn-0900000000","#,
    r#""pduSessionId":1,"dnn":"internet","sNssai":{"sst":1,"sd":"000001"},"#,
    r#""servingNfId":"6c3ad9c2-5b4e-4d0e-8b4e-1f5e6a7b8c9d","#,
    r#""guami":{"plmnId":{"mcc":"001","mnc":"01"},"amfId":"020040"},"#,
    r#""servingNetwork":{"mcc":"001","mnc":"01"},"requestType":"INITIAL_REQUEST","#,
    r#""anType":"3GPP_ACCESS","ratType":"NR","extended":""#
);
const CREATED_DATA: &str = concat!(
    r#"{"hSmfUri":"http://smf.5gc/nsmf-pdusession/v1/pdu-sessions/1","pduSessionId":1,"#,
    r#""sNssai":{"sst":1,"sd":"000001"},"upCnxState":"ACTIVATING","extended":""#
);
const END: &str = "\"}";

pub(crate) fn create_data(octets: usize) -> Bytes {
    padded(CREATE_DATA, octets)
}

pub(crate) fn created_data() -> Bytes {
    padded(CREATED_DATA, ANSWER_OCTETS)
}

/// Fills the last field, so that the document is valid JSON of this length.
fn padded(document: &str, octets: usize) -> Bytes {
    let fill = octets.saturating_sub(document.len() + END.len());
    let text = format!("{document}{}{END}", "0".repeat(fill));
    Bytes::from(text)
}

/// Who asks.
pub(crate) fn correlation(number: u64) -> String {
    format!("imsi-00101{:010}", number % 10_000_000_000)
}

/// What a replica answers to a request that it received now; empty when that says no time.
pub(crate) fn one_way_since(sent: Option<&str>, received: u64) -> String {
    let sent: Option<u64> = sent.and_then(|text| text.parse().ok());
    sent.map_or_else(String::new, |sent| {
        received.saturating_sub(sent).to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_json_of_their_size() {
        for (document, octets) in [(create_data(1024), 1024), (created_data(), ANSWER_OCTETS)] {
            assert_eq!(document.len(), octets);
            serde_json::from_slice::<serde_json::Value>(&document).expect("valid");
        }
    }
}
