//! What is acknowledged is kept: UDSF and UDM as processes, on a disk that is full, on a log that is
//! damaged, and killed.
//!
//! The small disk is a tmpfs of its own, which only root can mount; without that right a limit on the size
//! of files takes its place, and the test says so.

#![cfg(target_os = "linux")]

use corewire::blocking::{Caller as _, Client};
use corewire::health::{self, Serving};
use corewire::{Body, CallError, ClientOptions, Endpoint, Headers, Operation, Request, Response};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long something that should happen soon may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of the small disk.
const ROOM: usize = 2 << 20;
/// Bytes of room that are made before a start: a UDM counts its starts.
const MORE: usize = 64 << 10;
const CAUSE: &str = "INSUFFICIENT_RESOURCES";

/// How often a store is killed while it is written to; `make hostile` asks for more.
fn kills() -> u32 {
    std::env::var("COREWIRE_KILLS").map_or(6, |text| text.parse().expect("a number"))
}

/// A network function; killed when it is dropped.
struct Nf {
    process: Child,
    address: String,
    client: Client,
    log: PathBuf,
}

/// What is kept in it: one path a name.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    path: fn(usize) -> String,
    body: fn(usize) -> String,
    /// Something of the body, as a later GET gives it.
    mark: fn(usize) -> String,
}

const UDSF: Kind = Kind {
    name: "udsf",
    path: |number| format!("nudsf-dr/v1/realm/amf/records/ue-{number}"),
    body: |version| format!("{{\"version\":{version},\"x\":\"{}\"}}", "x".repeat(3000)),
    mark: |version| format!("\"version\":{version},"),
};

const UDM: Kind = Kind {
    name: "udm",
    path: |number| {
        let supi = number + 1;
        format!("nudm-uecm/v1/imsi-0010100{supi:08}/registrations/smf-registrations/5")
    },
    body: |version| {
        format!(
            r#"{{"smfInstanceId":"smf-{version}-{}","pduSessionId":5,"singleNssai":{{"sst":1}},"plmnId":{{"mcc":"001","mnc":"01"}}}}"#,
            "x".repeat(2000)
        )
    },
    mark: |version| format!("\"smf-{version}-"),
};

impl Nf {
    fn start(kind: Kind, store: &Path) -> Self {
        Self::start_by(kind, store, &store.with_extension("stderr"), &[])
    }

    /// Starts it under another program, which begins with these words, with this log.
    fn start_by(kind: Kind, store: &Path, log: &Path, words: &[&str]) -> Self {
        let own = [env!("CARGO_BIN_EXE_corewire"), "nf", kind.name];
        let words: Vec<_> = words.iter().copied().chain(own).collect();
        let log = log.to_owned();
        let file = fs::File::options().create(true).append(true).open(&log);
        let mut process = Command::new(words[0])
            .args(&words[1..])
            .arg("--store")
            .arg(store)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(file.expect("a log"))
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("its output"))
            .read_line(&mut line)
            .expect("a line");
        let address = line.trim().rsplit(' ').next().unwrap_or_default();
        let endpoint: Endpoint = format!("rest://{address}")
            .parse()
            .unwrap_or_else(|_| panic!("{line:?}; {}", read(&log)));
        Self {
            client: Client::new(endpoint, ClientOptions::default()),
            address: address.to_owned(),
            process,
            log,
        }
    }

    /// Asks; gives the HTTP status and the body.
    fn ask(&self, method: &str, path: &str, body: String) -> (u16, String) {
        let answer = self.try_ask(method, path, body).expect("an answer");
        let own = corewire_transport::mapping::status::http_status(answer.status.code());
        let named = answer.headers.get_str("corewire-http-status");
        let status = named.map_or(own, |named| named.parse().expect("a status"));
        let body = answer.body.into_bytes();
        (status, String::from_utf8_lossy(&body).into_owned())
    }

    fn try_ask(&self, method: &str, path: &str, body: String) -> Result<Response, CallError> {
        let mut headers = Headers::new();
        headers.append("corewire-method", method).expect("a header");
        if !body.is_empty() {
            let json = headers.append("content-type", "application/json");
            json.expect("a header");
        }
        let request = Request::new(Operation::parse(path).expect("a path"))
            .with_headers(headers)
            .with_body(Body::from(body))
            .with_deadline(Instant::now() + PATIENCE);
        match self.client.call(request) {
            Err(error) => match error.response() {
                Some(answer) => Ok(answer.clone()),
                None => Err(error),
            },
            answered => answered,
        }
    }

    fn health(&self) -> Serving {
        let request = Request::new(health::CHECK)
            .with_body(health::question(""))
            .with_deadline(Instant::now() + PATIENCE);
        let endpoint: Endpoint = format!("grpc://{}", self.address).parse().expect("one");
        let answer = Client::new(endpoint, ClientOptions::default()).call(request);
        let body = answer.expect("an answer").body.into_bytes();
        Serving::from_message(&body).expect("a health message")
    }

    fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < until, "{what}: {}", read(&self.log));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// `kill -9`.
    fn kill(mut self) {
        self.process.kill().expect("it was there");
        self.process.wait().expect("it ends");
    }

    /// Ends it as an operator would; gives whether it ended well.
    fn end(mut self) -> bool {
        let pid = self.process.id().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(told.expect("kill runs").success());
        self.process.wait().expect("it ends").success()
    }
}

