//! The paper's printed numbers beside ours, and sentences on what agrees.

use std::fmt::Write as _;

use super::metric::Metric;
use super::runs::{Condition, Runs};
use crate::report::escape::escape;
use crate::report::format;
use crate::statistics::{Summary, Verdict};

/// A number that the paper prints ("Toward 6G Core Architecture Using an Inline Service Mesh",
/// SK Telecom and Intel, 358251-001US), at 1500 requests a second and 30 replicas.
#[derive(Clone, Copy, Debug)]
struct Printed {
    what: &'static str,
    place: &'static str,
    sidecar: f64,
    inline: f64,
    unit: &'static str,
    metric: Metric,
    /// From our unit to the paper's.
    scale: f64,
}

const PRINTED: [Printed; 2] = [
    Printed {
        what: "one-way latency of SM-Context-Create, gateway to replica, 99th percentile",
        place: "figure 11, footnote 1",
        sidecar: 7.0,
        inline: 2.0,
        unit: "ms",
        metric: Metric::OneWayP99,
        scale: 1e-3,
    },
    Printed {
        what: "CPU of the SMF gateway's pod",
        place: "figure 12, footnote 2",
        sidecar: 3_000.0,
        inline: 2_000.0,
        unit: "mCPU",
        metric: Metric::PodMilliCores,
        scale: 1.0,
    },
];

/// Pairs that stand for the paper's two: gRPC inline, gRPC through sidecars.
const PAIRS: [(&str, &str); 5] = [
    ("shim-grpc", "envoy-2-grpc"),
    ("grpc-xds", "envoy-2-grpc"),
    ("inline-grpc", "envoy-2-grpc"),
    ("inline-rest", "envoy-2-rest"),
    ("inline-native", "envoy-2-rest"),
];

/// The whole section.
pub(super) fn section(runs: &Runs<'_>) -> String {
    let mut html = String::from(
        "<p>The paper measured on two servers of 64 cores under Kubernetes and Istio 1.14 with TLS \
         and iptables in the way; here both sides and every sidecar share the cores of one machine, \
         in clear text and without iptables. Its milliseconds and ours are not comparable, the \
         ratios are: what we give the sidecar is a lower bound.</p>\
         <div class=\"scroll\"><table><thead><tr><th>Quantity</th><th>Paths</th><th>Sidecar</th>\
         <th>Inline</th><th>Sidecar ÷ inline</th></tr></thead><tbody>",
    );
    for printed in PRINTED {
        let _ = write!(
            html,
            "<tr><td>{} ({})</td><th scope=\"row\">the paper</th><td>{} {unit}</td>\
             <td>{} {unit}</td><td>{}</td></tr>",
            escape(printed.what),
            escape(printed.place),
            format::significant(printed.sidecar),
            format::significant(printed.inline),
            format::ratio(printed.sidecar / printed.inline),
            unit = printed.unit,
        );
        for (inline, sidecar) in PAIRS {
            own_row(&printed, runs, inline, sidecar, &mut html);
        }
    }
    html.push_str("</tbody></table></div><ul class=\"statements\">");
    for sentence in [
        latency_sentence(runs),
        jitter_sentence(runs),
        cpu_sentence(runs),
    ] {
        if !sentence.is_empty() {
            let _ = write!(html, "<li>{}</li>", escape(&sentence));
        }
    }
    html.push_str("</ul>");
    html
}

fn own_row(printed: &Printed, runs: &Runs<'_>, inline: &str, sidecar: &str, html: &mut String) {
    let show = |summary: Option<Summary>| {
        summary.map_or_else(
            || "–".to_owned(),
            |summary| {
                let value = summary.median * printed.scale;
                format!("{} {}", format::significant(value), printed.unit)
            },
        )
    };
    let condition = runs.at_rate();
    let of = |subject| condition.and_then(|it| runs.summary(it, subject, printed.metric));
    let ratio = condition
        .and_then(|it| runs.compare(it, sidecar, inline, printed.metric))
        .and_then(|compared| compared.ratio);
    let ratio = ratio.map_or_else(
        || "–".to_owned(),
        |ratio| {
            format!(
                "{} ({} to {})",
                format::ratio(ratio.median),
                format::ratio(ratio.q1),
                format::ratio(ratio.q3)
            )
        },
    );
    let _ = write!(
        html,
        "<tr><td></td><th scope=\"row\">here: {} and {}</th><td>{}</td><td>{}</td><td>{}</td></tr>",
        escape(sidecar),
        escape(inline),
        escape(&show(of(sidecar))),
        escape(&show(of(inline))),
        escape(&ratio),
    );
}

