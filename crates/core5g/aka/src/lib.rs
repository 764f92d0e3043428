//! Authentication and key agreement: 5G-AKA with MILENAGE (TS 33.501 clause 6.1.3.2, TS 35.206), the
//! identities it is about, and the keys that come out of it.
//!
//! ```text
//!  UDM   Subscriber.vector ──▶ AuthVector: RAND, AUTN, XRES*, K_AUSF
//!  AUSF  HXRES*, K_SEAF                        │ RAND, AUTN
//!  AMF   compares HRES*     ◀── RES* ──  UE  Usim.answer: RES* and K_AUSF, or a refusal
//!        K_SEAF ─▶ K_AMF ─▶ NAS keys, K_gNB
//! ```
//!
//! Nothing here reads a clock or a socket; randomness is an argument, or [`Rand::random`]. The
//! algorithms are those of `oxirush-security`, which is named in this crate alone: the rest of the
//! core sees the types of this page. Keys are wiped when they are dropped, `{:?}` never shows one,
//! and whatever is compared is compared in constant time.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]

mod hierarchy;
mod home_network;
mod octets;
mod serving_network;
mod sqn;
mod subscriber;
mod suci;
mod supi;
mod usim;
mod values;

pub use hierarchy::{Abba, Kamf, Kausf, Kgnb, Kseaf};
pub use home_network::{HomeNetworkKey, HomeNetworkKeys, HomeNetworkPublicKey, InvalidKey};
pub use octets::ParseOctetsError;
pub use serving_network::{ParseServingNetworkError, ServingNetwork};
pub use sqn::{Sqn, SqnWindow};
pub use subscriber::{AuthVector, AutsMacFailure, Subscriber};
pub use suci::{Protection, RoutingIndicator, Suci, SuciError};
pub use supi::{ParseSupiError, Supi};
pub use usim::{Usim, UsimAnswer, UsimRefusal};
pub use values::{
    AuthManagementField, Autn, Auts, HxresStar, Op, Opc, Rand, ResStar, SubscriberKey, XresStar,
};
