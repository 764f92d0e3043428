//! `corewire nf amf`.

use super::context::gnbs::Gnbs;
use super::context::network::Network;
use super::context::releases::Releases;
use super::context::silence::{Patience, Silence};
use super::context::ue::{Amf, Gutis, Numbers};
use super::context::ues::Ues;
use super::driver;
use super::procedures::namf;
use anyhow::Context as _;
use clap::Args;
use corewire_core5g_nas::{Ciphering, Integrity, Snssai, Tac, can_be_said};
use corewire_core5g_runtime::due::Due;
use corewire_core5g_runtime::event_loops::Loops;
use corewire_core5g_runtime::{NfOptions, Profile, serve};
use corewire_guti::{Allocator, Guami, Plmn};
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// An AMF: UEs by N1, gNBs by N2
#[derive(Debug, Args)]
pub struct AmfArgs {
    #[command(flatten)]
    nf: NfOptions,
    /// What carries N2: sctp (the kernel's, or usrsctp), udp (SCTP in UDP), tcp (framing for tests)
    #[arg(long, default_value = "tcp", value_name = "NAME")]
    n2: String,
    /// Where gNBs connect to
    #[arg(long, default_value = "127.0.0.1:38412", value_name = "HOST:PORT")]
    n2_listen: String,
    /// Associations with gNBs at a time. One more takes the place of one that waits for NG Setup, of
    /// the host with most of these, or is ended at once; one that is not set up within 10 s is ended
    #[arg(long, default_value_t = 1024, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    gnbs: u32,
    /// Associations of one host that may wait for NG Setup at a time (an IPv6 host: of one /64); one
    /// more of it is ended at once
    #[arg(long, default_value_t = 128, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    gnbs_waiting: u32,
    /// The network, MCC-MNC
    #[arg(long, default_value = "001-01", value_name = "PLMN", value_parser = plmn)]
    plmn: Plmn,
    /// A tracking area that it serves; repeat for more
    #[arg(long, default_value = "1", value_name = "TAC", value_parser = tac)]
    tac: Vec<Tac>,
    /// AMF region, set and pointer: six hexadecimal digits (TS 23.003, 2.10.1)
    #[arg(long, default_value = "020040", value_name = "HEX", value_parser = amf_id)]
    amf_id: [u8; 3],
    /// A slice that it serves, SST or SST-SD in hexadecimal digits; repeat for more
    #[arg(long, default_value = "01", value_name = "SLICE", value_parser = slice)]
    slice: Vec<Snssai>,
    /// NAS ciphering, in the order of preference: nea0, nea1, nea2
    #[arg(long, value_delimiter = ',', default_value = "nea2,nea1,nea0", value_name = "NAMES", value_parser = ciphering)]
    ciphering: Vec<Ciphering>,
    /// NAS integrity, in the order of preference: nia1, nia2
    #[arg(long, value_delimiter = ',', default_value = "nia2,nia1", value_name = "NAMES", value_parser = integrity)]
    integrity: Vec<Integrity>,
    /// T3512, the seconds after which an idle UE registers periodically: a number that GPRS timer 3 can
    /// say (TS 24.008, 10.5.7.4a), which the standard's default of 54 minutes is not
    #[arg(long, default_value_t = 3600, value_name = "SECONDS", value_parser = t3512)]
    t3512: u64,
    /// Seconds that an idle UE may be silent beyond T3512 until it is called no more, and then until it is
    /// deregistered (TS 24.501, 5.3.7)
    #[arg(long, default_value_t = 240, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    grace: u64,
    /// Where GUTIs come from: a GUTI service (`corewire nf guti`) [default: an allocator of this
    /// process]
    #[arg(long, value_name = "HOST:PORT")]
    guti_service: Option<String>,
}

