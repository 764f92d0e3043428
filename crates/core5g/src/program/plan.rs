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
        let mut more: Vec<&str> = Vec::new();
        for allowed in &self.config.allow_nf {
            more.extend(["--allow-nf", allowed]);
        }
        let key;
        if let Some(secrets) = self.secrets {
            key = secrets.token_key.display().to_string();
            more.extend(["--token-key", &key]);
        }
        let mut program = self.program("nrf", &["nrf"], None, &more);
        if let Some(place) = &self.config.nrf_listen {
            // In place of the one of all NFs.
            let at = program.arguments.iter().position(|one| one == "--listen");
            if let Some(listen) = at.and_then(|at| program.arguments.get_mut(at + 1)) {
                place.clone_into(listen);
            }
        }
        program
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
        let mtu = config.mtu.to_string();
        let dns: Vec<String> = config.dns.iter().map(ToString::to_string).collect();
        for number in 0..config.pdu_sessions.max(1) {
            let part = format!("{number}/{}", config.pdu_sessions.max(1));
            let mut more = vec!["--part", &part, "--mtu", &mtu];
            for server in &dns {
                more.extend(["--dns", server]);
            }
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
        let listen = format!("{}:0", bracketed(&self.config.listen));
        arguments.extend(["--listen", &listen]);
        if let Some(advertise) = &self.config.advertise {
            arguments.extend(["--advertise", advertise]);
        }
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

/// As in an authority: an IPv6 address stands in brackets.
fn bracketed(host: &str) -> String {
    match host.parse::<std::net::Ipv6Addr>() {
        Ok(address) => format!("[{address}]"),
        Err(_) => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(config: &Config) -> Vec<Program> {
        let plan = Plan {
            config,
            flow: "3gpp",
            trace: false,
            folder: Path::new("/state"),
            subscribers: Path::new("/state/subscribers.toml"),
            secrets: None,
        };
        let mut programs = vec![plan.nrf()];
        programs.extend(plan.others("127.0.0.1:7000"));
        programs
    }

    /// What follows each occurrence of an option.
    fn values<'a>(program: &'a Program, option: &str) -> Vec<&'a str> {
        let pairs = program.arguments.windows(2);
        let found = pairs.filter(|pair| pair[0] == option);
        found.map(|pair| pair[1].as_str()).collect()
    }

    #[test]
    fn every_nf_listens_and_is_advertised_as_the_network_says() {
        let config = Config {
            listen: "::".into(),
            advertise: Some("core.example".into()),
            nrf_listen: Some("[::]:7000".into()),
            ..Config::default()
        };
        for program in plan(&config) {
            let expected = if program.name == "nrf" {
                "[::]:7000"
            } else {
                "[::]:0"
            };
            assert_eq!(values(&program, "--listen"), [expected], "{}", program.name);
            assert_eq!(values(&program, "--advertise"), ["core.example"]);
        }
    }

    #[test]
    fn only_the_nrf_is_told_which_other_nfs_may_register() {
        let config = Config {
            allow_nf: vec!["SMF:/smf.secret".into(), "AUSF:loopback".into()],
            ..Config::default()
        };
        for program in plan(&config) {
            let allowed = values(&program, "--allow-nf");
            match program.name.as_str() {
                "nrf" => assert_eq!(allowed, ["SMF:/smf.secret", "AUSF:loopback"]),
                _ => assert!(allowed.is_empty(), "{}", program.name),
            }
        }
    }
}
