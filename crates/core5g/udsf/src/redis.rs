//! Records in Redis (or Valkey): for more than one machine.
//!
//! One thread speaks to the server over one connection. Whatever is asked while it waits goes into
//! its next pipeline, so that the load of many callers is few round trips.
#![expect(
    clippy::disallowed_methods,
    reason = "a driver: waits for the server with a deadline"
)]

mod connection;
mod place;

use super::record::MAX_LISTED;
use anyhow::Context as _;
use bytes::Bytes;
use connection::Connection;
use corewire_core5g_runtime::tls::TlsArgs;
use corewire_core5g_sbi::Problem;
use place::Place;
use redis::{Cmd, RedisResult, Value};
use std::collections::VecDeque;
use std::fs;
use std::future::poll_fn;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// Questions that wait; more are refused.
const MAX_WAITING: usize = 65_536;
/// Questions of one pipeline.
const MAX_PIPELINE: usize = 1024;
/// Whether this text is an address of Redis, and not a folder.
pub(super) fn is_address(text: &str) -> bool {
    place::is_address(text)
}

/// How long the server may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a server that is away is left alone.
const RETRY: Duration = Duration::from_millis(200);
/// What stands in front of every name, so that others can use the same server.
const NAMESPACE: &str = "corewire:udsf:";

/// A server, and the thread that speaks to it.
pub(super) struct Redis {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    wake: Condvar,
}

#[derive(Default)]
struct Waiting {
    questions: VecDeque<Question>,
    closing: bool,
}

#[derive(Clone)]
enum Ask {
    Put(String, Bytes),
    Get(String),
    Remove(String),
    List(String),
}

/// What the server said.
#[derive(Clone, Debug)]
enum StoreAnswer {
    /// Whether something was (not) there.
    Was(bool),
    Value(Option<Bytes>),
    List(Vec<(String, Bytes)>),
    Failed(String),
}

struct Question {
    ask: Ask,
    answer: Arc<Answer>,
}

#[derive(Default)]
struct Answer(Mutex<(Option<StoreAnswer>, Option<Waker>)>);

