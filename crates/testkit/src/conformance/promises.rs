//! What a transport promises, one test each.

pub mod connections;
pub mod deadlines;
pub mod events;
pub mod failures;
pub mod flow;
pub mod giving_up;
pub mod headers;
pub mod loops;
pub mod many;
pub mod resources;
pub mod sizes;
pub mod streams;
pub mod threads;
pub mod unary;

use corewire_message::{Body, CallError, CallStream, Caller, Inbound, Operation, Request};

use super::Bench;

/// Octets that are not all alike, so that a lost or doubled piece shows.
fn octets(length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| (at % 251) as u8 ^ (at / 251 % 256) as u8)
        .collect()
}

/// Opens a stream without a first message.
async fn open(bench: &Bench, operation: Operation) -> CallStream {
    let opened = bench.client.open(Request::new(operation)).await;
    opened.expect("the stream opens")
}

/// The next message, which must come.
async fn next(inbound: &mut Inbound) -> Body {
    let message = inbound.message().await;
    message.expect("the call goes on").expect("a message comes")
}

/// How the stream ends, with the messages before left out.
async fn end(inbound: &mut Inbound) -> Result<(), CallError> {
    while inbound.message().await?.is_some() {}
    Ok(())
}
