//! Outlier detection: endpoints that fail more than others are left out for a while.
//!
//! ```text
//!            so many failures in a row, or a rate far from the others'
//!   in use ────────────────────────────────────────────────────────────▶ ejected
//!      ▲                                                                    │
//!      └──────────── base × number of ejections, at most the longest ───────┘
//! ```
//!
//! Failures in a row are found with each answer, rates once an interval. What each answer touches is
//! atomic; ejecting and sweeping are done by one thread at a time.

use crate::config::{OutlierByRate, OutlierPolicy};
use crate::policy::outcome::Verdict;
use crate::policy::random::Random;
use crate::policy::timeline::{Timeline, nanos_of};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What is known of one endpoint.
#[derive(Debug)]
pub struct Record {
    server_errors: AtomicU32,
    gateway_errors: AtomicU32,
    local_errors: AtomicU32,
    /// In this interval.
    successes: AtomicU32,
    failures: AtomicU32,
    /// 0: it is in use.
    ejected_until: AtomicU64,
    /// How often it was ejected lately.
    ejections: AtomicU32,
    timeline: Timeline,
}

/// Why an endpoint is an outlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the ways that a policy names")]
pub enum Cause {
    /// Answers with 5xx, or none, in a row.
    Consecutive5xx,
    /// Answers with 502, 503 or 504, or none, in a row.
    ConsecutiveGateway,
    /// Failures of the way to it, in a row.
    ConsecutiveLocalOrigin,
    /// Its rate of success is far below the others'.
    SuccessRate,
    /// Too many of its requests fail.
    FailurePercentage,
}

impl Record {
    /// A record of nothing.
    #[must_use]
    pub const fn new(timeline: Timeline) -> Self {
        Self {
            server_errors: AtomicU32::new(0),
            gateway_errors: AtomicU32::new(0),
            local_errors: AtomicU32::new(0),
            successes: AtomicU32::new(0),
            failures: AtomicU32::new(0),
            ejected_until: AtomicU64::new(0),
            ejections: AtomicU32::new(0),
            timeline,
        }
    }

    /// Notes how a try ended; gives why the endpoint is an outlier now, if it is.
    pub fn note(&self, policy: &OutlierPolicy, verdict: Verdict) -> Option<Cause> {
        let splits = policy.consecutive_local_origin.is_some();
        match verdict {
            Verdict::Success => {
                self.successes.fetch_add(1, Ordering::Relaxed);
                for errors in [
                    &self.server_errors,
                    &self.gateway_errors,
                    &self.local_errors,
                ] {
                    // Read first: most are 0, and a write would take the line from other threads.
                    if errors.load(Ordering::Relaxed) != 0 {
                        errors.store(0, Ordering::Relaxed);
                    }
                }
                return None;
            }
            // Told apart from what the endpoint answers, they count for nothing else.
            Verdict::LocalOrigin if splits => {
                return reaches(&self.local_errors, policy.consecutive_local_origin)
                    .then_some(Cause::ConsecutiveLocalOrigin);
            }
            _ => {}
        }
        self.failures.fetch_add(1, Ordering::Relaxed);
        if splits {
            // It was reached.
            self.local_errors.store(0, Ordering::Relaxed);
        }
        if verdict == Verdict::ServerError {
            self.gateway_errors.store(0, Ordering::Relaxed);
        } else if reaches(&self.gateway_errors, policy.consecutive_gateway) {
            return Some(Cause::ConsecutiveGateway);
        }
        reaches(&self.server_errors, policy.consecutive_5xx).then_some(Cause::Consecutive5xx)
    }

    /// Whether it is left out.
    #[must_use]
    pub fn is_ejected(&self) -> bool {
        self.ejected_until.load(Ordering::Relaxed) != 0
    }

    /// When it is used again; `None` while it is in use.
    #[must_use]
    pub fn ejected_until(&self) -> Option<Instant> {
        match self.ejected_until.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(self.timeline.instant(nanos)),
        }
    }

    /// Leaves it out, longer each time.
    pub fn eject(&self, policy: &OutlierPolicy, now: Instant, random: &mut impl Random) {
        let times = self
            .ejections
            .fetch_add(1, Ordering::Relaxed)
            .saturating_add(1);
        let longest = policy.max_ejection.max(policy.base_ejection);
        let jitter = policy.ejection_jitter.mul_f64(random.unit());
        let time = policy.base_ejection.saturating_mul(times).min(longest);
        let time = time.saturating_add(jitter);
        let until = self.timeline.nanos(now).saturating_add(nanos_of(time));
        self.ejected_until.store(until, Ordering::Relaxed);
        for errors in [
            &self.server_errors,
            &self.gateway_errors,
            &self.local_errors,
        ] {
            errors.store(0, Ordering::Relaxed);
        }
    }

    /// Uses it again if its time has come; says whether it did.
    pub fn readmit(&self, now: Instant) -> bool {
        let due = self.ejected_until().is_some_and(|until| until <= now);
        if due {
            self.ejected_until.store(0, Ordering::Relaxed);
        }
        due
    }

    /// Uses it again whether its time has come or not: there is no policy any more.
    pub fn pardon(&self) -> bool {
        self.ejections.store(0, Ordering::Relaxed);
        self.ejected_until.swap(0, Ordering::Relaxed) != 0
    }

    /// The counts of an interval; the next begins.
    fn take_interval(&self) -> (u32, u32) {
        let successes = self.successes.swap(0, Ordering::Relaxed);
        (successes, self.failures.swap(0, Ordering::Relaxed))
    }
}

