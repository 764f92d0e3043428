//! Corewire's own words in the metadata of xDS: `filter_metadata["corewire"]`.

use super::report::{Path, Report};
use crate::config::{Admission, LbPolicy, Transport};
use corewire_xds::envoy::config::core::v3::Metadata;
use corewire_xds::{Struct, Value, value::Kind};

/// The name space of our metadata.
const NAMESPACE: &str = "corewire";

/// What is said there. What a resource has no use for is a notice.
#[derive(Debug, Default)]
pub(crate) struct Words {
    pub(crate) transport: Option<Transport>,
    pub(crate) admission: Option<Admission>,
    pub(crate) balance: Option<LbPolicy>,
    pub(crate) repeatable: Option<bool>,
}

/// Reads what is meant for us; other name spaces are other people's.
pub(crate) fn words(metadata: Option<Metadata>, path: &Path<'_>, report: &mut Report) -> Words {
    let mut words = Words::default();
    let Some(ours) = metadata.and_then(|mut all| all.filter_metadata.remove(NAMESPACE)) else {
        return words;
    };
    let path = path.key("filter_metadata", NAMESPACE);
    for (name, value) in ours.fields {
        let path = path.field(&name);
        match name.as_str() {
            "transport" => words.transport = parsed(value, &path, report),
            "balance" => words.balance = balance(value, &path, report),
            "repeatable" => words.repeatable = yes_or_no(value, &path, report),
            "admission" => words.admission = admission(value, &path, report),
            _ => report.notice(&path, "is not known here"),
        }
    }
    words
}

/// What is said of a route: its transport, and whether its operations may be repeated.
pub(crate) fn of_route(
    metadata: Option<Metadata>,
    path: &Path<'_>,
    report: &mut Report,
) -> (Option<Transport>, bool) {
    let words = words(metadata, path, report);
    let repeatable = words.repeatable.unwrap_or(false);
    let others = Words {
        repeatable: None,
        ..words
    };
    (only_transport(others, path, report), repeatable)
}

/// Only a transport; anything else is a notice.
pub(crate) fn transport(
    metadata: Option<Metadata>,
    path: &Path<'_>,
    report: &mut Report,
) -> Option<Transport> {
    let words = words(metadata, path, report);
    only_transport(words, path, report)
}

fn only_transport(words: Words, path: &Path<'_>, report: &mut Report) -> Option<Transport> {
    let Words {
        transport,
        admission,
        balance,
        repeatable,
    } = words;
    let path = path.key("filter_metadata", NAMESPACE);
    for (name, present) in [
        ("admission", admission.is_some()),
        ("balance", balance.is_some()),
    ] {
        if present {
            report.notice(&path.field(name), "belongs to a cluster's metadata");
        }
    }
    if repeatable.is_some() {
        report.notice(&path.field("repeatable"), "belongs to a route's metadata");
    }
    transport
}

fn yes_or_no(value: Value, path: &Path<'_>, report: &mut Report) -> Option<bool> {
    if let Some(Kind::BoolValue(said)) = value.kind {
        return Some(said);
    }
    report.fault(path, "must be true or false");
    None
}

fn text(value: Value, path: &Path<'_>, report: &mut Report) -> Option<String> {
    if let Some(Kind::StringValue(text)) = value.kind {
        return Some(text);
    }
    report.fault(path, "must be a text");
    None
}

fn parsed(value: Value, path: &Path<'_>, report: &mut Report) -> Option<Transport> {
    match text(value, path, report)?.parse() {
        Ok(transport) => Some(transport),
        Err(fault) => {
            report.fault(path, format!("{fault}"));
            None
        }
    }
}

fn balance(value: Value, path: &Path<'_>, report: &mut Report) -> Option<LbPolicy> {
    let name = text(value, path, report)?;
    Some(match name.as_str() {
        "round-robin" => LbPolicy::RoundRobin,
        "least-request" => LbPolicy::LeastRequest { choices: 2 },
        "ring-hash" => super::lb_policy::DEFAULT_RING,
        "random" => LbPolicy::Random,
        "pick-first" => LbPolicy::PickFirst,
        "latency-aware" => LbPolicy::LatencyAware,
        _ => {
            report.fault(
                path,
                format!(
                    "{name:?} is no balancing: round-robin, least-request, ring-hash, random, \
                     pick-first or latency-aware"
                ),
            );
            return None;
        }
    })
}

fn admission(value: Value, path: &Path<'_>, report: &mut Report) -> Option<Admission> {
    let Some(Kind::StructValue(Struct { fields })) = value.kind else {
        report.fault(path, "must be a structure of soft_limit and hard_limit");
        return None;
    };
    let (mut soft, mut hard) = (None, None);
    for (name, value) in fields {
        let path = path.field(&name);
        match name.as_str() {
            "soft_limit" => soft = whole(&value, &path, report),
            "hard_limit" => hard = whole(&value, &path, report),
            _ => report.notice(&path, "is not known here"),
        }
    }
    let Some(hard_limit) = hard else {
        report.fault(&path.field("hard_limit"), "is missing");
        return None;
    };
    let soft_limit = soft.unwrap_or(hard_limit);
    if soft_limit > hard_limit {
        report.fault(&path.field("soft_limit"), "is above hard_limit");
        return None;
    }
    Some(Admission {
        soft_limit,
        hard_limit,
    })
}

fn whole(value: &Value, path: &Path<'_>, report: &mut Report) -> Option<u32> {
    if let Some(Kind::NumberValue(number)) = value.kind
        && number.fract() == 0.0
        && (0.0..=f64::from(u32::MAX)).contains(&number)
    {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it was just found to be a whole number in range"
        )]
        return Some(number as u32);
    }
    report.fault(path, "must be a whole number");
    None
}
