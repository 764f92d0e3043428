//! Nudm_UECM and Nudm_SDM (TS 29.503), as an AMF uses them.

use crate::context::ue::Ue;
use corewire_core5g_nas::Snssai;
use corewire_core5g_ngap::UeAmbr;
use corewire_core5g_runtime::{SbiFailure, SbiRequest};
use corewire_core5g_sbi::model::common::Snssai as Slice;
use corewire_guti::{Guami, Plmn};
use serde_json::{Value, json};

/// What the UE may have (AccessAndMobilitySubscriptionData, TS 29.503, 6.1.6.2.4).
pub(crate) struct Subscription {
    /// The default slices first.
    pub(crate) slices: Vec<Snssai>,
    pub(crate) ambr: UeAmbr,
}

/// When a subscription names no rate.
const RATE: u64 = 1_000_000_000;

/// Says that the UE is registered here (TS 29.503, 5.3.2.2.2).
///
/// # Errors
/// When the UDM does not take it.
pub(crate) async fn register(ue: &Ue) -> Result<(), SbiFailure> {
    let (supi, amf) = (ue.supi_text(), &ue.amf);
    let root = &amf.own.api_root;
    let registration = json!({
        "amfInstanceId": amf.own.instance,
        "deregCallbackUri": format!(
            "{root}/namf-callback/v1/{supi}/dereg-notify/{}",
            ue.registration
        ),
        "guami": guami(amf.network.guami),
        "ratType": "NR",
        "initialRegistrationInd": true,
    });
    let request = SbiRequest::put(path(&supi)).json(&registration)?;
    ue.sbi.call("nudm-uecm", request).await.map(drop)
}

/// Says that the UE is gone (purge, TS 29.503, 5.3.2.4.2).
pub(crate) async fn deregister(ue: &Ue) {
    let patch = json!({"guami": guami(ue.amf.network.guami), "purgeFlag": true});
    let request = SbiRequest::patch(path(&ue.supi_text()))
        .octets("application/merge-patch+json", patch.to_string());
    match ue.sbi.call("nudm-uecm", request).await {
        Err(failure) if failure.status() != Some(404) => {
            tracing::warn!(name: "udm-deregistration-failed", "a UE is still registered at the UDM: {failure}");
        }
        _ => {}
    }
}

/// Asks what the UE may have (TS 29.503, 5.2.2.2.2).
///
/// # Errors
/// When the UDM does not say.
pub(crate) async fn access_and_mobility(ue: &Ue) -> Result<Subscription, SbiFailure> {
    let path = format!("/nudm-sdm/v2/{}/am-data", ue.supi_text());
    let data: Value = ue
        .sbi
        .call("nudm-sdm", SbiRequest::get(path))
        .await?
        .json()?;
    Ok(read_subscription(&data))
}

/// The data network that the UE's subscription has as default in this slice (TS 29.503, 5.2.2.2.4), if it
/// has one.
pub(crate) async fn default_dnn(ue: &Ue, slice: &Slice) -> Option<String> {
    let request = SbiRequest::get(format!("/nudm-sdm/v2/{}/smf-select-data", ue.supi_text()));
    let answered = ue.sbi.call("nudm-sdm", request).await;
    match answered.and_then(|answer| answer.json()) {
        Ok(data) => read_default_dnn(&data, slice),
        Err(failure) => {
            tracing::warn!(name: "no-default-dnn", "the UDM: {failure}");
            None
        }
    }
}

fn read_default_dnn(data: &Value, slice: &Slice) -> Option<String> {
    let wanted = Snssai {
        sst: slice.sst,
        sd: slice.differentiator(),
    };
    let infos = data["subscribedSnssaiInfos"].as_object()?;
    let is_wanted = |name: &str| {
        let (sst, sd) = name.split_once('-').unwrap_or((name, ""));
        let sd = (!sd.is_empty()).then(|| sd.to_owned());
        let sst = sst.parse();
        sst.is_ok_and(|sst| {
            let named = Slice { sst, sd };
            wanted.sst == named.sst && wanted.sd == named.differentiator()
        })
    };
    let (_, info) = infos.iter().find(|(name, _)| is_wanted(name))?;
    let dnns = info["dnnInfos"].as_array()?;
    let default = dnns.iter().find(|dnn| dnn["defaultDnnIndicator"] == true)?;
    default["dnn"].as_str().map(str::to_owned)
}

/// What AccessAndMobilitySubscriptionData says.
pub(crate) fn read_subscription(data: &Value) -> Subscription {
    let mut slices = Vec::new();
    for list in ["defaultSingleNssais", "singleNssais"] {
        for slice in data["nssai"][list].as_array().into_iter().flatten() {
            if let Some(slice) = read_slice(slice).filter(|slice| !slices.contains(slice)) {
                slices.push(slice);
            }
        }
    }
    let ambr = &data["subscribedUeAmbr"];
    let rate = |name: &str| {
        ambr[name]
            .as_str()
            .and_then(corewire_core5g_sbi::model::common::bit_rate)
    };
    Subscription {
        slices,
        ambr: UeAmbr {
            downlink: rate("downlink").unwrap_or(RATE),
            uplink: rate("uplink").unwrap_or(RATE),
        },
    }
}

fn read_slice(value: &Value) -> Option<Snssai> {
    let slice: Slice = serde_json::from_value(value.clone()).ok()?;
    Some(Snssai {
        sst: slice.sst,
        sd: slice.differentiator(),
    })
}

fn path(supi: &str) -> String {
    format!("/nudm-uecm/v1/{supi}/registrations/amf-3gpp-access")
}

/// Guami (TS 29.571, 5.3.4.1).
pub(crate) fn guami(guami: Guami) -> Value {
    json!({
        "plmnId": plmn(guami.plmn()),
        "amfId": format!("{:06x}", guami.amf_id()),
    })
}

/// PlmnId (TS 29.571, 5.4.4.3).
pub(crate) fn plmn(plmn: Plmn) -> Value {
    let digits = usize::from(plmn.mnc_digits());
    json!({
        "mcc": format!("{:03}", plmn.mcc()),
        "mnc": format!("{:0digits$}", plmn.mnc()),
    })
}
