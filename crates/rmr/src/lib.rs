//! Which message goes where: the router of RMR, the RAN Intelligent Controller's message router.
//!
//! A message has a type and, if it belongs to one, a subscription; a route table says which
//! endpoints such messages go to. Tables come from a file or from a route manager and are replaced
//! while messages flow. This crate reads them, keeps the live one where any thread can look into it
//! without a lock, and says what became of each. It has no socket, no clock and no thread: the C
//! library, `corewire-rmr-c`, drives it. The text's form is `corewire_wire::rmr`'s.
//!
//! ```text
//!   seed file, route manager ──> TableSource ──> Router ──> RouteTable ──> Targets
//!                                one thread      live table               one of each group
//! ```
//!
//! ```
//! use corewire_rmr::{Action, Identity, Router, Settings, TableLimits, TableSource};
//! use std::sync::Arc;
//!
//! # #[expect(clippy::disallowed_methods, reason = "an example's clock")]
//! # fn now() -> std::time::Instant { std::time::Instant::now() }
//! let environment = |name: &str| match name {
//!     "RMR_SEED_RT" => Some("routes.rt".to_owned()),
//!     "RMR_RTG_SVC" => Some("-1".to_owned()),
//!     _ => None,
//! };
//! let (settings, faults) = Settings::from_env(environment);
//! assert!(faults.is_empty());
//! let identity = Identity::of_host(settings.src_id.as_deref(), "xapp", 4560)?;
//! let router = Arc::new(Router::new(identity, TableLimits::default()));
//! let mut source = TableSource::new(&settings, Arc::clone(&router), now());
//! while let Some(action) = source.poll() {
//!     if let Action::ReadSeed { .. } = action {
//!         let text = "newrt | start\n mse | 12010 | -1 | a:4560,b:4560; monitor:4560\n newrt | end\n";
//!         source.handle_seed(now(), Ok(text.as_bytes()));
//!     }
//! }
//! assert!(router.is_ready());
//! let table = router.table();
//! let names: Vec<_> = table
//!     .targets(12010, 7, b"")?
//!     .map(|endpoint| router.endpoints().get(endpoint).name())
//!     .collect();
//! assert_eq!(names, ["a:4560", "monitor:4560"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests begin at the time of the clock"
    )
)]
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod alarm;
mod counters;
mod endpoints;
mod identity;
mod loader;
mod map;
mod report;
mod router;
mod settings;
mod slots;
mod source;
mod table;

pub use alarm::{ALARM, Alarm, DropAlarm, QUIET};
pub use counters::{
    ArrivalCounters, Counter, DropKind, EndpointCounters, LossKind, RouterCounters,
};
pub use endpoints::{Endpoint, EndpointId, Endpoints, TooManyEndpoints};
pub use identity::{Identity, SourceTooLong};
pub use report::{Fault, Level, Report};
pub use router::{Router, TableGuard};
pub use settings::{Bind, DEFAULT_MAX_PARTIAL, SettingFault, Settings, TableOrigin, Transport};
pub use slots::Slots;
pub use source::{
    Action, MAX_TABLE_OCTETS, Reply, SEED_PERIOD, SEED_PERIOD_UNTIL_READY, STASH_PERIOD,
    TableSource,
};
pub use table::{NoRoute, RouteTable, TableLimits, TableTooLarge, Targets};
