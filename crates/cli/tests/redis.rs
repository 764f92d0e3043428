//! The UDSF's records in a real Redis: with a login, over TLS, behind a Sentinel whose master dies, and in
//! a cluster. Needs the package redis-tools, whose redis-check-rdb is the server under another name.

#![cfg(target_os = "linux")]

use corewire::blocking::{Caller as _, Client};
use corewire::{Body, ClientOptions, Endpoint, Headers, Operation, Request};
use corewire_transport::tls::{Authority, Subject};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long something that should happen soon may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A port that nobody has right now.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("its address").port()
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A server of Redis; killed when it is dropped.
struct Redis {
    process: Child,
    port: u16,
}

impl Redis {
    /// Starts one on a port, with these options, in a folder of its own within `folder`.
    fn start(folder: &Path, port: u16, options: &[&str]) -> Self {
        Self::start_as(&[], folder, port, options)
    }

    fn start_as(first: &[&str], folder: &Path, port: u16, options: &[&str]) -> Self {
        let folder = folder.join(port.to_string());
        fs::create_dir_all(&folder).expect("a folder");
        let process = Command::new("redis-check-rdb")
            .arg0("redis-server")
            .args(first)
            .args(["--dir", &folder.display().to_string()])
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "yes"])
            .args(options)
            .stdout(fs::File::create(folder.join("log")).expect("a log"))
            .stderr(Stdio::null())
            .spawn()
            .expect("redis-check-rdb starts; apt install redis-tools");
        let server = Self { process, port };
        until("Redis listens", || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
        });
        server
    }

    fn plain(folder: &Path, port: u16, options: &[&str]) -> Self {
        let own = port.to_string();
        Self::start(folder, port, &[&["--port", &own], options].concat())
    }

    /// What it says to a command without a login.
    fn ask(&self, command: &str) -> String {
        let answer = Command::new("redis-cli")
            .args(["-p", &self.port.to_string()])
            .args(command.split(' '))
            .output()
            .expect("redis-cli runs");
        String::from_utf8_lossy(&answer.stdout).into_owned()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _ended = self.process.wait();
    }
}

/// A UDSF; killed when it is dropped.
struct Udsf {
    process: Child,
    client: Client,
}

/// `corewire nf udsf` with its records at this address.
fn command(address: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corewire"));
    command.args(["nf", "udsf", "--listen", "127.0.0.1:0", "--store", address]);
    command
}

impl Udsf {
    fn start(command: &mut Command) -> Self {
        let mut process = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("its output"))
            .read_line(&mut line)
            .expect("a line");
        let address = line.trim().rsplit(' ').next().unwrap_or_default();
        let endpoint: Endpoint = format!("rest://{address}").parse().expect("an address");
        Self {
            process,
            client: Client::new(endpoint, ClientOptions::default()),
        }
    }

    /// Asks; gives the HTTP status and the body.
    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut headers = Headers::new();
        headers.append("corewire-method", method).expect("a header");
        if !body.is_empty() {
            let json = headers.append("content-type", "application/json");
            json.expect("a header");
        }
        let path = format!("nudsf-dr/v1/realm/amf/records{path}");
        let request = Request::new(Operation::parse(&path).expect("a path"))
            .with_headers(headers)
            .with_body(Body::from(body.to_owned()))
            .with_deadline(Instant::now() + PATIENCE);
        let answer = match self.client.call(request) {
            Err(error) => error.response().expect("an answer").clone(),
            Ok(answer) => answer,
        };
        let own = corewire_transport::mapping::status::http_status(answer.status.code());
        let named = answer.headers.get_str("corewire-http-status");
        let status = named.map_or(own, |named| named.parse().expect("a status"));
        let body = answer.body.into_bytes();
        (status, String::from_utf8_lossy(&body).into_owned())
    }

    fn put(&self, number: usize) -> u16 {
        let body = format!("{{\"number\":{number}}}");
        self.ask("PUT", &format!("/ue-{number:04}"), &body).0
    }

    fn get(&self, number: usize) -> u16 {
        let (status, body) = self.ask("GET", &format!("/ue-{number:04}"), "");
        let held = body.contains(&format!("\"number\":{number}"));
        assert_eq!(status == 200, held, "{status}: {body}");
        status
    }

    /// Each verb once, over records enough for several steps of a listing.
    fn holds_records(&self) {
        for number in 0..300 {
            assert_eq!(self.put(number), 201, "{number}");
        }
        assert_eq!(self.put(7), 204);
        assert_eq!((self.get(7), self.get(299), self.get(300)), (200, 200, 404));
        assert_eq!(self.ask("DELETE", "/ue-0008", "").0, 204);
        assert_eq!(self.ask("DELETE", "/ue-0008", "").0, 404);
        let (status, listed) = self.ask("GET", "", "");
        assert_eq!(status, 200, "{listed}");
        let places: Vec<_> = (0..300)
            .map(|number| listed.find(&format!("ue-{number:04}\"")))
            .collect();
        assert_eq!(places[8], None);
        let places: Vec<_> = places.into_iter().flatten().collect();
        assert_eq!(places.len(), 299);
        assert!(places.is_sorted());
    }
}

