//! What a network function sees: messages, and who carries them.
//!
//! A network function sends a [`Request`] through a [`Channel`] and gets a [`Response`], sends an
//! [`Event`] and gets nothing, or opens a [`CallStream`]. It answers by implementing [`Service`].
//! Below this crate everything can change (protocol, sockets, mesh, machine) without touching it.
//!
//! What is *not* here: I/O, threads, and the words of any one transport. Status codes share their
//! numbers with gRPC because that is the field's only common list; the mappings to each protocol
//! stand with the protocols.
//!
//! ```
//! use corewire_message::{Body, Code, Operation, Request, Response};
//! use std::time::{Duration, Instant};
//!
//! const ALLOCATE: Operation = Operation::from_static("guti.v1.GutiService/Allocate");
//!
//! let request = Request::new(ALLOCATE)
//!     .with_body(Body::from_static(b"payload"))
//!     .with_deadline(Instant::now() + Duration::from_millis(50));
//! assert_eq!(request.operation.method(), "Allocate");
//!
//! let response = Response::ok(request.body);
//! assert_eq!(response.status.code(), Code::Ok);
//! ```
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]

pub mod blocking;
mod body;
mod channel;
mod code;
mod error;
mod headers;
pub mod health;
mod interceptor;
mod operation;
mod priority;
mod request;
mod service;
mod status;
mod stream;

pub use body::{Body, INLINE_HEAD};
pub use bytes::Bytes;
pub use channel::{Caller, Channel, Intercepted};
pub use code::Code;
pub use error::{CallError, ErrorKind, Origin};
pub use headers::{HeaderFault, Headers, MAX_NAME_OCTETS, MAX_VALUE_OCTETS};
pub use interceptor::{Interceptor, Next};
pub use operation::{Operation, OperationFault};
pub use priority::{Priority, PriorityFault};
pub use request::{Event, Request, Response};
pub use service::{CallContext, CallKind, InterceptedService, Peer, Service, ServiceInterceptor};
pub use status::Status;
pub use stream::{CallStream, Inbound, Outbound, ReceiveMessages, SendMessages};
