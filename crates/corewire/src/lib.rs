//! Corewire: messages between network functions, whatever carries them.
//!
//! This is the crate to depend on. It has no code of its own: it gathers what network functions
//! use from the rooms below.
//!
//! ```
//! use corewire::{Body, CallContext, ClientOptions, Operation, Request, Response, Server,
//!     ServerOptions, Service, blocking};
//! use std::sync::Arc;
//!
//! const ECHO: Operation = Operation::from_static("example.v1.Echo/Say");
//!
//! struct Echo;
//!
//! impl Service for Echo {
//!     async fn call(&self, _context: &CallContext, request: Request) -> Response {
//!         Response::ok(request.body)
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let anywhere = [corewire::parse_address("127.0.0.1:0")?];
//! let server = Server::start(&anywhere, Arc::new(Echo), ServerOptions::default())?;
//!
//! let endpoint = format!("native://{}", server.addresses()[0]).parse()?;
//! let client = blocking::Channel::new(blocking::Client::new(endpoint, ClientOptions::default()));
//! let response = blocking::Caller::call(&client, Request::new(ECHO).with_body(Body::from_static(b"hi")))?;
//! assert_eq!(&response.body.into_bytes()[..], b"hi");
//! # Ok(())
//! # }
//! ```
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]

pub use corewire_message::{
    Body, Bytes, CallContext, CallError, CallKind, CallStream, Caller, Channel, Code, ErrorKind,
    Event, Headers, Inbound, Operation, Origin, Outbound, Peer, Priority, Request, Response,
    Service, Status,
};

/// Code of the program's own around every call, at either end.
pub use corewire_message::{
    Intercepted, InterceptedService, Interceptor, Next, ServiceInterceptor,
};

pub use corewire_transport::{
    Address, Client, ClientOptions, Endpoint, EndpointFault, EventLoop, LoopHandle, OnFault,
    Protocol, Resolver, Server, ServerCounters, ServerOptions, parse_address,
};

#[cfg(feature = "clap")]
pub use corewire_transport::{LimitArgs, OverloadArgs};

/// Whether a server wants calls: gRPC's health service, over every protocol.
pub use corewire_message::health;

/// Calls beyond what a service can do: the least urgent are refused first.
pub use corewire_transport::overload;

/// TLS and mutual TLS: settings of both ends, certificates in files.
pub mod tls {
    pub use corewire_transport::tls::{ClientCertificates, ClientTls, Files, ServerTls, TlsFault};
}

/// The same for threads that wait.
pub mod blocking {
    pub use corewire_message::blocking::{CallStream, Caller, Channel, Intercepted};
    pub use corewire_transport::blocking::Client;
}

/// The inline mesh: the same calls, with discovery, balancing and protection in front of them.
pub mod mesh {
    pub use corewire_mesh::*;
}
