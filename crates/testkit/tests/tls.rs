//! TLS as both ends see it: who is believed, who is not and what they are told, and certificates
//! that change while the server runs.

use corewire_message::blocking::Caller as _;
use corewire_message::{
    Body, CallContext, CallError, Caller as _, Code, ErrorKind, Operation, Request, Response,
    Service,
};
use corewire_testkit::certificates::{certificate, files, key};
use corewire_transport::tls::{ClientCertificates, ClientTls, Files, ServerTls};
use corewire_transport::{
    Client, ClientOptions, Endpoint, EventLoop, OnFault, Protocol, Server, ServerOptions, blocking,
    parse_address,
};
use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const WHO: Operation = Operation::from_static("tests.v1.Who/Asks");

/// Answers with the certificate of who asks.
struct Who;

impl Service for Who {
    async fn call(&self, context: &CallContext, _request: Request) -> Response {
        let peer = context.peer();
        let certificate = peer.certificate.clone().unwrap_or_default();
        Response::ok(Body::from(certificate))
    }
}

fn server(tls: Option<ServerTls>) -> Server {
    serve(tls, |_| {})
}

fn serve(tls: Option<ServerTls>, change: impl FnOnce(&mut ServerOptions)) -> Server {
    let mut options = ServerOptions::default();
    options.loops = 1;
    options.tls = tls;
    change(&mut options);
    let address = parse_address("127.0.0.1:0").unwrap();
    Server::start(&[address], Arc::new(Who), options).unwrap()
}

fn mutual() -> Option<ServerTls> {
    Some(ServerTls::new(files("server")).unwrap())
}

fn client(files: Files) -> Option<ClientTls> {
    Some(ClientTls::new(files).unwrap())
}

fn believing() -> Files {
    Files::new().with_authorities(certificate("authority"))
}

fn options(tls: Option<ClientTls>) -> ClientOptions {
    let mut options = ClientOptions::default();
    options.tls = tls;
    options
}

fn endpoint(server: &Server, protocol: Protocol) -> Endpoint {
    Endpoint::new(protocol, server.addresses()[0].clone())
}

/// One call by each driver, over a new connection each.
fn both(server: &Server, protocol: Protocol, tls: &Option<ClientTls>) -> [Outcome; 2] {
    let endpoint = endpoint(server, protocol);
    let waiting = blocking::Client::new(endpoint.clone(), options(tls.clone()));
    let by_thread = waiting.call(Request::new(WHO));
    let mut event_loop = EventLoop::new().unwrap();
    let futures: Client = event_loop.handle().connect(endpoint, options(tls.clone()));
    let call = async { futures.call(Request::new(WHO)).await };
    let by_loop = event_loop.block_on(call).unwrap();
    [by_thread, by_loop].map(|result| result.map(|response| response.body.into_bytes().to_vec()))
}

type Outcome = Result<Vec<u8>, CallError>;

/// The error and all its causes in a line.
fn story(error: &CallError) -> String {
    let mut story = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        story = format!("{story}: {error}");
        cause = error.source();
    }
    story
}

fn der(name: &str) -> Vec<u8> {
    let pem = std::fs::read_to_string(certificate(name)).unwrap();
    let text: String = pem
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .collect();
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap()
}

/// Calls must fail for this reason, and be known not to have been executed.
fn refused(server: &Server, tls: &Option<ClientTls>, why: &str) {
    for protocol in Protocol::ALL {
        for outcome in both(server, protocol, tls) {
            let error = outcome.unwrap_err();
            let story = story(&error);
            assert!(story.contains(why), "{protocol}: {story}");
            assert!(!error.may_have_executed(), "{protocol}: {story}");
            assert_eq!(error.kind(), ErrorKind::NotSent, "{protocol}: {story}");
            assert_eq!(error.code(), Code::Unavailable, "{protocol}: {story}");
        }
    }
}

