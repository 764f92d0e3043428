//! Discovery at the NRF (TS 29.510, 5.3.2.2): one question a service, again and again.
//!
//! What is found goes to the mesh, which balances over it and goes on with the last good state while
//! the NRF is away.

use super::directory::Known;
use super::profile::{Profile, type_of};
use super::{Runtime, SbiRequest};
use serde::Deserialize;
use std::time::{Duration, Instant};

/// Between two questions for a service that nobody offers yet.
const AGAIN: Duration = Duration::from_millis(100);
/// Between two questions for a service that is known: how long a new instance stays without calls.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(2);
/// How long nobody is believed to be somewhere else: an NRF that was started again knows nobody until
/// all have registered anew. As long as a lease, after which who is gone is gone.
const MISSED: Duration = Duration::from_secs(15);
/// Instances of one service that are taken in.
const MAX_INSTANCES: usize = 4096;

/// Begins to ask for what this NF calls, and goes on until the process ends.
pub(super) fn start(runtime: &Runtime, nrf: &str, profile: &Profile) {
    for service in runtime.directory().to_discover() {
        let (task, nrf) = (runtime.clone(), nrf.to_owned());
        let requester = profile.nf_type();
        runtime.spawn(0, async move { look(task, nrf, requester, service).await });
    }
}

async fn look(runtime: Runtime, nrf: String, requester: &'static str, service: String) {
    let target = type_of(&service);
    let path = format!(
        "/nnrf-disc/v1/nf-instances?target-nf-type={target}&requester-nf-type={requester}&service-names={service}"
    );
    let mut tag: Option<String> = None;
    let mut last_found: Option<Instant> = None;
    while !runtime.loops()[0].has_ended() {
        let mut request = SbiRequest::get(path.clone()).within(TIMEOUT);
        if let Some(tag) = &tag {
            request = request.header("if-none-match", tag.clone());
        }
        let mut wait = LOOK_AGAIN;
        match runtime.sbi(0).at_nrf(&nrf, request).await {
            Ok(answer) => {
                if let Ok(found) = answer.json::<SearchResult>() {
                    tag = answer.header("etag").map(str::to_owned);
                    let addresses = found.addresses(&service);
                    if !addresses.is_empty() {
                        last_found = Some(Instant::now());
                        runtime.directory().learn(&service, Known::At(addresses));
                        runtime.grants().prepare(&runtime.sbi(0), &service).await;
                    } else if last_found.is_some_and(|at| at.elapsed() < MISSED) {
                        wait = AGAIN;
                        // To be told of it again.
                        tag = None;
                    } else {
                        wait = AGAIN;
                        runtime.directory().learn(&service, Known::Nowhere);
                    }
                }
            }
            // 304: as before. Otherwise: what is known stays.
            Err(failure) if failure.status() == Some(304) => {
                last_found = last_found.map(|_| Instant::now());
            }
            Err(_) => wait = AGAIN,
        }
        runtime.sleep(wait).await;
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SearchResult {
    #[serde(default)]
    nf_instances: Vec<Instance>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Instance {
    nf_status: Option<String>,
    #[serde(default)]
    ipv4_addresses: Vec<String>,
    #[serde(default)]
    nf_services: Vec<Offer>,
    #[serde(default)]
    nf_service_list: std::collections::BTreeMap<String, Offer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Offer {
    service_name: String,
    nf_service_status: Option<String>,
    #[serde(default)]
    ip_end_points: Vec<EndPoint>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EndPoint {
    ipv4_address: Option<String>,
    port: Option<u16>,
}

impl SearchResult {
    /// Where the service is, sorted, each once.
    fn addresses(&self, service: &str) -> Vec<String> {
        let registered = |status: &Option<String>| {
            status
                .as_deref()
                .is_none_or(|status| status == "REGISTERED")
        };
        let mut addresses = Vec::new();
        let instances = self.nf_instances.iter().take(MAX_INSTANCES);
        for instance in instances.filter(|instance| registered(&instance.nf_status)) {
            let offers = instance
                .nf_services
                .iter()
                .chain(instance.nf_service_list.values())
                .filter(|offer| offer.service_name == service)
                .filter(|offer| registered(&offer.nf_service_status));
            for offer in offers {
                for point in &offer.ip_end_points {
                    let host = point.ipv4_address.as_ref();
                    let Some(host) = host.or_else(|| instance.ipv4_addresses.first()) else {
                        continue;
                    };
                    addresses.push(format!("{host}:{}", point.port.unwrap_or(80)));
                }
            }
        }
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_from_either_form_of_the_services() {
        let text = r#"{"validityPeriod":30,"nfInstances":[
            {"nfInstanceId":"a","nfStatus":"REGISTERED","ipv4Addresses":["10.0.0.1"],
             "nfServices":[{"serviceName":"nudm-ueau","ipEndPoints":[{"port":7000}]},
                           {"serviceName":"nudm-sdm","ipEndPoints":[{"port":7001}]}]},
            {"nfInstanceId":"b","nfStatus":"REGISTERED",
             "nfServiceList":{"x":{"serviceName":"nudm-ueau","nfServiceStatus":"REGISTERED",
                "ipEndPoints":[{"ipv4Address":"10.0.0.2","port":80}]}}},
            {"nfInstanceId":"c","nfStatus":"SUSPENDED","ipv4Addresses":["10.0.0.3"],
             "nfServices":[{"serviceName":"nudm-ueau","ipEndPoints":[{"port":7000}]}]}]}"#;
        let found: SearchResult = serde_json::from_str(text).expect("a result");
        assert_eq!(
            found.addresses("nudm-ueau"),
            ["10.0.0.1:7000", "10.0.0.2:80"]
        );
    }
}
