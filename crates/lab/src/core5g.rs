//! The 5G core: time per UE for registration, session and detach, over every transport between the
//! NFs; tasks 2 and 3 of the REST-based 5G core of 2019 (IIT Hyderabad), and far beyond its ten UEs.
//!
//! The lab starts a core with `corewire core up`, attaches UEs with `corewire ran attach`, and ends it.

mod args;
mod core;
mod discovery;
mod figures;
mod hops;
mod plan;
mod round;
mod run;
mod usage;

use std::path::Path;

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};

use self::plan::{Case, Request};
use self::run::{Bench, Raw};
use crate::probe;
use crate::process::CpuPlan;
use crate::record::{Baseline, Failure, Record};
use crate::scenario::{Figures, Length, NoResult, Outcome, Plan, Scenario, Step};
use crate::stop::Stop;

pub(crate) use self::args::{Core5gArgs, EXAMPLES};
pub(crate) use self::plan::NAME;

/// Where a record keeps what `--resume` needs.
const REQUEST: &str = "request";

/// The scenario, ready to run.
#[derive(Debug)]
pub(crate) struct Core5g {
    request: Request,
    bench: Bench,
    /// Nothing is pinned; the distance of cores is asked of these.
    cpus: CpuPlan,
}

impl Core5g {
    /// Of a command line that does not resume.
    pub(crate) fn new(args: &Core5gArgs) -> anyhow::Result<Self> {
        Self::of(Request::new(args), args)
    }

    /// With the options of the records of `dir`.
    pub(crate) fn resumed(
        records: &[Record],
        dir: &Path,
        args: &Core5gArgs,
    ) -> anyhow::Result<Self> {
        let Some(last) = records.iter().rfind(|record| record.cell.scenario == NAME) else {
            bail!(
                "{} holds no run of {NAME}; start anew without --resume",
                dir.display()
            );
        };
        let request = last.options.get(REQUEST).cloned().unwrap_or(Value::Null);
        let request = serde_json::from_value(request)
            .with_context(|| format!("{} does not say how it was started", dir.display()))?;
        Self::of(request, args)
    }

    fn of(request: Request, args: &Core5gArgs) -> anyhow::Result<Self> {
        Ok(Self {
            request,
            bench: Bench::new(args.common.patience)?,
            cpus: CpuPlan::choose(args.common.server_cpu)?,
        })
    }
}

impl Scenario for Core5g {
    fn name(&self) -> &'static str {
        NAME
    }

    fn plan(&self) -> Plan {
        plan::make(&self.request)
    }

    fn holes_are_failures(&self) -> bool {
        true
    }

    fn options(&self) -> Map<String, Value> {
        let mut options = Map::new();
        // Plain data, so this cannot fail; null would be refused by --resume.
        let request = serde_json::to_value(&self.request).unwrap_or(Value::Null);
        options.insert(REQUEST.into(), request);
        options
    }

    fn probe(&self) -> Option<f64> {
        probe::line_ns(&self.cpus)
    }

    fn has_baseline(&self) -> bool {
        false
    }

    fn baseline(&mut self, _stop: &Stop) -> Result<Baseline, Failure> {
        Err(Failure {
            what: "none is taken: a registration is many messages between many processes"
                .to_owned(),
            place: "network baseline".to_owned(),
            next: String::new(),
        })
    }

    fn run(&mut self, step: &Step, stop: &Stop) -> Outcome {
        let Some(case) = Case::of(&step.cell) else {
            unreachable!("a plan is made of cases");
        };
        let Length::Requests(rounds) = step.length else {
            unreachable!("this scenario's plan counts rounds");
        };
        let traced = plan::is_traced(&case, step.repetition);
        match self.bench.run(&case, rounds, traced, stop) {
            Ok(raw) => outcome(&raw, &case),
            Err(NoResult::Failed(failure)) => Outcome::failed(failure),
            Err(NoResult::Stopped) => Outcome::of(Ok(Figures::Nothing)),
        }
    }
}

fn outcome(raw: &Raw, case: &Case) -> Outcome {
    let measured = figures::measured(raw).map(Box::new);
    let result = match measured {
        Ok(measured) if raw.partial => Ok(Figures::Partial(measured)),
        Ok(measured) => Ok(Figures::Complete(measured)),
        Err(failure) => Err(failure),
    };
    Outcome {
        result,
        machine_load: Some(raw.load),
        extra: figures::extra(raw, case),
        versions: std::collections::BTreeMap::new(),
    }
}
