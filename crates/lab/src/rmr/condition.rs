//! Everything but the subject of a run: what is sent, how fast, by how many, and how tuned.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::record::{Cell, Mode};
use crate::units::show_bytes;

/// So long after the last message receivers end, where they do not know how many to wait for.
pub(super) const SILENCE: Duration = Duration::from_millis(300);

/// The smallest message: what the programs write into each.
pub(super) const SMALLEST: u64 = 16;

/// Its name on the command line and in the records.
pub(crate) const NAME: &str = "rmr";

/// Nagle's algorithm on the sender's connections. RMR leaves it on unless the application asks.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Nagle {
    /// As the library has it by default
    On,
    /// The sender asks for low latency (rmr_set_low_latency)
    Off,
}

/// Which processes are held to cores.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Pin {
    /// All may use every core
    None,
    /// Receivers are held to one core, senders may use every core
    Receiver,
    /// Receivers are held to one core, senders to the others
    Both,
}

/// What one exchange is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Exchange {
    /// One way: rmr_send_msg
    Send,
    /// There and back: rmr_mt_call
    Call,
    /// There and back: rmr_send_msg, rmr_rts_msg, rmr_torcv_msg
    Rts,
}

/// Everything but the subject.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Condition {
    /// Messages a second of all senders together; `None`: as fast as it goes.
    pub(crate) rate: Option<u64>,
    pub(crate) size: u64,
    pub(crate) senders: u32,
    pub(crate) receivers: u32,
    /// Entries of the route table; the senders use them in turns.
    pub(crate) routes: u32,
    /// Whole tables sent to the first sender each second.
    pub(crate) swaps_per_s: u32,
    pub(crate) nagle: Nagle,
    pub(crate) pin: Pin,
    /// Between two network namespaces with this MTU; `None`: loopback.
    pub(crate) mtu: Option<u32>,
    pub(crate) exchange: Exchange,
}

impl Condition {
    /// One sender, one receiver, one route, Nagle off, both pinned, over loopback.
    pub(crate) const fn plain(rate: Option<u64>, size: u64) -> Self {
        Self {
            rate,
            size,
            senders: 1,
            receivers: 1,
            routes: 1,
            swaps_per_s: 0,
            nagle: Nagle::Off,
            pin: Pin::Both,
            mtu: None,
            exchange: Exchange::Send,
        }
    }

    /// The cell of a subject under this condition. What is as in [`plain`](Self::plain) is not
    /// among the settings, except what everyone asks first: Nagle and pinning.
    pub(crate) fn cell(&self, subject: &str) -> Cell {
        let mut settings = BTreeMap::new();
        let mut set = |name: &str, value: String| settings.insert(name.to_owned(), value);
        set("nagle", name(self.nagle));
        set("pin", name(self.pin));
        if self.receivers != 1 {
            set("receivers", self.receivers.to_string());
        }
        if self.routes != 1 {
            set("routes", self.routes.to_string());
        }
        if self.swaps_per_s != 0 {
            set("swaps_per_s", self.swaps_per_s.to_string());
        }
        if let Some(mtu) = self.mtu {
            set("mtu", mtu.to_string());
        }
        if self.exchange != Exchange::Send {
            set("exchange", name(self.exchange));
        }
        Cell {
            scenario: NAME.to_owned(),
            subject: subject.to_owned(),
            mode: match self.rate {
                Some(_) => Mode::Rate,
                None => Mode::NoRate,
            },
            rate: self.rate,
            payload_bytes: self.size,
            clients: self.senders,
            connections: self.senders,
            settings,
        }
    }

    /// The condition of a cell; what it does not say, or says in a way that is not understood, is
    /// as in [`plain`](Self::plain).
    pub(crate) fn of(cell: &Cell) -> Self {
        let number = |name: &str| -> Option<u32> { cell.settings.get(name)?.parse().ok() };
        let plain = Self::plain(cell.rate, cell.payload_bytes);
        Self {
            senders: cell.clients,
            receivers: number("receivers").unwrap_or(plain.receivers),
            routes: number("routes").unwrap_or(plain.routes),
            swaps_per_s: number("swaps_per_s").unwrap_or(plain.swaps_per_s),
            nagle: read(cell, "nagle").unwrap_or(plain.nagle),
            pin: read(cell, "pin").unwrap_or(plain.pin),
            mtu: number("mtu"),
            exchange: read(cell, "exchange").unwrap_or(plain.exchange),
            ..plain
        }
    }
}

/// As the command line and the records have it.
pub(crate) fn name(value: impl ValueEnum) -> String {
    value
        .to_possible_value()
        .map_or_else(String::new, |value| value.get_name().to_owned())
}

fn read<T: ValueEnum>(cell: &Cell, setting: &str) -> Option<T> {
    T::from_str(cell.settings.get(setting)?, false).ok()
}

/// `1 kB, max` and whatever is not plain: `16 B, 10000/s, 2 receivers, pin none`.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&show_bytes(self.size))?;
        match self.rate {
            Some(rate) => write!(f, ", {rate}/s")?,
            None => f.write_str(", max rate")?,
        }
        if self.senders != 1 {
            write!(f, ", {} senders", self.senders)?;
        }
        if self.receivers != 1 {
            write!(f, ", {} receivers", self.receivers)?;
        }
        if self.routes != 1 {
            write!(f, ", {} routes", self.routes)?;
        }
        if self.swaps_per_s != 0 {
            write!(f, ", {} swaps/s", self.swaps_per_s)?;
        }
        if self.exchange != Exchange::Send {
            write!(f, ", {}", name(self.exchange))?;
        }
        if self.nagle != Nagle::Off {
            write!(f, ", Nagle {}", name(self.nagle))?;
        }
        if self.pin != Pin::Both {
            write!(f, ", pin {}", name(self.pin))?;
        }
        if let Some(mtu) = self.mtu {
            write!(f, ", MTU {mtu}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_says_all_of_its_condition() {
        let unusual = Condition {
            senders: 8,
            receivers: 2,
            routes: 10_000,
            swaps_per_s: 10,
            nagle: Nagle::On,
            pin: Pin::None,
            mtu: Some(9000),
            exchange: Exchange::Call,
            ..Condition::plain(Some(100), 16)
        };
        for condition in [unusual, Condition::plain(None, 1000)] {
            assert_eq!(Condition::of(&condition.cell("si95")), condition);
        }
        let cell = Condition::plain(None, 1000).cell("si95");
        assert_eq!(cell.settings.len(), 2, "nagle and pin alone: {cell}");
    }

    #[test]
    fn in_words_only_what_is_not_plain() {
        assert_eq!(Condition::plain(None, 1000).to_string(), "1 kB, max rate");
        let other = Condition {
            receivers: 2,
            pin: Pin::None,
            ..Condition::plain(Some(10_000), 16)
        };
        assert_eq!(other.to_string(), "16 B, 10000/s, 2 receivers, pin none");
    }
}
