//! SMF as two microservices (TS 23.501, 6.2.2; TS 29.502): a gateway that others see as the SMF, and
//! replicas that each hold PDU sessions.
//!
//! ```text
//!   AMF ── nsmf-pdusession ──▶ gateway ── any replica for a new session ──▶ pdu_session
//!    ▲                            └────── the replica that holds it ──────▶     │  │
//!    └──────────────── namf-comm: N1N2MessageTransfer ──────────────────────────┘  └─▶ UPF, UDM, UDSF
//! ```
//!
//! A session's context is stored in the UDSF; when its replica is gone, another takes it over.

mod args;
mod gateway;
mod models;
mod pdu_session;
mod reference;

pub use args::SmfArgs;
pub(crate) use models::{
    N1N2MessageTransferReqData, N1N2MessageTransferRspData, N1N2MsgTxfrFailureNotification, PlmnId,
    Slice, SmContextCreateData, SmContextUpdateData, n1, n2,
};
pub(crate) use pdu_session::bit_rate;

/// The service of the replicas; the gateway alone calls it.
const REPLICA_SERVICE: &str = "corewire-pdu-session";
/// The service that AMFs call.
const SERVICE: &str = "nsmf-pdusession";
/// Its resources (TS 29.502, 6.1.3.1).
pub(crate) const SM_CONTEXTS: &str = "/nsmf-pdusession/v1/sm-contexts";
