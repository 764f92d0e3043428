//! N2 (TS 38.412): takes gNBs, reads what they send, and ends associations that are not set up.
#![expect(
    clippy::disallowed_methods,
    reason = "a driver: associations have deadlines"
)]

use crate::context::ue::{Amf, Gnb};
use crate::ports;
use crate::procedures::n2;
use anyhow::{Context as _, bail};
use corewire_core5g_ngap::PPID;
use corewire_core5g_runtime::Runtime;
use corewire_core5g_runtime::trace::{Kind, Trace};
use corewire_transport::sctp::{Association, AssociationSender, Carrier, Driver, SendError};
use std::future::{Future, poll_fn};
use std::net::{IpAddr, Ipv4Addr};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

/// How long an association may be there without NG Setup, which is a gNB's first word (TS 38.413, 8.7.1.1).
const SETUP_PATIENCE: Duration = Duration::from_secs(10);

/// UDP ports of SCTP in UDP: this node's (RFC 6951), and that of gNBs, which may be on this host.
const UDP_PORTS: (u16, u16) = (9899, 9898);

/// An association whose messages are written down where hops are.
struct Traced {
    association: AssociationSender,
    trace: Option<Arc<Trace>>,
}

impl ports::Association for Traced {
    fn send(&self, stream: u16, name: &'static str, octets: &[u8]) {
        if let Some(trace) = &self.trace {
            trace.n2(Kind::N2Out, name);
        }
        match self.association.send(stream, PPID, octets) {
            // Its UEs are told that it is gone; nobody waits for this message.
            Ok(()) | Err(SendError::Ended) => {}
            Err(error) => {
                tracing::warn!(name: "n2-send-failed", "a gNB does not take a message: {error}")
            }
        }
    }

    fn streams(&self) -> u16 {
        self.association.streams()
    }

    fn abort(&self) {
        self.association.abort();
    }
}

/// Takes gNBs from now on; says where, and what carries their messages.
///
/// # Errors
/// When N2 cannot be listened at.
pub(crate) fn listen(
    runtime: &Runtime,
    amf: &Arc<Amf>,
    carrier: &str,
    address: &str,
) -> anyhow::Result<()> {
    let carrier = match carrier {
        "sctp" => Carrier::Raw,
        "udp" => Carrier::Udp {
            local: UDP_PORTS.0,
            remote: UDP_PORTS.1,
        },
        "tcp" => Carrier::Tcp,
        other => bail!("--n2 {other}: sctp, udp or tcp"),
    };
    let address = address
        .parse()
        .with_context(|| format!("--n2-listen {address}"))?;
    let driver = Driver::start(carrier).context("N2 cannot be carried")?;
    let mut acceptor = driver
        .listen(address)
        .with_context(|| format!("N2 cannot be listened at {address}"))?;
    tracing::info!(
        name: "n2-listening",
        "N2 at {}: {}",
        acceptor.address(),
        driver.description()
    );
    let (task, amf) = (runtime.clone(), Arc::clone(amf));
    runtime.spawn(0, async move {
        // The driver lives as long as there is somebody to accept for.
        let _driver = driver;
        while let Ok(association) = acceptor.accept().await {
            accept(&task, &amf, association);
        }
    });
    Ok(())
}

fn accept(runtime: &Runtime, amf: &Arc<Amf>, association: Association) {
    // A carrier knows the peer of an association that it accepts.
    let peer = association.sender().peer();
    let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip());
    let sender = Box::new(Traced {
        association: association.sender(),
        trace: runtime.trace().cloned(),
    });
    let Some(gnb) = amf.gnbs.accept(peer, sender) else {
        return;
    };
    amf.numbers.gnbs.up();
    let loops = runtime.loops().len() as u64;
    let event_loop = usize::try_from(gnb.number % loops).unwrap_or_default();
    let (task, amf) = (runtime.clone(), Arc::clone(amf));
    runtime.spawn(event_loop, async move {
        serve(&task, event_loop, &amf, &gnb, association).await;
    });
}

/// Reads what a gNB sends until its association ends, or until it is ended for want of NG Setup.
async fn serve(
    runtime: &Runtime,
    event_loop: usize,
    amf: &Arc<Amf>,
    gnb: &Arc<Gnb>,
    mut association: Association,
) {
    let event_loop = &runtime.loops()[event_loop];
    let mut patience = pin!(event_loop.sleep_until(Instant::now() + SETUP_PATIENCE));
    loop {
        let next = {
            let mut receive = pin!(association.receive());
            poll_fn(|cx| match receive.as_mut().poll(cx) {
                Poll::Pending if !gnb.is_set_up() => patience.as_mut().poll(cx).map(|()| None),
                received => received.map(Result::ok),
            })
            .await
        };
        let Some(message) = next else {
            break;
        };
        if message.ppid != PPID {
            // Nothing that an AMF reads (TS 38.412, 7).
            continue;
        }
        if let Some(trace) = runtime.trace() {
            trace.n2(Kind::N2In, "");
        }
        n2::handle(amf, gnb, message.stream, &message.bytes);
    }
    n2::ended(amf, gnb);
}
