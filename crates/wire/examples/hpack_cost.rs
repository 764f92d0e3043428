//! Encodes and decodes typical header blocks over and over, so that a profiler can say what one costs.
//!
//! `cargo build --release -p corewire-wire --example hpack_cost`, then for each block
//! `valgrind --tool=callgrind --toggle-collect='*::encode_all' target/release/examples/hpack_cost BLOCK 10000`
//! (or `encode_fields`, `decode_all`): the instructions collected, over the rounds.

use corewire_wire::hpack::{Decoder, Encoder, Indexing};
use std::hint::black_box;

type Field = (&'static str, &'static str, Indexing);

use Indexing::{Never, No, Yes};

const BLOCKS: [(&str, &[Field]); 6] = [
    // Nothing varies: eight octets, once both ends know it.
    (
        "grpc-request",
        &[
            (":method", "POST", Yes),
            (":scheme", "http", Yes),
            (":path", "/guti.v1.GutiService/Allocate", Yes),
            (":authority", "127.0.0.1:7000", Yes),
            ("te", "trailers", Yes),
            ("content-type", "application/grpc", Yes),
            ("user-agent", "corewire/0.1.0", Yes),
            ("grpc-timeout", "1S", Yes),
        ],
    ),
    // The rest of the deadline and a trace vary with each call, and a token is secret.
    (
        "grpc-varying",
        &[
            (":method", "POST", Yes),
            (":scheme", "http", Yes),
            (":path", "/guti.v1.GutiService/Allocate", Yes),
            (":authority", "127.0.0.1:7000", Yes),
            ("te", "trailers", Yes),
            ("content-type", "application/grpc", Yes),
            ("user-agent", "corewire/0.1.0", Yes),
            ("grpc-timeout", "999871u", No),
            ("x-request-id", "3f2a71c09b5e4d88", No),
        ],
    ),
    (
        "sbi-request",
        &[
            (":method", "POST", Yes),
            (":scheme", "http", Yes),
            (":path", "/nsmf-pdusession/v1/sm-contexts", Yes),
            (":authority", "smf.5gc.mnc001.mcc001.3gppnetwork.org", Yes),
            ("content-type", "application/json", Yes),
            ("accept", "application/json", Yes),
            (
                "user-agent",
                "AMF-0c765084-9cc5-49c6-9876-ae2f5fa2a63f",
                Yes,
            ),
            ("content-length", "256", Yes),
            ("3gpp-sbi-message-priority", "8", Yes),
            ("3gpp-sbi-max-rsp-time", "10000", Yes),
            (
                "3gpp-sbi-sender-timestamp",
                "Sun, 22 Nov 2026 12:47:38.123 GMT",
                No,
            ),
            (
                "authorization",
                "Bearer eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJucmYifQ.c2lnbmF0dXJl",
                Never,
            ),
        ],
    ),
    (
        "grpc-response",
        &[
            (":status", "200", Yes),
            ("content-type", "application/grpc", Yes),
        ],
    ),
    ("grpc-trailers", &[("grpc-status", "0", Yes)]),
    (
        "sbi-response",
        &[
            (":status", "201", Yes),
            ("content-type", "application/json", Yes),
            ("location", "/nsmf-pdusession/v1/sm-contexts/71", Yes),
            ("content-length", "256", Yes),
            ("date", "Sun, 22 Nov 2026 12:47:38 GMT", Yes),
        ],
    ),
];

/// Field by field.
#[inline(never)]
fn encode_fields(encoder: &mut Encoder, fields: &[Field], rounds: usize, out: &mut Vec<u8>) {
    for _ in 0..rounds {
        out.clear();
        encoder.begin(out);
        for (name, value, indexing) in black_box(fields) {
            encoder.field(name.as_bytes(), value.as_bytes(), *indexing, out);
        }
        black_box(&out);
    }
}

/// As a block.
#[inline(never)]
fn encode_all(encoder: &mut Encoder, fields: &[Field], rounds: usize, out: &mut Vec<u8>) {
    for _ in 0..rounds {
        out.clear();
        let fields = black_box(fields).iter();
        let parts = fields.map(|(name, value, how)| (name.as_bytes(), value.as_bytes(), *how));
        encoder.block(parts, out);
        black_box(&out);
    }
}

#[inline(never)]
fn decode_all(decoder: &mut Decoder, block: &[u8], rounds: usize, out: &mut Vec<u8>) {
    for _ in 0..rounds {
        out.clear();
        let decoded = decoder.decode(black_box(block), 64 << 10, out);
        assert!(black_box(decoded).is_ok());
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.next();
    let rounds = arguments
        .next()
        .map_or(10_000, |rounds| rounds.parse().expect("a number"));
    for (name, fields) in BLOCKS {
        if wanted.as_deref().is_some_and(|wanted| wanted != name) {
            continue;
        }
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(4096));
        let (mut block, mut out) = (Vec::new(), Vec::new());
        // The first fills the tables and is read once.
        encode_all(&mut encoder, fields, 1, &mut block);
        decode_all(&mut decoder, &block, 1, &mut out);
        let first = block.len();
        encode_all(&mut encoder, fields, rounds, &mut block);
        encode_fields(&mut encoder, fields, rounds, &mut block);
        decode_all(&mut decoder, &block, rounds, &mut out);
        println!(
            "{name}: {rounds} times {} fields: {} octets, in a block of {first}, then of {}",
            fields.len(),
            out.len(),
            block.len()
        );
    }
}
