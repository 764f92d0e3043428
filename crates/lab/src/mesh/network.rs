//! The network alone: one byte there and back over blocking TCP, between the cores that will be
//! used.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::CpuPlan;
use crate::record::{Baseline, Failure, LatencyHistogram};

/// Longest that one byte may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Measures for so long.
pub(super) fn baseline(cpus: &CpuPlan, window: Duration) -> Result<Baseline, Failure> {
    measure(cpus, window).map_err(|error| Failure {
        what: format!("the network could not be measured: {error}"),
        place: "one byte over TCP on 127.0.0.1".to_owned(),
        next: String::new(),
    })
}

fn measure(cpus: &CpuPlan, window: Duration) -> std::io::Result<Baseline> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let server_cpus = cpus.server.clone();
    let client_cpus = cpus.client.clone();
    // Threads of their own: where they are held to must not last.
    let server = thread::spawn(move || echo(&listener, || server_cpus.hold_this_thread()));
    let client = thread::spawn(move || {
        client_cpus.hold_this_thread()?;
        ask(TcpStream::connect_timeout(&address, PATIENCE)?, window)
    });
    let panicked = |_| Err(std::io::Error::other("a thread panicked"));
    let latencies = client.join().unwrap_or_else(panicked);
    let echoed = server.join().unwrap_or(Ok(()));
    let latencies = latencies?;
    echoed?;
    let mean = latencies.iter().sum::<u64>() as f64 / latencies.len().max(1) as f64 / 1e3;
    let histogram = LatencyHistogram::from_counts(latencies.into_iter().map(|ns| (ns, 1)))
        .map_err(std::io::Error::other)?;
    Ok(Baseline {
        mean,
        p50: histogram.quantile_us(0.5),
        p99: histogram.quantile_us(0.99),
    })
}

fn echo(listener: &TcpListener, hold: impl Fn() -> std::io::Result<()>) -> std::io::Result<()> {
    hold()?;
    let (mut stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut byte = [0];
    while stream.read(&mut byte)? == 1 {
        stream.write_all(&byte)?;
    }
    Ok(())
}

fn ask(mut stream: TcpStream, window: Duration) -> std::io::Result<Vec<u64>> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut byte = [7];
    let mut latencies = Vec::with_capacity(1 << 16);
    let begun = Instant::now();
    let mut before = begun;
    while before.duration_since(begun) < window {
        stream.write_all(&byte)?;
        stream.read_exact(&mut byte)?;
        let after = Instant::now();
        let latency = after.duration_since(before).as_nanos();
        latencies.push(u64::try_from(latency).unwrap_or(u64::MAX));
        before = after;
    }
    Ok(latencies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_comes_back() {
        let cpus = CpuPlan::choose(None).expect("a core");
        let baseline = baseline(&cpus, Duration::from_millis(5)).expect("loopback");
        assert!(baseline.p50 > 0.0 && baseline.p50 <= baseline.p99);
    }
}
