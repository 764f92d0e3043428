//! From what the programs printed to the figures of a record.

use serde_json::{Map, Value, json};

use super::condition::{Condition, Exchange};
use super::events::{Latencies, ReceiverResult, SenderResult, Tally};
use super::run::Raw;
use crate::harness::Moments;
use crate::record::{
    BINS_50US, BothSides, Failure, Latency, LatencyHistogram, LatencyKind, Measured,
};

/// The figures of a run.
///
/// # Errors
/// When nothing came, or the results contradict each other: that would make a figure that looks
/// right and is not.
pub(super) fn measured(raw: &Raw, condition: &Condition) -> Result<Measured, Failure> {
    let tally = tally_of(&raw.senders, |sender| &sender.measured);
    let delivered: u64 = raw.receivers.iter().map(|one| one.delivered).sum();
    let (latencies, messages, duration_s, latency_kind) = match condition.exchange {
        Exchange::Send => {
            let all = raw.receivers.iter().map(|one| &one.since_due);
            (
                merged(all),
                delivered,
                // Whoever loses most of what is sent may deliver the rest in a moment.
                arrival_span(&raw.receivers).max(sending_span(&raw.senders)),
                LatencyKind::OneWay,
            )
        }
        Exchange::Call | Exchange::Rts => {
            let all = raw
                .senders
                .iter()
                .filter_map(|one| one.round_trips.as_ref());
            (
                merged(all),
                tally.ok,
                sending_span(&raw.senders),
                LatencyKind::RoundTrip,
            )
        }
    };
    if messages == 0 {
        return Err(Failure {
            what: format!(
                "of {} messages {} were accepted and none was delivered",
                tally.attempted, tally.ok
            ),
            place: failures_in_words(&tally),
            next: String::new(),
        });
    }
    let histogram = LatencyHistogram::from_counts(latencies.hdr.iter().copied())
        .map_err(|error| contradiction(&error.to_string()))?;
    if histogram.count() != messages {
        return Err(contradiction(&format!(
            "{messages} messages, but {} in the histogram",
            histogram.count()
        )));
    }
    let accepted = accepted_in_all(&raw.senders);
    let delivered_in_all: u64 = raw.receivers.iter().map(|one| one.delivered_in_all).sum();
    let refused = tally_of(&raw.senders, |sender| &sender.warm_up).errors() + tally.errors();
    if delivered_in_all > accepted + refused {
        return Err(contradiction(&format!(
            "{delivered_in_all} messages came, but {accepted} were sent"
        )));
    }
    if !(duration_s.is_finite() && duration_s > 0.0) {
        return Err(contradiction(&format!("a window of {duration_s} s")));
    }
    let octets: u64 = raw.receivers.iter().map(|one| one.octets).sum();
    Ok(Measured {
        duration_s,
        requests: messages,
        errors: tally.errors(),
        qps: messages as f64 / duration_s,
        bytes_per_s: octets as f64 / duration_s,
        latency_us: latency(latencies.latency_ns, &histogram),
        latency_kind,
        histogram_50us: coarse(&latencies.hdr),
        hdr: histogram
            .encode()
            .map_err(|error| contradiction(&error.to_string()))?,
        cpu_us_per_request: BothSides {
            server: receiver_cpu(&raw.receivers),
            client: Some(sender_cpu_ns(&raw.senders) as f64 / 1e3 / tally.attempted.max(1) as f64),
        },
        cpu_percent: BothSides {
            server: receiver_percent(&raw.receivers),
            client: Some(
                raw.senders.iter().map(|one| one.cpu_ns).sum::<u64>() as f64
                    / 1e7
                    / sending_span(&raw.senders).max(1e-9),
            ),
        },
    })
}

