//! What the UE may have: its session management subscription (TS 29.503, 6.1.6.2.8).

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

/// SmData: a list, or an object that holds one (Rel-17). `None` when the UE has not subscribed to this DNN in
/// this slice.
pub(crate) fn read(data: &Value, slice: &Slice, dnn: &str) -> Option<SessionSubscription> {
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
    let number = |value: &Value, otherwise: u8| {
        value
            .as_u64()
            .and_then(|number| number.try_into().ok())
            .unwrap_or(otherwise)
    };
    let rate =
        |value: &Value, otherwise: u64| value.as_str().and_then(bit_rate).unwrap_or(otherwise);
    Some(SessionSubscription {
        five_qi: number(&of["5gQosProfile"]["5qi"], DEFAULT.five_qi),
        priority: number(
            &of["5gQosProfile"]["arp"]["priorityLevel"],
            DEFAULT.priority,
        ),
        uplink: rate(&of["sessionAmbr"]["uplink"], DEFAULT.uplink),
        downlink: rate(&of["sessionAmbr"]["downlink"], DEFAULT.downlink),
    })
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
        assert_eq!(read(&data, &slice, "ims"), None);
        let other = Slice { sst: 1, sd: None };
        assert_eq!(read(&data, &other, "internet"), None);
    }
}
