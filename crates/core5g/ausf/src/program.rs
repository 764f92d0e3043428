//! `corewire nf ausf`.

use super::authentications::Ausf;
use super::contexts::Contexts;
use super::home::Udm;
use clap::Args;
use corewire_core5g_runtime::{self as runtime, NfOptions, Profile};
use std::process::ExitCode;

/// The AUSF: authenticates UEs with the vectors of the UDM
#[derive(Debug, Args)]
#[command(after_help = "\
  corewire nf ausf --listen 127.0.0.1:7002 --nrf 127.0.0.1:7000
  corewire nf ausf --listen 127.0.0.1:7002 --peer nudm-ueau=127.0.0.1:7003
  curl --http2-prior-knowledge -H 'content-type: application/json' \\
       http://127.0.0.1:7002/nausf-auth/v1/ue-authentications \\
       -d '{\"supiOrSuci\":\"imsi-001010000000001\",\"servingNetworkName\":\"5G:mnc001.mcc001.3gppnetwork.org\"}'")]
pub struct AusfArgs {
    #[command(flatten)]
    nf: NfOptions,
}

impl AusfArgs {
    /// Runs it until it is told to end.
    ///
    /// # Errors
    /// When it cannot start.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let profile = Profile::new("AUSF")
            .service("nausf-auth", "v1", &["AMF"])
            .consumes("nudm-ueau");
        runtime::serve(&self.nf, profile, |runtime| {
            let ausf = Ausf {
                home: Udm::new(runtime.clone()),
                contexts: Contexts::default(),
                instance: runtime.instance().to_owned(),
                api_root: runtime.api_root().to_owned(),
            };
            Ok(ausf.router())
        })
    }
}
