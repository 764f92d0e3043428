//! The harness protocol: what the server and client programs under test print on standard output,
//! one JSON object a line. `peers/README.md` is the page for those who write such programs.
//!
//! Libraries under test sometimes print on standard output too. So a line that is not an event is
//! noise: it is kept for the message in case the program fails, and otherwise let be. A line that
//! *is* an event and is damaged is an error.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::Value;

/// A line of a program under test.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// The server listens.
    Ready(Ready),
    /// The program cannot go on.
    Error(PeerError),
    /// All clients are connected; warm-up begins.
    Connected,
    /// Warm-up is over.
    Measuring,
    /// A sign of life.
    Progress,
    /// The figures.
    Result(Box<PeerResult>),
    /// Not an event.
    Noise,
}

/// The server listens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Ready {
    /// Host and port.
    pub(crate) address: String,
    /// All of them, where there are several.
    #[serde(default)]
    pub(crate) addresses: Vec<String>,
    #[serde(default)]
    pub(crate) versions: BTreeMap<String, String>,
}

/// Why a program under test gave up.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct PeerError {
    pub(crate) what: String,
    #[serde(default, rename = "where")]
    pub(crate) place: String,
}

/// What the client program measured.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct PeerResult {
    /// Ended before it was due.
    pub(crate) partial: bool,
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    #[serde(default)]
    pub(crate) error_sample: String,
    /// Clients that stopped for good after an error.
    #[serde(default)]
    pub(crate) clients_gave_up: u32,
    pub(crate) duration_s: f64,
    pub(crate) connections: u32,
    /// Payload bytes there and back, of all requests.
    pub(crate) request_bytes_total: u64,
    pub(crate) latency_ns: Moments,
    pub(crate) histogram_50us: Vec<u64>,
    /// `(nanoseconds, count)`.
    pub(crate) hdr: Vec<(u64, u64)>,
    /// How late requests left, in rate mode.
    #[serde(default)]
    pub(crate) lag_ns: Option<Lag>,
    /// Requests that were due and never left, in rate mode.
    #[serde(default)]
    pub(crate) unsent: Option<u64>,
    pub(crate) server_cpu_ns: Option<u64>,
    pub(crate) client_cpu_ns: Option<u64>,
    pub(crate) server_threads: Option<u32>,
    /// Requests a second without the log that its latencies come from; of `h2load` only.
    #[serde(default)]
    pub(crate) unlogged_qps: Option<f64>,
    /// How long requests were on their way, one a hop; where the programs measure it.
    #[serde(default)]
    pub(crate) one_way: Vec<OneWay>,
    /// From the start of the program to its first answer; where it says so.
    #[serde(default)]
    pub(crate) first_answer_ns: Option<u64>,
    #[serde(default)]
    pub(crate) versions: BTreeMap<String, String>,
}

/// Exact moments, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(crate) struct Moments {
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) mean: f64,
    pub(crate) stddev: f64,
}

/// How long requests took to one hop.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct OneWay {
    pub(crate) ns: Moments,
    /// `(nanoseconds, count)`.
    pub(crate) hdr: Vec<(u64, u64)>,
}

/// How late the generator was, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(crate) struct Lag {
    pub(crate) mean: f64,
    pub(crate) max: f64,
}

impl Event {
    /// Reads one line.
    ///
    /// # Errors
    /// When the line names an event that this protocol knows, and does not hold what it must.
    pub(crate) fn parse(line: &str) -> Result<Self, serde_json::Error> {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            // An event that was cut off must not pass for noise: its figures would be missed in
            // silence until the deadline.
            return if line.trim_start().starts_with("{\"event\"") {
                Err(serde_json::Error::custom("the line is cut off or damaged"))
            } else {
                Ok(Self::Noise)
            };
        };
        let Some(name) = value.get("event").and_then(Value::as_str) else {
            return Ok(Self::Noise);
        };
        Ok(match name {
            "ready" => Self::Ready(Ready::deserialize(&value)?),
            "error" => Self::Error(PeerError::deserialize(&value)?),
            "connected" => Self::Connected,
            "measuring" => Self::Measuring,
            "progress" => Self::Progress,
            "result" => Self::Result(Box::new(PeerResult::deserialize(&value)?)),
            _ => Self::Noise,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A small but whole result line.
    pub(crate) const RESULT: &str = r#"{"event":"result","protocol":1,"adapter":"TCP-AS",
        "partial":false,"mode":"no-rate","clients":1,"requests":4,"errors":0,"error_sample":"",
        "clients_gave_up":0,"duration_s":0.5,"connections":1,"payload_bytes":10,
        "request_bytes_total":80,"latency_ns":{"min":10000,"max":40000,"mean":25000.5,"stddev":1.5},
        "histogram_50us":[4],"hdr":[[10000,2],[40000,2]],"server_cpu_ns":1000000,
        "client_cpu_ns":null,"server_threads":3,"versions":{"compiler":"x"}}"#;

    #[test]
    fn the_events_of_a_server() {
        let line = r#"{"event":"ready","adapter":"A","address":"127.0.0.1:4","pid":7,"versions":{"a":"1"}}"#;
        let Event::Ready(ready) = Event::parse(line).expect("whole") else {
            panic!("ready");
        };
        assert_eq!(ready.address, "127.0.0.1:4");
        assert_eq!(ready.versions["a"], "1");
        let line = r#"{"event":"error","what":"Address already in use","where":"listen"}"#;
        let Event::Error(error) = Event::parse(line).expect("whole") else {
            panic!("error");
        };
        assert_eq!(
            (error.what.as_str(), error.place.as_str()),
            ("Address already in use", "listen")
        );
    }

    #[test]
    fn the_result_of_a_client() {
        let Event::Result(result) = Event::parse(&RESULT.replace('\n', "")).expect("whole") else {
            panic!("result");
        };
        assert_eq!((result.requests, result.hdr[1]), (4, (40_000, 2)));
        assert_eq!(
            (result.server_cpu_ns, result.client_cpu_ns),
            (Some(1_000_000), None)
        );
        assert_eq!(result.lag_ns, None);
    }

    #[test]
    fn what_libraries_print_is_noise() {
        for line in [
            "",
            "hello",
            "[1]",
            "17",
            "{}",
            "{\"event\":7}",
            "{\"event\":\"later\"}",
            "{]",
        ] {
            assert_eq!(Event::parse(line).expect(line), Event::Noise, "{line}");
        }
    }

    #[test]
    fn a_damaged_event_is_an_error() {
        for line in [
            r#"{"event":"ready"}"#,
            r#"{"event":"result","requests":1}"#,
            r#"{"event":"result","requests":"#,
            r#"{"event":"error"}"#,
        ] {
            assert!(Event::parse(line).is_err(), "{line}");
        }
        let negative = RESULT
            .replace('\n', "")
            .replace("\"requests\":4", "\"requests\":-4");
        assert!(Event::parse(&negative).is_err());
    }

    #[test]
    fn fields_of_a_later_protocol_are_let_be() {
        let line = r#"{"event":"ready","address":"a:1","colour":"green"}"#;
        assert!(matches!(Event::parse(line), Ok(Event::Ready(_))));
    }
}