/// The figures that only this scenario has.
pub(super) fn extra(raw: &Raw, condition: &Condition) -> Map<String, Value> {
    let tally = tally_of(&raw.senders, |sender| &sender.measured);
    let sum = |of: fn(&ReceiverResult) -> u64| -> u64 { raw.receivers.iter().map(of).sum() };
    let accepted = accepted_in_all(&raw.senders);
    let delivered_in_all = sum(|one| one.delivered_in_all);
    let told = raw.tx_dropped.unwrap_or(0);
    let mut extra = Map::new();
    let mut put = |name: &str, value: Value| extra.insert(name.to_owned(), value);
    put("sent", tally.ok.into());
    put("attempted", tally.attempted.into());
    put("delivered", sum(|one| one.delivered).into());
    put("sent_in_all", accepted.into());
    put("delivered_in_all", delivered_in_all.into());
    put(
        "lost_silently",
        accepted.saturating_sub(delivered_in_all + told).into(),
    );
    put("tx_dropped", raw.tx_dropped.into());
    let rx_dropped: Option<u64> = raw.receivers.iter().map(|one| one.rx_dropped).sum();
    put("rx_dropped", rx_dropped.into());
    put("failed", json!(tally.failed));
    put("retries", tally.retries.into());
    put("retried", tally.retried.into());
    put("lost_buffers", tally.lost_buffers.into());
    put("unanswered", tally.unanswered.into());
    put("duplicates", sum(|one| one.duplicates).into());
    put("out_of_order", sum(|one| one.out_of_order).into());
    put("corrupt", sum(|one| one.corrupt).into());
    put("strangers", sum(|one| one.strangers).into());
    put("answers_failed", sum(|one| one.answers_failed).into());
    if let [only] = raw.receivers.as_slice() {
        put("missing", only.missing.into());
    }
    if let Some(unsent) = raw
        .senders
        .iter()
        .map(|one| one.unsent)
        .sum::<Option<u64>>()
    {
        put("unsent", unsent.into());
        put("lag_us", lag(&raw.senders));
    }
    let spun: u64 = raw.senders.iter().map(|one| one.spun_ns).sum();
    put("sender_spun_s", (spun as f64 / 1e9).into());
    put("queue_time_known", raw.queue_time.into());
    if let Some(all) = all_of(raw.receivers.iter().map(|one| one.since_sent.as_ref())) {
        put("since_sent_us", in_microseconds(&all));
    }
    if let Some(all) = all_of(raw.receivers.iter().map(|one| one.before_queue.as_ref())) {
        put("before_queue_us", in_microseconds(&all));
    }
    put("routes", condition.routes.into());
    if raw.receivers.len() > 1 {
        let each: Vec<Value> = raw.receivers.iter().map(receiver_alone).collect();
        put("receivers", each.into());
    }
    if let Some(manager) = &raw.manager {
        put(
            "swaps",
            json!({
                "sent": manager.sent,
                "refused": manager.refused,
                "accepted": manager.accepted,
                "rejected": manager.rejected,
                "unanswered": manager.unanswered,
                "duration_s": manager.duration_s,
                "reason": manager.reason,
                "answer_us": in_microseconds(&manager.answers),
            }),
        );
    }
    extra
}

fn tally_of(senders: &[SenderResult], phase: fn(&SenderResult) -> &Tally) -> Tally {
    let mut all = Tally::default();
    for sender in senders {
        all.add(phase(sender));
    }
    all
}

fn accepted_in_all(senders: &[SenderResult]) -> u64 {
    senders
        .iter()
        .map(|one| one.warm_up.ok + one.measured.ok)
        .sum()
}

/// From the first to the last arrival, at whichever receiver.
fn arrival_span(receivers: &[ReceiverResult]) -> f64 {
    let busy = || receivers.iter().filter(|one| one.delivered > 0);
    let first = busy().map(|one| one.first_ns).min().unwrap_or(0);
    let last = busy().map(|one| one.last_ns).max().unwrap_or(0);
    (last - first) as f64 / 1e9
}

fn sending_span(senders: &[SenderResult]) -> f64 {
    senders.iter().map(|one| one.duration_s).fold(0.0, f64::max)
}

/// What waiting for the time of a message cost is the measurement's, not the library's.
fn sender_cpu_ns(senders: &[SenderResult]) -> u64 {
    senders
        .iter()
        .map(|one| one.cpu_ns.saturating_sub(one.spun_ns))
        .sum()
}

fn receiver_cpu(receivers: &[ReceiverResult]) -> Option<f64> {
    let messages: u64 = receivers.iter().map(|one| one.cpu_messages).sum();
    let cpu: u64 = receivers.iter().map(|one| one.cpu_ns).sum();
    (messages > 0).then(|| cpu as f64 / 1e3 / messages as f64)
}

