//! `corewire nf upf`.

use super::tunnels::Tunnels;
use super::user_plane::{Established, Modification, SERVICE};
use crate::runtime::{Gauge, NfOptions, Profile, serve};
use crate::sbi::{Exchange, Problem, Reply, Router};
use clap::Args;
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
        let profile = Profile::new("UPF").service(SERVICE, "v1");
        serve(&self.nf, profile, |runtime| {
            let upf = Arc::new(Upf {
                tunnels: Mutex::new(Tunnels::new(self.n3)),
                sessions: runtime.gauge("sessions"),
            });
            Ok(Router::new(upf)
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
}

impl Upf {
    async fn establish(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let mut tunnels = self.tunnels();
        let session = tunnels
            .establish(exchange.param("session"))
            .ok_or_else(|| Problem::new(503, "INSUFFICIENT_RESOURCES"))?;
        self.sessions.set(tunnels.len() as u64);
        Ok(Reply::ok(&Established {
            uplink: session.uplink.into(),
        }))
    }

    async fn modify(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let modification: Modification = exchange.json()?;
        let downlink = modification.downlink.map(Into::into);
        match self.tunnels().redirect(exchange.param("session"), downlink) {
            true => Ok(Reply::no_content()),
            false => Err(Problem::new(404, "CONTEXT_NOT_FOUND")),
        }
    }

    async fn release(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let mut tunnels = self.tunnels();
        let was_there = tunnels.release(exchange.param("session"));
        self.sessions.set(tunnels.len() as u64);
        match was_there {
            true => Ok(Reply::no_content()),
            false => Err(Problem::new(404, "CONTEXT_NOT_FOUND")),
        }
    }

    fn tunnels(&self) -> MutexGuard<'_, Tunnels> {
        self.tunnels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