#[test]
fn the_service_sees_the_certificate_of_its_caller() {
    let server = server(mutual());
    for protocol in Protocol::ALL {
        for outcome in both(&server, protocol, &client(files("client"))) {
            assert_eq!(outcome.unwrap(), der("client"), "{protocol}");
        }
    }
    assert_eq!(server.counters().faults(), 0);
}

/// A client that counts how often a server's certificate was verified.
fn counting(own: &str) -> (Option<ClientTls>, Arc<AtomicUsize>) {
    let verified = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&verified);
    let accept = move |_: &[String]| {
        count.fetch_add(1, Ordering::Relaxed);
        true
    };
    let tls = ClientTls::with_names(files(own), Arc::new(accept)).unwrap();
    (Some(tls), verified)
}

#[test]
fn who_comes_again_is_the_same_without_a_full_handshake() {
    let server = server(mutual());
    let (tls, verified) = counting("client");
    for protocol in Protocol::ALL {
        for outcome in both(&server, protocol, &tls) {
            assert_eq!(outcome.unwrap(), der("client"), "{protocol}");
        }
    }
    assert_eq!(verified.load(Ordering::Relaxed), 1);
    // Another client is another, whatever the first one has.
    let (other, verified) = counting("elsewhere");
    for outcome in both(&server, Protocol::Native, &other) {
        assert_eq!(outcome.unwrap(), der("elsewhere"));
    }
    assert_eq!(verified.load(Ordering::Relaxed), 1);
    assert_eq!(server.counters().faults(), 0);
}

/// By an event loop whose server goes away and comes back with other files.
#[test]
fn a_server_that_starts_again_knows_no_session() {
    let (tls, verified) = counting("client");
    let first = server(mutual());
    for outcome in both(&first, Protocol::Native, &tls) {
        outcome.unwrap();
    }
    assert_eq!(verified.load(Ordering::Relaxed), 1);
    let address = first.addresses()[0].clone();
    drop(first);
    let mut options = ServerOptions::default();
    options.tls = mutual();
    let again = Server::start(&[address], Arc::new(Who), options).unwrap();
    for outcome in both(&again, Protocol::Native, &tls) {
        assert_eq!(outcome.unwrap(), der("client"));
    }
    assert_eq!(verified.load(Ordering::Relaxed), 2);
}

#[test]
fn full_handshakes_are_made_where_they_are_wanted() {
    let (tls, verified) = counting("client");
    let server = server(mutual());
    let tls = tls.map(ClientTls::without_resumption);
    for outcome in both(&server, Protocol::Native, &tls) {
        outcome.unwrap();
    }
    assert_eq!(verified.load(Ordering::Relaxed), 2);
    let (tls, verified) = counting("client");
    let server = self::server(mutual().map(ServerTls::without_resumption));
    for outcome in both(&server, Protocol::Native, &tls) {
        outcome.unwrap();
    }
    assert_eq!(verified.load(Ordering::Relaxed), 2);
}

#[test]
fn a_client_without_certificate_is_refused_where_one_is_required() {
    let (tell, told) = std::sync::mpsc::channel();
    let server = serve(mutual(), |options| {
        options.on_fault = Some(OnFault::new(move |peer, why| {
            let _test_is_over = tell.send(format!("{}: {why}", peer.address));
        }));
    });
    refused(&server, &client(believing()), "requires a certificate");
    assert_eq!(server.counters().faults(), 6);
    let told: Vec<_> = told.try_iter().collect();
    assert_eq!(told.len(), 6);
    for why in told {
        assert!(
            why.contains("127.0.0.1:") && why.contains("presented no certificate"),
            "{why}"
        );
    }
}

#[test]
fn who_is_refused_hears_why_although_it_goes_on_sending() {
    let server = server(mutual());
    let address = server.addresses()[0].to_string();
    let mut socket = TcpStream::connect(address).unwrap();
    // No TLS record is of that kind; much follows that nobody will read.
    socket.write_all(&[22, 3, 3, 0, 1]).unwrap();
    socket.write_all(&[0; 200_000]).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let mut heard = Vec::new();
    socket.read_to_end(&mut heard).unwrap();
    // A fatal alert (RFC 8446, 6).
    assert_eq!(heard.first(), Some(&21), "{heard:?}");
}

