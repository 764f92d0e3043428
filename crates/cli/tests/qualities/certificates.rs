//! Certificates as an operator handles them: changed while calls run, and those that are not good. They
//! are those of `crates/testkit/certificates`, made by OpenSSL.

use super::program::{ALLOCATE, PATIENCE, PROTOCOLS, Program, story};
use corewire::blocking::{Caller as _, Client};
use corewire::tls::{ClientTls, Files};
use corewire::{CallError, ClientOptions, ErrorKind, Request};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../testkit/certificates")
        .join(name)
}

fn text(path: &Path) -> String {
    path.to_str().expect("text").to_owned()
}

fn believing() -> Files {
    Files::new().with_authorities(kept("authority.pem"))
}

fn presenting(name: &str) -> Files {
    believing().with_identity(kept(&format!("{name}.pem")), kept(&format!("{name}.key")))
}

fn options(tls: ClientTls) -> ClientOptions {
    let mut options = ClientOptions::default();
    options.tls = Some(tls);
    options
}

/// A server that asks its clients for certificates, with its own in files of this folder.
fn mutual(own: &Path) -> Program {
    let [certificate, key] = ["own.pem", "own.key"].map(|name| text(&own.join(name)));
    let authorities = text(&kept("authority.pem"));
    Program::start(&[
        "--tls-certificate",
        &certificate,
        "--tls-key",
        &key,
        "--tls-authorities",
        &authorities,
    ])
}

/// As an operator replaces them: the new file is there in one step.
fn replace(own: &Path, name: &str) {
    for end in ["key", "pem"] {
        let fresh = own.join(format!("fresh.{end}"));
        std::fs::copy(kept(&format!("{name}.{end}")), &fresh).expect("a copy");
        std::fs::rename(fresh, own.join(format!("own.{end}"))).expect("in place");
    }
}

fn call(client: &Client) -> Result<(), CallError> {
    let request = Request::new(ALLOCATE).with_deadline(Instant::now() + PATIENCE);
    client.call(request).map(drop)
}

#[test]
fn a_certificate_changes_under_load_and_no_call_fails() {
    let own = tempfile::tempdir().expect("a folder");
    replace(own.path(), "server");
    let program = mutual(own.path());
    let tls = ClientTls::new(presenting("client")).expect("good files");
    // Only the first certificate is for this name: who asks for it sees which one is shown.
    let first_only = tls.clone().with_server_name("amf.local").expect("a name");
    let address = program.address;
    let new = move |protocol: &str, tls: &ClientTls| {
        let endpoint = format!("{protocol}://{address}").parse().expect("one");
        Client::new(endpoint, options(tls.clone()))
    };
    for protocol in PROTOCOLS {
        call(&new(protocol, &first_only)).expect("the first certificate is shown");
    }
    let over = AtomicBool::new(false);
    let (steady, fresh) = (AtomicU64::new(0), AtomicU64::new(0));
    let beyond = |count: &AtomicU64, least: u64| {
        let give_up = Instant::now() + PATIENCE;
        while count.load(Ordering::Relaxed) < least && !over.load(Ordering::Relaxed) {
            assert!(Instant::now() < give_up, "nothing goes on");
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    std::thread::scope(|scope| {
        for protocol in PROTOCOLS {
            let (over, steady, fresh, tls, new) = (&over, &steady, &fresh, &tls, &new);
            // One keeps its connection through the change, one makes a new one for each call.
            scope.spawn(move || {
                let client = new(protocol, tls);
                while !over.load(Ordering::Relaxed) {
                    call(&client).unwrap_or_else(|error| {
                        over.store(true, Ordering::Relaxed);
                        panic!("{protocol}, a connection that was there: {}", story(&error))
                    });
                    steady.fetch_add(1, Ordering::Relaxed);
                }
            });
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    call(&new(protocol, tls)).unwrap_or_else(|error| {
                        over.store(true, Ordering::Relaxed);
                        panic!("{protocol}, a new connection: {}", story(&error))
                    });
                    fresh.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        beyond(&steady, 100);
        beyond(&fresh, 20);
        replace(own.path(), "rotated");
        let give_up = Instant::now() + PATIENCE;
        for protocol in PROTOCOLS {
            loop {
                match call(&new(protocol, &first_only)) {
                    Ok(()) => assert!(Instant::now() < give_up, "the old one is still shown"),
                    Err(error) => {
                        assert!(story(&error).contains("is for another name"));
                        break;
                    }
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        let then = [&steady, &fresh].map(|count| count.load(Ordering::Relaxed));
        beyond(&steady, then[0] + 100);
        beyond(&fresh, then[1] + 20);
        over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn both_ends_are_told_what_is_wrong_with_a_clients_certificate() {
    let own = tempfile::tempdir().expect("a folder");
    replace(own.path(), "server");
    let program = mutual(own.path());
    for (files, client_hears, server_says) in [
        (
            believing(),
            "requires a certificate",
            "presented no certificate",
        ),
        (presenting("expired"), "it has expired", "has expired"),
        (
            presenting("foreign"),
            "does not accept its authority",
            "issued by none of the accepted authorities",
        ),
    ] {
        let tls = ClientTls::new(files).expect("good files");
        for protocol in PROTOCOLS {
            let client = Client::new(program.endpoint(protocol), options(tls.clone()));
            let error = call(&client).expect_err("it must be refused");
            let heard = story(&error);
            assert!(heard.contains(client_hears), "{protocol}: {heard}");
            assert_eq!(error.kind(), ErrorKind::NotSent, "{protocol}: {heard}");
            assert!(!error.may_have_executed(), "{protocol}: {heard}");
            let said = program.says(server_says);
            assert!(said.contains("127.0.0.1:"), "who it was: {said}");
        }
    }
    // Nobody else was harmed.
    let tls = ClientTls::new(presenting("client")).expect("good files");
    for protocol in PROTOCOLS {
        let client = Client::new(program.endpoint(protocol), options(tls.clone()));
        call(&client).expect("a good certificate");
    }
}

/// A certificate that cannot be used keeps nobody out: the last good one stays.
#[test]
fn files_that_are_spoilt_under_load_change_nothing() {
    let own = tempfile::tempdir().expect("a folder");
    replace(own.path(), "server");
    let program = mutual(own.path());
    let tls = ClientTls::new(presenting("client")).expect("good files");
    std::fs::write(own.path().join("own.pem"), "no certificate").expect("a file");
    // Files are looked at once a second.
    let until = Instant::now() + Duration::from_millis(2500);
    while Instant::now() < until {
        for protocol in PROTOCOLS {
            let client = Client::new(program.endpoint(protocol), options(tls.clone()));
            call(&client).unwrap_or_else(|error| panic!("{protocol}: {}", story(&error)));
        }
    }
}
