//! The cases that go on for a while: one channel for many calls, many channels, one that is seldom used.

use crate::messages::{Payload, SimpleRequest, SimpleResponse};
use crate::service::UNARY_CALL;
use corewire_message::Request;
use corewire_message::blocking::Caller;
use corewire_transport::blocking::Client;
use prost::Message;
use std::error::Error;
use std::time::{Duration, Instant};

type Outcome = Result<(), Box<dyn Error>>;
/// Opens a channel of its own.
pub(crate) type Connect<'a> = &'a (dyn Fn() -> Result<Client, Box<dyn Error>> + Sync);

/// One case.
type Case = fn(Connect<'_>) -> Outcome;

/// Each case and its name in gRPC's list.
pub(crate) const CASES: &[(&str, Case)] = &[
    ("rpc_soak", rpc_soak),
    ("channel_soak", channel_soak),
    ("long_lived_channel", long_lived_channel),
];

/// Who calls at a time.
const THREADS: usize = 4;
/// Calls of each. None may fail.
const ITERATIONS: usize = 100;
/// What a call may take: a busy machine is no failure.
const ACCEPTABLE: Duration = Duration::from_secs(10);
const LONG_LIVED_CALLS: usize = 5;
/// Between the calls of a channel that is seldom used: longer than anything that is put off.
const LONG_LIVED_INTERVAL: Duration = Duration::from_millis(1500);

fn rpc_soak(connect: Connect<'_>) -> Outcome {
    let client = connect()?;
    by_threads(&|| iterate(&client))
}

fn channel_soak(connect: Connect<'_>) -> Outcome {
    by_threads(&|| iterate(&connect().map_err(|error| error.to_string())?))
}

fn long_lived_channel(connect: Connect<'_>) -> Outcome {
    let client = connect()?;
    for _ in 0..LONG_LIVED_CALLS {
        iterate(&client)?;
        std::thread::sleep(LONG_LIVED_INTERVAL);
    }
    iterate(&client)?;
    Ok(())
}

/// Each thread repeats this; the first failure of each is told.
fn by_threads(iteration: &(dyn Fn() -> Result<(), String> + Sync)) -> Outcome {
    let thread = || (0..ITERATIONS).try_for_each(|at| iteration().map_err(|why| (at, why)));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(thread)).collect();
        for thread in threads {
            match thread.join() {
                Ok(Ok(())) => {}
                Ok(Err((at, why))) => return Err(format!("iteration {at}: {why}").into()),
                Err(_) => return Err("a thread panicked".into()),
            }
        }
        Ok(())
    })
}

/// A large message each way.
fn iterate(client: &Client) -> Result<(), String> {
    let request = SimpleRequest {
        response_size: 314_159,
        payload: Some(Payload::of(271_828)),
        ..SimpleRequest::default()
    };
    let request = Request::new(UNARY_CALL)
        .with_body(request.encode_to_vec())
        .with_deadline(Instant::now() + ACCEPTABLE);
    let response = client.call(request).map_err(|error| error.to_string())?;
    let response = SimpleResponse::decode(response.body.into_bytes());
    match response.map(|response| response.payload) {
        Ok(payload) if payload == Some(Payload::of(314_159)) => Ok(()),
        Ok(_) => Err("not 314,159 zeros".into()),
        Err(error) => Err(error.to_string()),
    }
}
