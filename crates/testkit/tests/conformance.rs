//! Every transport keeps every promise.

use corewire_testkit::conformance::{Family, Simulated, Sockets, Spoken};
use corewire_testkit::conformance_suite;
use corewire_transport::Protocol;
use corewire_transport::http2::Flavour;

/// A client that an event loop drives.
macro_rules! event_loop {
    ($name:ident, $protocol:ident, $family:ident) => {
        conformance_suite!($name, [everywhere, futures, loops, sockets], || {
            Sockets::event_loop(Protocol::$protocol, Family::$family)
        });
    };
}

/// A client that threads drive.
macro_rules! blocking {
    ($name:ident, $protocol:ident, $family:ident) => {
        conformance_suite!($name, [everywhere, threads, sockets], || {
            Sockets::blocking(Protocol::$protocol, Family::$family)
        });
    };
}

/// Both ends in simulated time, over a network as it should be and one as it may be.
macro_rules! simulated {
    ($name:ident, $rough:ident, $spoken:expr) => {
        conformance_suite!($name, [everywhere, futures], || {
            Simulated::new($spoken, 1)
        });
        conformance_suite!($rough, [everywhere, futures], || {
            Simulated::rough($spoken, 2)
        });
    };
}

event_loop!(native_tcp_event_loop, Native, Tcp);
event_loop!(native_unix_event_loop, Native, Unix);
event_loop!(grpc_tcp_event_loop, Grpc, Tcp);
event_loop!(grpc_unix_event_loop, Grpc, Unix);
event_loop!(rest_tcp_event_loop, Rest, Tcp);
event_loop!(rest_unix_event_loop, Rest, Unix);

blocking!(native_tcp_blocking, Native, Tcp);
blocking!(native_unix_blocking, Native, Unix);
blocking!(grpc_tcp_blocking, Grpc, Tcp);
blocking!(grpc_unix_blocking, Grpc, Unix);
blocking!(rest_tcp_blocking, Rest, Tcp);
blocking!(rest_unix_blocking, Rest, Unix);

event_loop!(native_tls_event_loop, Native, Tls);
event_loop!(grpc_tls_event_loop, Grpc, Tls);
event_loop!(rest_tls_event_loop, Rest, Tls);
blocking!(native_tls_blocking, Native, Tls);
blocking!(grpc_tls_blocking, Grpc, Tls);
blocking!(rest_tls_blocking, Rest, Tls);

event_loop!(native_memory_event_loop, Native, Memory);
blocking!(native_memory_blocking, Native, Memory);

simulated!(native_simulated, native_simulated_rough, Spoken::Native);
simulated!(
    grpc_simulated,
    grpc_simulated_rough,
    Spoken::Http2(Flavour::Grpc)
);
simulated!(
    rest_simulated,
    rest_simulated_rough,
    Spoken::Http2(Flavour::Rest)
);
