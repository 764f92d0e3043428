//! Numbers that a process tells of itself.

use serde_json::{Map, Value};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A number that the process tells under a name.
#[derive(Clone, Debug, Default)]
pub struct Gauge(Arc<AtomicU64>);

impl Gauge {
    /// One more.
    pub fn up(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// One fewer.
    pub fn down(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// So many.
    pub fn set(&self, number: u64) {
        self.0.store(number, Ordering::Relaxed);
    }

    /// How many.
    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The numbers of a process by name.
#[derive(Clone, Default)]
pub(super) struct Gauges(Arc<Mutex<Vec<(&'static str, Gauge)>>>);

impl Gauges {
    pub(super) fn gauge(&self, name: &'static str) -> Gauge {
        let mut gauges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, gauge)) = gauges.iter().find(|(other, _)| *other == name) {
            return gauge.clone();
        }
        let gauge = Gauge::default();
        gauges.push((name, gauge.clone()));
        gauge
    }

    pub(super) fn document(&self) -> Value {
        let gauges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let log = corewire_observe::log::counters();
        let of_log = [
            ("logLinesLost", log.lost),
            ("logLinesSuppressed", log.suppressed),
            ("panics", log.panics),
        ];
        let fields: Map<String, Value> = gauges
            .iter()
            .map(|(name, gauge)| ((*name).to_owned(), gauge.value().into()))
            .chain(
                of_log
                    .into_iter()
                    .filter(|(_, lines)| *lines > 0)
                    .map(|(name, lines)| (name.to_owned(), lines.into())),
            )
            .collect();
        Value::Object(fields)
    }
}
