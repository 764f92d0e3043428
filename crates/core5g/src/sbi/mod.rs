//! Service interfaces (TS 29.500): resource router, models, problem documents, headers.
//!
//! ```text
//!   Request ──▶ Router ──▶ handler(NF, Exchange) ──▶ Reply | Problem ──▶ Response
//!               method + path template                    status, Location, JSON, ProblemDetails
//! ```
//!
//! A network function states its resources as a table of methods, path templates and `async fn`s.
//! What carries the messages is not known here: method, query and HTTP status are reserved headers
//! of the message (docs/http2.md), the same over every transport.

#[cfg(test)]
pub(crate) mod asking;
mod date;
mod exchange;
#[doc(hidden)]
pub mod fuzzing;
pub mod header;
pub(crate) mod media;
pub(crate) mod model;
mod multipart;
pub(crate) mod patch;
pub(crate) mod percent;
mod place;
mod problem;
mod query;
mod reply;
mod router;

pub(crate) use corewire_transport::mapping::method::Method;
pub use date::{DateFault, HttpDate};
pub(crate) use exchange::Exchange;
pub(crate) use multipart::Multipart;
pub(crate) use problem::Problem;
pub(crate) use query::Query;
pub(crate) use reply::Reply;
pub(crate) use router::Router;
