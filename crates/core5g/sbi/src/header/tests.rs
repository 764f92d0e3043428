//! What is written is read; what is read is written the same; nothing else is read.

use super::*;
use crate::HttpDate;
use proptest::prelude::*;
use std::time::{Duration, UNIX_EPOCH};

fn same<T: FromStr + fmt::Display>(text: &str)
where
    T::Err: fmt::Debug,
{
    let read: T = text
        .parse()
        .unwrap_or_else(|_| panic!("{text} is not read"));
    assert_eq!(read.to_string(), text);
}

/// Entries as one header's value.
#[derive(Debug)]
struct All<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for All<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(f, self.0)
    }
}

#[test]
fn the_examples_of_the_specification_go_both_ways() {
    same::<TargetApiRoot>("https://example.com/a/b");
    same::<TargetApiRoot>("http://[::1]:7777");
    same::<RoutingBinding>("bl=nf-set; nfset=set1.udmset.5gc.mnc012.mcc345");
    same::<RoutingBinding>(
        "bl=nfservice-instance; nfservinst=xyz; nfinst=54804518-4191-46b3-955c-ac631f953ed8; callback-uri-prefix=\"/a;b\"",
    );
    same::<Binding>(
        "bl=nf-instance; nfinst=54804518-4191-46b3-955c-ac631f953ed8; recoverytime=\"Tue, 04 Feb 2020 08:49:37 GMT\", bl=nf-set; nfset=a; nr=\"http://x/y,z\"",
    );
    same::<CorrelationInfo>("imsi-999700000000001; msisdn-441234567890");
    same::<ProducerId>("nfinst=54804518-4191-46b3-955c-ac631f953ed8; nfset=set1");
    same::<TargetNfId>("nfinst=54804518-4191-46b3-955c-ac631f953ed8");
    same::<NfPeerInfo>("srcinst=a; srcscp=SCP-scp1.example; dstinst=b");
    same::<SelectionInfo>("reselection=true; not-select-nfinst=54804518");
    same::<RequestInfo>("retrans=true; redirect=false; idempotency-key=\"x y\"");
    same::<ResponseInfo>("request-retransmitted=true; no-retry=true");
    same::<Callback>("Nnrf_NFManagement_NFStatusNotify; apiversion=1");
    same::<Callback>("Nudm_SDM_Notification");
    same::<MaxForwardHops>("5; nodetype=scp");
    same::<NrfUri>(
        "nnrf-disc: \"https://nrf1/nnrf-disc/v1\"; nnrf-oauth2: \"https://nrf1/oauth2\"",
    );
    same::<Oci>(
        "Timestamp: \"Tue, 04 Feb 2020 08:49:37.845 GMT\"; Period-of-Validity: 75s; Overload-Reduction-Metric: 50%; NF-Set: set1.smfset; S-NSSAI: %7B%22sst%22%3A1%7D & %7B%22sst%22%3A2%7D; DNN: internet.mnc012",
    );
    same::<Oci>(
        "Timestamp: \"Tue, 04 Feb 2020 08:49:37.845 GMT\"; Period-of-Validity: 600s; Overload-Reduction-Metric: 25%; Callback-Uri: \"https://pcf12/notify\"",
    );
    same::<Lci>(
        "Timestamp: \"Tue, 04 Feb 2020 08:49:37.845 GMT\"; Load-Metric: 25%; NF-Instance: 54804518-4191-46b3-955c-ac631f953ed8; Relative-Capacity: 20%",
    );
}

#[test]
fn lists_are_cut_outside_of_quotes() {
    let one = "Timestamp: \"Tue, 04 Feb 2020 08:49:37.845 GMT\"; Load-Metric: 25%; NF-Instance: a";
    let two = format!("{one}, {one}");
    let read = Lci::read_all(&two).unwrap();
    assert_eq!(read.len(), 2);
    assert_eq!(All(&read).to_string(), two);
    assert!(Lci::read_all(&two.replace("25%", "101%")).is_err());
}

#[test]
fn what_open5gs_sends_is_read() {
    let bare: ProducerId = "18859506-e5e3-41f1-97c1-23efb09c399d".parse().unwrap();
    assert_eq!(
        bare.instance(),
        Some("18859506-e5e3-41f1-97c1-23efb09c399d")
    );
    same::<HttpDate>("Sat, 21 Nov 2026 19:38:15.694 GMT");
}

