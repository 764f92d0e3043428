//! nghttp2's own tools as an end: `nghttpd` answers, `h2load` asks. Both are started with what the
//! other ends have: one thread each, requests of the same size, answers of 256 octets, as many
//! connections.
//!
//! `h2load` prints no histogram. It can log each request, at the price of a write to a file each. So it
//! runs twice: first without a log, which says how many requests a second it makes (`unlogged_qps`),
//! then with one, which says all the rest. Its requests carry no field that changes, as the other gateways'
//! do: a time stamp and a correlation.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::histogram::Recorder;
use crate::messages;
use crate::options::Options;
use crate::pace::{SECOND, now_ns};


/// Becomes `nghttpd`; a child says when it listens.
pub(crate) fn replica() -> anyhow::Result<()> {
    // One for all of a user's, because nobody is left to remove it.
    let name = format!(
        "corewire-reference-of-{}",
        rustix::process::getuid().as_raw()
    );
    let folder = std::env::temp_dir().join(name);
    let file = folder.join(messages::PATH.trim_start_matches('/'));
    std::fs::create_dir_all(file.parent().unwrap_or(&folder))?;
    std::fs::write(file, messages::created_data())?;
    // Whoever takes it meanwhile makes nghttpd fail with a word of its own.
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port();
    let address = format!("127.0.0.1:{port}");
    Command::new(std::env::current_exe()?)
        .args(["announce", "--target", &address])
        .stdin(Stdio::null())
        .spawn()?;
    let error = Command::new("nghttpd")
        .args([
            "--no-tls",
            "--workers=1",
            "--max-concurrent-streams=4096",
            "--window-bits=20",
        ])
        .args([
            "--connection-window-bits=24",
            "--address=127.0.0.1",
            "--htdocs",
        ])
        .arg(&folder)
        .arg(port.to_string())
        .exec();
    Err(error).context("nghttpd cannot be started; it is in Debian's nghttp2-server")
}

