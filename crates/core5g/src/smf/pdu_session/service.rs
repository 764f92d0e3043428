//! `corewire nf smf pdu-session`: the process, and what its procedures share.

use super::super::reference::SmContextRef;
use super::super::{REPLICA_SERVICE, SERVICE, SM_CONTEXTS};
use super::context::SmContext;
use super::pool::{DnnPool, Part, Pools};
use super::store::{self, Contexts};
use crate::nas::SessionOptions;
use crate::runtime::{Gauge, NfOptions, Profile, Runtime, Sbi, SbiFailure, SbiRequest, serve};
use crate::sbi::{Exchange, Problem, Reply, Router};
use crate::upf::UserPlane as _;
use anyhow::Context as _;
use clap::Args;
use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a new session waits for a replica that reads what is stored.
const RECOVERY_PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks at whether it has.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Between two questions to a store that does not answer.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// How long what could not be said to a peer is tried again.
const AWAY: Duration = Duration::from_secs(120);
/// Between two tries.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Options of a replica.
#[derive(Debug, Args)]
pub(in crate::smf) struct PduSessionArgs {
    #[command(flatten)]
    nf: NfOptions,
    /// A DNN and the addresses of its UEs; repeat for more
    #[arg(long, default_value = "internet=10.45.0.0/16", value_name = "DNN=POOL")]
    dnn: Vec<DnnPool>,
    /// A DNS server that UEs are told when they ask; repeat for more
    #[arg(long, value_name = "IPV4")]
    dns: Vec<Ipv4Addr>,
    /// The longest IPv4 packet of a session that UEs are told when they ask, bytes: that of the network
    /// less 100 for GTP-U (TS 23.060, 9.3)
    #[arg(long, default_value_t = 1400, value_name = "BYTES",
          value_parser = clap::value_parser!(u16).range(576..))]
    mtu: u16,
    /// Which share of the addresses is this replica's
    #[arg(long, default_value = "0/1", value_name = "NUMBER/OF")]
    part: Part,
}

impl PduSessionArgs {
    pub(in crate::smf) fn run(self) -> anyhow::Result<ExitCode> {
        let profile = Profile::new("SMF")
            .service(REPLICA_SERVICE, "v1", &["SMF", "UDM"])
            .under(SERVICE, REPLICA_SERVICE)
            .consumes("namf-comm")
            .consumes("nudm-sdm")
            .consumes("nudm-uecm")
            .consumes("nudsf-dr")
            .consumes(crate::upf::SERVICE);
        serve(&self.nf, profile, |runtime| {
            let options = SessionOptions {
                dns_servers: self.dns.clone(),
                link_mtu: Some(self.mtu),
            };
            let sessions = PduSessions::new(runtime, self.part, &self.dnn, options)?;
            let sessions = Arc::new(sessions);
            let recovery = Arc::clone(&sessions);
            runtime.spawn(0, async move { recovery.recover().await });
            Ok(Router::new(sessions)
                .post(SM_CONTEXTS, PduSessions::create)
                .post(
                    "/nsmf-pdusession/v1/sm-contexts/{smContextRef}/modify",
                    PduSessions::update,
                )
                .post(
                    "/nsmf-pdusession/v1/sm-contexts/{smContextRef}/release",
                    PduSessions::release,
                )
                .post(
                    "/nsmf-callback/v1/{smContextRef}/dereg-notify",
                    PduSessions::deregistered,
                ))
        })
    }
}

/// The sessions of a replica, and what its procedures need.
pub(super) struct PduSessions {
    pub(super) runtime: Runtime,
    pub(super) contexts: Contexts,
    pools: Mutex<Pools>,
    /// What UEs are told beside their address.
    pub(super) options: SessionOptions,
    maker: SocketAddr,
    next: AtomicU64,
    turn: AtomicUsize,
    recovered: AtomicBool,
    held: Gauge,
}

impl PduSessions {
    fn new(
        runtime: &Runtime,
        part: Part,
        dnns: &[DnnPool],
        options: SessionOptions,
    ) -> anyhow::Result<Self> {
        let maker = runtime.socket_address()?;
        let mut number = [0; 8];
        getrandom::fill(&mut number).context("no number for references could be drawn")?;
        Ok(Self {
            runtime: runtime.clone(),
            contexts: Contexts::default(),
            pools: Mutex::new(Pools::new(part, dnns)),
            options,
            maker,
            // A replica that starts again at this address gives other references.
            next: AtomicU64::new(u64::from_le_bytes(number)),
            turn: AtomicUsize::new(0),
            recovered: AtomicBool::new(false),
            held: runtime.gauge("sessions"),
        })
    }

    /// Reads what is stored, so that no address is given away twice, and lets the UPF forget what an
    /// earlier process of this address has begun and not stored.
    async fn recover(&self) {
        let sbi = self.runtime.sbi(0);
        // Before anything new is begun here: what is there is of an earlier process.
        let at_upf = sbi.sessions(&self.new_reference().prefix()).await;
        let stored = loop {
            match store::stored(&sbi).await {
                Ok(contexts) => break contexts,
                Err(_) if self.runtime.loops()[0].has_ended() => return,
                Err(_) => self.runtime.sleep(ASK_AGAIN).await,
            }
        };
        self.keep(&stored);
        self.recovered.store(true, Ordering::Release);
        let stored: HashSet<&str> = stored
            .iter()
            .map(|context| context.reference.as_str())
            .collect();
        let left = at_upf.unwrap_or_default().into_iter();
        for key in left.filter(|key| !stored.contains(key.reference())) {
            if let Err(failure) = sbi.release(&key).await {
                tracing::warn!(name: "upf-release-failed", "the UPF keeps a tunnel without a session: {failure}");
            }
        }
    }

