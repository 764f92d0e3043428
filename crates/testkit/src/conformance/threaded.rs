//! A caller that waits, as one that awaits: so that one suite serves both.

use super::gate::Gate;
use corewire_message::blocking;
use corewire_message::{
    Body, CallError, CallStream, Caller, Code, Event, Headers, Inbound, Outbound, ReceiveMessages,
    Request, Response, SendMessages,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

/// Makes each unary call on a thread of its own, and streams on the thread that polls them: their
/// futures wait inside `poll`. Dropping a call's future does not give the call up, since a thread
/// that waits cannot be told to stop.
#[derive(Clone, Debug)]
pub struct Threaded(pub blocking::Channel);

impl Caller for Threaded {
    async fn call(&self, request: Request) -> Result<Response, CallError> {
        let shared = Arc::new((Gate::default(), Mutex::new(None)));
        let (own, caller) = (Arc::clone(&shared), self.0.clone());
        std::thread::spawn(move || {
            let result = blocking::Caller::call(&caller, request);
            *own.1.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            own.0.open();
        });
        shared.0.passed().await;
        let mut result = shared.1.lock().unwrap_or_else(PoisonError::into_inner);
        result.take().expect("set before the gate was opened")
    }

    async fn send(&self, event: Event) -> Result<(), CallError> {
        blocking::Caller::send(&self.0, event)
    }

    async fn open(&self, request: Request) -> Result<CallStream, CallError> {
        let stream = blocking::Caller::open(&self.0, request)?;
        let stream = Shared(Arc::new(Mutex::new(Some(stream))));
        Ok(CallStream {
            outbound: Outbound::new(Sender(stream.clone())),
            inbound: Inbound::new(Receiver {
                stream,
                trailers: Headers::new(),
                over: false,
            }),
        })
    }
}

#[derive(Clone)]
struct Shared(Arc<Mutex<Option<blocking::CallStream>>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<blocking::CallStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Sender(Shared);

impl SendMessages for Sender {
    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        Poll::Ready(Ok(()))
    }

    fn send(&mut self, message: Body) -> Result<(), CallError> {
        match &mut *self.0.lock() {
            Some(stream) => stream.send(message),
            None => Err(given_up()),
        }
    }

    fn finish(&mut self) {
        if let Some(stream) = &mut *self.0.lock() {
            // When the call has ended, receiving tells how.
            let _ = stream.finish();
        }
    }

    fn cancel(&mut self, code: Code) {
        if let Some(stream) = self.0.lock().take() {
            stream.cancel(code);
        }
    }
}

struct Receiver {
    stream: Shared,
    trailers: Headers,
    over: bool,
}

impl ReceiveMessages for Receiver {
    fn poll_receive(&mut self, _cx: &mut Context<'_>) -> Poll<Result<Option<Body>, CallError>> {
        if self.over {
            return Poll::Ready(Ok(None));
        }
        let mut stream = self.stream.lock();
        let Some(open) = &mut *stream else {
            self.over = true;
            return Poll::Ready(Err(given_up()));
        };
        let received = open.receive();
        if !matches!(received, Ok(Some(_))) {
            self.over = true;
            self.trailers = open.trailers().clone();
        }
        Poll::Ready(received)
    }

    fn trailers(&self) -> &Headers {
        &self.trailers
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if !self.over
            && let Some(stream) = self.stream.lock().take()
        {
            stream.cancel(Code::Cancelled);
        }
    }
}

fn given_up() -> CallError {
    use corewire_message::Origin;
    CallError::cancelled(Origin::Local, "given up before")
}
