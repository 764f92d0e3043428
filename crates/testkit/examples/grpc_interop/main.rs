//! gRPC's interoperability tests, both ends: `grpc.testing.TestService` served and called by
//! Corewire, to be run against another implementation's (`scripts/suites` does, with grpc-go's).
//!
//! ```text
//! cargo run -p corewire-testkit --example grpc_interop -- serve 127.0.0.1:10000
//! cargo run -p corewire-testkit --example grpc_interop -- serve 127.0.0.1:10001 tls
//! cargo run -p corewire-testkit --example grpc_interop -- call grpc://127.0.0.1:10000 ping_pong
//! cargo run -p corewire-testkit --example grpc_interop -- call grpc://localhost:10001 all tls
//! ```
//!
//! The cases are described in gRPC's `doc/interop-test-descriptions.md`.

mod client;
mod messages;
mod service;
mod soak;

use corewire_testkit::certificates;
use corewire_transport::tls::{ClientTls, Files, ServerTls};
use corewire_transport::{ClientOptions, Endpoint, Server, ServerOptions, blocking, parse_address};
use std::error::Error;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve", address] => serve(address, false),
        ["serve", address, "tls"] => serve(address, true),
        ["call", endpoint, case] => call(endpoint, case, false),
        ["call", endpoint, case, "tls"] => call(endpoint, case, true),
        _ => {
            let short = client::CASES.iter().map(|(name, _)| *name);
            let long = soak::CASES.iter().map(|(name, _)| *name);
            let cases: Vec<_> = short.chain(long).collect();
            Err(format!(
                "usage: grpc_interop serve ADDRESS [tls] | grpc_interop call ENDPOINT CASE [tls]; \
                 cases: all, {}",
                cases.join(", ")
            )
            .into())
        }
    }
}

fn serve(address: &str, tls: bool) -> Result<(), Box<dyn Error>> {
    let mut options = ServerOptions::default();
    if tls {
        // Clients need no certificate: stock clients of the suite have none.
        let own = Files::new().with_identity(
            certificates::certificate("server"),
            certificates::key("server"),
        );
        options.tls = Some(ServerTls::new(own)?);
    }
    let mut server = Server::start(
        &[parse_address(address)?],
        Arc::new(service::TestService),
        options,
    )?;
    println!("interop: listening at {}", server.addresses()[0]);
    server.join()?;
    Ok(())
}

fn call(endpoint: &str, case: &str, tls: bool) -> Result<(), Box<dyn Error>> {
    let mut options = ClientOptions::default();
    if tls {
        let files = Files::new().with_authorities(certificates::certificate("authority"));
        options.tls = Some(ClientTls::new(files)?);
    }
    let endpoint: Endpoint = endpoint.parse()?;
    let connect = || {
        Ok(blocking::Client::connect(
            endpoint.clone(),
            options.clone(),
        )?)
    };
    let client = connect()?;
    let mut tried = 0;
    let mut report = |name: &str, outcome: Result<(), Box<dyn Error>>| {
        tried += 1;
        outcome.map_err(|why| format!("{name}: {why}"))?;
        println!("{name}: passed");
        Ok::<_, String>(())
    };
    let wanted = |name: &str| case == "all" || case == name;
    for (name, run) in client::CASES.iter().filter(|(name, _)| wanted(name)) {
        report(name, run(&client))?;
    }
    for (name, run) in soak::CASES.iter().filter(|(name, _)| wanted(name)) {
        report(name, run(&connect))?;
    }
    if tried == 0 {
        return Err(format!("there is no case {case:?}").into());
    }
    Ok(())
}
