//! An SMF-PDU-Session replica: answers SM-Context-Create, and says how long the request was on its
//! way. With `--next` it is a link of a chain instead: it asks the next one first.

use crate::clock::now_ns;
use crate::inline;
use crate::report;
use crate::sm_context::{CREATE, NAME, ONE_WAY, SENT, created_data, read_sent};
use crate::target::{RoundRobin, Target, transport};
use crate::tls::TlsArgs;
use anyhow::Context as _;
use clap::Args;
use corewire::{
    Body, Bytes, CallContext, Caller, Channel, ClientOptions, Code, Headers, LimitArgs, Operation,
    Request, Response, Server, Service, Status, parse_address,
};
use corewire_observe::outln;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Run SMF-PDU-Session replicas
#[derive(Debug, Args)]
pub struct PduSessionArgs {
    /// Where to listen: HOST:PORT (port 0: any free one); repeat for more. All ports are served by
    /// one thread
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS")]
    listen: Vec<String>,
    /// Listen at so many free ports instead
    #[arg(long, value_name = "N", conflicts_with = "listen",
          value_parser = clap::value_parser!(u16).range(1..=4096))]
    ports: Option<u16>,
    /// Ask the next one in a chain before answering: ADDRESS[,ADDRESS...] or xds:///SERVICE
    #[arg(long, value_name = "TARGET")]
    next: Option<Target>,
    /// How the next one is spoken to: rest, grpc, native or shm [default: that of COREWIRE_TRANSPORT,
    /// else rest]
    #[arg(long, value_name = "NAME")]
    transport: Option<String>,
    /// A name to answer with, in the header x-served-by
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    tls: TlsArgs,
    /// The next one is a sidecar on this machine: no TLS to it
    #[arg(long)]
    next_in_clear_text: bool,
    /// Print JSON events for a program, and end with standard input
    #[arg(long)]
    json: bool,
}

impl PduSessionArgs {
    /// Serves until it is told to end.
    ///
    /// # Errors
    /// When it cannot listen, or the next one in its chain cannot be named.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let json = self.json;
        report::told(json, "smf-pdu-session", self.serve())
    }

    fn serve(self) -> anyhow::Result<ExitCode> {
        let listen = match self.ports {
            Some(ports) => vec!["127.0.0.1:0".to_owned(); usize::from(ports)],
            None => self.listen.clone(),
        };
        let addresses = listen
            .iter()
            .map(|text| parse_address(text))
            .collect::<Result<Vec<_>, _>>()?;
        let mut options = self.tls.server()?;
        // One of many replicas, or all of them on one core: more threads would only take turns.
        options.loops = 1;
        self.limits.apply(&mut options);
        // Registered before the server starts, so that no signal is missed.
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
        let service = Arc::new(PduSession::new(self.name.as_deref())?);
        let server = Server::start(&addresses, Arc::clone(&service), options)?;
        if let Some(target) = &self.next {
            let event_loop = server.loops().next().context("a server has a loop")?;
            let next = match target {
                Target::Addresses(addresses) => {
                    let protocol = transport(self.transport.as_deref())?;
                    let options = self.to_next()?;
                    Channel::new(RoundRobin::new(addresses, protocol, &options, event_loop)?)
                }
                Target::Fixed(addresses) => {
                    let protocol = self.transport.as_deref();
                    let options = self.to_next()?;
                    Channel::new(inline::fixed(addresses, protocol, options, event_loop)?)
                }
                Target::Service(name) => {
                    let protocol = self.transport.as_deref();
                    let options = self.to_next()?;
                    Channel::new(inline::named(name, protocol, options, event_loop)?)
                }
            };
            service.chain(next);
        }
        let names: Vec<String> = server.addresses().iter().map(ToString::to_string).collect();
        if self.json {
            report::ready(&names);
            report::end_with_stdin();
        } else {
            for name in names {
                // Standard output is for the person who started it; without one the NF serves on.
                let _ = outln!("smf-pdu-session: listening at {name}");
            }
        }
        signals.forever().next();
        server.drain(Duration::from_millis(100))?;
        Ok(ExitCode::SUCCESS)
    }
}

impl PduSessionArgs {
    /// Settings of connections to the next one.
    fn to_next(&self) -> anyhow::Result<ClientOptions> {
        if self.next_in_clear_text {
            return Ok(ClientOptions::default());
        }
        self.tls.client()
    }
}

/// The service of a replica.
#[derive(Debug)]
struct PduSession {
    answer: Bytes,
    /// What every answer says.
    headers: Headers,
    /// Set once, before the first request comes, in a chain only.
    next: OnceLock<Channel>,
}

