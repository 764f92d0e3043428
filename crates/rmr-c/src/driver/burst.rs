//! A peer of this host that sends bursts of single messages, more than it can: it is made to gather them.
//!
//! The O-RAN SC library writes each message by itself, and while the receiver keeps up each one goes
//! the whole way through the sender's kernel, which is all that limits the sender. When the receiver's
//! window is shut the kernel puts messages together instead. So where segments come as fast as that, the
//! connection gets a small receive buffer, which it keeps, and is read a little later, for as long as the
//! burst lasts.
//!
//! Over a longer way a small buffer would limit the rate, so only peers of this host get it. A sender of
//! ours never makes so many segments: it gathers by itself.

use crate::interfaces::is_of_this_host;
use corewire_sys::{Arrived, Socket, set_receive_buffer};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How long messages that follow each other closely are left to gather.
pub(super) const PAUSE: Duration = Duration::from_micros(15);
/// The same in a burst.
const BURST_PAUSE: Duration = Duration::from_micros(50);
/// The same once, when a burst is found: the window shuts, and what has come together comes together
/// again.
const SHUT: Duration = Duration::from_micros(250);
/// Where that changed nothing, its sender had no more to send; later it may have.
const AGAIN: Duration = Duration::from_millis(100);
/// Segments a second that tell a burst: nobody who gathers makes as many.
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
const UNSEEN: Duration = Duration::from_millis(50);
/// With more connections than this no single one is what costs.
const MOST_LOOKED_AT: usize = 32;

/// What is known of bursts, all connections together.
#[derive(Debug, Default)]
pub(super) struct Bursts {
    looked: Option<Instant>,
    /// Until the next look, messages are left to gather for longer.
    gathers: bool,
}

/// What is known of one connection.
#[derive(Debug, Default)]
pub(super) struct Burst {
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
    Bursts,
}

impl Burst {
    /// Looks at what came over this connection since the last look, and shuts its window if it must.
    fn look(&mut self, socket: &Socket, at: Instant) -> Finding {
        let Some(now) = Arrived::over(socket.as_fd()) else {
            return Finding::Usual;
        };
        let finding = self.judge(at, now);
        if finding == Finding::Usual || !self.is_near(socket) {
            return Finding::Usual;
        }
        if finding == Finding::Bursts {
            set_receive_buffer(socket.as_fd(), BUFFER);
        }
        finding
    }

    /// Whether the peer is of this host.
    fn is_near(&mut self, socket: &Socket) -> bool {
        *self.is_near.get_or_insert_with(|| {
            let peer = socket.peer().parse::<SocketAddr>();
            peer.is_ok_and(|peer| is_of_this_host(peer.ip()))
        })
    }

    /// Judges, at this time, what has come since the time before.
    fn judge(&mut self, at: Instant, now: Arrived) -> Finding {
        let Some((then, before)) = self.before.replace((at, now)) else {
            return Finding::Usual;
        };
        let took = at.saturating_duration_since(then);
        if took >= UNSEEN {
            return Finding::Usual;
        }
        let seconds = took.as_secs_f64();
        let octets = now.bytes.saturating_sub(before.bytes) as f64 / seconds;
        let segments = f64::from(now.segments.wrapping_sub(before.segments)) / seconds;
        let single = (LEAST..=SINGLE).contains(&(octets / segments));
        let bursts = segments >= SEGMENTS && single;
        match self.shut {
            // Fewer segments and not much less in them, or much more.
            Some((_, then)) if octets >= then * if bursts { 1.3 } else { 0.5 } => Finding::Gathers,
            Some((since, _)) if bursts && at.saturating_duration_since(since) < AGAIN => {
                Finding::Usual
            }
            _ if bursts => {
                self.shut = Some((at, octets));
                Finding::Bursts
            }
            _ => {
                self.shut = None;
                Finding::Usual
            }
        }
    }
}

impl Bursts {
    /// How long messages are left to gather now; `candidates` are the connections that peers made.
    pub(super) fn pause<'a>(
        &mut self,
        now: Instant,
        candidates: impl Iterator<Item = (&'a Socket, &'a mut Burst)>,
    ) -> Duration {
        let mut found = None;
        let looked = self.looked;
        if looked.is_none_or(|looked| now.saturating_duration_since(looked) >= LOOK) {
            self.looked = Some(now);
            let looks = candidates.take(MOST_LOOKED_AT);
            let finding = looks.map(|(socket, burst)| burst.look(socket, now)).max();
            let finding = finding.unwrap_or(Finding::Usual);
            self.gathers = finding != Finding::Usual;
            found = Some(finding);
        }
        match found {
            Some(Finding::Bursts) => SHUT,
            _ if self.gathers => BURST_PAUSE,
            _ => PAUSE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_millis(5);

    /// What is found when so many segments of that size come in each of these times.
    fn found(times: &[(u32, u64)]) -> Vec<Finding> {
        let mut burst = Burst::default();
        let mut now = Arrived::default();
        let mut at = Instant::now();
        // It begins to be counted.
        assert_eq!(burst.judge(at, now), Finding::Usual);
        let one = |(segments, octets): &(u32, u64)| {
            at += TIME;
            now.segments = now.segments.wrapping_add(*segments);
            now.bytes += u64::from(*segments) * octets;
            burst.judge(at, now)
        };
        times.iter().map(one).collect()
    }

    #[test]
    fn a_burst_is_many_segments_and_gathers_while_as_much_comes() {
        use Finding::{Bursts, Gathers, Usual};
        // 400,000 messages a second one by one, then 1,000,000 put together, then 100,000.
        let times = [(2000, 1334), (100, 66_700), (100, 66_700), (500, 1334)];
        assert_eq!(found(&times), [Bursts, Gathers, Gathers, Usual]);
    }

    #[test]
    fn who_has_no_more_to_send_is_left_alone_for_a_while() {
        let findings = found(&[(1500, 1334); 41]);
        let shut = |at: &usize| findings[*at] == Finding::Bursts;
        let usual = findings.iter().filter(|it| **it == Finding::Usual);
        assert_eq!((0..41).filter(shut).collect::<Vec<_>>(), [0, 20, 40]);
        assert_eq!(usual.count(), 38);
    }

    #[test]
    fn who_gathers_makes_no_burst_however_much_it_is() {
        let times = [(2000, 32_741), (1000, 13_340), (1200, 1334)];
        assert_eq!(found(&times), [Finding::Usual; 3]);
    }

    #[test]
    fn what_came_while_nobody_looked_is_no_burst() {
        let (mut burst, began) = (Burst::default(), Instant::now());
        let much = |times: u32| Arrived {
            segments: 3000 * times,
            bytes: 4_000_000 * u64::from(times),
        };
        assert_eq!(burst.judge(began, much(10)), Finding::Usual);
        assert_eq!(burst.judge(began + UNSEEN, much(100)), Finding::Usual);
        let at = began + UNSEEN + TIME;
        assert_eq!(burst.judge(at, much(101)), Finding::Bursts);
    }

    #[test]
    fn small_messages_are_left_alone() {
        assert_eq!(found(&[(2000, 350), (0, 0)]), [Finding::Usual; 2]);
    }
}
