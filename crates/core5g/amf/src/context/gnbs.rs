//! The gNBs of an AMF: which are connected, and which associations may be.

use super::admission::{Admission, Verdict};
use super::link::{COMMON_STREAM, Gnb};
use crate::ports::Association;
use corewire_core5g_nas::{STmsi, Tai};
use corewire_core5g_ngap::{NgapMessage, Paging};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The gNBs that are connected.
pub(crate) struct Gnbs<S> {
    connected: Mutex<BTreeMap<u64, Arc<Gnb<S>>>>,
    admission: Mutex<Admission>,
    next: AtomicU64,
}

impl<S> Gnbs<S> {
    /// Of `limit` associations at a time, set up or not, and `waiting` of one host that are not set up.
    pub(crate) fn new(limit: usize, waiting: usize) -> Self {
        Self {
            connected: Mutex::default(),
            admission: Mutex::new(Admission::new(limit, waiting)),
            next: AtomicU64::new(0),
        }
    }

    /// A new association of this peer becomes a gNB, unless there are as many as may be: then it is
    /// ended.
    pub(crate) fn accept(
        &self,
        peer: IpAddr,
        association: Box<dyn Association>,
    ) -> Option<Arc<Gnb<S>>> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let verdict = self.admission().admit(number, peer);
        let refused = match verdict {
            Verdict::Taken => None,
            Verdict::TakenFor(other) => {
                let other = self.lock().get(&other).cloned();
                if let Some(other) = other {
                    other.abort();
                }
                tracing::warn!(
                    name: "n2-association-replaced",
                    "an association that waits for NG Setup is ended: there are as many as may be (--gnbs)"
                );
                None
            }
            Verdict::Full => Some("--gnbs"),
            Verdict::HostWaits => Some("--gnbs-waiting"),
        };
        if let Some(limit) = refused {
            // Nothing that it may still say is waited for.
            association.abort();
            tracing::warn!(
                name: "n2-association-refused",
                "an association of {peer} is refused: there are as many as may be ({limit})"
            );
            return None;
        }
        let gnb = Arc::new(Gnb::new(number, association));
        self.lock().insert(number, Arc::clone(&gnb));
        Some(gnb)
    }

    /// NG Setup is done: the gNB serves these areas.
    pub(crate) fn set_up(&self, gnb: &Gnb<S>, tais: Vec<Tai>) {
        self.admission().set_up(gnb.number);
        gnb.serve(tais);
    }

    /// The association has ended.
    pub(crate) fn remove(&self, gnb: &Gnb<S>) {
        self.lock().remove(&gnb.number);
        self.admission().remove(gnb.number);
    }

    /// Calls a UE by every gNB that serves one of these areas.
    pub(crate) fn page(&self, s_tmsi: STmsi, tais: &[Tai]) {
        let message = NgapMessage::from(Paging {
            s_tmsi,
            tais: tais.to_vec(),
        });
        let gnbs: Vec<_> = self.lock().values().cloned().collect();
        for gnb in gnbs.iter().filter(|gnb| gnb.serves(tais)) {
            gnb.send(COMMON_STREAM, &message);
        }
    }

    fn admission(&self) -> MutexGuard<'_, Admission> {
        let admission = self.admission.lock();
        admission.unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Gnb<S>>>> {
        self.connected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