fn reaches(errors: &AtomicU32, limit: Option<u32>) -> bool {
    match limit {
        None | Some(0) => false,
        Some(limit) => errors.fetch_add(1, Ordering::Relaxed).saturating_add(1) >= limit,
    }
}

/// Whether another endpoint may be left out: at most so many percent are, but one always may, unless
/// nobody shall be.
#[must_use]
pub fn may_eject(policy: &OutlierPolicy, ejected: usize, total: usize) -> bool {
    let percent = policy.max_ejection_percent;
    percent > 0 && ejected == 0 || ejected * 100 < usize::from(percent) * total
}

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what a sweep can do")]
pub struct Swept {
    /// Who was left out and why, by place.
    pub ejected: Vec<(usize, Cause)>,
    /// Who is used again.
    pub readmitted: Vec<usize>,
}

/// Judges the rates of an interval that has ended, and begins the next.
pub fn sweep(
    policy: &OutlierPolicy,
    records: &[&Record],
    now: Instant,
    random: &mut impl Random,
) -> Swept {
    let mut swept = Swept {
        readmitted: readmit(records, now),
        ..Swept::default()
    };
    // Whoever was not left out in this interval is forgiven one of its ejections.
    for record in records {
        if !record.is_ejected() {
            let fewer = |times: u32| times.checked_sub(1);
            let _never_was =
                record
                    .ejections
                    .try_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        }
    }
    let counts: Vec<_> = records
        .iter()
        .map(|record| record.take_interval())
        .collect();
    let mut ejected = records.iter().filter(|record| record.is_ejected()).count();
    let mut outliers = by_success_rate(policy.success_rate.as_ref(), &counts);
    outliers.extend(by_failure_percentage(
        policy.failure_percentage.as_ref(),
        &counts,
    ));
    for (place, enforcing, cause) in outliers {
        let record = records[place];
        if !record.is_ejected()
            && may_eject(policy, ejected, records.len())
            && random.happens(u64::from(enforcing), 100)
        {
            record.eject(policy, now, random);
            ejected += 1;
            swept.ejected.push((place, cause));
        }
    }
    swept
}

/// Uses those again whose time has come; gives their places.
pub fn readmit(records: &[&Record], now: Instant) -> Vec<usize> {
    let numbered = records.iter().enumerate();
    let due = numbered.filter(|(_, record)| record.readmit(now));
    due.map(|(place, _)| place).collect()
}

/// When [`readmit`] has something to do next.
pub fn next_readmission<'a>(records: impl IntoIterator<Item = &'a Record>) -> Option<Instant> {
    records.into_iter().filter_map(Record::ejected_until).min()
}

type Outlier = (usize, u8, Cause);

fn with_volume<'a>(
    by: &'a OutlierByRate,
    counts: &'a [(u32, u32)],
) -> impl Iterator<Item = (usize, f64)> + 'a {
    let numbered = counts.iter().enumerate();
    numbered.filter_map(|(place, (successes, failures))| {
        let total = successes.saturating_add(*failures);
        let enough = total > 0 && total >= by.request_volume;
        enough.then(|| (place, f64::from(*successes) * 100.0 / f64::from(total)))
    })
}

fn by_success_rate(by: Option<&OutlierByRate>, counts: &[(u32, u32)]) -> Vec<Outlier> {
    let Some(by) = by else {
        return Vec::new();
    };
    let rates: Vec<_> = with_volume(by, counts).collect();
    if rates.is_empty() || rates.len() < by.minimum_hosts as usize {
        return Vec::new();
    }
    let count = rates.len() as f64;
    let mean = rates.iter().map(|(_, rate)| rate).sum::<f64>() / count;
    let variance = rates
        .iter()
        .map(|(_, rate)| (rate - mean).powi(2))
        .sum::<f64>()
        / count;
    let least = mean - variance.sqrt() * f64::from(by.threshold) / 1000.0;
    let far_below = rates.into_iter().filter(|(_, rate)| *rate < least);
    far_below
        .map(|(place, _)| (place, by.enforcing, Cause::SuccessRate))
        .collect()
}

fn by_failure_percentage(by: Option<&OutlierByRate>, counts: &[(u32, u32)]) -> Vec<Outlier> {
    let Some(by) = by else {
        return Vec::new();
    };
    let rates: Vec<_> = with_volume(by, counts).collect();
    if rates.len() < by.minimum_hosts as usize {
        return Vec::new();
    }
    let too_many = rates
        .into_iter()
        .filter(|(_, rate)| 100.0 - rate > f64::from(by.threshold));
    too_many
        .map(|(place, _)| (place, by.enforcing, Cause::FailurePercentage))
        .collect()
}

/// How often a cluster is swept: at least every millisecond apart, whatever a policy says.
#[must_use]
pub fn interval(policy: &OutlierPolicy) -> Duration {
    policy.interval.max(Duration::from_millis(1))
}

#[cfg(test)]
mod tests;
