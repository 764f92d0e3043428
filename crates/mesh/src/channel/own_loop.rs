//! The event loop that a mesh runs itself when it is given none.

use corewire_transport::{EventLoop, LoopHandle};
use std::io;
use std::thread::JoinHandle;

/// An event loop on a thread of its own. Dropping it stops the loop.
pub(crate) struct OwnLoop {
    handle: LoopHandle,
    thread: Option<JoinHandle<()>>,
}

impl OwnLoop {
    pub(crate) fn start() -> io::Result<Self> {
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let run = move || match EventLoop::new() {
            Ok(mut event_loop) => {
                // The starter may have gone.
                let _ = tell.send(Ok(event_loop.handle()));
                // Calls after its end fail with an error that says so.
                let _ = event_loop.run();
            }
            Err(error) => {
                let _ = tell.send(Err(error));
            }
        };
        let thread = std::thread::Builder::new()
            .name("corewire-mesh-loop".into())
            .spawn(run)?;
        let handle = told.recv().map_err(io::Error::other)??;
        Ok(Self {
            handle,
            thread: Some(thread),
        })
    }

    pub(crate) const fn handle(&self) -> &LoopHandle {
        &self.handle
    }
}

impl Drop for OwnLoop {
    fn drop(&mut self) {
        self.handle.stop();
        if let Some(thread) = self.thread.take()
            // The last channel may be dropped by a callback on this very loop.
            && thread.thread().id() != std::thread::current().id()
        {
            // It has said on its own output what it panicked with.
            let _ = thread.join();
        }
    }
}
