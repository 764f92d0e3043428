//! What the programs print, one JSON object a line; `peers/README.md` is the page for it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::Value;

use crate::harness::{Lag, Moments};

/// A line of one of the programs.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event {
    /// The receiver listens; whether its library tells when a message came, before it was queued.
    Ready {
        queue_time: bool,
    },
    /// The sender's first message was accepted, or the manager's first table answered.
    Connected,
    Error {
        what: String,
        place: String,
    },
    Sender(Box<SenderResult>),
    Receiver(Box<ReceiverResult>),
    Manager(Box<ManagerResult>),
    /// Messages that the sender's library accepted and dropped later, where it counts them.
    Closed {
        tx_dropped: Option<u64>,
    },
    /// Not an event, or none that matters here.
    Noise,
}

/// Latencies as the programs print them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Latencies {
    pub(super) latency_ns: Moments,
    /// `(nanoseconds, count)`.
    pub(super) hdr: Vec<(u64, u64)>,
}

/// What became of the sender's messages in one phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Tally {
    pub(super) attempted: u64,
    pub(super) ok: u64,
    /// Sends that were answered with `RMR_ERR_RETRY`.
    pub(super) retries: u64,
    /// Messages that met at least one.
    pub(super) retried: u64,
    pub(super) lost_buffers: u64,
    pub(super) unanswered: u64,
    /// By the name of their state.
    pub(super) failed: BTreeMap<String, u64>,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.attempted += other.attempted;
        self.ok += other.ok;
        self.retries += other.retries;
        self.retried += other.retried;
        self.lost_buffers += other.lost_buffers;
        self.unanswered += other.unanswered;
        for (state, count) in &other.failed {
            *self.failed.entry(state.clone()).or_default() += count;
        }
    }

    pub(super) fn errors(&self) -> u64 {
        self.lost_buffers + self.unanswered + self.failed.values().sum::<u64>()
    }
}

/// The sender's last line but one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct SenderResult {
    pub(super) partial: bool,
    pub(super) duration_s: f64,
    pub(super) warm_up: Tally,
    pub(super) measured: Tally,
    #[serde(default)]
    pub(super) lag_ns: Option<Lag>,
    #[serde(default)]
    pub(super) unsent: Option<u64>,
    /// Of calls: there and back.
    #[serde(flatten)]
    pub(super) round_trips: Option<Latencies>,
    pub(super) cpu_ns: u64,
    /// Time spent waiting for the time of a message.
    pub(super) spun_ns: u64,
}

/// The receiver's last line.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ReceiverResult {
    /// In the window, each message once.
    pub(super) delivered: u64,
    /// With the warm-up.
    pub(super) delivered_in_all: u64,
    pub(super) octets: u64,
    pub(super) duplicates: u64,
    pub(super) out_of_order: u64,
    pub(super) missing: u64,
    pub(super) corrupt: u64,
    pub(super) strangers: u64,
    pub(super) answers_failed: u64,
    /// Of the first and the last measured message, on the machine's clock.
    pub(super) first_ns: i64,
    pub(super) last_ns: i64,
    pub(super) cpu_ns: u64,
    /// Messages that `cpu_ns` was spent on, and the time it was spent in.
    pub(super) cpu_messages: u64,
    pub(super) cpu_window_ns: u64,
    /// What the library counted as dropped from its receive queue.
    pub(super) rx_dropped: Option<u64>,
    /// From when a message was due to the application.
    #[serde(flatten)]
    pub(super) since_due: Latencies,
    /// From the send call to the application.
    #[serde(default)]
    pub(super) since_sent: Option<Latencies>,
    /// From the send call to the transport, before the message was queued.
    #[serde(default)]
    pub(super) before_queue: Option<Latencies>,
}

/// The route manager's last line.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ManagerResult {
    pub(super) sent: u64,
    pub(super) refused: u64,
    pub(super) accepted: u64,
    pub(super) rejected: u64,
    pub(super) unanswered: u64,
    pub(super) duration_s: f64,
    #[serde(default)]
    pub(super) reason: String,
    /// From the first message of a table to its answer.
    #[serde(flatten)]
    pub(super) answers: Latencies,
}

