//! Service interfaces (TS 29.500): resource router, models, problem documents, headers.
//!
//! ```text
//!   Request ──▶ Router ──▶ handler(NF, Exchange) ──▶ Reply | Problem ──▶ Response
//!               method + path template                    status, Location, JSON, ProblemDetails
//! ```
//!
//! A network function states its resources as a table of methods, path templates and `async fn`s.
//! What carries the messages is not known here: method, query and HTTP status are reserved headers
//! of the message (docs/http2.md), the same over every transport. Who asks is known by its certificate
//! ([`holder`]) and by its access token ([`token`]).
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]

#[cfg(any(test, feature = "testing"))]
pub mod asking;
mod date;
mod exchange;
#[doc(hidden)]
pub mod fuzzing;
pub mod header;
pub mod holder;
mod json;
pub mod media;
pub mod model;
mod multipart;
pub mod patch;
pub mod percent;
mod place;
mod problem;
mod query;
mod reply;
mod router;
pub mod token;

pub use corewire_transport::mapping::method::Method;
pub use date::{DateFault, HttpDate};
pub use exchange::{Exchange, is_loopback};
pub use multipart::{Multipart, MultipartFault, Part};
pub use problem::Problem;
pub use query::Query;
pub use reply::Reply;
pub use router::Router;
