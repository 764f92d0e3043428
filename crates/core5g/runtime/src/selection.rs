//! Choice of an NF service instance among those that discovery found (TS 23.501, 6.3.1;
//! TS 29.510, 6.1.6.2.2 and 6.1.6.2.3).
//!
//! ```text
//!   profiles ── offers ──▶ Offer ... ── select(wanted, draw) ──▶ first choice, then the alternatives
//! ```
//!
//! Everything here is a pure function: the random number is an argument. Consumers and an SCP choose
//! by the same rules:
//!
//! 1. Instances that are not `REGISTERED`, and those that do not serve the DNN or the S-NSSAI, are
//!    left out. An instance that states no DNN or no slice serves all of them.
//! 2. The lowest priority value is used first. The value of the service goes before that of the NF.
//! 3. Within one priority an instance is drawn in proportion to [`weight`]: its capacity, less the
//!    share that is loaded.

use corewire_core5g_sbi::model::common::Snssai;
use corewire_core5g_sbi::model::nrf::{NfProfile, NfService, SmfInfo};
use std::fmt;

/// Offers of one service that are looked at; a longer answer of an NRF is cut.
pub(crate) const MAX_OFFERS: usize = 4096;

/// The capacity of an instance that states none: that of this project's own NFs.
const CAPACITY: u16 = 100;

/// One place where a service is offered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Offer {
    /// Lower values are used first.
    pub(crate) priority: u16,
    /// `host:port`; an IPv6 host stands in brackets.
    pub(crate) authority: String,
    /// `http` or `https`.
    pub(crate) scheme: String,
    /// Its share within its priority; at least 1.
    pub(crate) weight: u32,
    /// What it serves; `None`: every slice.
    slices: Option<Vec<Serves>>,
}

/// A slice, and the DNNs within it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Serves {
    slice: Snssai,
    /// Empty: every DNN.
    dnns: Vec<String>,
}

/// What a request needs of the instance that takes it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// The slice of the session.
    pub slice: Option<&'a Snssai>,
    /// Its data network.
    pub dnn: Option<&'a str>,
}

impl Offer {
    /// An instance that an option names.
    pub(crate) fn given(authority: String) -> Self {
        Self {
            priority: 0,
            authority,
            scheme: "http".to_owned(),
            weight: 1,
            slices: None,
        }
    }

    /// Whether it serves what is wanted.
    pub(crate) fn serves(&self, wanted: Wanted<'_>) -> bool {
        let Some(slices) = &self.slices else {
            return true;
        };
        slices.iter().any(|one| {
            let slice = wanted.slice.is_none_or(|slice| one.slice.is(slice));
            // A DNN is compared as a domain name is (TS 23.003, 9.1).
            let dnn = wanted.dnn.is_none_or(|dnn| {
                one.dnns.is_empty() || one.dnns.iter().any(|own| own.eq_ignore_ascii_case(dnn))
            });
            slice && dnn
        })
    }

    /// `http://host:port`.
    pub(crate) fn root(&self) -> String {
        format!("{}://{}", self.scheme, self.authority)
    }
}

/// The share of an instance within its priority: its capacity, less the loaded part.
///
/// `load` is a percentage; more than 100 counts as 100. The result is at least 1, so that an instance
/// under full load is still chosen when it is the only one.
pub fn weight(capacity: Option<u16>, load: Option<u8>) -> u32 {
    let free = 100 - u32::from(load.unwrap_or_default().min(100));
    (u32::from(capacity.unwrap_or(CAPACITY)) * free / 100).max(1)
}

/// Where `service` is offered, each place once, sorted.
pub(crate) fn offers<'a>(
    profiles: impl IntoIterator<Item = &'a NfProfile>,
    service: &str,
) -> Vec<Offer> {
    let mut found: Vec<Offer> = profiles
        .into_iter()
        .filter(|profile| profile.nf_status == "REGISTERED")
        .flat_map(|profile| profile.services().map(move |offered| (profile, offered)))
        .filter(|(_, offered)| offered.service_name == service)
        .filter(|(_, offered)| offered.nf_service_status == "REGISTERED")
        .flat_map(|(profile, offered)| offers_of(profile, offered))
        .take(MAX_OFFERS)
        .collect();
    found.sort_unstable();
    let mut seen = std::collections::HashSet::new();
    found.retain(|offer| seen.insert(offer.authority.clone()));
    found
}