#[test]
fn discovery_headers_are_the_query() {
    let mut headers = Headers::new();
    put_discovery(&mut headers, "target-nf-type", "UDM");
    headers.append("x-other", "1").unwrap();
    put_discovery(&mut headers, "service-names", "nudm-sdm,nudm-uecm");
    let found: Vec<_> = discovery(&headers).collect();
    assert_eq!(
        found,
        [
            ("target-nf-type", "UDM"),
            ("service-names", "nudm-sdm,nudm-uecm")
        ]
    );
}

#[test]
fn what_does_not_follow_the_grammar_is_not_read() {
    assert!("ftp://x".parse::<TargetApiRoot>().is_err());
    assert!("http://".parse::<TargetApiRoot>().is_err());
    assert!("http://a b".parse::<TargetApiRoot>().is_err());
    assert!("nfset=a; bl=nf-set".parse::<RoutingBinding>().is_err());
    assert!("bl=everything".parse::<RoutingBinding>().is_err());
    assert!("imsi".parse::<CorrelationInfo>().is_err());
    assert!("imsi-".parse::<CorrelationInfo>().is_err());
    assert!("uri-1".parse::<CorrelationInfo>().is_err());
    assert!("100; nodetype=scp".parse::<MaxForwardHops>().is_err());
    assert!("5".parse::<MaxForwardHops>().is_err());
    assert!("x=1".parse::<TargetNfId>().is_err());
    assert!("nfinst=\"a".parse::<TargetNfId>().is_err());
    assert!("nfinst=a;;nfset=b".parse::<TargetNfId>().is_err());
    assert!("a; apiversion=+1".parse::<Callback>().is_err());
    assert!(
        "x".repeat(MAX_VALUE + 1)
            .parse::<CorrelationInfo>()
            .is_err()
    );
}

fn token() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9.%_~-]{1,20}"
}

fn parameters() -> impl Strategy<Value = Parameters> {
    proptest::collection::vec(
        (token(), token(), "[ -!#-\\[\\]-~]{0,20}", any::<bool>()),
        0..6,
    )
    .prop_map(|list| {
        list.into_iter()
            .fold(Parameters::new(), |all, (name, plain, quoted, is_plain)| {
                if is_plain {
                    all.with(&name, &plain)
                } else {
                    all.with_quoted(&name, &quoted)
                }
            })
    })
}

fn scope() -> impl Strategy<Value = Scope> {
    (
        0..ScopeKind::ALL.len(),
        token(),
        proptest::collection::vec(token(), 0..3),
    )
        .prop_map(|(kind, value, words)| Scope {
            kind: ScopeKind::ALL[kind].0,
            value,
            details: if words.is_empty() {
                Vec::new()
            } else {
                vec![("DNN".to_owned(), words.join(" & "))]
            },
        })
}

fn date() -> impl Strategy<Value = HttpDate> {
    (0..4_000_000_000_000_u64)
        .prop_map(|millis| HttpDate::of(UNIX_EPOCH + Duration::from_millis(millis)))
}

proptest! {
    #[test]
    fn every_binding_is_read_as_written(
        list in proptest::collection::vec((0..4usize, parameters()), 1..4)
    ) {
        let levels = [
            BindingLevel::NfInstance,
            BindingLevel::NfSet,
            BindingLevel::NfServiceInstance,
            BindingLevel::NfServiceSet,
        ];
        let binding = Binding(
            list.into_iter()
                .map(|(level, parameters)| RoutingBinding { level: levels[level], parameters })
                .collect(),
        );
        prop_assert_eq!(binding.to_string().parse(), Ok(binding));
    }

    #[test]
    fn every_load_is_read_as_written(
        entries in proptest::collection::vec((date(), 0..=100u8, 0..100_000u32, scope()), 1..4)
    ) {
        let oci: Vec<Oci> = entries.iter().cloned()
            .map(|(timestamp, reduction, validity, scope)| Oci { timestamp, validity, reduction, scope })
            .collect();
        prop_assert_eq!(Oci::read_all(&All(&oci).to_string()), Ok(oci));
        let lci: Vec<Lci> = entries.into_iter()
            .map(|(timestamp, load, _, scope)| Lci { timestamp, load, scope })
            .collect();
        prop_assert_eq!(Lci::read_all(&All(&lci).to_string()), Ok(lci));
    }

    #[test]
    fn every_correlation_is_read_as_written(
        list in proptest::collection::vec((0..13usize, token()), 1..4)
    ) {
        let text = list.iter()
            .map(|(kind, value)| format!("{}-{value}", CorrelationKind::ALL[*kind].1))
            .collect::<Vec<_>>()
            .join("; ");
        let read: CorrelationInfo = text.parse().unwrap();
        prop_assert_eq!(read.to_string(), text);
    }
}
