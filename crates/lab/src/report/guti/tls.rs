//! What TLS costs: each adapter with it beside itself in clear text, in the same run.

use std::fmt::Write as _;

use super::metric::Metric;
use super::runs::{Condition, Runs};
use super::versus::{clear_text_of, is_ours, ratio_words};
use crate::args::Tls;
use crate::record::Mode;
use crate::report::escape::escape;
use crate::statistics::{Summary, compare_interleaved};

/// The quantities compared, with their titles.
const METRICS: [(Metric, &str); 4] = [
    (Metric::Qps, "Requests a second"),
    (Metric::Mean, "Mean latency"),
    (Metric::P99, "99th percentile latency"),
    (Metric::ServerCpuPerRequest, "Server CPU a request"),
];

/// What our own mutual TLS must keep of the clear text's requests a second, by payload.
const GOALS: [(u64, f64); 2] = [(0, 0.8), (10_000, 0.6)];

/// The section; empty when no run had TLS.
pub(super) fn section(runs: &Runs<'_>) -> String {
    let secured: Vec<(&str, String, Tls)> = runs
        .subjects()
        .iter()
        .filter_map(|subject| {
            let (plain, kind) = clear_text_of(subject)?;
            Some((subject.as_str(), plain, kind))
        })
        .collect();
    if secured.is_empty() {
        return String::new();
    }
    let mut rows = String::new();
    for condition in runs.conditions() {
        for (subject, plain, kind) in &secured {
            if condition.mode == Mode::NoRate {
                row(runs, condition, subject, plain, *kind, &mut rows);
            }
        }
    }
    let mut html = String::from(
        "<p>An adapter's figure with TLS over its own in clear text, pair by pair of repetitions of \
         this run: the median, with the quartiles in brackets. <code>+tls</code>: the server shows a \
         certificate; <code>+mtls</code>: both do. ECDSA on P-256; every connection is made before \
         the measurement, so handshakes are not in it. Each library negotiates what it prefers: \
         Corewire AES-128-GCM, those on OpenSSL or BoringSSL as they are installed.</p>",
    );
    if rows.is_empty() {
        html.push_str("<p>No adapter has figures both with TLS and in clear text.</p>");
        return html;
    }
    html.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>Adapter</th><th>Payload, clients</th>",
    );
    for (_, title) in METRICS {
        let _ = write!(html, "<th>{title}</th>");
    }
    let _ = write!(
        html,
        "<th>Our goal</th></tr></thead><tbody>{rows}</tbody></table></div>"
    );
    html
}

fn row(
    runs: &Runs<'_>,
    condition: Condition,
    subject: &str,
    plain: &str,
    kind: Tls,
    html: &mut String,
) {
    let mut cells = String::new();
    let mut kept = None;
    for (metric, _) in METRICS {
        let with = runs.samples(condition, subject, metric);
        let without = runs.samples(condition, plain, metric);
        let compared = compare_interleaved(&with, &without);
        let ratio = compared.ratio;
        if matches!(metric, Metric::Qps) {
            if ratio.is_none() {
                return;
            }
            kept = ratio.map(|ratio| (ratio, compared.suffices));
        }
        let _ = write!(cells, "<td>{}</td>", escape(&ratio_words(ratio.as_ref())));
    }
    let _ = write!(
        html,
        "<tr><th scope=\"row\">{}</th><td>{}</td>{cells}<td>{}</td></tr>",
        escape(subject),
        escape(&condition.words()),
        goal(condition, subject, kind, kept)
    );
}

/// Whether our own mutual TLS keeps what it must: said where the quartiles are on one side of it.
fn goal(condition: Condition, subject: &str, kind: Tls, kept: Option<(Summary, bool)>) -> String {
    let goal = GOALS
        .iter()
        .find(|(payload, _)| *payload == condition.payload)
        .filter(|_| is_ours(subject) && kind == Tls::Mutual);
    let (Some((_, least)), Some((kept, suffices))) = (goal, kept) else {
        return String::new();
    };
    let (class, words) = if !suffices {
        ("none", "too few runs")
    } else if kept.q1 >= *least {
        ("good", "met")
    } else if kept.q3 < *least {
        ("bad", "missed")
    } else {
        ("even", "open")
    };
    format!("<span class=\"mark {class}\">{words}</span> at least {least:.1}× requests a second")
}
