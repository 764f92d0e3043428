use super::super::configs::ClientCertificates;
use super::super::name::name_of;
use super::super::settings::{ClientSession, ClientTls, ServerTls};
use super::{Bound, LONGEST};
use crate::Protocol;
use crate::tls::Files;
use corewire_testkit::certificates::{certificate, key};
use rustls::HandshakeKind::{Full, Resumed};
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use rustls::{Connection, Error, HandshakeKind, ServerConnection};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The certificates of the tests end with 2119.
const CERTIFICATES_END: u64 = 4_733_510_400;
const MINUTE: u64 = 60;

/// A clock that is set.
#[derive(Debug)]
struct Set(AtomicU64);

impl Set {
    fn at(seconds: u64) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(seconds)))
    }

    fn set(&self, seconds: u64) {
        self.0.store(seconds, Ordering::Relaxed);
    }

    fn forward(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl TimeProvider for Set {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = self.0.load(Ordering::Relaxed);
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}

fn files(name: &str) -> Files {
    let authorities = certificate("authority");
    identity(name).with_authorities(authorities)
}

fn identity(name: &str) -> Files {
    Files::new().with_identity(certificate(name), key(name))
}

fn client(clock: &Arc<Set>) -> ClientTls {
    ClientTls::by_clock(files("client"), None, clock.clone()).unwrap()
}

fn server(clock: &Arc<Set>) -> ServerTls {
    ServerTls::by_clock(files("server"), ClientCertificates::Required, clock.clone()).unwrap()
}

/// How a connection began, and whom its ends know of each other.
struct Met {
    kind: HandshakeKind,
    /// The client's certificate, as the server knows it.
    client: Vec<u8>,
    server: Vec<u8>,
}

fn meet(client: &ClientTls, server: &ServerTls) -> Result<Met, Error> {
    meet_at("127.0.0.1:7000", client, server)
}

/// Connects both; what one sends the other reads, until neither has more to say.
fn meet_at(authority: &str, client: &ClientTls, server: &ServerTls) -> Result<Met, Error> {
    let now = Instant::now();
    let begun = client.session(Protocol::Native, authority, now).unwrap();
    let ClientSession { session, bound } = begun;
    let mut calling = (Connection::from(session), bound);
    let session = ServerConnection::new(server.config(now)).unwrap();
    let mut answering = (Connection::from(session), Bound::default());
    while calling.0.wants_write() || answering.0.wants_write() {
        pass(&mut calling, &mut answering)?;
        pass(&mut answering, &mut calling)?;
    }
    let kind = answering.0.handshake_kind().unwrap();
    assert_eq!(calling.0.handshake_kind(), Some(kind), "both ends agree");
    assert_eq!(
        calling.1.until, answering.1.until,
        "certificates that end together bind alike"
    );
    let seen = |by: &Connection| by.peer_certificates().unwrap()[0].to_vec();
    Ok(Met {
        kind,
        client: seen(&answering.0),
        server: seen(&calling.0),
    })
}

fn pass(from: &mut (Connection, Bound), to: &mut (Connection, Bound)) -> Result<(), Error> {
    let mut octets = Vec::new();
    while from.0.wants_write() {
        from.0.write_tls(&mut octets).unwrap();
    }
    let mut octets = octets.as_slice();
    while !octets.is_empty() {
        to.0.read_tls(&mut octets).unwrap();
        let session = &mut to.0;
        to.1.within(|| session.process_new_packets())?;
    }
    Ok(())
}

fn kind(met: Result<Met, Error>) -> HandshakeKind {
    met.unwrap().kind
}

#[test]
fn a_client_that_comes_again_is_known_without_proving_itself_again() {
    let clock = Set::at(CERTIFICATES_END / 2);
    let (client, server) = (client(&clock), server(&clock));
    let first = meet(&client, &server).unwrap();
    assert_eq!(first.kind, Full);
    for _ in 0..3 {
        let again = meet(&client, &server).unwrap();
        assert_eq!(again.kind, Resumed);
        assert_eq!(again.client, first.client);
        assert_eq!(again.server, first.server);
    }
}

#[test]
fn an_hour_after_the_full_handshake_comes_another_however_often_it_was_resumed() {
    let clock = Set::at(CERTIFICATES_END / 2);
    let (client, server) = (client(&clock), server(&clock));
    assert_eq!(kind(meet(&client, &server)), Full);
    for _ in 0..5 {
        clock.forward(10 * MINUTE);
        assert_eq!(kind(meet(&client, &server)), Resumed);
    }
    clock.forward(LONGEST.as_secs() - 50 * MINUTE);
    assert_eq!(kind(meet(&client, &server)), Full);
    assert_eq!(kind(meet(&client, &server)), Resumed);
}

/// Both ends see to it by themselves: one whose clock stands still changes nothing.
#[test]
fn a_certificate_that_has_ended_does_not_live_on() {
    for (server_ends, refusal) in [
        (true, "the peer's certificate has expired"),
        (false, "the peer's certificate has expired"),
    ] {
        let before = CERTIFICATES_END - 10 * MINUTE;
        let [moving, standing] = [before, before].map(Set::at);
        let (client, server) = if server_ends {
            (client(&standing), server(&moving))
        } else {
            (client(&moving), server(&standing))
        };
        assert_eq!(kind(meet(&client, &server)), Full);
        moving.set(CERTIFICATES_END - 1);
        assert_eq!(kind(meet(&client, &server)), Resumed);
        moving.set(CERTIFICATES_END + 1);
        let Err(error) = meet(&client, &server) else {
            panic!("it was let in, the server's clock moving: {server_ends}");
        };
        assert_eq!(name_of(&error), refusal);
    }
}

#[test]
fn a_server_that_reads_its_files_again_takes_no_ticket_from_before() {
    let clock = Set::at(CERTIFICATES_END / 2);
    let (client, server) = (client(&clock), server(&clock));
    assert_eq!(kind(meet(&client, &server)), Full);
    server.reload().unwrap();
    assert_eq!(kind(meet(&client, &server)), Full);
    assert_eq!(kind(meet(&client, &server)), Resumed);
}

#[test]
fn a_client_that_reads_its_files_again_shows_its_certificate_again() {
    let clock = Set::at(CERTIFICATES_END / 2);
    let (client, server) = (client(&clock), server(&clock));
    assert_eq!(kind(meet(&client, &server)), Full);
    client.reload().unwrap();
    assert_eq!(kind(meet(&client, &server)), Full);
    assert_eq!(kind(meet(&client, &server)), Resumed);
}

#[test]
fn whose_authority_is_not_accepted_any_more_is_refused_though_it_has_a_ticket() {
    let folder = tempfile::tempdir().unwrap();
    let authorities = folder.path().join("authorities.pem");
    let accept = |name: &str| {
        let fresh = folder.path().join("fresh.pem");
        std::fs::copy(certificate(name), &fresh).unwrap();
        std::fs::rename(fresh, &authorities).unwrap();
    };
    accept("authority");
    let clock = Set::at(CERTIFICATES_END / 2);
    let own = files("server").with_authorities(&authorities);
    let server = ServerTls::by_clock(own, ClientCertificates::Required, clock.clone()).unwrap();
    let client = client(&clock);
    assert_eq!(kind(meet(&client, &server)), Full);
    assert_eq!(kind(meet(&client, &server)), Resumed);
    accept("stranger");
    server.reload().unwrap();
    let error = meet(&client, &server).err().unwrap();
    let wanted = "the peer's certificate was issued by none of the accepted authorities";
    assert_eq!(name_of(&error), wanted);
}

#[test]
fn servers_of_one_name_have_their_own_sessions() {
    let clock = Set::at(CERTIFICATES_END / 2);
    let client = client(&clock);
    let servers = ["127.0.0.1:7000", "127.0.0.1:7001"].map(|place| (place, server(&clock)));
    for expected in [Full, Resumed, Resumed] {
        for (place, server) in &servers {
            assert_eq!(kind(meet_at(place, &client, server)), expected, "{place}");
        }
    }
    // Of another name at the same place: what was proved for the first does not count.
    let other = client.with_server_name("localhost").unwrap();
    assert_eq!(kind(meet(&other, &servers[0].1)), Full);
}

#[test]
fn a_ticket_is_good_for_one_connection_and_some_are_kept() {
    let clock = Set::at(CERTIFICATES_END / 2);
    let (client, server) = (client(&clock), server(&clock));
    assert_eq!(kind(meet(&client, &server)), Full);
    let now = Instant::now();
    let begin = || client.session(Protocol::Native, "127.0.0.1:7000", now);
    let first = begin().unwrap();
    assert_eq!(
        first.bound.until,
        Some(CERTIFICATES_END / 2 + LONGEST.as_secs())
    );
    let second = begin().unwrap();
    assert_eq!(second.bound.until, None, "the only ticket is in use");
}

#[test]
fn either_end_can_do_without() {
    let clock = Set::at(CERTIFICATES_END / 2);
    let (resuming, serving) = (client(&clock), server(&clock));
    assert_eq!(kind(meet(&resuming, &serving)), Full);
    let full = resuming.clone().without_resumption();
    assert_eq!(kind(meet(&full, &serving)), Full);
    assert_eq!(kind(meet(&resuming, &serving)), Resumed);
    // With a ticket of the same keys in hand.
    let without = serving.without_resumption();
    for _ in 0..2 {
        assert_eq!(kind(meet(&resuming, &without)), Full);
    }
}

#[test]
fn a_client_without_certificate_resumes_too() {
    let clock = Set::at(CERTIFICATES_END / 2);
    let own = identity("server");
    let server = ServerTls::by_clock(own, ClientCertificates::NotAsked, clock.clone()).unwrap();
    let now = Instant::now();
    let client = client(&clock);
    for expected in [Full, Resumed] {
        let begun = client.session(Protocol::Grpc, "127.0.0.1:7000", now);
        let ClientSession { session, bound } = begun.unwrap();
        let mut calling = (Connection::from(session), bound);
        let session = ServerConnection::new(server.config(now)).unwrap();
        let mut answering = (Connection::from(session), Bound::default());
        while calling.0.wants_write() || answering.0.wants_write() {
            pass(&mut calling, &mut answering).unwrap();
            pass(&mut answering, &mut calling).unwrap();
        }
        assert_eq!(answering.0.handshake_kind(), Some(expected));
        assert!(answering.0.peer_certificates().is_none());
    }
}