impl Drop for Nf {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _ended = self.process.wait();
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// A folder on a disk with little room.
struct SmallDisk {
    folder: tempfile::TempDir,
    is_mounted: bool,
    /// How often it was started on: each time a little more room is made, for what a start writes.
    starts: std::cell::Cell<usize>,
}

impl SmallDisk {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().join("disk");
        fs::create_dir(&at).expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={ROOM}"), "tmpfs"])
            .arg(&at)
            .stderr(Stdio::null())
            .status();
        let is_mounted = mounted.is_ok_and(|status| status.success());
        if !is_mounted {
            eprintln!("no right to mount a tmpfs: a limit on the size of files takes its place");
        }
        Self {
            folder,
            is_mounted,
            starts: std::cell::Cell::new(0),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    /// What takes a half of its room.
    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }

    /// Starts a network function that has no more room than this disk.
    fn start(&self, kind: Kind) -> Nf {
        // Its log is elsewhere: it is to say what is wrong.
        let (store, log) = (
            self.path().join(kind.name),
            self.folder.path().join("stderr"),
        );
        let more = self.starts.replace(self.starts.get() + 1) * MORE;
        let limit = format!("--fsize={}", ROOM + more);
        if let Ok(ballast) = fs::File::options().write(true).open(self.ballast()) {
            let left = (ROOM / 2).saturating_sub(more);
            ballast.set_len(left as u64).expect("less of it");
        }
        let words: &[&str] = if self.is_mounted {
            &[]
        } else {
            &["prlimit", &limit]
        };
        Nf::start_by(kind, &store, &log, words)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if self.is_mounted {
            let _done = Command::new("umount").arg("-l").arg(self.path()).status();
        }
    }
}

/// By name: the version that was acknowledged last; `None`: deleted.
type Acknowledged = BTreeMap<usize, Option<usize>>;

fn assert_holds(nf: &Nf, kind: Kind, acknowledged: &Acknowledged) {
    for (number, version) in acknowledged {
        let (status, body) = nf.ask("GET", &(kind.path)(*number), String::new());
        match version {
            Some(version) => {
                assert_eq!(
                    status,
                    200,
                    "{number} of {}: {}",
                    acknowledged.len(),
                    read(&nf.log)
                );
                assert!(
                    body.contains(&(kind.mark)(*version)),
                    "{number}: {body:.80}"
                );
            }
            None => assert_eq!(status, 404, "{number} is back: {body:.80}"),
        }
    }
}

fn full_disk(kind: Kind) {
    let disk = SmallDisk::new();
    let ballast = disk.ballast();
    if disk.is_mounted {
        fs::write(&ballast, vec![1; ROOM / 2]).expect("room");
    }
    let nf = disk.start(kind);
    assert_eq!(nf.health(), Serving::Serving);
    let mut acknowledged = Acknowledged::new();
    let mut refused = 0;
    for number in 0..1200 {
        // New ones, some of them changed and deleted again later.
        let (number, version) = if number % 5 == 4 {
            (number / 2, 2)
        } else {
            (number, 1)
        };
        let path = (kind.path)(number);
        let (status, body) = match number % 7 {
            3 if acknowledged.contains_key(&number) => nf.ask("DELETE", &path, String::new()),
            _ => nf.ask("PUT", &path, (kind.body)(version)),
        };
        match status {
            201 | 200 => {
                acknowledged.insert(number, Some(version));
            }
            204 if number % 7 == 3 && acknowledged.get(&number) != Some(&None) => {
                acknowledged.insert(number, None);
            }
            204 => {
                acknowledged.insert(number, Some(version));
            }
            404 => {}
            507 => {
                assert!(body.contains(CAUSE), "{body}");
                refused += 1;
            }
            other => panic!("{other}: {body}"),
        }
    }
    assert!(
        refused > 100 && acknowledged.len() > 50,
        "{refused}, {}",
        acknowledged.len()
    );
    nf.until("not serving", |nf| nf.health() == Serving::NotServing);
    let told = read(&nf.log).matches("changes are refused").count();
    assert!((1..=20).contains(&told), "{told} lines: {}", read(&nf.log));
    // Reads go on, and nothing that was refused is there.
    assert_holds(&nf, kind, &acknowledged);
    nf.kill();
    let nf = disk.start(kind);
    assert_holds(&nf, kind, &acknowledged);
    // The next change finds the disk full again, and so does the end.
    let fill = |nf: &Nf, acknowledged: &mut Acknowledged| {
        for number in 2000..4000 {
            let (status, _) = nf.ask("PUT", &(kind.path)(number), (kind.body)(1));
            if status == 507 {
                return;
            }
            acknowledged.insert(number, Some(1));
        }
        panic!("the disk does not become full");
    };
    fill(&nf, &mut acknowledged);
    assert!(!nf.end(), "it ends well and refuses");
    let nf = disk.start(kind);
    assert_holds(&nf, kind, &acknowledged);
    if disk.is_mounted {
        fill(&nf, &mut acknowledged);
        nf.until("not serving", |nf| nf.health() == Serving::NotServing);
        fs::remove_file(&ballast).expect("the ballast");
        nf.until("serves again", |nf| nf.health() == Serving::Serving);
        let (status, body) = nf.ask("PUT", &(kind.path)(5000), (kind.body)(1));
        assert!(matches!(status, 200 | 201), "{status} {body}");
        acknowledged.insert(5000, Some(1));
        nf.kill();
        let nf = disk.start(kind);
        assert_holds(&nf, kind, &acknowledged);
        assert!(nf.end(), "it ends badly and serves");
    }
}

#[test]
fn udsf_refuses_on_a_full_disk_and_keeps_what_it_acknowledged() {
    full_disk(UDSF);
}

#[test]
fn udm_refuses_on_a_full_disk_and_keeps_what_it_acknowledged() {
    full_disk(UDM);
}

#[test]
fn acknowledged_records_outlive_every_kill() {
    for kind in [UDSF, UDM] {
        let folder = tempfile::tempdir().expect("a folder");
        let store = folder.path().join(kind.name);
        let mut acknowledged = Acknowledged::new();
        for round in 0..kills() as usize {
            let mut nf = Nf::start(kind, &store);
            assert_holds(&nf, kind, &acknowledged);
            // Killed in the middle of one of them, by another thread.
            let pid = nf.process.id().to_string();
            let writer = std::thread::scope(|scope| {
                let killer = scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(30 + 37 * round as u64 % 150));
                    let killed = Command::new("kill").args(["-KILL", &pid]).status();
                    assert!(killed.expect("kill runs").success());
                });
                let mut unanswered = None;
                for number in 0.. {
                    let number = number % 300;
                    let answer = nf.try_ask("PUT", &(kind.path)(number), (kind.body)(round));
                    match answer {
                        Ok(answer) => {
                            assert!(answer.status.is_ok(), "{}", answer.status);
                            acknowledged.insert(number, Some(round));
                        }
                        // It may be there or not.
                        Err(_) => {
                            unanswered = Some(number);
                            break;
                        }
                    }
                }
                killer.join().expect("the killer");
                unanswered
            });
            if let Some(number) = writer {
                acknowledged.remove(&number);
            }
            nf.process.wait().expect("it ends");
        }
        let nf = Nf::start(kind, &store);
        assert_holds(&nf, kind, &acknowledged);
        assert!(nf.end());
    }
}