/// The end points of one service; those of its NF where the service has none.
fn offers_of<'a>(profile: &'a NfProfile, offered: &'a NfService) -> impl Iterator<Item = Offer> {
    let default = if offered.scheme == "https" { 443 } else { 80 };
    let of_nf = || {
        let v4 = profile.ipv4_addresses.first().map(|host| Host::V4(host));
        let v6 = profile.ipv6_addresses.first().map(|host| Host::V6(host));
        let name = offered.fqdn.as_ref().or(profile.fqdn.as_ref());
        v4.or(v6).or_else(|| name.map(|host| Host::Name(host)))
    };
    let mut places = Vec::new();
    for point in &offered.ip_end_points {
        let v4 = point.ipv4_address.as_deref().map(Host::V4);
        let v6 = point.ipv6_address.as_deref().map(Host::V6);
        if let Some(host) = v4.or(v6).or_else(of_nf) {
            places.push((host, point.port.unwrap_or(default)));
        }
    }
    if offered.ip_end_points.is_empty()
        && let Some(host) = of_nf()
    {
        places.push((host, default));
    }
    places.into_iter().map(|(host, port)| Offer {
        priority: offered.priority.or(profile.priority).unwrap_or_default(),
        authority: format!("{host}:{port}"),
        scheme: offered.scheme.clone(),
        weight: weight(
            offered.capacity.or(profile.capacity),
            offered.load.or(profile.load),
        ),
        slices: served_by(profile),
    })
}

/// How a profile writes a host, and how an authority does (RFC 3986, 3.2.2).
#[derive(Clone, Copy)]
enum Host<'a> {
    V4(&'a str),
    V6(&'a str),
    Name(&'a str),
}

impl fmt::Display for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(host) | Self::Name(host) => f.write_str(host),
            Self::V6(host) => write!(f, "[{host}]"),
        }
    }
}

/// What a profile states of slices and DNNs (TS 29.510, 6.1.6.2.12); `None`: nothing.
fn served_by(profile: &NfProfile) -> Option<Vec<Serves>> {
    let of_smf = |info: &SmfInfo| {
        let items = info.s_nssai_smf_info_list.iter().map(|item| Serves {
            slice: item.s_nssai.clone(),
            dnns: item
                .dnn_smf_info_list
                .iter()
                .map(|one| one.dnn.clone())
                .collect(),
        });
        items.collect::<Vec<_>>()
    };
    let of_smf = profile.smf_info.as_ref().map(of_smf);
    if let Some(of_smf) = of_smf.filter(|list| !list.is_empty()) {
        return Some(of_smf);
    }
    let slices = profile.s_nssais.as_ref().filter(|list| !list.is_empty())?;
    let of_nf = slices.iter().map(|slice| Serves {
        slice: slice.clone(),
        dnns: Vec::new(),
    });
    Some(of_nf.collect())
}

/// The offers that serve what is wanted: the first choice, then each alternative in the order in which
/// a caller tries them. The same `draw` gives the same order.
pub(crate) fn select<'a>(offers: &'a [Offer], wanted: Wanted<'_>, draw: u64) -> Vec<&'a Offer> {
    let mut draws = Draws(draw);
    // Weighted sampling without replacement, by the keys of Efraimidis and Spirakis: the largest of
    // u^(1/weight) first, which is the smallest of -ln(u)/weight.
    let mut keyed: Vec<(u16, f64, &Offer)> = offers
        .iter()
        .filter(|offer| offer.serves(wanted))
        .map(|offer| {
            let key = -draws.next().ln() / f64::from(offer.weight);
            (offer.priority, key, offer)
        })
        .collect();
    keyed.sort_by(|(one, a, _), (two, b, _)| one.cmp(two).then(a.total_cmp(b)));
    keyed.into_iter().map(|(_, _, offer)| offer).collect()
}