impl Answer {
    fn tell(&self, said: StoreAnswer) {
        let mut place = lock(&self.0);
        place.0 = Some(said);
        let waker = place.1.take();
        drop(place);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Redis {
    /// Connects, so that a wrong address is found at once.
    ///
    /// # Errors
    /// When it is no address, the file with the login cannot be read, or the server cannot be reached or
    /// refuses.
    pub(super) fn open(address: &str, login: Option<&Path>, tls: &TlsArgs) -> anyhow::Result<Self> {
        let login = login.map(|path| {
            let text = fs::read_to_string(path).with_context(|| path.display().to_string());
            text.map(Zeroizing::new)
        });
        let login = login.transpose()?;
        let place = Place::parse(address, login.as_ref().map(|text| text.trim()), tls)?;
        let connection = place.connect(PATIENCE)?;
        let shared = Arc::new(Shared::default());
        let ours = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("udsf-redis".into())
            .spawn(move || speak(&place, Some(connection), &ours))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    async fn ask(&self, ask: Ask) -> Result<StoreAnswer, Problem> {
        let answer = Arc::new(Answer::default());
        {
            let mut waiting = lock(&self.shared.waiting);
            if waiting.questions.len() >= MAX_WAITING {
                return Err(Problem::new(503, "NF_CONGESTION").detail("too much waits for Redis"));
            }
            waiting.questions.push_back(Question {
                ask,
                answer: Arc::clone(&answer),
            });
        }
        self.shared.wake.notify_one();
        let said = poll_fn(|cx| {
            let mut place = lock(&answer.0);
            match place.0.take() {
                Some(said) => Poll::Ready(said),
                None => {
                    place.1 = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await;
        match said {
            StoreAnswer::Failed(why) => {
                Err(Problem::new(503, "NF_FAILOVER").detail(format!("Redis: {why}")))
            }
            said => Ok(said),
        }
    }

    pub(super) async fn put(&self, name: &str, value: Bytes) -> Result<bool, Problem> {
        let said = self.ask(Ask::Put(name.to_owned(), value)).await?;
        Ok(matches!(said, StoreAnswer::Was(true)))
    }

    pub(super) async fn get(&self, name: &str) -> Result<Option<Bytes>, Problem> {
        match self.ask(Ask::Get(name.to_owned())).await? {
            StoreAnswer::Value(value) => Ok(value),
            _ => Ok(None),
        }
    }

    pub(super) async fn remove(&self, name: &str) -> Result<bool, Problem> {
        let said = self.ask(Ask::Remove(name.to_owned())).await?;
        Ok(matches!(said, StoreAnswer::Was(true)))
    }

    pub(super) async fn list(
        &self,
        prefix: &str,
        after: &str,
    ) -> Result<Vec<(String, Bytes)>, Problem> {
        let StoreAnswer::List(mut all) = self.ask(Ask::List(prefix.to_owned())).await? else {
            return Ok(Vec::new());
        };
        all.retain(|(name, _)| name.as_str() > after);
        all.sort_by(|one, two| one.0.cmp(&two.0));
        all.truncate(MAX_LISTED);
        Ok(all)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        lock(&self.shared.waiting).closing = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

impl std::fmt::Debug for Redis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redis")
    }
}

fn speak(place: &Place, mut connection: Option<Connection>, shared: &Shared) {
    let mut failed: Option<Instant> = None;
    loop {
        let group: Vec<Question> = {
            let mut waiting = lock(&shared.waiting);
            while waiting.questions.is_empty() {
                if waiting.closing {
                    return;
                }
                waiting = shared
                    .wake
                    .wait(waiting)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            let many = waiting.questions.len().min(MAX_PIPELINE);
            waiting.questions.drain(..many).collect()
        };
        if connection.is_none() && failed.is_none_or(|when| when.elapsed() >= RETRY) {
            connection = place.connect(PATIENCE).ok();
            failed = connection.is_none().then(Instant::now);
        }
        let Some(open) = &mut connection else {
            fail(&group, "not connected");
            continue;
        };
        let Err(lost) = answer_all(open, &group) else {
            continue;
        };
        // A server that was started anew has closed what was open before. What was written and not
        // answered may have happened; all of it can be asked again.
        let again = place.connect(PATIENCE);
        match again.and_then(|mut open| answer_all(&mut open, &group).map(|()| open)) {
            Ok(open) => connection = Some(open),
            Err(_) => {
                connection = None;
                failed = Some(Instant::now());
                fail(&group, &lost.to_string());
            }
        }
    }
}

fn fail(group: &[Question], why: &str) {
    for question in group {
        question.answer.tell(StoreAnswer::Failed(why.to_owned()));
    }
}

/// Asks all of a group in one pipeline; listings, which take several steps, one by one.
fn answer_all(connection: &mut Connection, group: &[Question]) -> RedisResult<()> {
    let mut commands = Vec::with_capacity(group.len());
    let mut asked = Vec::with_capacity(group.len());
    for question in group {
        let mut command = Cmd::new();
        match &question.ask {
            // Tells what was there before, for 201 and 204.
            Ask::Put(name, value) => command.arg("SET").arg(key(name)).arg(&value[..]).arg("GET"),
            Ask::Get(name) => command.arg("GET").arg(key(name)),
            Ask::Remove(name) => command.arg("DEL").arg(key(name)),
            Ask::List(prefix) => {
                let found = list(connection, prefix)?;
                question.answer.tell(StoreAnswer::List(found));
                continue;
            }
        };
        commands.push(command);
        asked.push(question);
    }
    for (question, answer) in asked.into_iter().zip(connection.ask(commands)?) {
        question.answer.tell(match (&question.ask, answer) {
            (_, Err(why)) => StoreAnswer::Failed(why.to_string()),
            (Ask::Put(..), Ok(before)) => StoreAnswer::Was(before == Value::Nil),
            (Ask::Remove(_), Ok(Value::Int(count))) => StoreAnswer::Was(count > 0),
            (Ask::Get(_), Ok(Value::Nil)) => StoreAnswer::Value(None),
            (Ask::Get(_), Ok(Value::BulkString(value))) => StoreAnswer::Value(Some(value.into())),
            _ => StoreAnswer::Failed("an answer of another kind".to_owned()),
        });
    }
    Ok(())
}

fn key(name: &str) -> String {
    format!("{NAMESPACE}{name}")
}

fn list(connection: &mut Connection, prefix: &str) -> RedisResult<Vec<(String, Bytes)>> {
    let mut pattern = String::new();
    for letter in NAMESPACE.chars().chain(prefix.chars()) {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\' | '^' | '-') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('*');
    let mut keys = connection.keys(&pattern)?;
    keys.sort_unstable();
    keys.dedup();
    let mut found = Vec::with_capacity(keys.len());
    for keys in keys.chunks(MAX_PIPELINE) {
        let get = |key: &Vec<u8>| {
            let mut command = Cmd::new();
            command.arg("GET").arg(&key[..]);
            command
        };
        for (key, value) in keys
            .iter()
            .zip(connection.ask(keys.iter().map(get).collect())?)
        {
            let name = std::str::from_utf8(key).ok();
            let name = name.and_then(|name| name.strip_prefix(NAMESPACE));
            if let (Some(name), Value::BulkString(value)) = (name, value?) {
                found.push((name.to_owned(), value.into()));
            }
        }
    }
    Ok(found)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