#[test]
fn a_client_without_certificate_is_served_where_none_is_required() {
    let optional = ServerTls::with_clients(files("server"), ClientCertificates::Optional).unwrap();
    let identity = Files::new().with_identity(certificate("server"), key("server"));
    let not_asked = ServerTls::new(identity).unwrap();
    for tls in [optional, not_asked] {
        let server = server(Some(tls));
        for outcome in both(&server, Protocol::Grpc, &client(believing())) {
            assert_eq!(outcome.unwrap(), Vec::<u8>::new());
        }
    }
}

#[test]
fn certificates_of_clients_that_are_not_good_are_refused() {
    let server = server(mutual());
    refused(&server, &client(files("expired")), "it has expired");
    refused(
        &server,
        &client(files("foreign")),
        "does not accept its authority",
    );
}

#[test]
fn certificates_of_servers_that_are_not_good_are_refused() {
    for (name, why) in [
        ("expired", "certificate has expired"),
        ("foreign", "issued by none of the accepted authorities"),
        ("elsewhere", "is for another name"),
    ] {
        let identity = Files::new().with_identity(certificate(name), key(name));
        let server = server(Some(ServerTls::new(identity).unwrap()));
        refused(&server, &client(believing()), why);
    }
}

#[test]
fn a_client_may_expect_another_name_than_the_endpoints() {
    let identity = Files::new().with_identity(certificate("elsewhere"), key("elsewhere"));
    let server = server(Some(ServerTls::new(identity).unwrap()));
    let tls = ClientTls::new(believing()).unwrap();
    let tls = tls.with_server_name("elsewhere.local").unwrap();
    for outcome in both(&server, Protocol::Native, &Some(tls)) {
        outcome.unwrap();
    }
}

#[test]
fn tls_where_clear_text_is_spoken_fails_with_a_hint() {
    let server = server(None);
    refused(&server, &client(files("client")), "does it speak TLS");
}

#[test]
fn clear_text_is_turned_away_unless_it_is_allowed() {
    let strict = server(mutual());
    for protocol in Protocol::ALL {
        for outcome in both(&strict, protocol, &None) {
            outcome.unwrap_err();
        }
    }
    assert_eq!(strict.counters().unknown(), 6);

    let lenient = server(mutual().map(ServerTls::allowing_clear_text));
    for protocol in Protocol::ALL {
        for outcome in both(&lenient, protocol, &None) {
            assert_eq!(outcome.unwrap(), Vec::<u8>::new());
        }
        for outcome in both(&lenient, protocol, &client(files("client"))) {
            assert_eq!(outcome.unwrap(), der("client"));
        }
    }
}

#[test]
fn a_protocol_that_is_not_spoken_is_refused_by_name() {
    let native_only = serve(mutual(), |options| {
        options.protocols = vec![Protocol::Native];
    });
    for outcome in both(&native_only, Protocol::Grpc, &client(files("client"))) {
        outcome.unwrap_err();
    }
    for outcome in both(&native_only, Protocol::Native, &client(files("client"))) {
        outcome.unwrap();
    }
}

fn replace(name: &str, directory: &Path) {
    for (from, to) in [(certificate(name), "own.pem"), (key(name), "own.key")] {
        let fresh = directory.join(format!("{to}.new"));
        std::fs::copy(from, &fresh).unwrap();
        std::fs::rename(fresh, directory.join(to)).unwrap();
    }
}

