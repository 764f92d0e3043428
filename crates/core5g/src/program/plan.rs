//! Which processes a core is made of, and what each is told.

use super::config::Config;
use super::secrets::Secrets;
use std::path::Path;

/// A process to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// What it is called in status and logs.
    pub(super) name: String,
    /// Its command line behind the program's own name.
    pub(super) arguments: Vec<String>,
}

/// How the NFs of one core are told apart from those of another.
pub(super) struct Plan<'a> {
    pub(super) config: &'a Config,
    pub(super) flow: &'a str,
    pub(super) trace: bool,
    pub(super) folder: &'a Path,
    pub(super) subscribers: &'a Path,
    /// What lets its NFs have tokens; `None`: they ask each other for none.
    pub(super) secrets: Option<&'a Secrets>,
}

impl Plan<'_> {
    /// The registry, which comes first.
    pub(super) fn nrf(&self) -> Program {
        match self.secrets {
            Some(secrets) => {
                let key = secrets.token_key.display().to_string();
                self.program("nrf", &["nrf"], None, &["--token-key", &key])
            }
            None => self.program("nrf", &["nrf"], None, &[]),
        }
    }

    /// What all of them are called.
    pub(super) fn names(&self) -> Vec<String> {
        let all = std::iter::once(self.nrf()).chain(self.others(""));
        all.map(|program| program.name).collect()
    }

    /// Everybody else, who finds the others there.
    pub(super) fn others(&self, nrf: &str) -> Vec<Program> {
        let config = self.config;
        let subscribers = self.subscribers.display().to_string();
        let records = self.folder.join("udsf").display().to_string();
        let sequence = self.folder.join("udm").display().to_string();
        let nf = |name: &str, function: &[&str], more: &[&str]| {
            self.program(name, function, Some(nrf), more)
        };
        let mut programs = vec![
            nf("udsf", &["udsf"], &["--store", &records]),
            nf(
                "udm",
                &["udm"],
                &["--subscribers", &subscribers, "--store", &sequence],
            ),
            nf("ausf", &["ausf"], &[]),
            nf("upf", &["upf"], &[]),
        ];
        let dnns: Vec<String> = config
            .dnn
            .iter()
            .map(|(name, pool)| format!("{name}={pool}"))
            .collect();
        for number in 0..config.pdu_sessions.max(1) {
            let part = format!("{number}/{}", config.pdu_sessions.max(1));
            let mut more = vec!["--part", &part];
            for dnn in &dnns {
                more.extend(["--dnn", dnn]);
            }
            let name = format!("smf-pdu-session-{number}");
            programs.push(nf(&name, &["smf", "pdu-session"], &more));
        }
        programs.push(nf("smf-gateway", &["smf", "gateway"], &[]));
        let tac = config.tac.to_string();
        let (t3512, grace) = (config.t3512.to_string(), config.grace.to_string());
        let mut more = vec![
            "--n2",
            &config.n2,
            "--n2-listen",
            &config.n2_listen,
            "--plmn",
            &config.plmn,
            "--tac",
            &tac,
            "--amf-id",
            &config.amf_id,
            "--t3512",
            &t3512,
            "--grace",
            &grace,
        ];
        for slice in &config.slices {
            more.extend(["--slice", slice]);
        }
        programs.push(nf("amf", &["amf"], &more));
        programs
    }

    fn program(&self, name: &str, function: &[&str], nrf: Option<&str>, more: &[&str]) -> Program {
        let threads = self.config.threads.to_string();
        let mut arguments = vec!["nf"];
        arguments.extend(function);
        arguments.extend(["--json", "--stay", "--threads", &threads]);
        arguments.extend(["--transport", &self.config.transport, "--flow", self.flow]);
        let secret;
        match self.secrets {
            Some(secrets) => {
                secret = secrets.client_secret.display().to_string();
                arguments.extend(["--client-secret", &secret]);
            }
            None => arguments.extend(["--oauth2", "false"]),
        }
        if let Some(nrf) = nrf {
            arguments.extend(["--nrf", nrf]);
        }
        let trace = self.folder.join(format!("{name}.trace"));
        let trace = trace.display().to_string();
        if self.trace {
            arguments.extend(["--trace", &trace]);
        }
        arguments.extend(more);
        Program {
            name: name.to_owned(),
            arguments: arguments.into_iter().map(str::to_owned).collect(),
        }
    }
}