fn check(kind: Kind, store: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corewire"))
        .args(["nf", kind.name, "check"])
        .arg(store)
        .args(more)
        .output()
        .expect("the program starts")
}

#[test]
fn check_says_what_is_lost_and_the_rest_is_served() {
    for kind in [UDSF, UDM] {
        let folder = tempfile::tempdir().expect("a folder");
        let store = folder.path().join(kind.name);
        let nf = Nf::start(kind, &store);
        for number in 0..20 {
            nf.ask("PUT", &(kind.path)(number), (kind.body)(1));
        }
        let beside = check(kind, &store, &[]);
        assert!(beside.status.success(), "{beside:?}");
        let second = Command::new(env!("CARGO_BIN_EXE_corewire"))
            .args(["nf", kind.name, "--store"])
            .arg(&store)
            .output()
            .expect("the program starts");
        assert!(!second.status.success());
        assert!(String::from_utf8_lossy(&second.stderr).contains("another process"));
        assert!(nf.end());
        let whole = check(kind, &store, &[]);
        assert!(whole.status.success(), "{whole:?}");
        let log = store.join(format!("{}.log", kind.name));
        let mut bytes = fs::read(&log).expect("a log");
        // In the middle: in the value of one of them.
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        bytes.truncate(bytes.len() - 3);
        fs::write(&log, &bytes).expect("room");
        let damaged = check(kind, &store, &["--json"]);
        assert_eq!(damaged.status.code(), Some(1), "{damaged:?}");
        let report: serde_json::Value = serde_json::from_slice(&damaged.stdout).expect("JSON");
        assert_eq!(report["whole"], false, "{report}");
        assert_eq!(
            (&report["changesLost"], &report["damagedPlaces"]),
            (&1.into(), &1.into())
        );
        assert!(report["tornOctets"].as_u64().expect("a number") > 0);
        assert_eq!(
            fs::read(&log).expect("a log"),
            bytes,
            "check changes nothing"
        );
        let nf = Nf::start(kind, &store);
        let found = (0..20).filter(|number| {
            let (status, _) = nf.ask("GET", &(kind.path)(*number), String::new());
            status == 200
        });
        assert_eq!(found.count(), 18, "one is rotten, one torn");
        let told = read(&nf.log);
        assert!(told.contains("damaged in 1 place"), "{told}");
        assert!(told.contains("kept-1.log"), "{told}");
        assert!(nf.end());
        let kept = store.join(format!("{}.kept-1.log", kind.name));
        assert_eq!(fs::read(kept).expect("a copy"), bytes);
        assert!(check(kind, &store, &[]).status.success());
        let strict = Command::new(env!("CARGO_BIN_EXE_corewire"))
            .args(["nf", kind.name, "check", "/nonexistent"])
            .output()
            .expect("the program starts");
        assert_eq!(strict.status.code(), Some(1));
    }
}

#[test]
fn folders_and_files_of_stores_are_their_owners() {
    let folder = tempfile::tempdir().expect("a folder");
    for kind in [UDSF, UDM] {
        let store = folder.path().join(kind.name);
        let nf = Nf::start(kind, &store);
        nf.ask("PUT", &(kind.path)(1), (kind.body)(1));
        let mode = |path: &Path| fs::metadata(path).expect("there").mode() & 0o777;
        assert_eq!(mode(&store), 0o700);
        for entry in fs::read_dir(&store).expect("a folder") {
            let path = entry.expect("an entry").path();
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
    }
}