/// Whether latency is more than three times as high with a sidecar.
pub(super) fn latency_sentence(runs: &Runs<'_>) -> String {
    statement(
        runs,
        Metric::OneWayP99,
        "latency is over three times as high with an Envoy sidecar as inline",
        3.0,
    )
}

/// Whether the sidecar's jitter is higher.
pub(super) fn jitter_sentence(runs: &Runs<'_>) -> String {
    statement(
        runs,
        Metric::OneWayJitter,
        "the sidecar shows higher jitter than the inline mesh",
        1.0,
    )
}

/// Whether the pod takes a third less CPU inline.
pub(super) fn cpu_sentence(runs: &Runs<'_>) -> String {
    statement(
        runs,
        Metric::PodMilliCores,
        "the gateway's pod takes a third less CPU inline",
        1.5,
    )
}

/// Holds a statement of the paper against each pair that was run.
fn statement(runs: &Runs<'_>, metric: Metric, says: &str, at_least: f64) -> String {
    let Some(condition) = runs.at_rate() else {
        return String::new();
    };
    let mut held = Vec::new();
    let mut not = Vec::new();
    for (inline, sidecar) in PAIRS {
        let Some(compared) = runs.compare(condition, sidecar, inline, metric) else {
            continue;
        };
        let Some(ratio) = compared.ratio else {
            continue;
        };
        let hint = match compared.verdict {
            Verdict::NotShown(_) => ", a hint",
            Verdict::Smaller | Verdict::Larger => "",
        };
        let words = format!(
            "{sidecar} against {inline} ({}{hint})",
            format::ratio(ratio.median)
        );
        if ratio.median >= at_least {
            held.push(words);
        } else {
            not.push(words);
        }
    }
    if held.is_empty() && not.is_empty() {
        return String::new();
    }
    let mut sentence = format!("The paper says that at 1500/s {says}. ");
    match (held.as_slice(), not.as_slice()) {
        (held, []) => {
            let _ = write!(
                sentence,
                "Here, at {}, it agrees: {}.",
                condition.words(),
                format::list(held)
            );
        }
        ([], not) => {
            let _ = write!(
                sentence,
                "Here, at {}, it does not: {}.",
                condition.words(),
                format::list(not)
            );
        }
        (held, not) => {
            let _ = write!(
                sentence,
                "Here, at {}, it agrees for {}, but not for {}.",
                condition.words(),
                format::list(held),
                format::list(not)
            );
        }
    }
    sentence
}

/// Whether latency rises with connections, and with which path more.
pub(super) fn connections_sentence(runs: &Runs<'_>, conditions: &[&Condition]) -> String {
    let (Some(few), Some(many)) = (conditions.first(), conditions.last()) else {
        return String::new();
    };
    let growths: Vec<String> = runs
        .subjects()
        .iter()
        .filter_map(|subject| {
            let least = runs.summary(few, subject, Metric::P50)?.median;
            let most = runs.summary(many, subject, Metric::P50)?.median;
            (least > 0.0).then(|| format!("{subject} {}", format::ratio(most / least)))
        })
        .collect();
    if growths.is_empty() {
        return String::new();
    }
    format!(
        "The paper says that latency rises with the number of connections, and dramatically with \
         sidecars. From {} to {} connections the median here becomes: {}.",
        few.replicas * few.gateways,
        many.replicas * many.gateways,
        growths.join(", ")
    )
}
