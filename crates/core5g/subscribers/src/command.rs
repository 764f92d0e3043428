//! `corewire core subscriber`: adds, lists and removes subscribers of a running UDM.
#![expect(
    clippy::disallowed_methods,
    reason = "a program: a request gets its deadline"
)]

use super::entry::Entry;
use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use corewire::blocking::{Caller as _, Client};
use corewire::{Body, ClientOptions, Endpoint, Headers, Operation, Request};
use corewire_core5g_aka::Supi;
use corewire_observe::outln;
use serde::{Deserialize, Serialize};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Where a UDM takes subscribers; not a 3GPP interface.
pub const ADDED: &str = "/corewire-subscribers/v1/subscribers";
const PATIENCE: Duration = Duration::from_secs(3);

/// A subscriber as it is told to who lists them: without keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedSubscriber {
    /// The SUPI, or the first of them.
    pub supi: Supi,
    /// How many, counting up.
    pub count: u64,
    /// Their slices, as text.
    pub slices: Vec<String>,
}

/// Subscribers of a running core.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  corewire core subscriber add imsi-001019999999999 --k 465b5ce8b199b49faa5f0a2ee238a6bc \\
      --opc e8ed289deba952e4283b54e88e6183ca
  corewire core subscriber list
  corewire core subscriber list --udm 127.0.0.1:7003
  corewire core subscriber remove imsi-001019999999999

What is added is kept by the UDM (--store) and survives its restart.")]
pub struct SubscriberArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, Subcommand)]
enum What {
    /// Add a subscriber, or a range of them; one that is there is replaced
    Add(AddArgs),
    /// List the ranges of subscribers
    List(AtArgs),
    /// Remove what was added under this SUPI
    Remove(RemoveArgs),
}

#[derive(Clone, Debug, Args)]
struct AtArgs {
    /// Where the UDM listens [default: the one of `corewire core up`]
    #[arg(long, value_name = "HOST:PORT")]
    udm: Option<String>,
}

#[derive(Clone, Args)]
struct AddArgs {
    #[command(flatten)]
    at: AtArgs,
    /// The SUPI, or the first of them
    supi: String,
    /// How many, counting up
    #[arg(long, default_value_t = 1, value_name = "N")]
    count: u64,
    /// The key K, 32 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    k: String,
    /// The OPc
    #[arg(long, value_name = "HEX", required_unless_present = "op")]
    opc: Option<String>,
    /// The OP, in place of the OPc
    #[arg(long, value_name = "HEX", conflicts_with = "opc")]
    op: Option<String>,
    /// Names of data networks, the default first
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "internet"
    )]
    dnn: Vec<String>,
    /// The slice: SST or SST-SD
    #[arg(long, default_value = "1", value_name = "SLICE")]
    slice: String,
}

impl std::fmt::Debug for AddArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AddArgs({:?})", self.at)
    }
}

#[derive(Clone, Debug, Args)]
struct RemoveArgs {
    #[command(flatten)]
    at: AtArgs,
    /// The SUPI it was added under
    supi: String,
}

impl SubscriberArgs {
    /// Does it, and says what was done. `default` finds the UDM where none is named, `authorization`
    /// is what it is shown, `options` are those of the connection.
    ///
    /// # Errors
    /// What the UDM says, or that it is not there.
    pub fn run(
        &self,
        authorization: Option<&str>,
        options: &ClientOptions,
        default: impl FnOnce() -> anyhow::Result<String>,
    ) -> anyhow::Result<ExitCode> {
        let at = match &self.what {
            What::Add(args) => &args.at,
            What::List(at) => at,
            What::Remove(args) => &args.at,
        };
        let udm = &at.udm.clone().map_or_else(default, Ok)?;
        let ask = |method, path: &str, body| {
            let client = client(udm, options.clone())?;
            ask(&client, (method, path), authorization, body)
        };
        match &self.what {
            What::Add(args) => {
                let (sst, sd) = match args.slice.split_once('-') {
                    Some((sst, sd)) => (sst, Some(sd)),
                    None => (args.slice.as_str(), None),
                };
                let sst: u8 = sst.parse().context("--slice: SST is 0 to 255")?;
                let document = serde_json::json!({
                    "supi": args.supi, "count": args.count, "k": args.k, "opc": args.opc,
                    "op": args.op, "slices": [{"sst": sst, "sd": sd, "dnns": args.dnn}],
                });
                let entry: Entry = serde_json::from_value(document)?;
                entry.check().map_err(anyhow::Error::msg)?;
                ask(None, ADDED, serde_json::to_vec(&entry)?)?;
                outln!("added {} ({})", args.supi, args.count)?;
            }
            What::List(_) => {
                let body = ask(Some("GET"), ADDED, Vec::new())?;
                let all: Vec<AddedSubscriber> = serde_json::from_slice(&body)?;
                outln!("{:<24} {:>10}  slices", "first SUPI", "count")?;
                for one in all {
                    let slices = one.slices.join(" ");
                    outln!("{:<24} {:>10}  {slices}", one.supi.to_string(), one.count)?;
                }
            }
            What::Remove(args) => {
                let path = format!("{ADDED}/{}", args.supi);
                ask(Some("DELETE"), &path, Vec::new())?;
                outln!("removed {}", args.supi)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn client(udm: &str, options: ClientOptions) -> anyhow::Result<Client> {
    let endpoint: Endpoint = format!("rest://{udm}")
        .parse()
        .with_context(|| format!("--udm {udm}: HOST:PORT is needed"))?;
    Ok(Client::new(endpoint, options))
}

fn ask(
    channel: &Client,
    (method, path): (Option<&str>, &str),
    authorization: Option<&str>,
    body: Vec<u8>,
) -> anyhow::Result<Vec<u8>> {
    let mut headers = Headers::new();
    headers.append("content-type", "application/json")?;
    if let Some(method) = method {
        headers.append("corewire-method", method)?;
    }
    if let Some(authorization) = authorization {
        headers.append("authorization", authorization)?;
    }
    let request = Request::new(Operation::parse(path.trim_start_matches('/'))?)
        .with_headers(headers)
        .with_body(Body::from(body))
        .with_deadline(Instant::now() + PATIENCE);
    match channel.call(request) {
        Ok(answer) if answer.status.is_ok() => Ok(answer.body.into_bytes().to_vec()),
        Ok(answer) => bail!("the UDM says: {}", answer.status),
        Err(error) => match error.response() {
            Some(answer) => bail!("the UDM says: {}", answer.status),
            None => Err(error).context("the UDM does not answer"),
        },
    }
}