    /// Keeps the addresses of stored sessions.
    fn keep(&self, stored: &[SmContext]) {
        let mut pools = self.pools();
        for context in stored {
            if let Ok(session) = context.reference.parse()
                && !self.contexts.has_ended(session)
            {
                pools.keep(&context.dnn, context.address, session);
            }
        }
    }

    /// Completes when addresses can be given away.
    pub(super) async fn until_recovered(&self) -> Result<(), Problem> {
        let until = Instant::now() + RECOVERY_PATIENCE;
        while !self.recovered.load(Ordering::Acquire) {
            if Instant::now() >= until {
                return Err(Problem::new(503, "NF_CONGESTION")
                    .detail("the store of contexts does not answer"));
            }
            self.runtime.sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }

    /// The context that a request is about, and its reference.
    pub(super) async fn context_of(
        &self,
        exchange: &Exchange,
        sbi: &Sbi,
    ) -> Result<(SmContextRef, SmContext), Problem> {
        let gone = || Problem::new(404, "CONTEXT_NOT_FOUND");
        let reference: SmContextRef = exchange.param("smContextRef").parse().map_err(|_| gone())?;
        let found = self
            .contexts
            .find(reference, sbi)
            .await
            .map_err(unavailable)?;
        let Some(context) = found else {
            // Ended by a replica that took it over; its address may be one of this one's.
            self.pools().give_back(reference);
            return Err(gone());
        };
        self.count();
        Ok((reference, context))
    }

    /// Ends a session: here, in the store, at the UPF and at the UDM. Does nothing where that is done
    /// or in progress.
    pub(super) async fn forget(
        self: &Arc<Self>,
        reference: SmContextRef,
        context: &SmContext,
        sbi: &Sbi,
    ) {
        if self.let_go(reference, context, sbi).await {
            super::establishment::deregister(sbi, context).await;
        }
    }

    /// The same without a word to the UDM. Says whether it had not been done before.
    async fn let_go(
        self: &Arc<Self>,
        reference: SmContextRef,
        context: &SmContext,
        sbi: &Sbi,
    ) -> bool {
        if !self.contexts.end(reference) {
            return false;
        }
        self.count();
        if let Err(failure) = sbi.release(&context.session_key()).await {
            tracing::warn!(name: "upf-release-failed", "{reference}: the UPF keeps its tunnel: {failure}");
            let key = context.session_key();
            self.until_done(sbi, move |sbi| {
                let key = key.clone();
                async move { sbi.release(&key).await }
            });
        }
        if let Err(failure) = self.contexts.remove_stored(reference, sbi).await {
            tracing::warn!(name: "store-remove-failed", "{reference}: stays in the store: {failure}");
            let task = Arc::clone(self);
            self.until_done(sbi, move |sbi| {
                let task = Arc::clone(&task);
                async move { task.contexts.remove_stored(reference, &sbi).await }
            });
        }
        let was_ours = self.pools().give_back(reference);
        if !was_ours && reference.maker() != self.maker {
            self.tell_maker(reference, sbi);
        }
        true
    }

    /// The address is one of the replica's that made the session: it learns, when it is there, that
    /// the session is gone.
    fn tell_maker(&self, reference: SmContextRef, sbi: &Sbi) {
        let root = self.runtime.root_at(reference.maker());
        self.until_done(sbi, move |sbi| {
            let request = SbiRequest::post(format!("{SM_CONTEXTS}/{reference}/release"));
            let root = root.clone();
            async move {
                match sbi.at(&root, request).await {
                    // 404: it knows already.
                    Err(failure) if failure.status().is_none() => Err(failure),
                    _ => Ok(()),
                }
            }
        });
    }

    /// Does again what was not done, until it is, or for as long as a peer may be away.
    fn until_done<F>(&self, sbi: &Sbi, again: impl Fn(Sbi) -> F + Send + 'static)
    where
        F: Future<Output = Result<(), SbiFailure>> + Send + 'static,
    {
        let (sbi, runtime) = (sbi.clone(), self.runtime.clone());
        self.runtime.spawn(self.turn(), async move {
            let until = Instant::now() + AWAY;
            while Instant::now() < until && !runtime.loops()[0].has_ended() {
                runtime.sleep(TRY_AGAIN).await;
                if again(sbi.clone()).await.is_ok() {
                    return;
                }
            }
        });
    }

    pub(super) fn new_reference(&self) -> SmContextRef {
        SmContextRef::new(self.maker, self.next.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn pools(&self) -> MutexGuard<'_, Pools> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The loops take turns: a handler does not know its own.
    pub(super) fn turn(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed) % self.runtime.loops().len()
    }

    pub(super) fn count(&self) {
        self.held.set(self.contexts.len() as u64);
    }

    /// Ends a session because the UE goes (TS 29.502, 5.2.2.4).
    async fn release(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let sbi = self.runtime.sbi(self.turn());
        let (reference, context) = self.context_of(&exchange, &sbi).await?;
        self.forget(reference, &context, &sbi).await;
        Ok(Reply::no_content())
    }

    /// The UDM has another registration of the session (TS 29.503, 5.3.2.3.2): the UE has begun it anew,
    /// and its AMF did not know of this one. It ends without a word to them or to the UDM.
    async fn deregistered(self: Arc<Self>, exchange: Exchange) -> Result<Reply, Problem> {
        let sbi = self.runtime.sbi(self.turn());
        let (reference, context) = self.context_of(&exchange, &sbi).await?;
        self.let_go(reference, &context, &sbi).await;
        Ok(Reply::no_content())
    }
}

/// An NF that this one needs did not answer.
pub(super) fn unavailable(failure: SbiFailure) -> Problem {
    Problem::new(504, "TARGET_NF_NOT_REACHABLE").detail(failure.to_string())
}
