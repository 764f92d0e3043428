//! Which server is asked: the first that answers, and the first of all as soon as it does again
//! (gRFC A71).

use super::limits::AdsOptions;
use super::stream::{Stream, StreamId, Variant};
use crate::policy::random::Random;
use std::time::{Duration, Instant};

/// A server of the list, the most preferred first.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) variant: Variant,
    /// A resource that it leaves out is kept (gRFC A53).
    pub(super) ignores_deletion: bool,
    pub(super) state: ServerState,
    /// Attempts in a row that brought nothing.
    failures: u32,
    /// When the last attempt began.
    began: Option<Instant>,
    pub(super) last_failure: Option<String>,
}

#[derive(Debug)]
pub(super) enum ServerState {
    /// Nobody asked for it.
    Idle,
    /// A stream is open or being opened.
    Stream(Box<Stream>),
    /// It is tried again then.
    Waiting(Instant),
}

impl Server {
    pub(super) const fn new(variant: Variant, ignores_deletion: bool) -> Self {
        Self {
            variant,
            ignores_deletion,
            state: ServerState::Idle,
            failures: 0,
            began: None,
            last_failure: None,
        }
    }

    pub(super) fn stream(&self) -> Option<&Stream> {
        match &self.state {
            ServerState::Stream(stream) => Some(stream),
            ServerState::Idle | ServerState::Waiting(_) => None,
        }
    }

    pub(super) fn stream_mut(&mut self) -> Option<&mut Stream> {
        match &mut self.state {
            ServerState::Stream(stream) => Some(stream),
            ServerState::Idle | ServerState::Waiting(_) => None,
        }
    }

    /// Whether it was tried in vain and nothing has come since.
    pub(super) fn has_failed(&self) -> bool {
        self.last_failure.is_some() && self.stream().is_none_or(|stream| !stream.responded)
    }

    /// Begins an attempt.
    pub(super) fn connect(&mut self, now: Instant, id: StreamId) {
        self.began = Some(now);
        self.state = ServerState::Stream(Box::new(Stream::new(id, self.variant)));
    }

    /// Something came that could be read.
    pub(super) fn answered(&mut self) {
        self.failures = 0;
        self.last_failure = None;
    }

    /// The stream has ended: when to try again.
    pub(super) fn closed(
        &mut self,
        now: Instant,
        why: String,
        options: &AdsOptions,
        random: &mut impl Random,
    ) {
        let answered = self.stream().is_some_and(|stream| stream.responded);
        if answered {
            self.failures = 0;
        }
        let wait = backoff(self.failures, options, random);
        // From the beginning of the attempt: whoever answered and was lost is tried at once, but
        // one that answers and closes again and again is not asked all the time.
        let earliest = self.began.and_then(|began| began.checked_add(wait));
        let until = if answered {
            earliest.map_or(now, |at| at.max(now))
        } else {
            now.checked_add(wait).unwrap_or(now)
        };
        if !answered {
            self.failures = self.failures.saturating_add(1);
        }
        self.last_failure = Some(why);
        self.state = ServerState::Waiting(until);
    }

    /// Nobody needs it any more; gives its stream.
    pub(super) fn stop(&mut self) -> Option<StreamId> {
        let id = self.stream().map(|stream| stream.id);
        self.state = ServerState::Idle;
        self.failures = 0;
        self.last_failure = None;
        id
    }
}

/// 1.6 times as long after each failure, at random up to a fifth more or less.
fn backoff(failures: u32, options: &AdsOptions, random: &mut impl Random) -> Duration {
    let factor = 1.6_f64.powi(i32::try_from(failures.min(64)).unwrap_or(64));
    let full = options.first_backoff.as_secs_f64() * factor;
    let full = full.min(options.longest_backoff.as_secs_f64());
    Duration::from_secs_f64(full * (0.8 + 0.4 * random.unit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::random::SplitMix;

    #[test]
    fn waits_grow_to_the_longest_and_spread() {
        let options = AdsOptions::default();
        let mut random = SplitMix::new(1);
        let first: Vec<_> = (0..100)
            .map(|_| backoff(0, &options, &mut random))
            .collect();
        let (least, most) = (first.iter().min().unwrap(), first.iter().max().unwrap());
        assert!(*least >= Duration::from_millis(200) && *most <= Duration::from_millis(300));
        assert!(*most > *least + Duration::from_millis(50));
        for failures in [11, 64, u32::MAX] {
            let wait = backoff(failures, &options, &mut random);
            assert!(wait >= Duration::from_secs(24) && wait <= Duration::from_secs(36));
        }
    }

    #[test]
    fn a_server_that_answers_and_closes_is_not_asked_all_the_time() {
        let options = AdsOptions::default();
        let mut random = SplitMix::new(1);
        let now = Instant::now();
        let mut server = Server::new(Variant::StateOfTheWorld, false);
        for at in 0..10 {
            let now = now + Duration::from_secs(60 * at);
            server.connect(now, StreamId(at));
            server.stream_mut().unwrap().responded = true;
            server.closed(now, "went away".into(), &options, &mut random);
            let ServerState::Waiting(until) = server.state else {
                panic!("it is tried again")
            };
            assert!(until >= now + Duration::from_millis(200));
            assert!(until <= now + Duration::from_millis(300));
        }
    }
}
