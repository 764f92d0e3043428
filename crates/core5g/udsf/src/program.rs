//! `corewire nf udsf`.

use super::embedded::Embedded;
use super::records::Udsf;
use super::redis::{Redis, is_address};
use super::store::Store;
use anyhow::Context;
use clap::Args;
use corewire_core5g_runtime::durable::{self, StoreArgs, StoreCommand, Watch};
use corewire_core5g_runtime::{self as runtime, NfOptions, Profile};
use corewire_store::file_system::OsFileSystem;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// The UDSF: keeps contexts of other network functions
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
  corewire nf udsf --listen 127.0.0.1:7005 --store state/udsf
  curl --http2-prior-knowledge -X PUT http://127.0.0.1:7005/nudsf-dr/v1/realm/amf/records/ue-1 \\
       -H 'content-type: application/json' -d '{\"state\":\"registered\"}'
  curl --http2-prior-knowledge http://127.0.0.1:7005/nudsf-dr/v1/realm/amf/records/ue-1
  corewire nf udsf check state/udsf"
)]
pub struct UdsfArgs {
    #[command(subcommand)]
    command: Option<StoreCommand>,
    #[command(flatten)]
    nf: NfOptions,
    /// Where records outlive the process: a folder, or redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]
    /// (rediss:// with TLS, redis-sentinel://HOST,HOST/MASTER, redis-cluster://HOST,HOST)
    /// [default: nowhere]
    #[arg(long, value_name = "FOLDER|URL")]
    store: Option<String>,
    /// A file with USER:PASSWORD (or :PASSWORD) of Redis, which other users of the machine would see in an
    /// address
    #[arg(long, value_name = "FILE", requires = "store")]
    store_login: Option<PathBuf>,
    /// Octets of records that are held in memory; more are refused
    #[arg(long, default_value_t = 2 << 30, value_name = "OCTETS")]
    max_octets: usize,
    #[command(flatten)]
    durability: StoreArgs,
}

impl UdsfArgs {
    /// Runs it until it is told to end.
    ///
    /// # Errors
    /// When it cannot start.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        if let Some(command) = &self.command {
            return command.run("udsf", |_, _| true);
        }
        let profile = Profile::new("UDSF").service("nudsf-dr", "v1", &["AMF", "SMF"]);
        let (store, max_octets, durability) = (self.store, self.max_octets, self.durability);
        let (login, tls) = (self.store_login, self.nf.tls().clone());
        runtime::serve(&self.nf, profile, |runtime| {
            let store = match &store {
                // Not with the address: there may be a password in it.
                Some(address) if is_address(address) => {
                    let redis = Redis::open(address, login.as_deref(), &tls);
                    Store::Redis(redis.context("--store: Redis")?)
                }
                Some(folder) => Store::Embedded(
                    Embedded::open(
                        Arc::new(OsFileSystem),
                        Path::new(folder),
                        max_octets,
                        durability.options(),
                        Watch::of(runtime),
                    )
                    .with_context(|| format!("--store {folder}"))?,
                ),
                None => Store::Embedded(Embedded::in_memory(max_octets)),
            };
            let records = runtime.gauge("records");
            if let Store::Embedded(embedded) = &store {
                records.set(embedded.len() as u64);
                durable::end_with(runtime, embedded.journal());
            }
            Ok(Udsf { store, records }.router())
        })
    }
}
