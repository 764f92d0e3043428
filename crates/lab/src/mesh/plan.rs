//! From what was asked to a list of runs.

use std::time::Duration;

use anyhow::bail;
use serde::{Deserialize, Serialize};

use super::args::{Measure, Mtls, ReplicaMode};
use super::case::Case;
use super::path::{Ends, Path};
use super::profile::{Grid, Spec};
use crate::args::Profile;
use crate::record::Failure;
use crate::scenario::{Length, Plan, Step, Turn};
use crate::statistics::PAIRS_NEEDED;
use crate::units::Rate;

/// Starting and ending the processes of a run; seen on a two-core machine.
const STARTING: Duration = Duration::from_millis(600);
/// An Envoy takes longer.
const STARTING_ENVOY: Duration = Duration::from_millis(900);
/// One change of a route and its effect.
const UPDATE: Duration = Duration::from_millis(75);
/// The paths on which policy updates are timed: ours, and sidecars for comparison.
const UPDATED: [&str; 3] = ["inline-rest", "inline-native", "envoy-2-rest"];
/// Gateways that must all obey.
const OBEYING: u32 = 2;
/// The paths whose clients are made to refuse: ours, and gRPC C++ for comparison.
const REFUSING: [&str; 2] = ["inline-rest", "grpc-xds"];
/// How long a client refuses.
const REFUSING_FOR: Duration = Duration::from_millis(3_500);

/// What was asked: enough to make the same plan again for `--resume`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) profile: Profile,
    pub(super) paths: Vec<String>,
    /// Whether the command line names paths.
    pub(super) named: bool,
    pub(super) rates: Vec<Option<u64>>,
    pub(super) replicas: Vec<u32>,
    pub(super) replica_mode: Option<ReplicaMode>,
    pub(super) envoy_per_replica: bool,
    pub(super) hops: Vec<u32>,
    pub(super) gateways: Vec<u32>,
    pub(super) mtls: Mtls,
    /// Empty: load, and in the profile's own grid everything.
    #[serde(default)]
    pub(super) measure: Vec<Measure>,
    pub(super) in_flight: u32,
    pub(super) repeat: Option<u32>,
    pub(super) server_cpu: Option<usize>,
}

/// A path that was chosen, and why it cannot be run, where that is known.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) path: &'static Path,
    pub(super) hole: Option<Failure>,
}

impl Request {
    pub(super) fn rates_of(rates: &[Rate]) -> Vec<Option<u64>> {
        rates
            .iter()
            .map(|rate| match rate {
                Rate::Max => None,
                Rate::PerSecond(rate) => Some(*rate),
            })
            .collect()
    }

    /// Refuses what no run can be made of.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let gateways = self.gateways.iter().max().copied().unwrap_or(1);
        if let Some(rate) = self
            .rates
            .iter()
            .flatten()
            .find(|rate| **rate < u64::from(gateways))
        {
            bail!("--rate {rate} cannot be shared by {gateways} gateways");
        }
        Ok(())
    }

    /// Whether the profile says what is measured.
    fn takes_own_grid(&self) -> bool {
        self.rates.is_empty()
            && self.replicas.is_empty()
            && self.hops.is_empty()
            && self.gateways.is_empty()
    }

    fn measures(&self, measure: Measure) -> bool {
        match self.measure.as_slice() {
            [] => measure == Measure::Load || self.takes_own_grid(),
            named => named.contains(&measure),
        }
    }

    /// Cases that differ in the path only, with their repetitions.
    fn conditions(&self, spec: &Spec) -> Vec<Condition> {
        let mut conditions: Vec<Condition> = Vec::new();
        if !self.measures(Measure::Load) {
            return conditions;
        }
        let mut add = |condition: Condition| {
            if !conditions.iter().any(|known| known.is_same(&condition)) {
                conditions.push(condition);
            }
        };
        if self.takes_own_grid() {
            for grid in &spec.grids {
                self.product(grid, &mut add);
            }
        } else {
            let rates = match self.rates.as_slice() {
                [] => vec![Some(1_500)],
                rates => rates.to_vec(),
            };
            let one = [1];
            let thirty = [30];
            for &rate in &rates {
                for &replicas in or_else(&self.replicas, &thirty) {
                    for &hops in or_else(&self.hops, &one) {
                        for &gateways in or_else(&self.gateways, &one) {
                            add(Condition {
                                paths: &[],
                                rate,
                                replicas,
                                hops,
                                gateways,
                                repetitions: self.repeat.unwrap_or(spec.repetitions),
                            });
                        }
                    }
                }
            }
        }
        conditions
    }

    fn product(&self, grid: &Grid, add: &mut impl FnMut(Condition)) {
        for &rate in &grid.rates {
            for &replicas in grid.replicas {
                for &hops in grid.hops {
                    for &gateways in grid.gateways {
                        add(Condition {
                            // A path that was named is run in every cell.
                            paths: if self.named { &[] } else { grid.paths },
                            rate,
                            replicas,
                            hops,
                            gateways,
                            repetitions: self.repeat.unwrap_or(grid.repetitions),
                        });
                    }
                }
            }
        }
    }

    fn replica_mode(&self, rate: Option<u64>) -> ReplicaMode {
        self.replica_mode.unwrap_or(match rate {
            Some(_) => ReplicaMode::Process,
            None => ReplicaMode::Port,
        })
    }

    fn case(&self, condition: &Condition, path: &'static Path) -> Case {
        Case {
            path,
            rate: condition.rate,
            replicas: condition.replicas,
            replica_mode: self.replica_mode(condition.rate),
            hops: condition.hops,
            gateways: condition.gateways,
            envoy_per_replica: self.envoy_per_replica,
            mtls: self.mtls == Mtls::On,
            measure: Measure::Load,
        }
    }
}

