//! What the UE may have: its session management subscription (TS 29.503, 6.1.6.2.8).

use corewire_core5g_nas::SmCause;
use corewire_core5g_sbi::model::common::Snssai as Slice;
use corewire_core5g_sbi::model::common::bit_rate;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The part of a DNN's configuration that a session needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionSubscription {
    /// Of the default flow (TS 23.501, 5.7.4).
    pub(crate) five_qi: u8,
    /// Allocation and retention priority, 1 to 15.
    pub(crate) priority: u8,
    /// Session AMBR, bits a second.
    pub(crate) uplink: u64,
    pub(crate) downlink: u64,
}

/// What an operator gives when the subscription says nothing.
pub(crate) const DEFAULT: SessionSubscription = SessionSubscription {
    five_qi: 9,
    priority: 8,
    uplink: 1_000_000_000,
    downlink: 1_000_000_000,
};

/// A session that the subscription does not allow: the cause for the AMF (TS 29.502, 6.1.7.3), and the one for
/// the UE (TS 24.501, 6.4.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Denied(pub(crate) &'static str, pub(crate) SmCause);

/// The UE has not subscribed to this DNN in this slice.
pub(crate) const NOT_SUBSCRIBED: Denied = Denied("DNN_DENIED", SmCause::NOT_SUBSCRIBED);

/// Reads SmData: a list, or an object that holds one (Rel-17).
///
/// # Errors
/// When the UE may not have an IPv4 session of SSC mode 1 in this DNN and slice.
pub(crate) fn read(data: &Value, slice: &Slice, dnn: &str) -> Result<SessionSubscription, Denied> {
    let of = configuration(data, slice, dnn).ok_or(NOT_SUBSCRIBED)?;
    let types = permitted(
        &of["pduSessionTypes"],
        ["defaultSessionType", "allowedSessionTypes"],
    );
    if !types.is_empty() && !types.iter().any(|kind| ["IPV4", "IPV4V6"].contains(kind)) {
        let is_ipv6 = types.contains(&"IPV6");
        let cause = if is_ipv6 {
            SmCause::IPV6_ONLY
        } else {
            SmCause::UNKNOWN_SESSION_TYPE
        };
        return Err(Denied("PDUTYPE_DENIED", cause));
    }
    let modes = permitted(&of["sscModes"], ["defaultSscMode", "allowedSscModes"]);
    if !modes.is_empty() && !modes.contains(&"SSC_MODE_1") {
        return Err(Denied("SSC_DENIED", SmCause::SSC_MODE_NOT_SUPPORTED));
    }
    let number = |value: &Value, otherwise: u8| {
        value
            .as_u64()
            .and_then(|number| number.try_into().ok())
            .unwrap_or(otherwise)
    };
    let rate =
        |value: &Value, otherwise: u64| value.as_str().and_then(bit_rate).unwrap_or(otherwise);
    Ok(SessionSubscription {
        five_qi: number(&of["5gQosProfile"]["5qi"], DEFAULT.five_qi),
        priority: number(
            &of["5gQosProfile"]["arp"]["priorityLevel"],
            DEFAULT.priority,
        ),
        uplink: rate(&of["sessionAmbr"]["uplink"], DEFAULT.uplink),
        downlink: rate(&of["sessionAmbr"]["downlink"], DEFAULT.downlink),
    })
}

/// The configuration of a DNN in a slice, if there is one.
fn configuration<'a>(data: &'a Value, slice: &Slice, dnn: &str) -> Option<&'a Value> {
    let list = data
        .as_array()
        .or_else(|| data["individualSmSubsData"].as_array())?;
    let entry = list.iter().find(|entry| {
        let of = &entry["singleNssai"];
        of["sst"].as_u64() == Some(u64::from(slice.sst))
            && of["sd"].as_str().map(str::to_lowercase)
                == slice.sd.as_deref().map(str::to_lowercase)
    })?;
    let configurations = entry["dnnConfigurations"].as_object()?;
    let wanted = |name: &str| name.eq_ignore_ascii_case(dnn) || name == "*";
    let (_, of) = configurations.iter().find(|(name, _)| wanted(name))?;
    Some(of)
}

/// The default and the allowed ones of a choice (TS 29.503, 6.1.6.2.11 and 6.1.6.2.12); none where the
/// subscription says nothing of it.
fn permitted<'a>(choice: &'a Value, [default, allowed]: [&str; 2]) -> Vec<&'a str> {
    let allowed = choice[allowed].as_array().into_iter().flatten();
    let all = allowed.chain(choice.get(default));
    all.filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_dnn_s_configuration_is_found_in_its_slice() {
        let data = json!([{"singleNssai": {"sst": 1, "sd": "010203"}, "dnnConfigurations": {
            "internet": {"5gQosProfile": {"5qi": 7, "arp": {"priorityLevel": 3}},
                         "sessionAmbr": {"uplink": "200 Mbps", "downlink": "1.5 Gbps"}}}}]);
        let slice = Slice {
            sst: 1,
            sd: Some("010203".into()),
        };
        let found = read(&data, &slice, "Internet").expect("subscribed");
        assert_eq!(found.five_qi, 7);
        assert_eq!(found.priority, 3);
        assert_eq!(found.uplink, 200_000_000);
        assert_eq!(found.downlink, 1_500_000_000);
        assert_eq!(read(&data, &slice, "ims"), Err(NOT_SUBSCRIBED));
        let other = Slice { sst: 1, sd: None };
        assert_eq!(read(&data, &other, "internet"), Err(NOT_SUBSCRIBED));
    }
}