/// Says that a replica listens, once it does.
pub(crate) fn announce(options: &Options) -> anyhow::Result<()> {
    let address = &options.target[0];
    let deadline = now_ns() + (options.patience * SECOND as f64) as u64;
    while TcpStream::connect(address).is_err() {
        if now_ns() > deadline {
            bail!("nghttpd does not listen at {address}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let version = version("nghttpd")?;
    let ready = json!({"event": "ready", "protocol": 1, "address": address, "addresses": [address],
        "pid": std::os::unix::process::parent_id(), "versions": {"nghttpd": version}});
    println!("{ready}");
    Ok(())
}

/// Runs `h2load` twice and turns what it says into a result.
pub(crate) fn gateway(options: &Options) -> anyhow::Result<()> {
    if options.rate.is_some() {
        bail!("h2load paces each connection by itself and all at the same times: --rate max only");
    }
    let folder = folder()?;
    let body = folder.join("request");
    std::fs::write(&body, messages::create_data(options.payload))?;
    let bare = h2load(options, &body, None, false)?;
    println!("{}", json!({"event": "connected"}));
    let log = folder.join("log");
    let run = h2load(options, &body, Some(&log), true)?;
    let (latencies, refused) = read_log(&log)?;
    let requests = latencies.count();
    let octets = requests * (options.payload + messages::ANSWER_OCTETS) as u64;
    let result = json!({
        "event": "result",
        "protocol": 1,
        "adapter": "h2load",
        "partial": false,
        "mode": "no-rate",
        "clients": 1,
        "requests": requests,
        "errors": refused + run.failed + bare.failed,
        "error_sample": "",
        "clients_gave_up": 0,
        "duration_s": run.duration,
        "connections": options.connect,
        "payload_bytes": options.payload,
        "request_bytes_total": octets,
        "latency_ns": latencies.moments(),
        "histogram_50us": latencies.bins(),
        "hdr": latencies.fine(),
        "server_cpu_ns": null,
        "client_cpu_ns": run.cpu_ns,
        "server_threads": null,
        "unlogged_qps": bare.requests as f64 / bare.duration,
        "versions": {"h2load": version("h2load")?},
    });
    println!("{result}");
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// What one run of `h2load` came to.
struct Run {
    requests: u64,
    failed: u64,
    duration: f64,
    cpu_ns: u64,
}

/// Runs it; `tell` when this is the run that counts.
fn h2load(options: &Options, body: &Path, log: Option<&Path>, tell: bool) -> anyhow::Result<Run> {
    let connections = options.connect.max(1);
    // As many in flight as the other gateways have, dealt out to the connections.
    let streams = options.in_flight.div_ceil(connections as usize);
    let mut command = Command::new("h2load");
    command
        .args([
            "--threads=1",
            "--window-bits=20",
            "--connection-window-bits=24",
        ])
        .arg(format!("--clients={connections}"))
        .arg(format!("--max-concurrent-streams={streams}"))
        .arg(format!("--duration={}", h2load_time(options.duration)))
        .arg(format!("--warm-up-time={}", h2load_time(options.warmup)))
        .arg("--header=content-type: application/json")
        .arg(format!("--data={}", body.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // With the gateway's own, so that its words are seen when it fails.
        .stderr(Stdio::inherit());
    if let Some(log) = log {
        command.arg(format!("--log-file={}", log.display()));
    }
    command.arg(format!("http://{}{}", options.target[0], messages::PATH));
    let mut child = command
        .spawn()
        .context("h2load cannot be started; it is in Debian's nghttp2-client")?;
    let pid = child.id();
    let lines = BufReader::new(child.stdout.take().context("its output")?).lines();
    let mut before = None;
    let mut after = None;
    let mut said = String::new();
    for line in lines {
        let line = line?;
        if line.starts_with("Main benchmark duration is started") {
            before = Some((now_ns(), cpu_of(pid)?));
            if tell {
                println!("{}", json!({"event": "measuring"}));
            }
        } else if line.starts_with("Main benchmark duration is over") {
            after = Some((now_ns(), cpu_of(pid)?));
        }
        said.push_str(&line);
        said.push('\n');
    }
    let status = child.wait()?;
    let (Some((began, cpu_before)), Some((ended, cpu_after))) = (before, after) else {
        bail!("h2load ({status}) did not say when it measured: {said}");
    };
    let (requests, failed) = requests_in(&said).with_context(|| format!("h2load said {said}"))?;
    Ok(Run {
        requests,
        failed,
        duration: (ended - began) as f64 / SECOND as f64,
        cpu_ns: cpu_after.saturating_sub(cpu_before),
    })
}

/// It takes whole seconds, or whole units below one.
fn h2load_time(seconds: f64) -> String {
    format!("{}ms", (seconds * 1000.0).round().max(1.0))
}

/// Succeeded and failed, from `requests: 9 total, 9 started, 9 done, 9 succeeded, 0 failed, ...`.
fn requests_in(said: &str) -> Option<(u64, u64)> {
    let line = said.lines().find(|line| line.starts_with("requests: "))?;
    let count = |what: &str| {
        let part = line
            .split(&[':', ','][..])
            .find(|part| part.ends_with(what))?;
        part.trim().split(' ').next()?.parse().ok()
    };
    Some((count(" succeeded")?, count(" failed")?))
}

/// The log: a request of the window a line, with its status and its microseconds.
fn read_log(log: &Path) -> anyhow::Result<(Recorder, u64)> {
    let mut recorder = Recorder::new();
    let mut refused = 0;
    for line in BufReader::new(std::fs::File::open(log)?).lines() {
        let line = line?;
        let mut fields = line.split('\t').skip(1);
        let (Some(status), Some(took)) = (fields.next(), fields.next()) else {
            bail!("a line of h2load's log is not understood: {line}");
        };
        if status == "200" {
            recorder.record(took.parse::<u64>()? * 1000);
        } else {
            refused += 1;
        }
    }
    Ok((recorder, refused))
}

/// CPU time of a process of ours that still runs.
fn cpu_of(pid: u32) -> anyhow::Result<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Ok(ticks * SECOND / rustix::param::clock_ticks_per_second())
}

fn version(program: &str) -> anyhow::Result<String> {
    let output = Command::new(program).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text
        .trim()
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .to_owned())
}

/// A folder of this process's own.
fn folder() -> anyhow::Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("corewire-reference-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_of_h2load_are_read() {
        let said = "finished in 1.5s\nrequests: 12 total, 12 started, 11 done, 10 succeeded, \
                    1 failed, 0 errored, 0 timeout\n";
        assert_eq!(requests_in(said), Some((10, 1)));
        assert_eq!(requests_in("usage: something else"), None);
    }
}