/// Numbers above 0 and up to 1 from a seed (SplitMix64).
struct Draws(u64);

impl Draws {
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 bits are what a number of this type holds"
    )]
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        ((word >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn profile(document: Value) -> NfProfile {
        serde_json::from_value(document).expect("a profile")
    }

    /// An SMF at this host with these members beside the mandatory ones.
    fn smf(host: &str, more: Value) -> NfProfile {
        let mut document = json!({
            "nfInstanceId": host, "nfType": "SMF", "nfStatus": "REGISTERED",
            "ipv4Addresses": [host],
            "nfServices": [{
                "serviceInstanceId": "1", "serviceName": "nsmf-pdusession", "scheme": "http",
                "versions": [], "nfServiceStatus": "REGISTERED",
                "ipEndPoints": [{"port": 7000}],
            }],
        });
        let members = document.as_object_mut().expect("an object");
        members.extend(more.as_object().expect("an object").clone());
        profile(document)
    }

    fn serving(slice: u8, dnns: &[&str]) -> Value {
        let dnns: Vec<Value> = dnns.iter().map(|dnn| json!({"dnn": dnn})).collect();
        json!({"smfInfo": {"sNssaiSmfInfoList": [
            {"sNssai": {"sst": slice}, "dnnSmfInfoList": dnns},
        ]}})
    }

    fn hosts(found: &[&Offer]) -> Vec<String> {
        let host = |offer: &&Offer| offer.authority.replace(":7000", "");
        found.iter().map(host).collect()
    }

    /// How often each is the first choice of 10,000 draws.
    fn shares(offers: &[Offer], wanted: Wanted<'_>) -> Vec<(String, u32)> {
        let mut counts = std::collections::BTreeMap::new();
        for draw in 0..10_000 {
            let first = select(offers, wanted, draw);
            *counts.entry(hosts(&first[..1]).remove(0)).or_default() += 1;
        }
        counts.into_iter().collect()
    }

    #[test]
    fn lower_priority_values_are_used_first_and_the_others_are_alternatives() {
        let profiles = [
            smf("a", json!({"priority": 20})),
            smf("b", json!({"priority": 10})),
            smf("c", json!({})),
        ];
        let offers = offers(&profiles, "nsmf-pdusession");
        for draw in 0..100 {
            let found = select(&offers, Wanted::default(), draw);
            assert_eq!(hosts(&found), ["c", "b", "a"]);
        }
    }

    #[test]
    fn instances_of_one_priority_share_by_capacity_less_load() {
        let table = [
            // Capacities 300 and 100.
            (json!({"capacity": 300}), json!({"capacity": 100}), 7500),
            // Equal capacities, loads 75 and 25 percent.
            (json!({"load": 75}), json!({"load": 25}), 2500),
            // The one is fully loaded.
            (json!({"load": 100}), json!({"load": 0}), 99),
            // Nothing is stated.
            (json!({}), json!({"capacity": 100, "load": 0}), 5000),
        ];
        for (one, two, expected) in table {
            let offers = offers(&[smf("a", one), smf("b", two)], "nsmf-pdusession");
            let shares = shares(&offers, Wanted::default());
            let first = shares.iter().find(|(host, _)| host == "a");
            let first = first.map_or(0, |(_, count)| *count);
            assert!(first.abs_diff(expected) < 200, "{first} of {expected}");
        }
    }

    #[test]
    fn weight_is_capacity_less_load_and_never_zero() {
        let table = [
            ((None, None), 100),
            ((Some(10), Some(50)), 5),
            ((Some(65_535), Some(0)), 65_535),
            ((Some(0), None), 1),
            ((Some(100), Some(100)), 1),
            ((Some(100), Some(255)), 1),
        ];
        for ((capacity, load), expected) in table {
            assert_eq!(weight(capacity, load), expected, "{capacity:?} {load:?}");
        }
    }

    #[test]
    fn instances_that_do_not_serve_the_slice_or_the_dnn_are_left_out() {
        let profiles = [
            smf("all", json!({})),
            smf("internet", serving(1, &["internet"])),
            smf("ims", serving(1, &["ims"])),
            smf("any", serving(2, &[])),
            smf("slice", json!({"sNssais": [{"sst": 2}]})),
        ];
        let offers = offers(&profiles, "nsmf-pdusession");
        let (one, two) = (&Snssai { sst: 1, sd: None }, &Snssai { sst: 2, sd: None });
        let table: [(Option<&Snssai>, Option<&str>, &[&str]); 6] = [
            (None, None, &["all", "any", "ims", "internet", "slice"]),
            (Some(one), Some("internet"), &["all", "internet"]),
            (Some(one), Some("INTERNET"), &["all", "internet"]),
            (Some(one), Some("other"), &["all"]),
            (Some(two), Some("internet"), &["all", "any", "slice"]),
            (Some(one), None, &["all", "ims", "internet"]),
        ];
        for (slice, dnn, expected) in table {
            let mut found = hosts(&select(&offers, Wanted { slice, dnn }, 7));
            found.sort_unstable();
            assert_eq!(found, expected, "{slice:?} {dnn:?}");
        }
    }

    #[test]
    fn what_the_service_states_goes_before_what_its_nf_states() {
        let mut one = smf("a", json!({"priority": 9, "capacity": 1, "load": 99}));
        let service = &mut one.nf_services[0];
        (service.priority, service.capacity, service.load) = (Some(3), Some(200), Some(50));
        let offers = offers(&[one], "nsmf-pdusession");
        assert_eq!((offers[0].priority, offers[0].weight), (3, 100));
    }

    #[test]
    fn places_are_read_from_each_form_that_a_profile_may_have() {
        let service = |more: Value| {
            let mut service = json!({
                "serviceInstanceId": "1", "serviceName": "nudm-ueau", "scheme": "http",
                "versions": [], "nfServiceStatus": "REGISTERED",
            });
            let members = service.as_object_mut().expect("an object");
            members.extend(more.as_object().expect("an object").clone());
            service
        };
        let nf = |more: Value, offered: Value| {
            let mut document = json!({
                "nfInstanceId": "x", "nfType": "UDM", "nfStatus": "REGISTERED",
                "nfServiceList": {"x": offered},
            });
            let members = document.as_object_mut().expect("an object");
            members.extend(more.as_object().expect("an object").clone());
            profile(document)
        };
        let table = [
            (
                json!({"ipv4Addresses": ["10.0.0.1"]}),
                json!({}),
                "10.0.0.1:80",
            ),
            (
                json!({"ipv4Addresses": ["10.0.0.1"]}),
                json!({"scheme": "https"}),
                "10.0.0.1:443",
            ),
            (
                json!({"ipv4Addresses": ["10.0.0.1"]}),
                json!({"ipEndPoints": [{"ipv4Address": "10.0.0.2", "port": 7}]}),
                "10.0.0.2:7",
            ),
            (
                json!({"ipv6Addresses": ["2001:db8::1"]}),
                json!({"ipEndPoints": [{"port": 7}]}),
                "[2001:db8::1]:7",
            ),
            (
                json!({}),
                json!({"ipEndPoints": [{"ipv6Address": "::1", "port": 7}]}),
                "[::1]:7",
            ),
            (
                json!({"fqdn": "udm.example"}),
                json!({"ipEndPoints": [{"port": 7}]}),
                "udm.example:7",
            ),
            (
                json!({"fqdn": "udm.example"}),
                json!({"fqdn": "ueau.udm.example"}),
                "ueau.udm.example:80",
            ),
        ];
        for (of_nf, of_service, expected) in table {
            let offers = offers(&[nf(of_nf, service(of_service))], "nudm-ueau");
            let found: Vec<&str> = offers.iter().map(|one| one.authority.as_str()).collect();
            assert_eq!(found, [expected]);
        }
        let suspended = nf(
            json!({"ipv4Addresses": ["10.0.0.1"]}),
            service(json!({"nfServiceStatus": "SUSPENDED"})),
        );
        assert!(super::offers(&[suspended], "nudm-ueau").is_empty());
    }
}
