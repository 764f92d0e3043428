//! `corewire nf upf`.

use super::tunnels::Tunnels;
use super::user_plane::{Established, Modification, SERVICE};
use anyhow::Context as _;
use clap::Args;
use corewire_core5g_runtime::{Gauge, NfOptions, Profile, serve};
use corewire_core5g_sbi::{Exchange, Problem, Reply, Router};
use std::net::IpAddr;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A UPF: gives tunnels to sessions; there is no user plane yet
#[derive(Debug, Args)]
pub struct UpfArgs {
    #[command(flatten)]
    nf: NfOptions,
    /// Its address on N3, for gNBs to send to
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    n3: IpAddr,
}

impl UpfArgs {
    /// Serves until it is told to end.
    ///
    /// # Errors
    /// When it cannot listen.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let profile = Profile::new("UPF").service(SERVICE, "v1", &["SMF"]);
        serve(&self.nf, profile, |runtime| {
            let mut before = [0; 4];
            getrandom::fill(&mut before).context("no number for tunnels could be drawn")?;
            let upf = Arc::new(Upf {
                tunnels: Mutex::new(Tunnels::new(self.n3, u32::from_le_bytes(before))),
                sessions: runtime.gauge("sessions"),
                connected: runtime.gauge("connected"),
            });
            Ok(Router::new(upf)
                .get("/corewire-upf/v1/sessions", Upf::list)
                .put("/corewire-upf/v1/sessions/{session}", Upf::establish)
                .post("/corewire-upf/v1/sessions/{session}/modify", Upf::modify)
                .delete("/corewire-upf/v1/sessions/{session}", Upf::release))
        })
    }
}

#[derive(Debug)]
struct Upf {
    tunnels: Mutex<Tunnels>,
    sessions: Gauge,
    /// Sessions with a downlink tunnel.
    connected: Gauge,
}

impl Upf {
    async fn establish(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let wanted = if exchange.body().is_empty() {
            None
        } else {
            Some(exchange.json::<Established>()?.uplink.into())
        };
        let mut tunnels = self.tunnels();
        let session = tunnels
            .establish(exchange.param("session"), wanted.as_ref())
            .ok_or_else(|| Problem::new(503, "INSUFFICIENT_RESOURCES"))?;
        self.sessions.set(tunnels.len() as u64);
        Ok(Reply::ok(&Established {
            uplink: session.uplink.into(),
        }))
    }

    /// The names of sessions, for an SMF that looks what an earlier process has left.
    async fn list(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let query = exchange.query()?;
        let of = |name: &str| query.one(name).unwrap_or_default();
        let tunnels = self.tunnels();
        Ok(Reply::ok(&tunnels.names(of("prefix"), of("after"))))
    }

    async fn modify(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let modification: Modification = exchange.json()?;
        let downlink = modification.downlink.map(Into::into);
        let mut tunnels = self.tunnels();
        let was_there = tunnels.redirect(exchange.param("session"), downlink);
        self.connected.set(tunnels.connected() as u64);
        if was_there {
            Ok(Reply::no_content())
        } else {
            Err(Problem::new(404, "CONTEXT_NOT_FOUND"))
        }
    }

    async fn release(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let mut tunnels = self.tunnels();
        let was_there = tunnels.release(exchange.param("session"));
        self.sessions.set(tunnels.len() as u64);
        self.connected.set(tunnels.connected() as u64);
        if was_there {
            Ok(Reply::no_content())
        } else {
            Err(Problem::new(404, "CONTEXT_NOT_FOUND"))
        }
    }

    fn tunnels(&self) -> MutexGuard<'_, Tunnels> {
        self.tunnels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
