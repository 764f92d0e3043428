//! The options that every NF of the core has.

use super::advertised::Advertise;
use crate::tls::TlsArgs;
use anyhow::{Context as _, bail};
use clap::{ArgAction, Args, ValueEnum};
use corewire::mesh::config::Transport;
use corewire_transport::{LimitArgs, OverloadArgs};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A shorter secret could be guessed.
const LEAST_SECRET: usize = 16;

/// What every NF can be told.
#[derive(Clone, Debug, Args)]
pub struct NfOptions {
    /// Where to listen: HOST:PORT (port 0: any free one); repeat for more
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS")]
    pub(crate) listen: Vec<String>,
    /// The address by which others reach this process, an IPv4 or IPv6 address or an FQDN: it is
    /// registered at the NRF and stands in callback URIs [default: the first --listen; where that is
    /// 0.0.0.0 or [::], the address of this host on the way to the NRF]
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) advertise: Option<Advertise>,
    /// Event loops, one thread each
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = threads)]
    pub(crate) threads: usize,
    /// How other NFs are called: rest, grpc, native or shm. All of them are answered
    #[arg(long, default_value = "rest", value_name = "NAME", value_parser = transport)]
    pub(crate) transport: Transport,
    /// Its priority among the instances of its type (TS 29.510, 6.1.6.2.2): the lowest number is called
    /// first
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    pub(crate) priority: u16,
    /// Its share of the calls among instances of one priority
    #[arg(long, default_value_t = 100, value_name = "NUMBER")]
    pub(crate) capacity: u16,
    /// Register at this NRF, and find other NFs there
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) nrf: Option<String>,
    /// Where a service is, instead of asking the NRF: nudm-ueau=127.0.0.1:7101,127.0.0.1:7102
    #[arg(long, value_name = "SERVICE=ADDRESS[,ADDRESS...]")]
    pub(crate) peer: Vec<Peer>,
    /// This instance's id, a UUID [default: that of its certificate, else a random one]
    #[arg(long, value_name = "UUID")]
    pub(crate) instance: Option<String>,
    /// Which operations drive the procedures: those of 3GPP, or of the REST core of the evaluation
    #[arg(long, value_enum, default_value_t = Flow::ThreeGpp, value_name = "FLOW")]
    pub(crate) flow: Flow,
    /// Write begin and end of every call and of every message on N2 to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Ask callers for access tokens of the NRF, and show them to others (TS 33.501, 13.4.1). Without
    /// --nrf nobody gives any
    #[arg(long, default_value_t = true, action = ArgAction::Set, value_name = "true|false")]
    pub(crate) oauth2: bool,
    /// A file with the secret that lets network functions register at the NRF and have tokens; the
    /// NRF's own: what they must show [default: whoever reaches the NRF may]
    #[arg(long, value_name = "FILE")]
    pub(crate) client_secret: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) overload: OverloadArgs,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// Print JSON events for a program, and end with standard input
    #[arg(long)]
    pub(crate) json: bool,
    /// With --json: go on when standard input ends
    #[arg(long, requires = "json")]
    pub(crate) stay: bool,
}

impl NfOptions {
    /// Its certificates.
    pub const fn tls(&self) -> &TlsArgs {
        &self.tls
    }

    /// The secret of `--client-secret`.
    ///
    /// # Errors
    /// When the file cannot be read, or holds none.
    pub fn secret(&self) -> anyhow::Result<Option<String>> {
        let Some(path) = &self.client_secret else {
            return Ok(None);
        };
        secret_in(path).context("--client-secret").map(Some)
    }
}

/// The secret that a file holds.
///
/// # Errors
/// When it cannot be read, or holds none.
pub fn secret_in(path: &Path) -> anyhow::Result<String> {
    let place = || path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(place)?;
    let secret = text.trim();
    let is_token = secret.bytes().all(|octet| octet.is_ascii_alphanumeric());
    if secret.len() < LEAST_SECRET || !is_token {
        bail!(
            "{}: {LEAST_SECRET} or more letters and digits are needed",
            place()
        );
    }
    Ok(secret.to_owned())
}

/// Which operations drive the procedures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(clippy::exhaustive_enums, reason = "there are two")]
pub enum Flow {
    /// The services of TS 29.502, 29.503, 29.509 and 29.518.
    #[value(name = "3gpp")]
    ThreeGpp,
    /// The endpoints of the REST-based core of 2019, under `/source3/v1`.
    #[value(name = "source3")]
    Source3,
}

impl Flow {
    /// As it is written on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ThreeGpp => "3gpp",
            Self::Source3 => "source3",
        }
    }
}

/// A service and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) service: String,
    pub(crate) addresses: Vec<String>,
}

impl FromStr for Peer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (service, list) = text
            .split_once('=')
            .filter(|(service, list)| !service.is_empty() && !list.is_empty())
            .ok_or_else(|| format!("{text:?} is not SERVICE=ADDRESS[,ADDRESS...]"))?;
        let addresses: Vec<String> = list.split(',').map(|part| part.trim().to_owned()).collect();
        for address in &addresses {
            corewire::parse_address(address).map_err(|error| format!("in {text:?}: {error}"))?;
        }
        Ok(Self {
            service: service.to_owned(),
            addresses,
        })
    }
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=256) => Ok(threads),
        _ => Err("1 to 256 event loops".into()),
    }
}

fn transport(text: &str) -> Result<Transport, String> {
    text.parse()
        .map_err(|error: corewire::mesh::config::TransportFault| error.to_string())
}

/// A version 4 UUID.
///
/// # Errors
/// When the system gives no random octets.
pub fn random_instance() -> Result<String, getrandom::Error> {
    let mut octets = [0; 16];
    getrandom::fill(&mut octets)?;
    octets[6] = octets[6] & 0x0f | 0x40;
    octets[8] = octets[8] & 0x3f | 0x80;
    let hex: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    Ok([
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ]
    .join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_a_service_and_addresses() {
        let peer: Peer = "nudm-ueau=127.0.0.1:1, 127.0.0.1:2"
            .parse()
            .expect("a peer");
        assert_eq!(peer.service, "nudm-ueau");
        assert_eq!(peer.addresses, ["127.0.0.1:1", "127.0.0.1:2"]);
        for wrong in ["", "nudm-ueau", "=127.0.0.1:1", "a=", "a=nowhere"] {
            assert!(wrong.parse::<Peer>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn instances_are_version_4_uuids() {
        let instance = random_instance().expect("entropy");
        assert_eq!(instance.len(), 36);
        assert_eq!(&instance[14..15], "4");
        assert_ne!(instance, random_instance().expect("entropy"));
    }
}