fn receiver_percent(receivers: &[ReceiverResult]) -> Option<f64> {
    let window = receivers.iter().map(|one| one.cpu_window_ns).max()?;
    let cpu: u64 = receivers.iter().map(|one| one.cpu_ns).sum();
    (window > 0).then(|| cpu as f64 / window as f64 * 100.0)
}

fn lag(senders: &[SenderResult]) -> Value {
    let lags = || senders.iter().filter_map(|one| one.lag_ns);
    let count = lags().count().max(1) as f64;
    let mean = lags().map(|lag| lag.mean).sum::<f64>() / count;
    let max = lags().map(|lag| lag.max).fold(0.0, f64::max);
    json!({"mean": mean / 1e3, "max": max / 1e3})
}

/// One receiver of several, with its histogram: figures 15 to 18 show each alone.
fn receiver_alone(receiver: &ReceiverResult) -> Value {
    let span = (receiver.last_ns - receiver.first_ns) as f64 / 1e9;
    let rate = if span > 0.0 {
        receiver.delivered as f64 / span
    } else {
        0.0
    };
    let hdr = LatencyHistogram::from_counts(receiver.since_due.hdr.iter().copied())
        .and_then(|histogram| histogram.encode())
        .ok();
    json!({
        "delivered": receiver.delivered,
        "messages_per_s": rate,
        "latency_us": in_microseconds(&receiver.since_due),
        "hdr": hdr,
    })
}

/// `None` unless all have it.
fn all_of<'a>(parts: impl Iterator<Item = Option<&'a Latencies>>) -> Option<Latencies> {
    let parts: Vec<&Latencies> = parts.collect::<Option<_>>()?;
    (!parts.is_empty()).then(|| merged(parts.into_iter()))
}

/// The latencies of several processes as those of one.
fn merged<'a>(parts: impl Iterator<Item = &'a Latencies>) -> Latencies {
    let mut hdr: Vec<(u64, u64)> = Vec::new();
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    let (mut min, mut max) = (f64::INFINITY, 0.0_f64);
    for part in parts {
        let here = part.hdr.iter().map(|(_, count)| *count).sum::<u64>() as f64;
        if here == 0.0 {
            continue;
        }
        let Moments { mean, stddev, .. } = part.latency_ns;
        count += here;
        sum += here * mean;
        squares += here * (stddev * stddev + mean * mean);
        min = min.min(part.latency_ns.min);
        max = max.max(part.latency_ns.max);
        hdr.extend(&part.hdr);
    }
    let divisor = f64::max(count, 1.0);
    let mean = sum / divisor;
    Latencies {
        latency_ns: Moments {
            min: if count == 0.0 { 0.0 } else { min },
            max,
            mean,
            stddev: (squares / divisor - mean * mean).max(0.0).sqrt(),
        },
        hdr,
    }
}

fn latency(moments: Moments, histogram: &LatencyHistogram) -> Latency {
    let (min, max) = (moments.min / 1e3, moments.max / 1e3);
    // The upper end of a bin may lie beyond the largest figure in it.
    let quantile = |share| histogram.quantile_us(share).clamp(min, max.max(min));
    Latency {
        min,
        mean: moments.mean / 1e3,
        stddev: moments.stddev / 1e3,
        p25: quantile(0.25),
        p50: quantile(0.5),
        p75: quantile(0.75),
        p90: quantile(0.9),
        p95: quantile(0.95),
        p99: quantile(0.99),
        p999: quantile(0.999),
        p9999: quantile(0.9999),
        max,
    }
}

/// As an object of a record's `extra`; null when it cannot be read.
fn in_microseconds(latencies: &Latencies) -> Value {
    LatencyHistogram::from_counts(latencies.hdr.iter().copied())
        .ok()
        .and_then(|histogram| serde_json::to_value(latency(latencies.latency_ns, &histogram)).ok())
        .unwrap_or(Value::Null)
}

/// The bins that every scenario's records have.
fn coarse(hdr: &[(u64, u64)]) -> Vec<u64> {
    let mut bins = vec![0; BINS_50US];
    for (nanoseconds, count) in hdr {
        let bin = (nanoseconds / 50_000).min(BINS_50US as u64 - 1);
        bins[bin as usize] += count;
    }
    bins
}

fn failures_in_words(tally: &Tally) -> String {
    if tally.failed.is_empty() {
        return "no send failed".to_owned();
    }
    let words: Vec<String> = tally
        .failed
        .iter()
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    words.join(", ")
}

