//! The JSON of the service interfaces: the members that this core reads or writes, by their names in
//! the OpenAPI files. Members that are not known are passed over (TS 29.501, 5.2.2.2).

pub(crate) mod ausf;
pub(crate) mod common;
pub(crate) mod nrf;
pub(crate) mod udm;