impl AmfArgs {
    /// Serves until it is told to end.
    ///
    /// # Errors
    /// When it cannot listen, to NFs or to gNBs.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let guami = Guami::from_amf_id(self.plmn, self.amf_id);
        let profile = Profile::new("AMF")
            .service("namf-comm", "v1", &["SMF", "UDM"])
            .consumes("nausf-auth")
            .consumes("nudm-uecm")
            .consumes("nudm-sdm")
            .consumes("nsmf-pdusession")
            .consumes("nudsf-dr")
            .field("amfInfo", amf_info(guami, &self.tac));
        let gutis = match self.guti_service {
            Some(address) => Gutis::Service(address),
            None => Gutis::Own(Box::new(
                Allocator::new(guami).context("the TMSI key could not be drawn")?,
            )),
        };
        serve(&self.nf, profile, |runtime| {
            let loops = Arc::new(Loops(runtime.clone()));
            let amf = Arc::new(Amf {
                own: driver::own(runtime),
                clock: Arc::clone(&loops) as _,
                peers: loops,
                start: driver::starter(runtime),
                network: Network {
                    name: "corewire-amf".to_owned(),
                    guami,
                    tacs: self.tac,
                    slices: self.slice,
                    ciphering: self.ciphering,
                    integrity: self.integrity,
                },
                gutis,
                ues: Ues::default(),
                silence: Silence::new(Patience {
                    t3512: Duration::from_secs(self.t3512),
                    grace: Duration::from_secs(self.grace),
                }),
                releases: Arc::new(Releases::new()),
                paged: Due::default(),
                gnbs: Gnbs::new(self.gnbs as usize, self.gnbs_waiting as usize),
                numbers: Numbers {
                    registered: runtime.gauge("registered"),
                    connected: runtime.gauge("connected"),
                    gnbs: runtime.gauge("gnbs"),
                },
            });
            driver::start_tasks(runtime, &amf);
            driver::listen(runtime, &amf, &self.n2, &self.n2_listen)?;
            Ok(namf::router(amf))
        })
    }
}

/// AmfInfo (TS 29.510, 6.1.6.2.11).
fn amf_info(guami: Guami, tacs: &[Tac]) -> serde_json::Value {
    let plmn = super::peers::nudm::plmn(guami.plmn());
    let tais: Vec<_> = tacs
        .iter()
        .map(|tac| json!({"plmnId": plmn, "tac": tac.to_string()}))
        .collect();
    json!({
        "amfSetId": format!("{:03x}", guami.set().value()),
        "amfRegionId": format!("{:02x}", guami.region().value()),
        "guamiList": [super::peers::nudm::guami(guami)],
        "taiList": tais,
    })
}

fn plmn(text: &str) -> Result<Plmn, String> {
    text.parse().map_err(|error| format!("{error}"))
}

fn tac(text: &str) -> Result<Tac, String> {
    let number = text.parse().ok().and_then(Tac::new);
    number.ok_or_else(|| "a tracking area code is a number of 24 bits".to_owned())
}

fn t3512(text: &str) -> Result<u64, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0);
    let seconds = seconds.ok_or("a number of seconds")?;
    if can_be_said(Duration::from_secs(seconds)) {
        Ok(seconds)
    } else {
        Err("up to 31 times 2 s, 30 s, 1 min, 10 min, 1 h, 10 h or 320 h".to_owned())
    }
}

fn slice(text: &str) -> Result<Snssai, String> {
    // One digit is a common way to write it.
    let padded = match text.split_once('-') {
        Some((sst, sd)) => format!("{sst:0>2}-{sd}"),
        None => format!("{text:0>2}"),
    };
    padded.parse().map_err(|error| format!("{error}"))
}

fn amf_id(text: &str) -> Result<[u8; 3], String> {
    let number = u32::from_str_radix(text, 16)
        .ok()
        .filter(|_| text.len() == 6);
    let [_, a, b, c] = number
        .ok_or_else(|| "an AMF id is six hexadecimal digits".to_owned())?
        .to_be_bytes();
    Ok([a, b, c])
}

fn ciphering(text: &str) -> Result<Ciphering, String> {
    match text {
        "nea0" => Ok(Ciphering::Nea0),
        "nea1" => Ok(Ciphering::Nea1),
        "nea2" => Ok(Ciphering::Nea2),
        _ => Err("nea0, nea1 or nea2".to_owned()),
    }
}

fn integrity(text: &str) -> Result<Integrity, String> {
    match text {
        "nia1" => Ok(Integrity::Nia1),
        "nia2" => Ok(Integrity::Nia2),
        _ => Err("nia1 or nia2 (NIA0 is for emergencies only)".to_owned()),
    }
}
