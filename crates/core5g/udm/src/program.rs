//! `corewire nf udm`.

use super::Udm;
use super::store::{Keeping, Store, is_usable};
use anyhow::Context;
use clap::Args;
use corewire_core5g_runtime::durable::{self, StoreArgs, StoreCommand, Watch};
use corewire_core5g_runtime::{self as runtime, NfOptions, Profile};
use corewire_core5g_subscribers::SubscriberFile;
use corewire_store::file_system::OsFileSystem;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// The UDM: subscribers, their authentication vectors, who serves them
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
  corewire nf udm --listen 127.0.0.1:7003 --subscribers subscribers.toml --store state/udm
  curl --http2-prior-knowledge http://127.0.0.1:7003/nudm-sdm/v2/imsi-001010000000001/am-data
  curl --http2-prior-knowledge -H 'content-type: application/json' \\
       http://127.0.0.1:7003/nudm-ueau/v1/imsi-001010000000001/security-information/generate-auth-data \\
       -d '{\"servingNetworkName\":\"5G:mnc001.mcc001.3gppnetwork.org\",\"ausfInstanceId\":\"me\"}'
  corewire nf udm check state/udm"
)]
pub struct UdmArgs {
    #[command(subcommand)]
    command: Option<StoreCommand>,
    #[command(flatten)]
    nf: NfOptions,
    /// The file of subscribers, TOML [default: a hundred thousand test subscribers]
    #[arg(long, value_name = "FILE")]
    subscribers: Option<PathBuf>,
    /// The folder for what must outlive the process [default: none]
    #[arg(long, value_name = "FOLDER")]
    store: Option<PathBuf>,
    #[command(flatten)]
    durability: StoreArgs,
}

impl UdmArgs {
    /// Runs it until it is told to end.
    ///
    /// # Errors
    /// When it cannot start.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        if let Some(command) = &self.command {
            return command.run("udm", is_usable);
        }
        let profile = Profile::new("UDM")
            .service("nudm-ueau", "v1", &["AUSF"])
            .service("nudm-uecm", "v1", &["AMF", "SMF"])
            .service("nudm-sdm", "v2", &["AMF", "SMF"])
            .under("corewire-subscribers", "corewire-subscribers");
        let (subscribers, folder, durability) = (self.subscribers, self.store, self.durability);
        runtime::serve(&self.nf, profile, |runtime| {
            let file = match &subscribers {
                Some(path) => SubscriberFile::read(path)?,
                None => SubscriberFile::parse(&SubscriberFile::example())?,
            };
            let keys = file.home_network_keys();
            let keeping = folder.as_deref().map(|folder| Keeping {
                file_system: Arc::new(OsFileSystem),
                folder,
                options: durability.options(),
                watch: Watch::of(runtime),
            });
            let store = Store::open(file, keeping).context("--store")?;
            durable::end_with(runtime, store.journal());
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
