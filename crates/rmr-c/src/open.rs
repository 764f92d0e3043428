//! What `rmr_init` does: a context as the environment says, and the thread that brings its routes.

use crate::carrier::nng;
use crate::context::{Context, NO_THREAD};
use crate::control;
use crate::log::{self, say};
use corewire_rmr::{Settings, Transport};
use corewire_wire::rmr::DATA_PORT;
use std::io;
use std::thread;

/// Opens a context at `port` with what the environment says.
///
/// # Errors
/// What the system says, or that the environment asks for what is not there.
pub(crate) fn open(port: Option<&str>, payload: i32, flags: i32) -> io::Result<&'static Context> {
    log::init();
    let (settings, faults) = Settings::from_env(|name| std::env::var(name).ok());
    for fault in faults {
        say!(Warning, "{fault}");
    }
    if settings.warnings && log::level() < log::Level::Warning as i32 {
        log::set_level(log::Level::Warning as i32);
    }
    if settings.transport == Transport::Nng {
        nng::load()?;
    }
    let port = port_of(port)?;
    let context = Context::listen(&settings, port, payload, flags)?;
    if flags & NO_THREAD != 0 {
        context.router().set_ready();
        return Ok(context);
    }
    let started = thread::Builder::new()
        .name("rmr-routes".to_owned())
        .spawn(move || control::run(context, &settings));
    if let Err(error) = started {
        context.close_now();
        return Err(error);
    }
    Ok(context)
}

/// "4560", ":4560" or "tcp:4560".
fn port_of(text: Option<&str>) -> io::Result<u16> {
    let Some(text) = text else {
        return Ok(DATA_PORT);
    };
    let port = text.split_once(':').map_or(text, |(_, port)| port);
    port.trim().parse().map_err(|_| {
        say!(
            Critical,
            "rmr_init: {text:?} is no port: \"4560\" or \"tcp:4560\" expected"
        );
        io::Error::from_raw_os_error(libc::EINVAL)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri runs no C, which writes the log")]
    fn a_port_is_written_in_three_ways() {
        assert_eq!(port_of(None).unwrap(), 4560);
        for text in ["38000", ":38000", "tcp:38000"] {
            assert_eq!(port_of(Some(text)).unwrap(), 38000);
        }
        for text in ["", "tcp:", "port", "70000"] {
            assert!(port_of(Some(text)).is_err(), "{text}");
        }
    }
}
