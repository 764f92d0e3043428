//! One run's case: everything by which its cell is told from others, and the cell it makes.

use std::collections::BTreeMap;

use super::args::{Measure, ReplicaMode};
use super::path::Path;
use crate::record::{Cell, Mode};

/// Its name on the command line and in the records.
pub(crate) const NAME: &str = "mesh";

/// Octets of a request.
pub(super) const PAYLOAD: u64 = 1024;

const REPLICAS: &str = "replicas";
const REPLICA_MODE: &str = "replica-mode";
const HOPS: &str = "hops";
const SIDECARS: &str = "sidecars";
const PER_REPLICA: &str = "per-replica";
const MEASURE: &str = "measure";
const POLICY_UPDATE: &str = "policy-update";
const REFUSALS: &str = "refusals";
const MTLS: &str = "mtls";
const ON: &str = "on";

/// One case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) path: &'static Path,
    /// Requests a second of all gateways; `None`: closed loop.
    pub(super) rate: Option<u64>,
    pub(super) replicas: u32,
    pub(super) replica_mode: ReplicaMode,
    pub(super) hops: u32,
    pub(super) gateways: u32,
    pub(super) envoy_per_replica: bool,
    pub(super) mtls: bool,
    pub(super) measure: Measure,
}

impl Case {
    pub(super) fn cell(&self) -> Cell {
        let mut settings = BTreeMap::new();
        let mut set = |name: &str, value: String| settings.insert(name.to_owned(), value);
        set(REPLICAS, self.replicas.to_string());
        set(REPLICA_MODE, self.replica_mode.name().to_owned());
        if self.hops > 1 {
            set(HOPS, self.hops.to_string());
        }
        // Also for paths without sidecars: else nobody would be compared with those that have some.
        if self.envoy_per_replica {
            set(SIDECARS, PER_REPLICA.to_owned());
        }
        if self.mtls {
            set(MTLS, ON.to_owned());
        }
        match self.measure {
            Measure::Load => None,
            Measure::PolicyUpdate => set(MEASURE, POLICY_UPDATE.to_owned()),
            Measure::Refusals => set(MEASURE, REFUSALS.to_owned()),
        };
        Cell {
            scenario: NAME.to_owned(),
            subject: self.path.name.to_owned(),
            mode: match self.rate {
                Some(_) => Mode::Rate,
                None => Mode::NoRate,
            },
            rate: self.rate,
            payload_bytes: PAYLOAD,
            clients: self.gateways,
            connections: self.gateways.saturating_mul(self.replicas),
            settings,
        }
    }

    /// The case of a cell that a plan of this scenario has made.
    pub(super) fn of(cell: &Cell) -> Option<Self> {
        let number = |name: &str| cell.settings.get(name).and_then(|text| text.parse().ok());
        let is =
            |name: &str, value: &str| cell.settings.get(name).is_some_and(|found| found == value);
        Some(Self {
            path: Path::named(&cell.subject)?,
            rate: cell.rate,
            replicas: number(REPLICAS)?,
            replica_mode: if is(REPLICA_MODE, ReplicaMode::Port.name()) {
                ReplicaMode::Port
            } else {
                ReplicaMode::Process
            },
            hops: number(HOPS).unwrap_or(1),
            gateways: cell.clients,
            envoy_per_replica: is(SIDECARS, PER_REPLICA),
            mtls: is(MTLS, ON),
            measure: if is(MEASURE, POLICY_UPDATE) {
                Measure::PolicyUpdate
            } else if is(MEASURE, REFUSALS) {
                Measure::Refusals
            } else {
                Measure::Load
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_comes_back_from_its_cell() {
        let case = Case {
            path: Path::named("envoy-2-rest").expect("known"),
            rate: Some(1500),
            replicas: 30,
            replica_mode: ReplicaMode::Process,
            hops: 4,
            gateways: 2,
            envoy_per_replica: true,
            mtls: true,
            measure: Measure::Load,
        };
        let cell = case.cell();
        assert_eq!((cell.clients, cell.connections), (2, 60));
        assert_eq!(Case::of(&cell), Some(case));
        let update = Case {
            path: Path::named("inline-rest").expect("known"),
            rate: None,
            replicas: 1,
            replica_mode: ReplicaMode::Port,
            hops: 1,
            gateways: 1,
            envoy_per_replica: false,
            mtls: false,
            measure: Measure::PolicyUpdate,
        };
        assert_eq!(Case::of(&update.cell()), Some(update));
    }
}
