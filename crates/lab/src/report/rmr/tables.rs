//! The brief's tables 1 to 5, its numbers beside ours.

use std::fmt::Write as _;

use super::brief::{self, Latency};
use super::runs::{Metric, Runs, State};
use crate::report::escape::escape;
use crate::report::format;
use crate::rmr::{Condition, Nagle, Pin};

/// Table 1: messages a second, one sender, one receiver.
pub(super) fn rates(runs: &Runs<'_>) -> String {
    let condition = Condition::plain(None, 1000);
    let small = Condition::plain(None, 16);
    let mut html = head(
        "Table 1: highest rates, one sender and one receiver",
        &[
            "transport",
            "brief",
            "here",
            "1000 B, here",
            "16 B, here",
            "sender CPU",
            "receiver CPU",
        ],
    );
    for subject in runs.subjects() {
        let printed = brief::TABLE_1
            .iter()
            .find(|(.., ours)| ours.contains(&subject.as_str()));
        let (name, rate) = printed.map_or(("–", String::new()), |(name, rate, _)| {
            (*name, format!(": {}/s", format::compact(*rate)))
        });
        let ratio = printed
            .zip(runs.median(&condition, subject, Metric::Rate))
            .map_or_else(
                || "–".to_owned(),
                |((_, rate, _), here)| format!("{} of the brief's", format::ratio(here / rate)),
            );
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th><td>{name}{rate}</td><td>{ratio}</td><td>{}</td><td>{}\
             </td><td>{}</td><td>{}</td></tr>",
            escape(subject),
            spread(runs, &condition, subject, Metric::Rate),
            spread(runs, &small, subject, Metric::Rate),
            spread(runs, &condition, subject, Metric::SenderCpu),
            spread(runs, &condition, subject, Metric::ReceiverCpu),
        );
    }
    html.push_str(TAIL);
    let cpu: Vec<String> = brief::CPU
        .iter()
        .map(|(name, sender, receiver, _)| {
            format!("{name} {sender:.0} % of a core sending and {receiver:.0} % receiving")
        })
        .collect();
    let _ = write!(
        html,
        "<p>Flat out the brief has {}. Here CPU is told as time for a message; a pinned receiver has \
         one core, so its threads share 100 %.</p>",
        escape(&cpu.join(", "))
    );
    html
}

/// Tables 2 and 3: latency by rate.
pub(super) fn latencies(runs: &Runs<'_>) -> String {
    let mut html = head(
        "Tables 2 and 3: latency by rate (milliseconds)",
        &[
            "rate", "subject", "min", "50 %", "95 %", "99 %", "max", "messages", "figure",
        ],
    );
    let measured = runs.measured_where(|condition| {
        condition.rate.is_some() && *condition == Condition::plain(condition.rate, 1000)
    });
    let printed = [("2", &brief::TABLE_2[..]), ("3", &brief::TABLE_3[..])];
    let mut rates: Vec<u64> = measured.iter().filter_map(|one| one.rate).collect();
    rates.extend(
        printed
            .iter()
            .flat_map(|(_, rows)| rows.iter().map(|row| row.rate)),
    );
    rates.sort_unstable();
    rates.dedup();
    for rate in rates {
        for (table, rows) in printed {
            for row in rows.iter().filter(|row| row.rate == rate) {
                printed_latency(&mut html, table, row);
            }
        }
        for subject in runs.subjects() {
            own_latency(
                runs,
                &mut html,
                &Condition::plain(Some(rate), 1000),
                subject,
            );
        }
    }
    html.push_str(TAIL);
    html.push_str(
        "<p>The brief's rows are gRPC's, measured before its message queue, from the send call. Ours \
         are measured in the application, from the time at which each message was <em>due</em>, so \
         they hold the queue, the wake-up and the sender's own delay too; the table \"Where the time \
         goes\" takes them apart.</p>",
    );
    html
}

fn printed_latency(html: &mut String, table: &str, row: &Latency) {
    let or_more = |value: Option<f64>| {
        value.map_or_else(|| "&gt; 1".to_owned(), |value| format!("{value:.2}"))
    };
    let figure = match row.figure {
        "" => String::new(),
        figure => format!("figure {figure}"),
    };
    let _ = write!(
        html,
        "<tr><td>{}</td><th scope=\"row\">brief, table {table}</th><td>{:.2}</td><td>{:.2}</td>\
         <td>{:.2}</td><td>{}</td><td>{}</td><td></td><td>{figure}</td></tr>",
        format::count(row.rate),
        row.min,
        row.p50,
        row.p95,
        or_more(row.p99),
        or_more(row.max),
    );
}

fn own_latency(runs: &Runs<'_>, html: &mut String, condition: &Condition, subject: &str) {
    let records = runs.records(condition, subject);
    let complete: Vec<_> = records
        .iter()
        .filter_map(|record| record.complete())
        .collect();
    if complete.is_empty() {
        return;
    }
    let messages: u64 = complete.iter().map(|measured| measured.requests).sum();
    let lowest = complete
        .iter()
        .map(|measured| measured.latency_us.min)
        .fold(f64::INFINITY, f64::min);
    let show = |metric| {
        runs.median(condition, subject, metric)
            .map_or_else(|| "–".to_owned(), |value| format!("{:.3}", value / 1e3))
    };
    let _ = write!(
        html,
        "<tr><td>{}</td><th scope=\"row\">{}</th><td>{:.3}</td><td>{}</td><td>{}</td><td>{}</td>\
         <td>{}</td><td>{}</td><td></td></tr>",
        format::count(condition.rate.unwrap_or_default()),
        escape(subject),
        lowest / 1e3,
        show(Metric::P50),
        show(Metric::P95),
        show(Metric::P99),
        show(Metric::Max),
        format::count(messages),
    );
}

