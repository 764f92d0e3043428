//! An xDS client bears any responses, keeps what it knows, and never says too much.

use bytes::Bytes;
use corewire_mesh::config::Snapshot;
use corewire_mesh::xds::ads::{
    AdsCore, AdsOptions, Input, Output, ServerConfig, StreamId, Variant,
};
use std::time::{Duration, Instant};

/// Steps of one input.
const MOST_STEPS: usize = 200;

/// One input: the first octet's bit 0 chooses the incremental variant. Then steps: an octet that says
/// what happens, and for a message two octets of length and its octets.
pub(crate) fn run(data: &[u8]) {
    let Some((first, mut rest)) = data.split_first() else {
        return;
    };
    let variant = if first & 1 == 1 {
        Variant::Incremental
    } else {
        Variant::StateOfTheWorld
    };
    let server = ServerConfig {
        variant,
        ignores_deletion: first & 2 == 2,
    };
    let mut options = AdsOptions::default();
    options.max_resources = 8;
    let mut now = Instant::now();
    let mut core = AdsCore::new(options, Default::default(), &[server, server], 1);
    core.watch(now, "smf", "smf").expect("the first target");
    let mut streams: [Option<StreamId>; 2] = [None; 2];
    let mut snapshot = Snapshot::default();
    for _ in 0..MOST_STEPS {
        turn(&mut core, now, &mut streams, &mut snapshot);
        let Some((step, after)) = rest.split_first() else {
            break;
        };
        rest = after;
        let stream = streams[usize::from(step >> 7)];
        match (step & 0x7f, stream) {
            (0..64, Some(stream)) => {
                let Some((length, after)) = rest.split_first_chunk::<2>() else {
                    break;
                };
                let length = usize::from(u16::from_be_bytes(*length)).min(after.len());
                let (octets, after) = after.split_at(length);
                rest = after;
                let octets = Bytes::copy_from_slice(octets);
                core.handle_event(now, Input::Message(stream, octets));
            }
            (64..80, Some(stream)) => {
                core.handle_event(now, Input::Closed(stream, "closed".into()));
            }
            (80..96, _) => core.watch(now, "udm", "udm").expect("few targets"),
            (96..112, _) => core.unwatch(now, "udm"),
            (seconds, _) => now += Duration::from_secs(u64::from(seconds % 16)),
        }
        core.handle_timeout(now);
    }
    turn(&mut core, now, &mut streams, &mut snapshot);
    assert!(core.status().resources.len() <= 4 * 8);
}

/// Does what the core asks for; it must come to rest.
fn turn(
    core: &mut AdsCore,
    now: Instant,
    streams: &mut [Option<StreamId>; 2],
    snapshot: &mut Snapshot,
) {
    for _ in 0..1000 {
        let mut more = false;
        while let Some(output) = core.poll() {
            more = true;
            match output {
                Output::Connect { stream, server, .. } => {
                    streams[server] = Some(stream);
                    core.handle_event(now, Input::Opened(stream));
                }
                Output::Disconnect(stream) => {
                    for known in streams.iter_mut().filter(|it| **it == Some(stream)) {
                        *known = None;
                    }
                }
                Output::Resolve { host, port } => core.handle_event(
                    now,
                    Input::Resolved {
                        host,
                        port,
                        result: Err("nobody looks".into()),
                    },
                ),
                Output::Snapshot(next) => *snapshot = next,
                Output::Event(_) => {}
            }
        }
        for stream in streams.iter().flatten() {
            while let Some(request) = core.poll_transmit(now, *stream) {
                more = true;
                assert!(request.len() < 64 * 1024);
            }
        }
        if !more {
            // What is published holds together: every cluster that is led to is there.
            assert!(snapshot.targets.len() <= 2);
            return;
        }
    }
    panic!("the client does not come to rest");
}
