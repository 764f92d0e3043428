//! What lies between two nodes.

use super::random::Random;
use std::time::{Duration, Instant};

/// How octets travel from one node to another. The same for both directions unless set for one.
///
/// Delay and loss are drawn for each segment (at most [`segment`](Self::segment) octets); within a
/// connection octets never overtake each other, between connections they do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The shortest time from one end to the other. Default 100 us.
    pub latency: Duration,
    /// What is added to it at most, drawn for each segment. Default zero.
    pub jitter: Duration,
    /// Octets a second; `None` (the default): no limit.
    pub bandwidth: Option<u64>,
    /// How likely a segment is lost, 0 to 1. Default 0.
    pub loss: f64,
    /// What a loss does: the application of a stream transport never sees a hole.
    pub on_loss: OnLoss,
    /// The longest piece that travels at once, in octets. Default 16 KiB.
    pub segment: usize,
    /// In what pieces the receiver reads what has come.
    pub chunks: Chunks,
    /// Octets that may be on the way or unread at the receiver, for one connection and direction,
    /// before the sender cannot write: both ends' socket buffers. Default 256 KiB.
    pub buffer: usize,
}

/// What the loss of a segment does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a lost segment comes later or never"
)]
pub enum OnLoss {
    /// It comes this much later for each time it is lost, and all behind it wait.
    Retransmit(Duration),
    /// The connection is cut.
    Cut,
}

/// In what pieces a receiver reads what has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "all, some, or so many")]
pub enum Chunks {
    /// All that is there.
    Whole,
    /// So many octets at a time; 1 splits every field.
    Exactly(usize),
    /// From one octet to so many, drawn for each read.
    UpTo(usize),
}

impl Default for Link {
    fn default() -> Self {
        Self {
            latency: Duration::from_micros(100),
            jitter: Duration::ZERO,
            bandwidth: None,
            loss: 0.0,
            on_loss: OnLoss::Retransmit(Duration::from_millis(200)),
            segment: 16 * 1024,
            chunks: Chunks::Whole,
            buffer: 256 * 1024,
        }
    }
}

/// A segment that is lost so often in a row gets through: no run waits for ever.
const MOST_LOSSES: u32 = 8;

impl Link {
    /// When a segment that is sent now is there; `None` when its loss cuts the connection.
    /// `sending_until` is until when the line is taken by those before it.
    pub(super) fn transit(
        &self,
        now: Instant,
        octets: usize,
        sending_until: &mut Instant,
        random: &mut Random,
    ) -> Option<Instant> {
        let mut at = now.max(*sending_until);
        if let Some(bandwidth) = self.bandwidth {
            at += Duration::from_secs_f64(octets as f64 / bandwidth.max(1) as f64);
            *sending_until = at;
        }
        at += self.latency + random.up_to(self.jitter);
        for _ in 0..MOST_LOSSES {
            if !random.happens(self.loss) {
                break;
            }
            match self.on_loss {
                OnLoss::Retransmit(later) => at += later,
                OnLoss::Cut => return None,
            }
        }
        Some(at)
    }

    /// How many of `there` octets are read at once.
    pub(super) fn chunk(&self, there: usize, random: &mut Random) -> usize {
        match self.chunks {
            Chunks::Whole => there,
            Chunks::Exactly(octets) => octets.max(1).min(there),
            Chunks::UpTo(octets) => (1 + random.below(octets.max(1))).min(there),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_makes_segments_wait_for_each_other() {
        let link = Link {
            bandwidth: Some(1_000_000),
            ..Link::default()
        };
        let now = Instant::now();
        let mut sending_until = now;
        let mut random = Random::new(1);
        let mut send = || link.transit(now, 1000, &mut sending_until, &mut random);
        assert_eq!(send(), Some(now + Duration::from_micros(1100)));
        assert_eq!(send(), Some(now + Duration::from_micros(2100)));
    }

    #[test]
    fn loss_delays_or_cuts() {
        let lossy = |on_loss| Link {
            loss: 1.0,
            on_loss,
            ..Link::default()
        };
        let now = Instant::now();
        let send = |link: Link| link.transit(now, 1, &mut now.clone(), &mut Random::new(1));
        let later = Duration::from_millis(1);
        assert_eq!(
            send(lossy(OnLoss::Retransmit(later))),
            Some(now + Duration::from_micros(100) + MOST_LOSSES * later)
        );
        assert_eq!(send(lossy(OnLoss::Cut)), None);
    }
}