fn contradiction(what: &str) -> Failure {
    Failure {
        what: format!("the results contradict each other: {what}"),
        place: "rmr-sender and rmr-receiver, their results".to_owned(),
        next: "are lab and peers of the same version? `make peers` builds them again".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::Event;
    use super::super::events::tests::{RECEIVED, SENT};
    use super::*;
    use crate::record::MachineLoad;

    fn raw() -> Raw {
        let (Ok(Event::Sender(sender)), Ok(Event::Receiver(receiver))) =
            (Event::parse(SENT), Event::parse(RECEIVED))
        else {
            panic!("results");
        };
        Raw {
            partial: false,
            senders: vec![*sender],
            receivers: vec![*receiver],
            manager: None,
            tx_dropped: Some(1),
            queue_time: false,
            load: MachineLoad {
                foreign_cpu_percent: 0.0,
                steal_percent: 0.0,
                loadavg_1m: 0.0,
            },
        }
    }

    fn condition() -> Condition {
        Condition::plain(Some(10_000), 100)
    }

    #[test]
    fn figures_of_known_results() {
        let measured = measured(&raw(), &condition()).expect("consistent");
        // 95 messages within half a second; 0.9 ms of CPU for 90 of them; the sender's 2 ms less
        // 1 ms of waiting for 100.
        assert_eq!((measured.requests, measured.errors), (95, 2));
        assert!((measured.qps - 190.0).abs() < 1e-9);
        assert_eq!(measured.cpu_us_per_request.server, Some(10.0));
        assert_eq!(measured.cpu_us_per_request.client, Some(10.0));
        assert_eq!(measured.cpu_percent.server, Some(0.2));
        assert_eq!(measured.latency_kind, LatencyKind::OneWay);
        assert!((measured.latency_us.p95 - 30.0).abs() < 0.05);
        assert_eq!(measured.histogram_50us[0], 95);
    }

    #[test]
    fn a_rate_is_over_the_time_of_sending_when_most_was_lost() {
        let mut raw = raw();
        raw.receivers[0].last_ns = raw.receivers[0].first_ns + 1_000;
        let measured = measured(&raw, &condition()).expect("consistent");
        assert!((measured.qps - 190.0).abs() < 1e-9, "{}", measured.qps);
    }

    #[test]
    fn every_message_is_accounted_for() {
        let extra = extra(&raw(), &condition());
        // 108 accepted, 105 came, and of the other three the sender was told of one.
        assert_eq!(extra["sent_in_all"], 108);
        assert_eq!(extra["lost_silently"], 2);
        assert_eq!(extra["failed"]["SENDFAILED"], 2);
        assert_eq!(extra["rx_dropped"], 3);
        let mut untold = raw();
        untold.tx_dropped = None;
        assert_eq!(super::extra(&untold, &condition())["lost_silently"], 3);
    }

    #[test]
    fn two_receivers_are_summed_up_and_shown_each() {
        let mut raw = raw();
        let mut second = raw.receivers[0].clone();
        second.last_ns += 500_000_000;
        raw.receivers.push(second);
        raw.senders[0].measured.ok = 200;
        let measured = measured(&raw, &condition()).expect("consistent");
        assert_eq!((measured.requests, measured.duration_s), (190, 1.0));
        assert!((measured.latency_us.mean - 20.0).abs() < 1e-9);
        let extra = extra(&raw, &condition());
        assert_eq!(extra["receivers"].as_array().map(Vec::len), Some(2));
        assert!(
            extra.get("missing").is_none(),
            "nobody knows which were whose"
        );
    }

    #[test]
    fn contradictions_and_nothing_are_no_figures() {
        let spoil: [fn(&mut Raw); 4] = [
            |raw| raw.receivers[0].delivered = 94,
            |raw| raw.receivers[0].delivered_in_all = 400,
            |raw| {
                raw.receivers[0].last_ns = raw.receivers[0].first_ns;
                raw.senders[0].duration_s = 0.0;
            },
            |raw| raw.receivers[0].delivered = 0,
        ];
        for spoil in spoil {
            let mut raw = raw();
            spoil(&mut raw);
            assert!(measured(&raw, &condition()).is_err());
        }
    }
}
