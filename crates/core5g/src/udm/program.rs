//! `corewire nf udm`.

use super::Udm;
use super::store::Store;
use crate::runtime::{self, NfOptions, Profile};
use crate::subscribers::SubscriberFile;
use anyhow::Context;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// The UDM: subscribers, their authentication vectors, who serves them
#[derive(Debug, Args)]
#[command(after_help = "\
  corewire nf udm --listen 127.0.0.1:7003 --subscribers subscribers.toml --store state/udm
  curl --http2-prior-knowledge http://127.0.0.1:7003/nudm-sdm/v2/imsi-001010000000001/am-data
  curl --http2-prior-knowledge -H 'content-type: application/json' \\
       http://127.0.0.1:7003/nudm-ueau/v1/imsi-001010000000001/security-information/generate-auth-data \\
       -d '{\"servingNetworkName\":\"5G:mnc001.mcc001.3gppnetwork.org\",\"ausfInstanceId\":\"me\"}'")]
pub struct UdmArgs {
    #[command(flatten)]
    nf: NfOptions,
    /// The file of subscribers, TOML [default: a hundred thousand test subscribers]
    #[arg(long, value_name = "FILE")]
    subscribers: Option<PathBuf>,
    /// The folder for what must outlive the process [default: none]
    #[arg(long, value_name = "FOLDER")]
    store: Option<PathBuf>,
}

impl UdmArgs {
    /// Runs it until it is told to end.
    ///
    /// # Errors
    /// When it cannot start.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let profile = Profile::new("UDM")
            .service("nudm-ueau", "v1", &["AUSF"])
            .service("nudm-uecm", "v1", &["AMF", "SMF"])
            .service("nudm-sdm", "v2", &["AMF", "SMF"])
            .under("corewire-subscribers", "corewire-subscribers");
        let (subscribers, folder) = (self.subscribers, self.store);
        runtime::serve(&self.nf, profile, |runtime| {
            let file = match &subscribers {
                Some(path) => SubscriberFile::read(path)?,
                None => SubscriberFile::parse(&SubscriberFile::example())?,
            };
            let keys = file.home_network_keys();
            let store = Store::open(file, folder.as_deref()).context("--store")?;
            runtime.gauge("subscribers").set(store.count());
            let udm = Udm {
                store,
                keys,
                api_root: runtime.api_root().to_owned(),
                runtime: Some(runtime.clone()),
            };
            Ok(udm.router())
        })
    }
}
