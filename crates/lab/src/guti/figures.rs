//! From what a client printed to the figures of a record.

use crate::harness::{Moments, PeerResult};
use crate::record::{
    BINS_50US, Baseline, BothSides, Failure, Latency, LatencyHistogram, LatencyKind, Measured,
};

/// The figures of a client's result.
///
/// # Errors
/// When the result contradicts itself: it would make a figure that looks right and is not.
pub(crate) fn measured(result: &PeerResult) -> Result<Measured, Failure> {
    let histogram = LatencyHistogram::from_counts(result.hdr.iter().copied())
        .map_err(|error| contradiction(&error.to_string()))?;
    if histogram.count() != result.requests {
        return Err(contradiction(&format!(
            "{} requests, but {} in the histogram",
            result.requests,
            histogram.count()
        )));
    }
    let coarse: u64 = result.histogram_50us.iter().sum();
    if result.histogram_50us.len() != BINS_50US || coarse != result.requests {
        return Err(contradiction(&format!(
            "{} requests, but {coarse} in {} bins of 50 us",
            result.requests,
            result.histogram_50us.len()
        )));
    }
    if !(result.duration_s.is_finite() && result.duration_s > 0.0) {
        return Err(contradiction(&format!(
            "a window of {} s",
            result.duration_s
        )));
    }
    let per_second = |count: u64| count as f64 / result.duration_s;
    let per_request = |nanoseconds: u64| nanoseconds as f64 / 1e3 / result.requests.max(1) as f64;
    let percent = |nanoseconds: u64| nanoseconds as f64 / 1e9 / result.duration_s * 100.0;
    Ok(Measured {
        duration_s: result.duration_s,
        requests: result.requests,
        errors: result.errors,
        qps: per_second(result.requests),
        bytes_per_s: per_second(result.request_bytes_total),
        latency_us: latency(result.latency_ns, &histogram),
        latency_kind: LatencyKind::RoundTrip,
        histogram_50us: result.histogram_50us.clone(),
        hdr: histogram
            .encode()
            .map_err(|error| contradiction(&error.to_string()))?,
        cpu_us_per_request: BothSides {
            server: result.server_cpu_ns.map(per_request),
            client: result.client_cpu_ns.map(per_request),
        },
        cpu_percent: BothSides {
            server: result.server_cpu_ns.map(percent),
            client: result.client_cpu_ns.map(percent),
        },
    })
}

/// The figures of the network alone.
pub(super) fn baseline(result: &PeerResult) -> Result<Baseline, Failure> {
    let Latency { mean, p50, p99, .. } = measured(result)?.latency_us;
    Ok(Baseline { mean, p50, p99 })
}

/// Moments and percentiles of one kind of latency.
pub(crate) fn latency(moments: Moments, histogram: &LatencyHistogram) -> Latency {
    let (min, max) = (moments.min / 1e3, moments.max / 1e3);
    // The upper end of a bin may lie beyond the largest figure in it.
    let quantile = |share| histogram.quantile_us(share).clamp(min, max.max(min));
    Latency {
        min,
        mean: moments.mean / 1e3,
        stddev: moments.stddev / 1e3,
        p25: quantile(0.25),
        p50: quantile(0.5),
        p75: quantile(0.75),
        p90: quantile(0.9),
        p95: quantile(0.95),
        p99: quantile(0.99),
        p999: quantile(0.999),
        p9999: quantile(0.9999),
        max,
    }
}

fn contradiction(what: &str) -> Failure {
    Failure {
        what: format!("the result contradicts itself: {what}"),
        place: "the client program, its result".to_owned(),
        next: "are lab and peers of the same version? `make peers` builds them again".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Event, tests::RESULT};

    fn result() -> PeerResult {
        let Ok(Event::Result(mut result)) = Event::parse(&RESULT.replace('\n', "")) else {
            panic!("a result");
        };
        result.histogram_50us.resize(BINS_50US, 0);
        *result
    }

    #[test]
    fn figures_of_a_known_result() {
        // 4 requests in half a second, 80 bytes, 1 ms of server CPU; latencies 10, 10, 40, 40 us.
        let measured = measured(&result()).expect("consistent");
        assert_eq!((measured.qps, measured.bytes_per_s), (8.0, 160.0));
        assert_eq!(
            measured.cpu_us_per_request,
            BothSides {
                server: Some(250.0),
                client: None
            }
        );
        assert_eq!(measured.cpu_percent.server, Some(0.2));
        let latency = measured.latency_us;
        assert_eq!(
            (latency.min, latency.mean, latency.max),
            (10.0, 25.0005, 40.0)
        );
        assert!((latency.p50 - 10.0).abs() < 0.01 && (latency.p75 - 40.0).abs() < 0.01);
        assert!(latency.p9999 <= latency.max);
        assert_eq!(measured.histogram().expect("own output").count(), 4);
    }

    #[test]
    fn contradictions_are_not_turned_into_figures() {
        let spoil: [fn(&mut PeerResult); 5] = [
            |result| result.requests = 5,
            |result| result.hdr[0].1 = 1,
            |result| result.histogram_50us[3] = 1,
            |result| result.histogram_50us.truncate(7),
            |result| result.duration_s = 0.0,
        ];
        for spoil in spoil {
            let mut result = result();
            spoil(&mut result);
            let failure = measured(&result).expect_err("contradiction");
            assert!(failure.what.contains("contradicts"), "{failure}");
        }
    }
}