impl PduSession {
    fn new(name: Option<&str>) -> anyhow::Result<Self> {
        let mut headers = Headers::new();
        headers.append("content-type", "application/json")?;
        if let Some(name) = name {
            headers.append(NAME, name)?;
        }
        Ok(Self {
            answer: created_data(),
            headers,
            next: OnceLock::new(),
        })
    }

    fn chain(&self, next: Channel) {
        // Only ever set once: what it was set to stays.
        let _ = self.next.set(next);
    }

    fn created(&self, one_way: Option<u64>, further: &[u8]) -> Response {
        let mut headers = self.headers.clone();
        let one_way = one_way.map(|ns| ns.to_string()).unwrap_or_default();
        let ways = match further {
            [] => one_way.into_bytes(),
            _ => [one_way.as_bytes(), b",", further].concat(),
        };
        // A name and a value as headers have them.
        let _ = headers.append(ONE_WAY, ways);
        Response::ok(Body::from(self.answer.clone())).with_headers(headers)
    }
}

impl Service for PduSession {
    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        let received = now_ns();
        if !is_create(&request.operation) {
            return Response::failed(Status::of(Code::Unimplemented));
        }
        let one_way =
            read_sent(request.headers.get(SENT)).map(|sent| received.saturating_sub(sent));
        let Some(next) = self.next.get() else {
            return self.created(one_way, b"");
        };
        match next.call(stamped(request)).await {
            Ok(response) => {
                let further = response.headers.get(ONE_WAY).unwrap_or_default();
                self.created(one_way, further)
            }
            Err(error) => Response::failed(error.to_status()),
        }
    }
}

fn is_create(operation: &Operation) -> bool {
    *operation == CREATE
}

/// The same request, sent now.
fn stamped(mut request: Request) -> Request {
    request.headers.remove(SENT);
    // A name and a value that any header can have.
    let _ = request.headers.append(SENT, now_ns().to_string());
    request
}

#[cfg(test)]
mod tests {
    use super::*;
    use corewire::blocking::{self, Caller as _};
    use corewire::mesh::config::Transport;
    use corewire::{Protocol, ServerOptions};

    fn replica(next: Option<&Server>) -> Server {
        let service = Arc::new(PduSession::new(None).unwrap());
        let mut options = ServerOptions::default();
        options.loops = 1;
        let anywhere = [parse_address("127.0.0.1:0").unwrap()];
        let server = Server::start(&anywhere, Arc::clone(&service), options).unwrap();
        if let Some(next) = next {
            let addresses = [next.addresses()[0].to_string()];
            let event_loop = server.loops().next().unwrap();
            let options = ClientOptions::default();
            let next =
                RoundRobin::new(&addresses, Transport::Native, &options, event_loop).unwrap();
            service.chain(Channel::new(next));
        }
        server
    }

    fn ask(server: &Server, protocol: Protocol) -> Response {
        let endpoint = format!("{protocol}://{}", server.addresses()[0]);
        let client = blocking::Client::new(endpoint.parse().unwrap(), ClientOptions::default());
        let request = Request::new(CREATE).with_body(crate::sm_context::create_data(1024));
        client.call(stamped(request)).unwrap()
    }

    #[test]
    fn every_protocol_is_answered_with_the_time_on_the_way() {
        let server = replica(None);
        for protocol in Protocol::ALL {
            let response = ask(&server, protocol);
            assert_eq!(response.body.len(), 256, "{protocol}");
            let mut ways = Vec::new();
            crate::sm_context::read_one_way(response.headers.get(ONE_WAY).unwrap(), &mut ways);
            assert_eq!(ways.len(), 1, "{protocol}");
            assert!(ways[0] > 0 && ways[0] < 10_000_000_000, "{ways:?}");
        }
    }

    #[test]
    fn a_chain_tells_each_hop() {
        let last = replica(None);
        let middle = replica(Some(&last));
        let first = replica(Some(&middle));
        let response = ask(&first, Protocol::Rest);
        let mut ways = Vec::new();
        crate::sm_context::read_one_way(response.headers.get(ONE_WAY).unwrap(), &mut ways);
        assert_eq!(ways.len(), 3, "{ways:?}");
    }

    #[test]
    fn a_chain_that_is_broken_says_so() {
        let last = replica(None);
        let first = replica(Some(&last));
        drop(last);
        let endpoint = format!("native://{}", first.addresses()[0])
            .parse()
            .unwrap();
        let client = blocking::Client::new(endpoint, ClientOptions::default());
        let error = client
            .call(stamped(Request::new(CREATE)))
            .expect_err("nobody is left");
        assert_eq!(error.code(), Code::Unavailable);
    }
}
