//! A core of processes for a test, and simulated UEs that come to it.

#![allow(dead_code, reason = "each test uses a part of it")]

use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// How long something that should happen soon may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Cores of this process.
static CORES: AtomicU8 = AtomicU8::new(0);

/// A core that ends with the test.
pub(crate) struct Core {
    folder: tempfile::TempDir,
    /// Where its AMF listens for gNBs.
    pub(crate) n2: String,
}

/// UEs on their way.
pub(crate) struct Attach(Option<Child>);

impl Core {
    pub(crate) fn up(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // An address of its own: a port that was free a moment ago may be another test's client's
        // when an AMF listens there again.
        let [_, _, high, low] = std::process::id().to_be_bytes();
        let number = CORES.fetch_add(1, Ordering::Relaxed) + 1;
        let n2 = format!("127.{}.{low}.{number}:38412", high % 200 + 1);
        let core = Self { folder, n2 };
        let mut all = vec!["up", "--json", "--n2-listen", &core.n2];
        all.extend(options);
        let output = core.core(&all);
        assert!(output.status.success(), "{}", words(&output));
        core
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// A file beside the core's folder, which goes with it.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn subscribers(&self) -> PathBuf {
        self.state().join("subscribers.toml")
    }

    pub(crate) fn core(&self, arguments: &[&str]) -> Output {
        corewire(["core"].iter().chain(arguments).copied(), &self.state())
    }

    /// UEs begin to come.
    pub(crate) fn start_attach(&self, options: &[&str]) -> Attach {
        self.start_attach_of(&self.subscribers(), options)
    }

    /// Those of another file.
    pub(crate) fn attach_of(&self, subscribers: &Path, options: &[&str]) -> Value {
        self.start_attach_of(subscribers, options).result()
    }

    fn start_attach_of(&self, subscribers: &Path, options: &[&str]) -> Attach {
        let child = Command::new(env!("CARGO_BIN_EXE_corewire"))
            .args(["ran", "attach", "--json", "--n2", "tcp", "--amf", &self.n2])
            .arg("--subscribers")
            .arg(subscribers)
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        Attach(Some(child))
    }

    /// UEs come; what the program says at its end.
    pub(crate) fn attach(&self, options: &[&str]) -> Value {
        self.start_attach(options).result()
    }

    /// The n-th subscriber comes, with a session, and goes.
    pub(crate) fn attach_one(&self, number: u64) -> Value {
        let first = number.to_string();
        self.attach(&["--ues", "1", "--first", &first, "--detach"])
    }

    /// The same of one who soon gives up.
    pub(crate) fn try_one(&self, number: u64) -> Value {
        let first = number.to_string();
        let one = ["--ues", "1", "--first", &first, "--detach"];
        self.attach(&[&one[..], &["--patience", "3"]].concat())
    }

    /// What every NF says of itself.
    pub(crate) fn status(&self, nf: &str) -> Value {
        let output = self.core(&["status", "--json"]);
        let status: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let nfs = status["nfs"].as_array().expect("a list");
        let found = nfs.iter().find(|one| one["name"] == nf).expect("it is one");
        found.clone()
    }

    /// What an NF counts; zero of one that does not run.
    pub(crate) fn number(&self, nf: &str, name: &str) -> u64 {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let status = self.status(nf);
            // One that runs and has not answered was asked at a bad moment.
            if status["numbers"].is_object() || status["alive"] == false {
                return status["numbers"][name].as_u64().unwrap_or_default();
            }
            assert!(Instant::now() < give_up, "{status}\n{}", self.logs());
        }
    }

    /// Asserts that an NF counts so many, once it has done what it was told.
    pub(crate) fn counts(&self, nf: &str, name: &str, wanted: u64) {
        self.until(PATIENCE, &format!("{wanted} {name} at the {nf}"), || {
            self.number(nf, name) == wanted
        });
    }

    /// Where an NF listens.
    pub(crate) fn address(&self, nf: &str) -> String {
        let status = self.status(nf);
        status["address"].as_str().expect("an address").to_owned()
    }

    /// Kills an NF as a fault would; when it returns, the NF is gone.
    pub(crate) fn kill(&self, nf: &str) {
        let pid = self.status(nf)["pid"].clone();
        let killed = Command::new("kill").args(["-9", &pid.to_string()]).status();
        assert!(killed.expect("kill runs").success());
        self.until(PATIENCE, "the end of what was killed", || {
            let now = self.status(nf);
            // Somebody else may have started it again.
            now["alive"] == false || now["pid"] != pid
        });
    }

    /// Waits until this is so.
    pub(crate) fn until(&self, patience: Duration, what: &str, is_so: impl Fn() -> bool) {
        let give_up = Instant::now() + patience;
        while !is_so() {
            assert!(
                Instant::now() < give_up,
                "not in time: {what}\n{}",
                self.logs()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What all NFs have written to their logs.
    pub(crate) fn logs(&self) -> String {
        let mut all = String::new();
        for entry in std::fs::read_dir(self.state()).expect("a folder").flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|ending| ending == "log") {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                all.push_str(&format!("{}:\n{text}", path.display()));
            }
        }
        all
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let output = self.core(&["down"]);
        if !std::thread::panicking() {
            assert!(output.status.success(), "{}", words(&output));
        }
    }
}

impl Attach {
    /// Waits until all UEs are where they were told to pause.
    pub(crate) fn wait_for_pause(&mut self) {
        let child = self.0.as_mut().expect("it was started");
        let output = child.stdout.as_mut().expect("it is read");
        let mut said = String::new();
        // By octets: what comes after the line is read at the end.
        while !said.ends_with("{\"event\":\"paused\"}\n") {
            let mut octet = [0];
            let read = output.read(&mut octet).expect("it can be read");
            assert!(read > 0, "it has ended: {said}");
            said.push(char::from(octet[0]));
        }
    }

    /// Lets UEs that have paused go on.
    pub(crate) fn go_on(&mut self) {
        let child = self.0.as_mut().expect("it was started");
        let input = child.stdin.as_mut().expect("it is written to");
        input.write_all(b"\n").expect("it reads");
    }

    /// What the program says at its end, without times.
    pub(crate) fn result(self) -> Value {
        let mut result = self.whole_result();
        // Times of each UE are not what most tests look at.
        if let Some(members) = result.as_object_mut() {
            members.retain(|name, _| !name.ends_with("_us"));
        }
        result
    }

    /// What the program says at its end.
    pub(crate) fn whole_result(mut self) -> Value {
        let child = self.0.take().expect("it was started");
        let output = child.wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&output.stdout);
        let last = text.lines().rfind(|line| line.contains("\"result\""));
        let last = last.unwrap_or_else(|| panic!("no result: {text}"));
        serde_json::from_str(last).expect("JSON")
    }
}

impl Drop for Attach {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ended = child.kill();
            let _reaped = child.wait();
        }
    }
}

/// The program, told something about the core in this folder.
pub(crate) fn corewire<'a>(arguments: impl IntoIterator<Item = &'a str>, state: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corewire"))
        .args(arguments)
        .arg("--state")
        .arg(state)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

/// What a program has complained of.
pub(crate) fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
