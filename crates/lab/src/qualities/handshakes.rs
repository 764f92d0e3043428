//! What a connection costs with TLS and without: each call over one of its own.

use super::{Framework, Verdict};
use crate::args::Tls;
use crate::guti::Trial;
use crate::harness::PeerResult;
use crate::record::Failure;
use crate::scenario::NoResult;
use crate::stop::Stop;

/// Each kind is tried so often, in turn.
const TURNS: usize = 3;

/// How connections are secured, whether they go on from an earlier one's session, and in words.
const KINDS: [(Tls, bool, &str); 4] = [
    (Tls::Off, false, "clear text"),
    (Tls::Server, false, "TLS"),
    (Tls::Mutual, false, "mutual TLS"),
    (Tls::Mutual, true, "mutual TLS, resumed"),
];

/// What the connections of one kind cost, in each turn.
#[derive(Debug, Default)]
struct Cost {
    /// A second.
    opened: Vec<f64>,
    /// From the start of connecting to the answer, milliseconds.
    took: Vec<f64>,
    /// Microseconds of the server for each.
    server: Vec<f64>,
}

impl Cost {
    #[expect(clippy::cast_precision_loss, reason = "counts of a second")]
    fn add(&mut self, result: &PeerResult) {
        let requests = result.requests as f64;
        self.opened.push(requests / result.duration_s);
        self.took.push(result.latency_ns.mean / 1e6);
        if let Some(used) = result.server_cpu_ns {
            self.server.push(used as f64 / 1e3 / requests);
        }
    }

    fn words(&mut self, kind: &str) -> String {
        let (opened, took) = (median(&mut self.opened), median(&mut self.took));
        let server = median(&mut self.server);
        format!("{kind} {opened:.0}/s, {took:.2} ms, {server:.0} us of the server")
    }
}

/// The middle one of some; `NaN` of none.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

pub(super) fn check(framework: Framework, trial: &Trial, stop: &Stop) -> Result<Verdict, NoResult> {
    let mut evidence = Vec::new();
    for adapter in framework.opening() {
        if let Some(why) = trial.no_tls(adapter) {
            return Ok(Verdict::failed(format!("{adapter}: {why}")));
        }
        let kinds = match framework {
            Framework::Corewire => &KINDS[..],
            _ => &KINDS[..3],
        };
        let mut costs = KINDS.map(|_| Cost::default());
        for _ in 0..TURNS {
            for (&(tls, resume, kind), cost) in kinds.iter().zip(&mut costs) {
                let failed =
                    |what: String| Ok(Verdict::failed(format!("{adapter}, {kind}: {what}")));
                match trial.open_each(adapter, tls, resume, stop) {
                    Err(NoResult::Stopped) => return Err(NoResult::Stopped),
                    Err(NoResult::Failed(Failure { what, .. })) => return failed(what),
                    Ok(result) if result.errors > 0 => return failed(result.error_sample),
                    Ok(result) if result.requests == 0 => {
                        return failed("no call ended".to_owned());
                    }
                    Ok(result) => cost.add(&result),
                }
            }
        }
        let words = kinds.iter().zip(&mut costs);
        let words: Vec<_> = words.map(|((_, _, kind), cost)| cost.words(kind)).collect();
        evidence.push(format!("{adapter}: {}", words.join("; ")));
    }
    Ok(Verdict::passed(evidence.join(". ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_three_is_the_middle_one() {
        let mut cost = Cost {
            opened: vec![300.0, 100.0, 200.0],
            took: vec![3.0, 9.0, 4.0],
            server: vec![50.0, 70.0, 60.0],
        };
        assert_eq!(cost.words("TLS"), "TLS 200/s, 4.00 ms, 60 us of the server");
    }
}
