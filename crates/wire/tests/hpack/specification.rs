//! RFC 7541, appendix C, example by example.

use super::{decode, pairs, table};
use corewire_wire::hpack::{Decoder, Encoder, Indexing};

/// A header section: its block, its fields, the table behind it.
struct Example {
    hex: &'static str,
    fields: &'static [(&'static str, &'static str)],
    table: &'static [(&'static str, &'static str)],
}

/// Reads hexadecimal digits, blanks between them.
fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.bytes().filter(|digit| *digit != b' ').collect();
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(octet).collect()
}

fn check(decoder: &mut Decoder, example: &Example) {
    let block = octets(example.hex);
    assert_eq!(decode(decoder, &block), Ok(pairs(example.fields)));
    assert_eq!(table(decoder), pairs(example.table));
}

fn check_all(mut decoder: Decoder, examples: &[Example]) {
    for example in examples {
        check(&mut decoder, example);
    }
}

/// What our encoder makes of the examples' fields.
fn encode_all(mut encoder: Encoder, examples: &[Example]) {
    for example in examples {
        let mut block = Vec::new();
        for (name, value) in example.fields {
            encoder.field(name.as_bytes(), value.as_bytes(), Indexing::Yes, &mut block);
        }
        assert_eq!(block, octets(example.hex));
    }
}

/// A decoder that was told to begin with so small a table.
fn small(size: u16) -> Decoder {
    let mut decoder = Decoder::new(4096);
    let rest = size.checked_sub(31).expect("not too small");
    let update = [0x3f, 0x80 | (rest & 0x7f) as u8, (rest >> 7) as u8];
    assert_eq!(decode(&mut decoder, &update), Ok(Vec::new()));
    decoder
}

const REQUESTS: [&[(&str, &str)]; 3] = [
    &[
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/"),
        (":authority", "www.example.com"),
    ],
    &[
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/"),
        (":authority", "www.example.com"),
        ("cache-control", "no-cache"),
    ],
    &[
        (":method", "GET"),
        (":scheme", "https"),
        (":path", "/index.html"),
        (":authority", "www.example.com"),
        ("custom-key", "custom-value"),
    ],
];

const REQUEST_TABLES: [&[(&str, &str)]; 3] = [
    &[(":authority", "www.example.com")],
    &[
        ("cache-control", "no-cache"),
        (":authority", "www.example.com"),
    ],
    &[
        ("custom-key", "custom-value"),
        ("cache-control", "no-cache"),
        (":authority", "www.example.com"),
    ],
];

const COOKIE: &str = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";

const RESPONSES: [&[(&str, &str)]; 3] = [
    &[
        (":status", "302"),
        ("cache-control", "private"),
        ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
        ("location", "https://www.example.com"),
    ],
    &[
        (":status", "307"),
        ("cache-control", "private"),
        ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
        ("location", "https://www.example.com"),
    ],
    &[
        (":status", "200"),
        ("cache-control", "private"),
        ("date", "Mon, 21 Oct 2013 20:13:22 GMT"),
        ("location", "https://www.example.com"),
        ("content-encoding", "gzip"),
        ("set-cookie", COOKIE),
    ],
];

const RESPONSE_TABLES: [&[(&str, &str)]; 3] = [
    &[
        ("location", "https://www.example.com"),
        ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
        ("cache-control", "private"),
        (":status", "302"),
    ],
    &[
        (":status", "307"),
        ("location", "https://www.example.com"),
        ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
        ("cache-control", "private"),
    ],
    &[
        ("set-cookie", COOKIE),
        ("content-encoding", "gzip"),
        ("date", "Mon, 21 Oct 2013 20:13:22 GMT"),
    ],
];

fn examples(
    blocks: [&'static str; 3],
    fields: [&'static [(&'static str, &'static str)]; 3],
    tables: [&'static [(&'static str, &'static str)]; 3],
) -> [Example; 3] {
    [0, 1, 2].map(|at| Example {
        hex: blocks[at],
        fields: fields[at],
        table: tables[at],
    })
}

#[test]
fn c_2_single_fields() {
    for example in [
        Example {
            hex: "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
            fields: &[("custom-key", "custom-header")],
            table: &[("custom-key", "custom-header")],
        },
        Example {
            hex: "040c 2f73 616d 706c 652f 7061 7468",
            fields: &[(":path", "/sample/path")],
            table: &[],
        },
        Example {
            hex: "1008 7061 7373 776f 7264 0673 6563 7265 74",
            fields: &[("password", "secret")],
            table: &[],
        },
        Example {
            hex: "82",
            fields: &[(":method", "GET")],
            table: &[],
        },
    ] {
        check(&mut Decoder::new(4096), &example);
    }
}

#[test]
fn c_3_requests_without_huffman() {
    let blocks = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    let examples = examples(blocks, REQUESTS, REQUEST_TABLES);
    check_all(Decoder::new(4096), &examples);
}

#[test]
fn c_4_requests_with_huffman() {
    let blocks = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    let examples = examples(blocks, REQUESTS, REQUEST_TABLES);
    check_all(Decoder::new(4096), &examples);
    encode_all(Encoder::new(), &examples);
}

#[test]
fn c_5_responses_without_huffman() {
    let blocks = [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a \
         3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 \
         677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 \
         553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
    ];
    let examples = examples(blocks, RESPONSES, RESPONSE_TABLES);
    check_all(small(256), &examples);
}

#[test]
fn c_6_responses_with_huffman() {
    let blocks = [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e \
         919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 \
         821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed \
         4ee5 b106 3d50 07",
    ];
    let examples = examples(blocks, RESPONSES, RESPONSE_TABLES);
    check_all(small(256), &examples);
    let mut encoder = Encoder::new();
    encoder.set_max_table_size(256);
    let mut update = Vec::new();
    encoder.begin(&mut update);
    assert_eq!(update, [0x3f, 0xe1, 1]);
    // Of the second, "307" is as long as it stands: we write it so.
    encode_all(encoder, &examples[..1]);
}