impl Event {
    /// Reads one line. Libraries print on standard output too: what is no event is noise.
    ///
    /// # Errors
    /// When the line names an event and does not hold what it must.
    pub(super) fn parse(line: &str) -> Result<Self, serde_json::Error> {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            return if line.trim_start().starts_with("{\"event\"") {
                Err(serde_json::Error::custom("the line is cut off or damaged"))
            } else {
                Ok(Self::Noise)
            };
        };
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        Ok(match (text("event"), text("role")) {
            ("ready", _) => Self::Ready {
                queue_time: value.get("queue_time").and_then(Value::as_bool) == Some(true),
            },
            ("connected", _) => Self::Connected,
            ("error", _) => Self::Error {
                what: text("what").to_owned(),
                place: text("where").to_owned(),
            },
            ("result", "sender") => Self::Sender(Box::new(Deserialize::deserialize(&value)?)),
            ("result", "receiver") => Self::Receiver(Box::new(Deserialize::deserialize(&value)?)),
            ("result", "route-manager") => {
                Self::Manager(Box::new(Deserialize::deserialize(&value)?))
            }
            ("result", role) => {
                return Err(serde_json::Error::custom(format_args!(
                    "a result of {role:?}"
                )));
            }
            ("closed", _) => Self::Closed {
                tx_dropped: value.get("tx_dropped").and_then(Value::as_u64),
            },
            _ => Self::Noise,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::rmr) const SENT: &str = r#"{"event":"result","protocol":1,"role":"sender","mode":"send","partial":false,"rate":10000,"size":100,"threads":1,"duration_s":0.5,"warm_up":{"attempted":10,"ok":10,"retries":0,"retried":0,"lost_buffers":0,"unanswered":0,"failed":{}},"measured":{"attempted":100,"ok":98,"retries":3,"retried":2,"lost_buffers":0,"unanswered":0,"failed":{"SENDFAILED":2}},"lag_ns":{"mean":12.5,"max":400},"unsent":1,"cpu_ns":2000000,"spun_ns":1000000}"#;
    pub(in crate::rmr) const RECEIVED: &str = r#"{"event":"result","protocol":1,"role":"receiver","delivered":95,"delivered_in_all":105,"octets":9500,"senders":1,"duplicates":1,"out_of_order":0,"missing":3,"corrupt":0,"strangers":0,"answers_failed":0,"first_ns":1000000000,"last_ns":1500000000,"cpu_ns":900000,"cpu_messages":90,"cpu_window_ns":450000000,"rx_dropped":3,"latency_ns":{"min":10000,"max":40000,"mean":20000,"stddev":100},"hdr":[[10000,45],[30000,50]]}"#;

    #[test]
    fn results_of_all_three() {
        let Event::Sender(sent) = Event::parse(SENT).expect("whole") else {
            panic!("the sender's");
        };
        assert_eq!(sent.measured.errors(), 2);
        assert_eq!(sent.round_trips, None);
        let Event::Receiver(received) = Event::parse(RECEIVED).expect("whole") else {
            panic!("the receiver's");
        };
        assert_eq!(received.since_due.hdr.len(), 2);
        assert_eq!(received.before_queue, None);
        let called = SENT.replace(
            r#""cpu_ns""#,
            r#""latency_ns":{"min":1,"max":2,"mean":1.5,"stddev":0},"hdr":[[1,2]],"cpu_ns""#,
        );
        let Event::Sender(called) = Event::parse(&called).expect("whole") else {
            panic!("the sender's");
        };
        assert_eq!(called.round_trips.expect("of calls").hdr, [(1, 2)]);
    }

    #[test]
    fn damage_is_an_error_and_other_lines_are_noise() {
        assert!(Event::parse(&SENT[..100]).is_err());
        assert!(Event::parse(&RECEIVED.replace("95,", "\"many\",")).is_err());
        for line in ["", "1234 [INFO] a library speaks", "{}", "[1]"] {
            assert_eq!(Event::parse(line).expect(line), Event::Noise);
        }
        assert_eq!(
            Event::parse(r#"{"event":"closed","tx_dropped":null}"#).expect("whole"),
            Event::Closed { tx_dropped: None }
        );
    }
}