impl Drop for Udsf {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _ended = self.process.wait();
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn login(folder: &Path, text: &str) -> PathBuf {
    let file = folder.join("login");
    fs::write(&file, format!("{text}\n")).expect("written");
    file
}

#[test]
fn a_user_of_the_access_list_keeps_records_that_outlive_the_server() {
    let folder = folder();
    let port = free_port();
    let user = "--user udsf on >secret ~corewire:udsf:* +@all --user default off";
    let options: Vec<&str> = user.split(' ').collect();
    let server = Redis::plain(folder.path(), port, &options);
    let login = login(folder.path(), "udsf:secret");
    let address = format!("redis://127.0.0.1:{port}/1");
    let udsf = Udsf::start(command(&address).arg("--store-login").arg(&login));
    udsf.holds_records();
    drop(server);
    assert_eq!(udsf.ask("GET", "/ue-0001", "").0, 503);
    let _server = Redis::plain(folder.path(), port, &options);
    until("the server is found again", || udsf.get(1) == 200);
    assert_eq!(udsf.get(299), 200);
}

#[test]
fn a_wrong_password_ends_the_start_and_is_not_shown() {
    let folder = folder();
    let port = free_port();
    let _server = Redis::plain(folder.path(), port, &["--requirepass", "right"]);
    let ended = command(&format!("redis://:mistaken@127.0.0.1:{port}"))
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success());
    assert!(
        told.contains("Redis") && !told.contains("mistaken"),
        "{told}"
    );
}

#[test]
fn a_server_is_believed_over_tls_by_its_certificate() {
    let folder = folder();
    let port = free_port();
    let [own, other] = [(), ()]
        .map(|()| Authority::new("Redis", Duration::from_secs(3600)).expect("an authority"));
    let [pem, key, trusted, foreign] =
        ["redis.pem", "redis.key", "ca.pem", "other.pem"].map(|name| folder.path().join(name));
    let subject = Subject {
        name: "redis".into(),
        hosts: vec!["localhost".into()],
        ..Subject::default()
    };
    let issued = own.issue(&subject).expect("issued");
    issued.write(&pem, &key).expect("written");
    fs::write(&trusted, own.pem()).expect("written");
    fs::write(&foreign, other.pem()).expect("written");
    let [port_text, pem, key, ca] = [
        port.to_string(),
        pem.display().to_string(),
        key.display().to_string(),
        trusted.display().to_string(),
    ];
    let options = [
        ["--port", "0"],
        ["--tls-port", &port_text],
        ["--tls-cert-file", &pem],
        ["--tls-key-file", &key],
        ["--tls-ca-cert-file", &ca],
        ["--tls-auth-clients", "no"],
    ];
    let _server = Redis::start(folder.path(), port, &options.concat());
    let address = format!("rediss://localhost:{port}");
    let udsf = Udsf::start(command(&address).env("SSL_CERT_FILE", &trusted));
    udsf.holds_records();
    let refused = command(&address).env("SSL_CERT_FILE", &foreign).output();
    let refused = refused.expect("it runs");
    assert!(!refused.status.success());
}

#[test]
fn behind_a_sentinel_the_new_master_is_found() {
    let folder = folder();
    let [first, second, watch] = [(), (), ()].map(|()| free_port());
    let master = Redis::plain(folder.path(), first, &[]);
    let replica = Redis::plain(
        folder.path(),
        second,
        &["--replicaof", "127.0.0.1", &first.to_string()],
    );
    until("the replica follows", || {
        replica
            .ask("INFO replication")
            .contains("master_link_status:up")
    });
    let settings = folder.path().join("sentinel.conf");
    let text = format!(
        "port {watch}\nsentinel monitor mymaster 127.0.0.1 {first} 1\n\
         sentinel down-after-milliseconds mymaster 300\nsentinel failover-timeout mymaster 3000\n"
    );
    fs::write(&settings, text).expect("written");
    let settings = settings.display().to_string();
    let sentinel = Redis::start_as(&[&settings, "--sentinel"], folder.path(), watch, &[]);
    until("the Sentinel knows the replica", || {
        sentinel.ask("SENTINEL MASTERS").contains("num-slaves\n1")
    });
    let udsf = Udsf::start(&mut command(&format!(
        "redis-sentinel://127.0.0.1:{watch}/mymaster"
    )));
    udsf.holds_records();
    until("the replica has all", || {
        replica.ask("DBSIZE").trim() == "299"
    });
    drop(master);
    until("the new master takes changes", || udsf.put(500) < 300);
    assert_eq!((udsf.get(7), udsf.get(500)), (200, 200));
    assert!(replica.ask("INFO replication").contains("role:master"));
}

#[test]
fn in_a_cluster_records_are_on_all_masters_and_listed_together() {
    let folder = folder();
    let options = |bus: &str| -> Vec<String> {
        let own = ["--cluster-enabled", "yes", "--cluster-port", bus];
        let more = ["--cluster-node-timeout", "2000"];
        own.into_iter().chain(more).map(str::to_owned).collect()
    };
    let nodes = [(), (), ()].map(|()| {
        let options = options(&free_port().to_string());
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        Redis::plain(folder.path(), free_port(), &options)
    });
    let addresses = nodes
        .each_ref()
        .map(|node| format!("127.0.0.1:{}", node.port));
    let made = Command::new("redis-cli")
        .args(["--cluster", "create"])
        .args(&addresses)
        .args(["--cluster-yes", "--cluster-replicas", "0"])
        .output()
        .expect("redis-cli runs");
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stdout)
    );
    until("the cluster stands", || {
        nodes
            .iter()
            .all(|node| node.ask("CLUSTER INFO").contains("cluster_state:ok"))
    });
    let udsf = Udsf::start(&mut command(&format!(
        "redis-cluster://{},{}",
        addresses[0], addresses[1]
    )));
    udsf.holds_records();
    for node in &nodes {
        assert_ne!(node.ask("DBSIZE").trim(), "0");
    }
}
