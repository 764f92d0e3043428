//! Peers that mean ill at a TLS port: each is cut by a limit or by name, and others are served meanwhile.

use corewire_message::blocking::Caller as _;
use corewire_message::{Body, CallContext, Operation, Request, Response, Service};
use corewire_testkit::certificates::{certificate, key};
use corewire_transport::tls::{ClientTls, Files, ServerTls};
use corewire_transport::{
    ClientOptions, Endpoint, OnFault, Protocol, Server, ServerOptions, blocking, parse_address,
};
use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, HandshakeKind, RootCertStore};
use rustls::{ServerConfig, ServerConnection};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const COUNT: Operation = Operation::from_static("tests.v1.Count/Up");
/// Within which a handshake must end at these servers.
const HANDSHAKE: Duration = Duration::from_millis(300);
/// The same for servers whose peers must get through a part of it first.
const LONG_HANDSHAKE: Duration = Duration::from_secs(3);
/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// Counts its calls.
#[derive(Clone, Default)]
struct Counting(Arc<AtomicUsize>);

impl Service for Counting {
    async fn call(&self, _context: &CallContext, _request: Request) -> Response {
        self.0.fetch_add(1, Ordering::Relaxed);
        Response::ok(Body::new())
    }
}

/// A server with mutual TLS, and what it has said of its peers.
struct Target {
    server: Server,
    calls: Counting,
    said: Arc<Mutex<Vec<String>>>,
}

impl Target {
    fn start() -> Self {
        Self::within(HANDSHAKE)
    }

    fn within(handshake: Duration) -> Self {
        let calls = Counting::default();
        let said = Arc::new(Mutex::new(Vec::new()));
        let mut options = ServerOptions::default();
        options.loops = 1;
        options.first_octets_timeout = handshake;
        options.tls = Some(ServerTls::new(files("server")).unwrap());
        let heard = Arc::clone(&said);
        options.on_fault = Some(OnFault::new(move |_, why| {
            heard.lock().unwrap().push(why.to_string());
        }));
        let address = parse_address("127.0.0.1:0").unwrap();
        let server = Server::start(&[address], Arc::new(calls.clone()), options).unwrap();
        Self {
            server,
            calls,
            said,
        }
    }

    fn connect(&self) -> TcpStream {
        let address = self.server.addresses()[0].to_string();
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        socket
    }

    /// Somebody else is served.
    fn serves_others(&self) {
        let endpoint = Endpoint::new(Protocol::Native, self.server.addresses()[0].clone());
        let mut options = ClientOptions::default();
        options.tls = Some(ClientTls::new(files("client")).unwrap());
        let client = blocking::Client::new(endpoint, options);
        let give_up = Instant::now() + PATIENCE;
        while let Err(error) = client.call(Request::new(COUNT).with_deadline(give_up)) {
            // Its handshake was late, on a machine that stood still.
            let again = !error.may_have_executed() && Instant::now() < give_up;
            assert!(again, "{error}");
        }
    }

    /// Waits until the server has said this of somebody.
    fn says(&self, what: &str) {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let said = self.said.lock().unwrap().clone();
            if said.iter().any(|line| line.contains(what)) {
                return;
            }
            assert!(Instant::now() < give_up, "it never said {what:?}: {said:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn files(name: &str) -> corewire_transport::tls::Files {
    Files::new()
        .with_identity(certificate(name), key(name))
        .with_authorities(certificate("authority"))
}

fn chain(name: &str) -> Vec<CertificateDer<'static>> {
    vec![CertificateDer::from_pem_file(certificate(name)).unwrap()]
}

fn private(name: &str) -> PrivateKeyDer<'static> {
    PrivateKeyDer::from_pem_file(key(name)).unwrap()
}

/// A client by hand, as the native protocol's would be.
fn config() -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(chain("authority").remove(0)).unwrap();
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(chain("client"), private("client"))
        .unwrap();
    config.alpn_protocols = vec![b"corewire/1".to_vec()];
    config
}

fn session(config: ClientConfig) -> ClientConnection {
    let name = ServerName::try_from("localhost").unwrap();
    ClientConnection::new(Arc::new(config), name).unwrap()
}

fn send(session: &mut ClientConnection, socket: &mut TcpStream) {
    while session.wants_write() {
        session.write_tls(socket).unwrap();
    }
}

