//! What goes over a connection, octet by octet: conversations that are right, for tests to spoil.

/// A frame of the native protocol (docs/native-protocol.md).
pub(crate) fn native(kind: u8, flags: u8, aux: u16, call: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short");
    native_claiming(length, kind, flags, aux, call, payload)
}

/// The same, that says it is of another length.
pub(crate) fn native_claiming(
    length: u32,
    kind: u8,
    flags: u8,
    aux: u16,
    call: u32,
    payload: &[u8],
) -> Vec<u8> {
    let mut frame = length.to_le_bytes().to_vec();
    frame.extend([kind, flags]);
    frame.extend(aux.to_le_bytes());
    frame.extend(call.to_le_bytes());
    frame.extend(payload);
    frame
}

pub(crate) fn native_hello() -> Vec<u8> {
    let mut octets = vec![0xc3, 0x57, 0x52, 0x01];
    octets.extend(native(1, 0, 0, 0, &[1, 0, 1, 0, 0, 0, 0, 0]));
    octets
}

/// What defines the operation 0: Allocate.
pub(crate) fn native_name() -> Vec<u8> {
    const NAME: &[u8] = b"guti.v1.GutiService/Allocate";
    let mut field = u16::try_from(NAME.len())
        .expect("short")
        .to_le_bytes()
        .to_vec();
    field.extend(NAME);
    field
}

/// Three calls, one of them in two fragments, and an event; frame by frame.
pub(crate) fn native_conversation() -> Vec<Vec<u8>> {
    let mut long = 4096_u32.to_le_bytes().to_vec();
    long.extend([0; 2048]);
    vec![
        native_hello(),
        native(1, 1, 0, 0, &[]),
        native(2, 0x10, 0, 1, &native_name()),
        native(2, 1, 0, 3, &long),
        native(6, 0, 0, 3, &[0; 2048]),
        native(10, 0, 0, 0, &[7; 8]),
        native(3, 0, 0, 0, &[]),
        native(2, 0, 0, 5, &[]),
        native(9, 0, 1, 5, &[]),
    ]
}

/// A frame of HTTP/2 (RFC 9113, 4.1).
pub(crate) fn http2(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short");
    http2_claiming(length, kind, flags, stream, payload)
}

/// The same, that says it is of another length.
pub(crate) fn http2_claiming(
    length: u32,
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &[u8],
) -> Vec<u8> {
    let mut frame = length.to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

pub(crate) fn http2_hello() -> Vec<u8> {
    let mut octets = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    octets.extend(http2(4, 0, 0, &[]));
    octets
}

/// POST to Allocate (RFC 7541): nothing is indexed, nothing is compressed.
pub(crate) fn http2_request(content_type: &str) -> Vec<u8> {
    const PATH: &[u8] = b"/guti.v1.GutiService/Allocate";
    const AUTHORITY: &[u8] = b"guti.example";
    let mut block = vec![0x83, 0x86];
    for (name, value) in [(0x01, AUTHORITY), (0x04, PATH)] {
        block.extend([name, u8::try_from(value.len()).expect("short")]);
        block.extend(value);
    }
    block.extend([0x0f, 0x10, u8::try_from(content_type.len()).expect("short")]);
    block.extend(content_type.as_bytes());
    block
}

/// A field of a header block.
pub(crate) fn http2_field(name: &str, value: &[u8]) -> Vec<u8> {
    let mut field = vec![0x00];
    for octets in [name.as_bytes(), value] {
        // A length beyond 126 goes on in groups of seven bits (RFC 7541, 5.1).
        let mut rest = octets.len();
        if rest < 127 {
            field.push(u8::try_from(rest).expect("short"));
        } else {
            field.push(127);
            rest -= 127;
            while rest >= 128 {
                field.push(u8::try_from(rest % 128 + 128).expect("seven bits"));
                rest /= 128;
            }
            field.push(u8::try_from(rest).expect("seven bits"));
        }
        field.extend(octets);
    }
    field
}

/// A gRPC call, a REST call and what goes around them; frame by frame.
pub(crate) fn http2_conversation() -> Vec<Vec<u8>> {
    vec![
        http2_hello(),
        http2(4, 1, 0, &[]),
        http2(1, 4, 1, &http2_request("application/grpc")),
        http2(0, 1, 1, &[0, 0, 0, 0, 0]),
        http2(1, 4, 3, &http2_request("application/protobuf")),
        http2(0, 0, 3, &[]),
        http2(0, 1, 3, &[]),
        http2(6, 0, 0, &[7; 8]),
        http2(8, 0, 0, &[0, 0, 1, 0]),
        http2(1, 4, 5, &http2_request("application/grpc")),
        http2(3, 0, 5, &[0, 0, 0, 8]),
    ]
}