fn or_else<'a, T>(given: &'a [T], open: &'a [T]) -> &'a [T] {
    if given.is_empty() { open } else { given }
}

/// A series: paths take turns on it.
#[derive(Debug, Clone)]
struct Condition {
    paths: &'static [&'static str],
    rate: Option<u64>,
    replicas: u32,
    hops: u32,
    gateways: u32,
    repetitions: u32,
}

impl Condition {
    fn is_same(&self, other: &Self) -> bool {
        let key = |it: &Self| (it.rate, it.replicas, it.hops, it.gateways);
        key(self) == key(other)
    }

    fn holds(&self, path: &Path) -> bool {
        self.paths.is_empty() || self.paths.contains(&path.name)
    }

    fn title(&self, repetition: u32) -> String {
        let mut title = format!(
            "repetition {repetition} of {}: {}, {} replicas",
            self.repetitions,
            self.rate
                .map_or_else(|| "saturated".to_owned(), |rate| format!("{rate}/s")),
            self.replicas
        );
        if self.hops > 1 {
            title.push_str(&format!(", {} hops", self.hops));
        }
        if self.gateways > 1 {
            title.push_str(&format!(", {} gateways", self.gateways));
        }
        title
    }
}

/// Makes the plan: repetition by repetition, condition by condition, the paths taking turns in an
/// order that is rotated each time, so that none is always first.
pub(super) fn make(request: &Request, subjects: &[Subject]) -> Plan {
    let spec = Spec::of(request.profile);
    let conditions = request.conditions(&spec);
    let mut turns = Vec::new();
    let repetitions = conditions
        .iter()
        .map(|it| it.repetitions)
        .max()
        .unwrap_or(0);
    for repetition in 1..=repetitions {
        let due = conditions.iter().filter(|it| it.repetitions >= repetition);
        for (at, condition) in due.enumerate() {
            let mut order: Vec<(&Subject, Option<Failure>)> = subjects
                .iter()
                .filter(|subject| condition.holds(subject.path))
                .filter(|subject| suits(subject.path, condition.rate))
                .map(|subject| {
                    let chain = || no_chain(subject.path, condition.hops);
                    (subject, subject.hole.clone().or_else(chain))
                })
                // A missing one is recorded once, so that the hole is seen, and not again.
                .filter(|(_, hole)| hole.is_none() || repetition == 1)
                .collect();
            if order.is_empty() {
                continue;
            }
            let by = (repetition as usize - 1 + at) % order.len();
            order.rotate_left(by);
            turns.push(Turn {
                title: condition.title(repetition),
                overhead: spec.baseline,
                steps: order
                    .into_iter()
                    .map(|(subject, hole)| {
                        let case = request.case(condition, subject.path);
                        step(&case, repetition, &spec, hole)
                    })
                    .collect(),
            });
        }
    }
    turns.extend(updates(request, &spec, subjects));
    let mut notes = vec![spec.note.to_owned()];
    if request
        .repeat
        .is_some_and(|repeat| (repeat as usize) < PAIRS_NEEDED)
    {
        notes.push(format!(
            "no difference can be shown below {PAIRS_NEEDED} interleaved repetitions"
        ));
    }
    Plan {
        turns,
        budget: None,
        notes,
        ..Plan::default()
    }
}