#[test]
fn certificates_change_without_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let own = || {
        let (certificate, key) = (
            directory.path().join("own.pem"),
            directory.path().join("own.key"),
        );
        Files::new().with_identity(certificate, key)
    };
    replace("client", directory.path());
    let server = server(mutual());
    let tls = ClientTls::new(own().with_authorities(certificate("authority"))).unwrap();
    let call = || both(&server, Protocol::Native, &Some(tls.clone()));
    let before = blocking::Client::new(
        endpoint(&server, Protocol::Native),
        options(Some(tls.clone())),
    );
    let asks = |client: &blocking::Client| {
        let response = client.call(Request::new(WHO)).unwrap();
        response.body.into_bytes().to_vec()
    };
    assert_eq!(asks(&before), der("client"));

    replace("rotated", directory.path());
    let until = Instant::now() + Duration::from_secs(20);
    while call().map(Result::unwrap) != [der("rotated"), der("rotated")] {
        assert!(Instant::now() < until, "the new certificate is not used");
        std::thread::yield_now();
    }
    // The connection that was there goes on.
    assert_eq!(asks(&before), der("client"));
    assert_eq!(tls.fault(), None);

    // What cannot be used is told, and what was good stays.
    std::fs::write(directory.path().join("own.key"), "no key").unwrap();
    let fault = tls.reload().unwrap_err().to_string();
    assert!(
        fault.contains("own.key") && fault.contains("no private key"),
        "{fault}"
    );
    assert_eq!(tls.fault().unwrap().to_string(), fault);
    assert_eq!(call().map(Result::unwrap), [der("rotated"), der("rotated")]);
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let missing = Files::new().with_identity("/nowhere/a.pem", "/nowhere/a.key");
    let strange = Files::new().with_identity(certificate("server"), key("client"));
    let no_roots = Files::new().with_authorities(key("client"));
    for (fault, says) in [
        (ServerTls::new(missing).unwrap_err(), "/nowhere/a.pem"),
        (
            ServerTls::new(strange).unwrap_err(),
            "does not go with its key",
        ),
        (
            ServerTls::new(Files::new()).unwrap_err(),
            "needs a certificate",
        ),
        (
            ClientTls::new(no_roots).unwrap_err(),
            "holds no certificate",
        ),
        (
            ClientTls::new(Files::new()).unwrap_err(),
            "needs the authorities",
        ),
    ] {
        assert!(fault.to_string().contains(says), "{fault}");
    }
}

#[test]
fn a_handshake_that_does_not_end_is_cut() {
    let server = serve(mutual(), |options| {
        options.first_octets_timeout = Duration::from_millis(200);
    });
    let address = server.addresses()[0].to_string();
    let mut socket = TcpStream::connect(address).unwrap();
    // The start of a ClientHello that is announced to be longer. It may come too late.
    let _cut_already = socket.write_all(&[22, 3, 1, 1, 0, 1, 0]);
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let mut rest = Vec::new();
    match socket.read_to_end(&mut rest) {
        Ok(_) => assert_eq!(rest, b""),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
}

#[test]
fn octets_that_are_not_tls_end_the_connection() {
    let server = server(mutual());
    let address = server.addresses()[0].to_string();
    for octets in [
        &[22, 3, 1, 0, 5, 9, 9, 9, 9, 9][..],
        &[22; 70_000],
        &[22, 3, 3, 255, 255],
    ] {
        let mut socket = TcpStream::connect(&address).unwrap();
        // It may be cut before all has been written.
        let _cut = socket.write_all(octets);
        let _cut = socket.write_all(&[0; 70_000]);
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let mut rest = Vec::new();
        // An alert at most, then the end or a reset.
        let _reset = socket.read_to_end(&mut rest);
        assert!(rest.len() < 16, "{rest:?}");
    }
    for outcome in both(&server, Protocol::Native, &client(files("client"))) {
        outcome.unwrap();
    }
}

#[test]
fn many_clients_agree_at_once() {
    let server = server(mutual());
    let tls = client(files("client"));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for protocol in Protocol::ALL {
                    let endpoint = endpoint(&server, protocol);
                    let client = blocking::Client::new(endpoint, options(tls.clone()));
                    client.call(Request::new(WHO)).unwrap();
                }
            });
        }
    });
}
