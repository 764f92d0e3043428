//! The protocol core of a connection that calls, whatever drives it.

use crate::endpoint::{Endpoint, Protocol};
use crate::tls::Secured;
use crate::{ClientOptions, http2};
use corewire_message::{CallError, Origin};
use corewire_wire::{Core, native};
use std::time::Instant;

/// The protocol core for the calling side of a connection to `endpoint`, behind TLS where the
/// options say so.
pub(crate) fn client_core(
    endpoint: &Endpoint,
    options: &ClientOptions,
    now: Instant,
) -> Result<Box<dyn Core + Send>, CallError> {
    let http2 = |flavour| {
        let config = options.http2.clone();
        Box::new(http2::Connection::client(
            config,
            flavour,
            endpoint.authority(),
            now,
        ))
    };
    let core: Box<dyn Core + Send> = match endpoint.protocol() {
        Protocol::Native => Box::new(native::Connection::client(options.native.clone(), now)),
        Protocol::Grpc => http2(http2::Flavour::Grpc),
        Protocol::Rest => http2(http2::Flavour::Rest),
    };
    let Some(tls) = &options.tls else {
        return Ok(core);
    };
    match tls.session(endpoint.protocol(), endpoint.authority(), now) {
        Ok(session) => Ok(Box::new(Secured::client(session, core))),
        Err(fault) => {
            let context = format!("{endpoint} cannot be spoken to with TLS");
            let error = CallError::not_sent(Origin::Local, context);
            Err(error.with_source(fault))
        }
    }
}
