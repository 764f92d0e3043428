//! The messages of xDS that Corewire reads and writes, as Rust values.
//!
//! Packages, names and field numbers are the official ones (`proto/`, made from Envoy's API), so
//! that any xDS server and client understand them; what Corewire has no use for is left out. A
//! message-typed field that is not looked into is kept as its octets: that it was *present* can
//! still be told, and a policy that cannot be honoured must be reported. Fields that are not even
//! named here are dropped by decoding.
//!
//! The Rust code in `src/generated` is made from `proto/` by `prost-build` and committed;
//! `tests/generated.rs` makes it again and compares. To change a message, edit its `.proto` and run
//!
//! ```text
//! COREWIRE_REGENERATE=1 cargo test -p corewire-xds --test generated
//! ```
//!
//! ```
//! use corewire_xds::envoy::config::cluster::v3::Cluster;
//! use corewire_xds::{Any, ResourceType};
//!
//! let cluster = Cluster { name: "smf".into(), ..Cluster::default() };
//! let any = Any::pack(&cluster);
//! assert_eq!(any.type_url, ResourceType::Cluster.type_url());
//! assert_eq!(any.unpack::<Cluster>().unwrap(), cluster);
//! ```
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]

mod any;
mod resource_type;

pub use any::{Any, UnpackFault};
pub use bytes::Bytes;
pub use prost::{DecodeError, Message, Name};
pub use prost_types::{Duration, ListValue, Struct, Timestamp, Value, value};
pub use resource_type::ResourceType;

#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::exhaustive_enums,
    clippy::use_self,
    clippy::missing_errors_doc,
    reason = "generated: the documentation of the fields is that of the xDS protocol"
)]
mod generated {
    include!("generated/mod.rs");
}

pub use generated::{envoy, google, udpa, xds};
