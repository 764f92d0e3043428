//! A peer of this host that sends more single messages than it can: it is made to gather them.
//!
//! The O-RAN SC library writes each message by itself, and while the receiver keeps up each one goes
//! the whole way through the sender's kernel, which is all that limits the sender. When the receiver's
//! window is shut the kernel puts messages together instead. So where segments come as fast as that, the
//! connection gets a small receive buffer, which it keeps, and is read a little later, for as long as the
//! flood lasts.
//!
//! Over a longer way a small buffer would limit the rate, so only peers of this host get it. A sender of
//! ours never makes so many segments: it gathers by itself.

use super::{Arrived, Connection, DOZE, Driver, arrived, set_receive_buffer};
use crate::memories::is_of_this_host;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How long messages that follow each other closely are left to gather, in a flood.
const FLOOD_DOZE: Duration = Duration::from_micros(50);
/// The same once, when a flood is found: the window shuts, and what has come together comes together
/// again.
const SHUT: Duration = Duration::from_micros(250);
/// Where that changed nothing, its sender had no more to send; later it may have.
const AGAIN: Duration = Duration::from_millis(100);
/// Segments a second that tell a flood: nobody who gathers makes as many.
const SEGMENTS: f64 = 250_000.0;
/// And their size at most, on average: the kernel cuts what was gathered into larger ones.
const SINGLE: f64 = 8.0 * 1024.0;
/// The least size on average: of smaller ones the kernel's own part is so large that a small buffer holds
/// too few, and what it drops comes again only after a fifth of a second.
const LEAST: f64 = 1024.0;
/// The receive buffer then, which the kernel doubles. What the peer's kernel puts together, up to 64 KiB,
/// must find room in it.
const BUFFER: i32 = 64 * 1024;
/// Between two looks at what came, which cost a system call a connection.
const LOOK: Duration = Duration::from_millis(5);
/// A connection that was not looked at for as long only begins to be counted: there was a pause, or others
/// were looked at.
const PAUSE: Duration = Duration::from_millis(50);
/// With more connections than this no single one is what costs.
const MOST_LOOKED_AT: usize = 32;

/// What is known of floods, all connections together.
#[derive(Debug, Default)]
pub(super) struct Floods {
    looked: Option<Instant>,
    /// Until the next look, messages are left to gather for longer.
    gathers: bool,
}

/// What is known of one connection.
#[derive(Debug, Default)]
pub(super) struct Flood {
    before: Option<(Instant, Arrived)>,
    /// Whether the peer is of this host, once it was asked.
    is_near: Option<bool>,
    /// When its window was shut, and how many octets a second came then.
    shut: Option<(Instant, f64)>,
}

/// What a look at a connection comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Finding {
    /// It is read as others are.
    Usual,
    /// It was shut and brings more than before: it goes on so.
    Gathers,
    /// Its window is to be shut.
    Floods,
}

impl Flood {
    /// Looks, at this time, at what has come since the time before.
    fn judge(&mut self, at: Instant, now: Arrived) -> Finding {
        let Some((then, before)) = self.before.replace((at, now)) else {
            return Finding::Usual;
        };
        let took = at.saturating_duration_since(then);
        if took >= PAUSE {
            return Finding::Usual;
        }
        let seconds = took.as_secs_f64();
        let octets = now.octets.saturating_sub(before.octets) as f64 / seconds;
        let segments = f64::from(now.segments.wrapping_sub(before.segments)) / seconds;
        let single = (LEAST..=SINGLE).contains(&(octets / segments));
        let floods = segments >= SEGMENTS && single;
        match self.shut {
            // Fewer segments and not much less in them, or much more.
            Some((_, then)) if octets >= then * if floods { 1.3 } else { 0.5 } => Finding::Gathers,
            Some((since, _)) if floods && at.saturating_duration_since(since) < AGAIN => {
                Finding::Usual
            }
            _ if floods => {
                self.shut = Some((at, octets));
                Finding::Floods
            }
            _ => {
                self.shut = None;
                Finding::Usual
            }
        }
    }
}