/// Table 4: Nagle's algorithm, pinning and MTU.
pub(super) fn tuning(runs: &Runs<'_>) -> String {
    let mut html = head(
        "Table 4: Nagle's algorithm, pinning and MTU, RMR over SI95 at the highest rate",
        &["MTU", "Nagle", "pinned", "subject", "rate", "99 %", "max"],
    );
    for row in &brief::TABLE_4 {
        let limit = |value: Option<f64>| {
            value.map_or_else(|| "&gt; 1 ms".to_owned(), |value| format!("{value:.2} ms"))
        };
        let _ = write!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td><th scope=\"row\">brief</th><td>{}/s</td>\
             <td>{}</td><td>{}</td></tr>",
            row.mtu,
            row.nagle,
            row.pinned,
            format::compact(row.rate),
            limit(row.p99),
            limit(row.max),
        );
    }
    let tuned = runs.measured_where(|condition| {
        let untuned = Condition {
            nagle: Nagle::Off,
            pin: Pin::Both,
            mtu: None,
            ..condition.clone()
        };
        untuned == Condition::plain(None, 1000)
    });
    for condition in tuned {
        for subject in runs.subjects().iter().filter(|name| is_router(name)) {
            if runs.state(&condition, subject) != State::Measured {
                continue;
            }
            let _ = write!(
                html,
                "<tr><td>{}</td><td>{}</td><td>{}</td><th scope=\"row\">{}</th><td>{}</td>\
                 <td>{}</td><td>{}</td></tr>",
                link(&condition),
                crate::rmr::name(condition.nagle),
                crate::rmr::name(condition.pin),
                escape(subject),
                spread(runs, &condition, subject, Metric::Rate),
                spread(runs, &condition, subject, Metric::P99),
                spread(runs, &condition, subject, Metric::Max),
            );
        }
    }
    html.push_str(TAIL);
    html.push_str(
        "<p>At the highest rate a latency shows how full the queues are: whoever sends faster than is \
         received fills them, whatever their size. Our library batches when it is busy and writes at \
         once when it is idle, with one setting: the switch changes nothing for it.</p>",
    );
    html
}

/// Table 5: gRPC, MTU, message size and pinning.
pub(super) fn pinning(runs: &Runs<'_>) -> String {
    let mut html = head(
        "Table 5: message size, MTU and pinning, gRPC at the highest rate",
        &[
            "MTU", "size", "pinned", "subject", "rate", "95 %", "99.99 %", "max",
        ],
    );
    for row in &brief::TABLE_5 {
        let _ = write!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td><th scope=\"row\">brief</th><td>{}/s</td>\
             <td>{:.2} ms</td><td>{:.2} ms</td><td>{:.2} ms</td></tr>",
            row.mtu,
            if row.size == 16 { "small" } else { "1000 B" },
            yes(row.pinned),
            format::compact(row.rate),
            row.p95,
            row.p9999,
            row.max,
        );
    }
    let wanted = runs.measured_where(|condition| {
        let usual = Condition {
            pin: Pin::Both,
            mtu: None,
            size: 1000,
            ..condition.clone()
        };
        usual == Condition::plain(None, 1000)
            && condition.pin != Pin::Receiver
            && [16, 1000].contains(&condition.size)
    });
    for condition in wanted {
        for subject in runs
            .subjects()
            .iter()
            .filter(|name| name.starts_with("grpc"))
        {
            if runs.state(&condition, subject) != State::Measured {
                continue;
            }
            let _ = write!(
                html,
                "<tr><td>{}</td><td>{} B</td><td>{}</td><th scope=\"row\">{}</th><td>{}</td>\
                 <td>{}</td><td>{}</td><td>{}</td></tr>",
                link(&condition),
                condition.size,
                yes(condition.pin == Pin::Both),
                escape(subject),
                spread(runs, &condition, subject, Metric::Rate),
                spread(runs, &condition, subject, Metric::P95),
                spread(runs, &condition, subject, Metric::P9999),
                spread(runs, &condition, subject, Metric::Max),
            );
        }
    }
    html.push_str(TAIL);
    html
}

/// What is sent with RMR's own framing, and so has Nagle's algorithm to switch.
fn is_router(subject: &str) -> bool {
    !subject.starts_with("grpc") && !subject.starts_with("nng") && !subject.contains("-to-")
}

fn link(condition: &Condition) -> String {
    condition
        .mtu
        .map_or_else(|| "loopback".to_owned(), |mtu| mtu.to_string())
}

fn yes(truth: bool) -> &'static str {
    if truth { "yes" } else { "no" }
}

/// The median with its quartiles, or why there is none.
pub(super) fn spread(
    runs: &Runs<'_>,
    condition: &Condition,
    subject: &str,
    metric: Metric,
) -> String {
    match (
        runs.summary(condition, subject, metric),
        runs.state(condition, subject),
    ) {
        (Some(summary), _) if summary.count == 1 => metric.show(summary.median),
        (Some(summary), _) => format!(
            "<span class=\"name\">{} <small>{} to {}</small></span>",
            metric.show(summary.median),
            metric.show(summary.q1),
            metric.show(summary.q3),
        ),
        (None, State::Failed(_)) => "<span class=\"hint\">did not run</span>".to_owned(),
        (None, _) => "–".to_owned(),
    }
}

const TAIL: &str = "</tbody></table></div>";

pub(super) fn head(title: &str, columns: &[&str]) -> String {
    let mut html = format!(
        "<h3>{}</h3><div class=\"scroll\"><table><thead><tr>",
        escape(title)
    );
    for column in columns {
        let _ = write!(html, "<th>{}</th>", escape(column));
    }
    html.push_str("</tr></thead><tbody>");
    html
}