/// Takes one reading; whether the connection goes on.
fn take(session: &mut ClientConnection, socket: &mut TcpStream) -> bool {
    match session.read_tls(socket) {
        Ok(0) => false,
        Ok(_) => session.process_new_packets().is_ok(),
        Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
        Err(error) => panic!("the server neither goes on nor ends: {error}"),
    }
}

fn shake_hands(session: &mut ClientConnection, socket: &mut TcpStream) {
    while session.is_handshaking() {
        send(session, socket);
        if session.is_handshaking() {
            assert!(take(session, socket), "it was refused");
        }
    }
    send(session, socket);
}

/// The rest of what comes; when it returns, the server has cut the connection.
fn until_cut(socket: &mut TcpStream) {
    let mut rest = Vec::new();
    match socket.read_to_end(&mut rest) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
}

/// The client reads the server's part and says nothing more.
#[test]
fn who_stops_in_the_middle_of_a_handshake_is_cut() {
    let target = Target::within(LONG_HANDSHAKE);
    let mut socket = target.connect();
    let mut session = session(config());
    send(&mut session, &mut socket);
    // The server has signed and sent its certificate: what costs it something.
    while !session.wants_write() {
        assert!(take(&mut session, &mut socket));
    }
    target.serves_others();
    until_cut(&mut socket);
    target.serves_others();
}

/// Its last flight comes an octet at a time: each octet buys no time.
#[test]
fn who_makes_a_handshake_in_single_octets_is_cut() {
    let target = Target::within(LONG_HANDSHAKE);
    let mut socket = target.connect();
    let mut session = session(config());
    send(&mut session, &mut socket);
    while !session.wants_write() {
        assert!(take(&mut session, &mut socket));
    }
    let mut flight = Vec::new();
    while session.wants_write() {
        session.write_tls(&mut flight).unwrap();
    }
    let began = Instant::now();
    // As many as fit into the time a hundred times over.
    let sent = flight.iter().cycle().take(100_000).take_while(|octet| {
        std::thread::sleep(Duration::from_millis(20));
        socket.write_all(&[**octet]).is_ok()
    });
    let sent = sent.count();
    assert!(sent < flight.len(), "the whole flight was taken");
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    target.serves_others();
    assert_eq!(target.calls.0.load(Ordering::Relaxed), 1);
}

/// Each wants new keys derived, and costs its sender next to nothing.
#[test]
fn a_flood_of_key_updates_ends_the_connection() {
    let target = Target::within(PATIENCE);
    let mut socket = target.connect();
    let mut session = session(config());
    shake_hands(&mut session, &mut socket);
    for _ in 0..1000 {
        session.refresh_traffic_keys().unwrap();
        if session.write_tls(&mut socket).is_err() {
            break;
        }
    }
    until_cut(&mut socket);
    target.says("the peer broke the TLS protocol");
    target.serves_others();
}

/// Keys that are renewed now and then harm nobody.
#[test]
fn a_key_update_among_data_is_followed() {
    let target = Target::within(PATIENCE);
    let mut socket = target.connect();
    let mut session = session(config());
    shake_hands(&mut session, &mut socket);
    for _ in 0..3 {
        session.refresh_traffic_keys().unwrap();
        send(&mut session, &mut socket);
    }
    // With the new keys: no protocol's first octets. It was understood, and is refused by what it says.
    session.writer().write_all(&[0xff; 64]).unwrap();
    send(&mut session, &mut socket);
    until_cut(&mut socket);
    let said = target.said.lock().unwrap().clone();
    assert!(
        !said
            .iter()
            .any(|line| line.contains("TLS protocol") || line.contains("damaged")),
        "{said:?}"
    );
    target.serves_others();
}