fn step(case: &Case, repetition: u32, spec: &Spec, hole: Option<Failure>) -> Step {
    let starting = STARTING + STARTING_ENVOY * case.path.envoys();
    Step {
        cell: case.cell(),
        repetition,
        length: Length::Fixed(spec.window),
        expected: if hole.is_some() {
            Duration::ZERO
        } else {
            starting + spec.warmup + spec.window
        },
        hole,
    }
}

fn no_chain(path: &Path, hops: u32) -> Option<Failure> {
    let is_peer = path.has_tools() || matches!(path.gateway, Ends::Peer(_) | Ends::Reference(_));
    (is_peer && hops > 1).then(|| Failure {
        what: format!("{}: only our own programs are links of a chain", path.name),
        place: format!("{hops} hops"),
        next: "leave it out of runs with --hops".to_owned(),
    })
}

/// Whether a path says anything at this rate. h2load paces each connection by itself, and all of them
/// at the same times: no schedule that another path keeps to. What is compared with it is saturated too.
fn suits(path: &Path, rate: Option<u64>) -> bool {
    rate.is_none() || !path.alike
}

/// Runs that time what the control plane does: the effect of a changed route, and refusals.
fn updates(request: &Request, spec: &Spec, subjects: &[Subject]) -> Vec<Turn> {
    if !request.takes_own_grid() || spec.updates == 0 {
        return Vec::new();
    }
    let cases = |names: &[&str], measure, gateways| -> Vec<Case> {
        let run = |subject: &&Subject| {
            let is_one = request.measures(measure) && names.contains(&subject.path.name);
            is_one && subject.hole.is_none()
        };
        let case = |subject: &Subject| Case {
            path: subject.path,
            rate: Some(2_000),
            replicas: 2,
            replica_mode: ReplicaMode::Process,
            hops: 1,
            gateways,
            envoy_per_replica: false,
            mtls: request.mtls == Mtls::On,
            measure,
        };
        subjects.iter().filter(run).map(case).collect()
    };
    let updated = cases(&UPDATED, Measure::PolicyUpdate, OBEYING);
    let refusing = cases(&REFUSING, Measure::Refusals, 1);
    let mut turns = Vec::new();
    for repetition in 1..=request.repeat.unwrap_or(spec.update_repetitions) {
        let turn = |what: &str, cases: &[Case], length, expected| Turn {
            title: format!("repetition {repetition}: {what}"),
            overhead: spec.baseline,
            steps: cases
                .iter()
                .map(|case| Step {
                    cell: case.cell(),
                    repetition,
                    length,
                    expected: STARTING + STARTING_ENVOY * case.path.envoys() + expected,
                    hole: None,
                })
                .collect(),
        };
        turns.push(turn(
            "a changed route takes effect",
            &updated,
            Length::Requests(u64::from(spec.updates)),
            UPDATE * spec.updates,
        ));
        turns.push(turn(
            "a refused configuration is sent again at once",
            &refusing,
            Length::Fixed(REFUSING_FOR),
            REFUSING_FOR,
        ));
    }
    turns.retain(|turn| !turn.steps.is_empty());
    turns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::path;

    fn request(rates: Vec<Option<u64>>) -> Request {
        Request {
            profile: Profile::Quick,
            paths: Vec::new(),
            named: false,
            rates,
            replicas: Vec::new(),
            replica_mode: None,
            envoy_per_replica: false,
            hops: Vec::new(),
            gateways: Vec::new(),
            mtls: Mtls::Off,
            measure: Vec::new(),
            in_flight: 60,
            repeat: None,
            server_cpu: None,
        }
    }

    /// Cannot be run in these tests.
    const MISSING: &str = "envoy-1-rest";

    fn subjects(names: &[&str]) -> Vec<Subject> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        path::chosen(&names)
            .expect("known")
            .into_iter()
            .map(|path| Subject {
                path,
                hole: (path.name == MISSING).then(|| Failure {
                    what: "not here".into(),
                    place: String::new(),
                    next: String::new(),
                }),
            })
            .collect()
    }

    #[test]
    fn paths_take_turns_and_a_hole_is_recorded_once() {
        let subjects = subjects(&["direct-rest", "envoy-1-rest", "envoy-2-rest"]);
        let plan = make(&request(vec![Some(1500)]), &subjects);
        assert_eq!(plan.turns.len(), 5);
        let names = |turn: &Turn| -> Vec<String> {
            let names = turn.steps.iter().map(|step| step.cell.subject.clone());
            names.collect()
        };
        assert_eq!(
            names(&plan.turns[0]),
            ["direct-rest", "envoy-1-rest", "envoy-2-rest"]
        );
        assert_eq!(names(&plan.turns[1]), ["envoy-2-rest", "direct-rest"]);
        assert!(plan.turns[0].steps[1].hole.is_some());
        assert_eq!(plan.steps(), 11);
    }

    #[test]
    fn saturation_takes_ports_and_a_rate_processes_unless_told() {
        let subjects = subjects(&["direct-rest"]);
        let mode = |request: &Request| {
            let plan = make(request, &subjects);
            plan.turns[0].steps[0].cell.settings["replica-mode"].clone()
        };
        assert_eq!(mode(&request(vec![None])), "port");
        assert_eq!(mode(&request(vec![Some(10)])), "process");
        let mut told = request(vec![None]);
        told.replica_mode = Some(ReplicaMode::Process);
        assert_eq!(mode(&told), "process");
    }

    #[test]
    fn lists_are_multiplied_and_peers_are_no_chain() {
        let subjects = subjects(&["inline-rest", "grpc-xds"]);
        let mut request = request(vec![Some(100), None]);
        request.hops = vec![1, 4];
        request.gateways = vec![1, 2];
        request.repeat = Some(1);
        let plan = make(&request, &subjects);
        assert_eq!((plan.turns.len(), plan.steps()), (8, 16));
        let holes = plan.turns.iter().flat_map(|turn| &turn.steps);
        assert_eq!(holes.filter(|step| step.hole.is_some()).count(), 4);
    }

    #[test]
    fn no_cell_is_planned_twice() {
        let subjects = subjects(&[]);
        for profile in [Profile::Smoke, Profile::Quick, Profile::Full] {
            let mut request = request(Vec::new());
            request.profile = profile;
            let plan = make(&request, &subjects);
            let mut seen = std::collections::BTreeSet::new();
            for step in plan.turns.iter().flat_map(|turn| &turn.steps) {
                assert!(
                    seen.insert((step.cell.clone(), step.repetition)),
                    "{}",
                    step.cell
                );
            }
            assert!(seen.len() > 30);
        }
    }

    #[test]
    fn only_what_is_named_is_measured() {
        let subjects = subjects(&["inline-rest", "envoy-2-rest", "grpc-xds"]);
        let mut request = request(Vec::new());
        request.measure = vec![Measure::PolicyUpdate, Measure::Refusals];
        request.repeat = Some(1);
        let plan = make(&request, &subjects);
        let names = |turn: &Turn| -> Vec<String> {
            let names = turn.steps.iter().map(|step| step.cell.subject.clone());
            names.collect()
        };
        assert_eq!(plan.turns.len(), 2);
        assert_eq!(names(&plan.turns[0]), ["inline-rest", "envoy-2-rest"]);
        assert_eq!(names(&plan.turns[1]), ["inline-rest", "grpc-xds"]);
        // Who names cells means load, unless he says otherwise.
        request.rates = vec![Some(100)];
        request.measure = Vec::new();
        let plan = make(&request, &subjects);
        assert!(plan.turns.iter().all(|turn| turn.steps.len() == 3));
    }

    #[test]
    fn a_rate_below_one_a_gateway_is_refused() {
        let mut request = request(vec![Some(2)]);
        request.gateways = vec![4];
        assert!(request.check().is_err());
    }
}
