//! The JSON of the service interfaces: the members that this core reads or writes, by their names in
//! the OpenAPI files. Members that are not known are passed over (TS 29.501, 5.2.2.2).
#![expect(
    missing_docs,
    reason = "members have the names that the OpenAPI files explain"
)]

pub mod ausf;
pub mod common;
pub mod nrf;
pub mod smf;
pub mod udm;