impl Driver {
    /// How long to doze now.
    pub(super) fn doze_time(&mut self) -> Duration {
        if !self.limits.holds_floods {
            return DOZE;
        }
        let now = Instant::now();
        let looked = self.floods.looked;
        let mut found = None;
        if looked.is_none_or(|looked| now.saturating_duration_since(looked) >= LOOK) {
            self.floods.looked = Some(now);
            let finding = self.look_for_floods(now);
            self.floods.gathers = finding != Finding::Usual;
            found = Some(finding);
        }
        match found {
            Some(Finding::Floods) => SHUT,
            _ if self.floods.gathers => FLOOD_DOZE,
            _ => DOZE,
        }
    }

    /// Looks at what came to each connection since the last look.
    fn look_for_floods(&mut self, at: Instant) -> Finding {
        let mut found = Finding::Usual;
        let candidates = self.connections.iter_mut().flatten();
        let candidates = candidates.filter(|it| it.accepted && !it.socket.is_memory());
        for connection in candidates.take(MOST_LOOKED_AT) {
            let Some(now) = arrived(connection.socket.as_fd()) else {
                continue;
            };
            let finding = connection.flood.judge(at, now);
            if finding == Finding::Usual || !connection.is_near() {
                continue;
            }
            if finding == Finding::Floods {
                set_receive_buffer(connection.socket.as_fd(), BUFFER);
            }
            found = found.max(finding);
        }
        found
    }
}

impl Connection {
    /// Whether the peer is of this host.
    fn is_near(&mut self) -> bool {
        *self.flood.is_near.get_or_insert_with(|| {
            let peer = self.socket.peer().parse::<SocketAddr>();
            peer.is_ok_and(|peer| is_of_this_host(peer.ip()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_millis(5);

    /// What is found when so many segments of that size come in each of these times.
    fn found(times: &[(u32, u64)]) -> Vec<Finding> {
        let mut flood = Flood::default();
        let mut now = Arrived::default();
        let mut at = Instant::now();
        // It begins to be counted.
        assert_eq!(flood.judge(at, now), Finding::Usual);
        let one = |(segments, octets): &(u32, u64)| {
            at += TIME;
            now.segments = now.segments.wrapping_add(*segments);
            now.octets += u64::from(*segments) * octets;
            flood.judge(at, now)
        };
        times.iter().map(one).collect()
    }

    #[test]
    fn a_flood_is_many_segments_and_gathers_while_as_much_comes() {
        use Finding::{Floods, Gathers, Usual};
        // 400,000 messages a second one by one, then 1,000,000 put together, then 100,000.
        let times = [(2000, 1334), (100, 66_700), (100, 66_700), (500, 1334)];
        assert_eq!(found(&times), [Floods, Gathers, Gathers, Usual]);
    }

    #[test]
    fn who_has_no_more_to_send_is_left_alone_for_a_while() {
        let findings = found(&[(1500, 1334); 41]);
        let shut = |at: &usize| findings[*at] == Finding::Floods;
        let usual = findings.iter().filter(|it| **it == Finding::Usual);
        assert_eq!((0..41).filter(shut).collect::<Vec<_>>(), [0, 20, 40]);
        assert_eq!(usual.count(), 38);
    }

    #[test]
    fn who_gathers_makes_no_flood_however_much_it_is() {
        let times = [(2000, 32_741), (1000, 13_340), (1200, 1334)];
        assert_eq!(found(&times), [Finding::Usual; 3]);
    }

    #[test]
    fn what_came_while_nobody_looked_is_no_flood() {
        let (mut flood, began) = (Flood::default(), Instant::now());
        let much = |times: u32| Arrived {
            segments: 3000 * times,
            octets: 4_000_000 * u64::from(times),
        };
        assert_eq!(flood.judge(began, much(10)), Finding::Usual);
        assert_eq!(flood.judge(began + PAUSE, much(100)), Finding::Usual);
        let at = began + PAUSE + TIME;
        assert_eq!(flood.judge(at, much(101)), Finding::Floods);
    }

    #[test]
    fn small_messages_are_left_alone() {
        assert_eq!(found(&[(2000, 350), (0, 0)]), [Finding::Usual; 2]);
    }
}
