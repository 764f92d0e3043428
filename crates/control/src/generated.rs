//! The messages of `proto/`, made by `prost-build` and committed (`tests/generated.rs`).

#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::exhaustive_enums,
    clippy::use_self,
    reason = "generated: the documentation of the fields is that of proto/registry.proto"
)]
pub mod registry {
    include!("generated/corewire.registry.v1.rs");
}

#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::exhaustive_enums,
    clippy::use_self,
    reason = "generated: the documentation of the fields is that of proto/control.proto"
)]
pub mod control {
    include!("generated/corewire.control.v1.rs");
}
