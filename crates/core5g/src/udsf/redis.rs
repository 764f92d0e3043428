//! Records in Redis (or Valkey): for more than one machine.
//!
//! One thread speaks to the server over one connection. Whatever is asked while it waits goes into
//! its next pipeline, so that the load of many callers is few round trips.

use super::resp::{Address, Connection, Reply};
use super::store::MAX_LISTED;
use crate::sbi::Problem;
use anyhow::Context as _;
use bytes::Bytes;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Questions that wait; more are refused.
const MAX_WAITING: usize = 65_536;
/// Questions of one pipeline.
const MAX_PIPELINE: usize = 1024;
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
enum Said {
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
struct Answer(Mutex<(Option<Said>, Option<Waker>)>);

impl Answer {
    fn tell(&self, said: Said) {
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
    /// When the server cannot be reached or refuses.
    pub(super) fn open(url: &str) -> anyhow::Result<Self> {
        let address = Address::parse(url).context("redis://[:PASSWORD@]HOST:PORT[/DATABASE]")?;
        let connection = Connection::open(&address, PATIENCE)?;
        let shared = Arc::new(Shared::default());
        let ours = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("udsf-redis".into())
            .spawn(move || speak(&address, Some(connection), &ours))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    async fn ask(&self, ask: Ask) -> Result<Said, Problem> {
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
            Said::Failed(why) => {
                Err(Problem::new(503, "NF_FAILOVER").detail(format!("Redis: {why}")))
            }
            said => Ok(said),
        }
    }

    pub(super) async fn put(&self, name: &str, value: Bytes) -> Result<bool, Problem> {
        let said = self.ask(Ask::Put(name.to_owned(), value)).await?;
        Ok(matches!(said, Said::Was(true)))
    }

    pub(super) async fn get(&self, name: &str) -> Result<Option<Bytes>, Problem> {
        match self.ask(Ask::Get(name.to_owned())).await? {
            Said::Value(value) => Ok(value),
            _ => Ok(None),
        }
    }

    pub(super) async fn remove(&self, name: &str) -> Result<bool, Problem> {
        let said = self.ask(Ask::Remove(name.to_owned())).await?;
        Ok(matches!(said, Said::Was(true)))
    }

    pub(super) async fn list(
        &self,
        prefix: &str,
        after: &str,
    ) -> Result<Vec<(String, Bytes)>, Problem> {
        let Said::List(mut all) = self.ask(Ask::List(prefix.to_owned())).await? else {
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

fn speak(address: &Address, mut connection: Option<Connection>, shared: &Shared) {
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
            connection = Connection::open(address, PATIENCE).ok();
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
        let again = Connection::open(address, PATIENCE);
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
        question.answer.tell(Said::Failed(why.to_owned()));
    }
}

/// Asks all of a group in one pipeline; listings, which take several steps, one by one.
fn answer_all(connection: &mut Connection, group: &[Question]) -> io::Result<()> {
    let mut keys = Vec::with_capacity(group.len());
    for question in group {
        keys.push(match &question.ask {
            Ask::Put(name, _) | Ask::Get(name) | Ask::Remove(name) => format!("{NAMESPACE}{name}"),
            Ask::List(prefix) => {
                let found = list(connection, prefix)?;
                question.answer.tell(Said::List(found));
                String::new()
            }
        });
    }
    let mut commands: Vec<Vec<&[u8]>> = Vec::with_capacity(group.len());
    let mut asked = Vec::with_capacity(group.len());
    for (question, key) in group.iter().zip(&keys) {
        commands.push(match &question.ask {
            // Tells what was there before, for 201 and 204.
            Ask::Put(_, value) => vec![b"SET", key.as_bytes(), value, b"GET"],
            Ask::Get(_) => vec![b"GET", key.as_bytes()],
            Ask::Remove(_) => vec![b"DEL", key.as_bytes()],
            Ask::List(_) => continue,
        });
        asked.push(question);
    }
    for (question, reply) in asked.into_iter().zip(connection.ask(&commands)?) {
        question.answer.tell(match (&question.ask, reply) {
            (_, Reply::Error(why)) => Said::Failed(why),
            (Ask::Put(..), Reply::Value(before)) => Said::Was(before.is_none()),
            (Ask::Remove(_), Reply::Number(count)) => Said::Was(count > 0),
            (Ask::Get(_), Reply::Value(value)) => Said::Value(value),
            _ => Said::Failed("an answer of another kind".to_owned()),
        });
    }
    Ok(())
}

fn list(connection: &mut Connection, prefix: &str) -> io::Result<Vec<(String, Bytes)>> {
    let mut pattern = String::new();
    for letter in NAMESPACE.chars().chain(prefix.chars()) {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\' | '^' | '-') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('*');
    let mut found = Vec::new();
    let mut cursor = Bytes::from_static(b"0");
    loop {
        let scan: Vec<&[u8]> = vec![
            b"SCAN",
            &cursor,
            b"MATCH",
            pattern.as_bytes(),
            b"COUNT",
            b"1000",
        ];
        let Some(Reply::List(parts)) = connection.ask(&[scan])?.pop() else {
            return Err(io::Error::other("SCAN was answered with another kind"));
        };
        let [Reply::Value(Some(next)), Reply::List(keys)] = &parts[..] else {
            return Err(io::Error::other("SCAN was answered with another kind"));
        };
        let keys: Vec<&Bytes> = keys
            .iter()
            .filter_map(|key| match key {
                Reply::Value(key) => key.as_ref(),
                _ => None,
            })
            .collect();
        let commands: Vec<Vec<&[u8]>> = keys.iter().map(|key| vec![&b"GET"[..], key]).collect();
        for (key, value) in keys.iter().zip(connection.ask(&commands)?) {
            let name = std::str::from_utf8(key).ok();
            let name = name.and_then(|name| name.strip_prefix(NAMESPACE));
            if let (Some(name), Reply::Value(Some(value))) = (name, value) {
                found.push((name.to_owned(), value));
            }
        }
        if &next[..] == b"0" {
            return Ok(found);
        }
        cursor = next.clone();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