/// A call in the first flight could be sent again by whoever has heard it: nothing of it is taken.
#[test]
fn early_data_is_refused_and_never_executed() {
    let target = Target::within(PATIENCE);
    let mut early = config();
    early.enable_early_data = true;
    early.resumption = Resumption::in_memory_sessions(16);
    let early = Arc::new(early);
    take_ticket_for_early_data(&early);
    let name = ServerName::try_from("localhost").unwrap();
    let mut session = ClientConnection::new(early, name).unwrap();
    let mut recorded = recorded_call();
    let written = session
        .early_data()
        .expect("it has a ticket for that")
        .write(&recorded);
    assert_eq!(written.unwrap(), recorded.len());
    let mut socket = target.connect();
    send(&mut session, &mut socket);
    while session.is_handshaking() && take(&mut session, &mut socket) {
        send(&mut session, &mut socket);
    }
    assert!(!session.is_early_data_accepted());
    assert_ne!(session.handshake_kind(), Some(HandshakeKind::Resumed));
    assert_eq!(target.calls.0.load(Ordering::Relaxed), 0);
    // The same in its place is executed: the octets were a call.
    if !session.is_handshaking() {
        session.writer().write_all(&recorded).unwrap();
        send(&mut session, &mut socket);
        let give_up = Instant::now() + PATIENCE;
        while target.calls.0.load(Ordering::Relaxed) == 0 {
            assert!(Instant::now() < give_up, "the call was not one");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    recorded.clear();
    target.serves_others();
}

/// From a server of the same name that takes early data: it is not ours, but shows the same certificate.
fn take_ticket_for_early_data(config: &Arc<ClientConfig>) {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut other = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain("server"), private("server"))
        .unwrap();
    other.alpn_protocols = vec![b"corewire/1".to_vec()];
    other.max_early_data_size = 16_384;
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = ClientConnection::new(Arc::clone(config), name).unwrap();
    let mut server = ServerConnection::new(Arc::new(other)).unwrap();
    while client.wants_write() || server.wants_write() {
        let mut octets = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut octets).unwrap();
        }
        let mut left = octets.as_slice();
        while !left.is_empty() {
            server.read_tls(&mut left).unwrap();
            server.process_new_packets().unwrap();
        }
        octets.clear();
        while server.wants_write() {
            server.write_tls(&mut octets).unwrap();
        }
        let mut left = octets.as_slice();
        while !left.is_empty() {
            client.read_tls(&mut left).unwrap();
            client.process_new_packets().unwrap();
        }
    }
}

/// What a client of the native protocol sends for one call, as a server in clear text hears it.
fn recorded_call() -> Vec<u8> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = parse_address(&listener.local_addr().unwrap().to_string()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let client = blocking::Client::new(
                Endpoint::new(Protocol::Native, address),
                ClientOptions::default(),
            );
            // Until the connection is dropped.
            let request = Request::new(COUNT).with_deadline(Instant::now() + 2 * PATIENCE);
            client.call(request).unwrap_err();
        });
        let (mut heard, _) = listener.accept().unwrap();
        heard
            .set_read_timeout(Some(Duration::from_millis(500)))
            .unwrap();
        let (mut octets, give_up) = (Vec::new(), Instant::now() + PATIENCE);
        while octets.is_empty() {
            assert!(Instant::now() < give_up, "it says nothing");
            let _silence = heard.read_to_end(&mut octets);
        }
        octets
    })
}

/// A ClientHello of TLS 1.2, by hand (RFC 5246, 7.4.1.2).
#[test]
fn a_client_that_knows_no_tls_13_is_refused_by_name() {
    let target = Target::start();
    let mut socket = target.connect();
    let mut hello = vec![3, 3];
    hello.extend([7; 32]);
    // No session, one cipher suite, no compression, one extension: signature algorithms.
    hello.extend([0, 0, 2, 0xc0, 0x2b, 1, 0, 0, 8, 0, 13, 0, 4, 0, 2, 4, 3]);
    let length = u16::try_from(hello.len()).unwrap().to_be_bytes();
    let record = u16::try_from(hello.len() + 4).unwrap().to_be_bytes();
    let mut octets = vec![22, 3, 1, record[0], record[1], 1, 0, length[0], length[1]];
    octets.extend(&hello);
    socket.write_all(&octets).unwrap();
    until_cut(&mut socket);
    target.says("the peer has no TLS 1.3 in common with this end");
    target.serves_others();
}

/// A handshake message that never ends: kept up to a limit.
#[test]
fn a_handshake_message_of_megabytes_is_not_kept() {
    let target = Target::start();
    let mut socket = target.connect();
    let mut first = vec![22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff];
    first.resize(5 + 0x4000, 0);
    let mut more = vec![22, 3, 3, 0x40, 0];
    more.resize(5 + 0x4000, 0);
    // It may be cut before all has been written.
    let mut sent = socket.write_all(&first).map(|()| first.len());
    for _ in 0..1000 {
        if sent.is_err() {
            break;
        }
        sent = socket.write_all(&more).map(|()| more.len());
    }
    assert!(sent.is_err(), "16 MB of one message were taken");
    target.says("TLS");
    target.serves_others();
}
