//! Several loops, each on a thread of its own, that end together.

use super::{EventLoop, LoopHandle};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The loops of a server.
#[derive(Debug, Default)]
pub(crate) struct Loops {
    pub(crate) handles: Vec<LoopHandle>,
    threads: Vec<JoinHandle<()>>,
    group: Arc<Group>,
}

/// What the threads know of each other.
#[derive(Debug, Default)]
struct Group(Mutex<Members>);

#[derive(Debug, Default)]
struct Members {
    handles: Vec<LoopHandle>,
    /// What the first that failed ended with, until somebody asks.
    failure: Option<io::Error>,
    failed: bool,
}

impl Group {
    fn with<T>(&self, f: impl FnOnce(&mut Members) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, handle: &LoopHandle) {
        self.with(|members| {
            if members.failed {
                handle.stop();
            }
            members.handles.push(handle.clone());
        });
    }

    fn fail(&self, error: io::Error) {
        self.with(|members| {
            members.failed = true;
            members.failure.get_or_insert(error);
            members.handles.iter().for_each(LoopHandle::stop);
        });
    }
}

/// Notices that its thread panics.
struct Member(Arc<Group>);

impl Drop for Member {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(io::Error::other("an event loop panicked"));
        }
    }
}

impl Loops {
    /// Starts a thread that makes a loop and runs it. A loop's tasks never leave their thread, so it
    /// is made there.
    ///
    /// # Errors
    /// What `make` says, or that there is no thread.
    pub(crate) fn start(
        &mut self,
        name: String,
        make: impl FnOnce() -> io::Result<EventLoop> + Send + 'static,
        run: impl FnOnce(EventLoop) -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        let (ready, started) = std::sync::mpsc::sync_channel(1);
        let group = Arc::clone(&self.group);
        let thread = move || {
            let member = Member(group);
            let event_loop = match make() {
                Ok(event_loop) => event_loop,
                Err(error) => {
                    let _starter_gone = ready.send(Err(error));
                    return;
                }
            };
            let handle = event_loop.handle();
            member.0.add(&handle);
            let _starter_gone = ready.send(Ok(handle));
            if let Err(error) = run(event_loop) {
                member.0.fail(error);
            }
        };
        let thread = std::thread::Builder::new().name(name).spawn(thread)?;
        self.handles
            .push(started.recv().map_err(io::Error::other)??);
        self.threads.push(thread);
        Ok(())
    }

    /// Waits until all of them have ended.
    ///
    /// # Errors
    /// What the first that failed ended with.
    pub(crate) fn join(&mut self) -> io::Result<()> {
        for thread in self.threads.drain(..) {
            // That it panicked has been noted by itself.
            let _noted = thread.join();
        }
        self.handles.clear();
        let failure = self.group.with(|members| members.failure.take());
        failure.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(mut event_loop: EventLoop) -> io::Result<()> {
        event_loop.run()
    }

    #[test]
    fn one_that_fails_stops_the_others_and_its_error_is_told() {
        let mut loops = Loops::default();
        let fails = |_| Err(io::Error::other("the kernel refuses to wait"));
        loops.start("first".into(), EventLoop::new, run).unwrap();
        loops.start("second".into(), EventLoop::new, fails).unwrap();
        loops.start("third".into(), EventLoop::new, run).unwrap();
        let error = loops.join().unwrap_err();
        assert_eq!(error.to_string(), "the kernel refuses to wait");
        assert!(loops.join().is_ok(), "told once");
    }

    #[test]
    fn one_that_panics_stops_the_others() {
        let mut loops = Loops::default();
        loops.start("first".into(), EventLoop::new, run).unwrap();
        let panics = |_| panic!("a loop that panics");
        loops
            .start("second".into(), EventLoop::new, panics)
            .unwrap();
        let error = loops.join().unwrap_err();
        assert_eq!(error.to_string(), "an event loop panicked");
    }

    #[test]
    fn one_that_cannot_be_made_is_told_at_once() {
        let mut loops = Loops::default();
        let make = || Err(io::Error::other("no descriptors"));
        let error = loops.start("first".into(), make, run).unwrap_err();
        assert_eq!(error.to_string(), "no descriptors");
        loops.join().unwrap();
    }
}
