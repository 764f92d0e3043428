//! From what gateways measured to the figures of a record.

use serde_json::{Map, Value, json};

use crate::guti::{latency, measured};
use crate::harness::{Moments, OneWay, PeerResult};
use crate::record::{Failure, LatencyHistogram, Measured};

/// Several gateways as one. There is at least one.
pub(super) fn merged(mut results: Vec<PeerResult>) -> Option<PeerResult> {
    let mut all = results.pop()?;
    for one in results {
        all.latency_ns = pooled(
            (all.latency_ns, all.requests),
            (one.latency_ns, one.requests),
        );
        all.partial |= one.partial;
        all.requests += one.requests;
        all.errors += one.errors;
        if all.error_sample.is_empty() {
            all.error_sample = one.error_sample;
        }
        all.duration_s = all.duration_s.max(one.duration_s);
        all.connections += one.connections;
        all.request_bytes_total += one.request_bytes_total;
        for (bin, count) in all.histogram_50us.iter_mut().zip(&one.histogram_50us) {
            *bin += count;
        }
        all.hdr.extend(one.hdr);
        if let (Some(lag), Some(other)) = (&mut all.lag_ns, one.lag_ns) {
            // Gateways share the rate alike.
            lag.mean = f64::midpoint(lag.mean, other.mean);
            lag.max = lag.max.max(other.max);
        }
        all.unsent = all.unsent.zip(one.unsent).map(|(a, b)| a + b);
        all.client_cpu_ns = all.client_cpu_ns.zip(one.client_cpu_ns).map(|(a, b)| a + b);
        all.first_answer_ns = all.first_answer_ns.max(one.first_answer_ns);
        for (hop, way) in one.one_way.into_iter().enumerate() {
            match all.one_way.get_mut(hop) {
                Some(mine) => {
                    mine.ns = pooled((mine.ns, count(&mine.hdr)), (way.ns, count(&way.hdr)));
                    mine.hdr.extend(way.hdr);
                }
                None => all.one_way.push(way),
            }
        }
    }
    Some(all)
}

fn count(hdr: &[(u64, u64)]) -> u64 {
    hdr.iter().map(|(_, count)| count).sum()
}

/// Moments of two samples together.
fn pooled((a, count_a): (Moments, u64), (b, count_b): (Moments, u64)) -> Moments {
    let (weight_a, weight_b) = match count_a + count_b {
        0 => (0.5, 0.5),
        all => (count_a as f64 / all as f64, count_b as f64 / all as f64),
    };
    let mean = weight_a * a.mean + weight_b * b.mean;
    let square = |it: Moments| it.stddev * it.stddev + it.mean * it.mean;
    let variance = weight_a * square(a) + weight_b * square(b) - mean * mean;
    Moments {
        min: a.min.min(b.min),
        max: a.max.max(b.max),
        mean,
        stddev: variance.max(0.0).sqrt(),
    }
}

/// The figures of a record.
pub(super) fn of(result: &PeerResult) -> Result<Measured, Failure> {
    measured(result)
}

/// The figures that only this scenario has, of the gateways.
pub(super) fn extra(result: &PeerResult, extra: &mut Map<String, Value>) -> Result<(), Failure> {
    let ways = result
        .one_way
        .iter()
        .map(one_way)
        .collect::<Result<Vec<Value>, Failure>>()?;
    if let Some(first) = ways.first() {
        extra.insert("one_way_us".into(), first.clone());
    }
    if ways.len() > 1 {
        extra.insert("hops_one_way_us".into(), ways.into());
    }
    if let Some(first) = result.first_answer_ns {
        extra.insert("first_answer_ms".into(), (first as f64 / 1e6).into());
    }
    if let Some(unlogged) = result.unlogged_qps {
        extra.insert("unlogged_qps".into(), unlogged.into());
    }
    if let Some(lag) = result.lag_ns {
        let lag = json!({"mean": lag.mean / 1e3, "max": lag.max / 1e3});
        extra.insert("lag_us".into(), lag);
    }
    if let Some(unsent) = result.unsent {
        extra.insert("unsent".into(), unsent.into());
    }
    if result.errors > 0 {
        extra.insert("error_sample".into(), result.error_sample.clone().into());
    }
    extra.insert("connections_opened".into(), result.connections.into());
    Ok(())
}

fn one_way(way: &OneWay) -> Result<Value, Failure> {
    let broken = |error: String| Failure {
        what: format!("one-way latencies make no histogram: {error}"),
        place: "the gateway's result".to_owned(),
        next: String::new(),
    };
    let histogram = LatencyHistogram::from_counts(way.hdr.iter().copied())
        .map_err(|error| broken(error.to_string()))?;
    serde_json::to_value(latency(way.ns, &histogram)).map_err(|error| broken(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Event, tests::RESULT};
    use crate::record::BINS_50US;

    fn result(one_way: &str) -> PeerResult {
        let text = RESULT.replace('\n', "").replace(
            "\"client_cpu_ns\":null",
            &format!("\"client_cpu_ns\":10,{one_way}\"first_answer_ns\":2000000"),
        );
        let Ok(Event::Result(mut result)) = Event::parse(&text) else {
            panic!("a result: {text}");
        };
        result.histogram_50us.resize(BINS_50US, 0);
        *result
    }

    const WAY: &str = r#""one_way":[{"ns":{"min":1000,"max":3000,"mean":2000,"stddev":1000},"hdr":[[1000,2],[3000,2]]}],"#;

    #[test]
    fn two_gateways_are_one_with_twice_the_requests() {
        let both = merged(vec![result(WAY), result(WAY)]).expect("two");
        let figures = of(&both).expect("consistent");
        assert_eq!((figures.requests, figures.duration_s), (8, 0.5));
        assert!((figures.latency_us.mean - 25.0005).abs() < 1e-9);
        assert_eq!(both.client_cpu_ns, Some(20));
        let mut fields = Map::new();
        extra(&both, &mut fields).expect("consistent");
        assert_eq!(fields["one_way_us"]["mean"], 2.0);
        assert_eq!(fields["one_way_us"]["max"], 3.0);
        assert_eq!(fields["first_answer_ms"], 2.0);
        assert_eq!(fields["connections_opened"], 2);
        assert!(!fields.contains_key("hops_one_way_us"));
    }

    #[test]
    fn moments_of_unequal_halves() {
        let low = Moments {
            min: 1.0,
            max: 1.0,
            mean: 1.0,
            stddev: 0.0,
        };
        let high = Moments {
            min: 4.0,
            max: 4.0,
            mean: 4.0,
            stddev: 0.0,
        };
        let both = pooled((low, 2), (high, 1));
        assert_eq!((both.min, both.max, both.mean), (1.0, 4.0, 2.0));
        assert!((both.stddev - 2.0_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn programs_that_measure_no_way_have_none() {
        let mut fields = Map::new();
        extra(&result(""), &mut fields).expect("consistent");
        assert!(!fields.contains_key("one_way_us"));
    }
}
