//! What the environment says, typed: all variables of the C library, and our own.

use corewire_wire::rmr::si95::DEFAULT_MAX_MESSAGE;
use corewire_wire::rmr::{CONTROL_PORT, DATA_PORT, table::MAX_NAME_OCTETS};
use std::fmt;
use std::time::Duration;

/// Where a route manager is asked when a control port is set and nobody is named.
const WELL_KNOWN_MANAGER: &str = "routemgr:4561";

/// How often a route manager is asked where nothing else is said.
const DEFAULT_REQUEST_PERIOD: Duration = Duration::from_secs(5);

/// What the environment says about a context.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// `RMR_SEED_RT`: a file with the first table.
    pub seed_rt: Option<String>,
    /// `RMR_STASH_RT`: a file for the last table from a route manager.
    pub stash_rt: Option<String>,
    /// `RMR_RTG_SVC` and `RMR_CTL_PORT`: where tables come from.
    pub origin: TableOrigin,
    /// `RMR_RTREQ_FREQ`: how often a route manager is asked.
    pub request_period: Duration,
    /// `RMR_SRC_ID`: our name, instead of the host's.
    pub src_id: Option<String>,
    /// `RMR_SRC_NAMEONLY`: no address goes out in messages.
    pub name_only: bool,
    /// `RMR_BIND_IF`: what is listened on.
    pub bind: Bind,
    /// `RMR_VCTL_FILE`: a file with the level of detail of the log, looked at while running.
    pub vctl_file: Option<String>,
    /// `RMR_LOG_VLEVEL`: the log's level, -1 to 5.
    pub log_level: i32,
    /// `RMR_HR_LOG`: a log for people to read.
    pub readable_log: bool,
    /// `RMR_WARNINGS`: warn of what should not happen.
    pub warnings: bool,
    /// `RMR_ASYNC_CONN`: connect without waiting; NNG only.
    pub async_connect: bool,
    /// `ALARM_MGR_SERVICE_NAME` and `ALARM_MGR_SERVICE_PORT`: who is told of alarms.
    pub alarm_manager: String,
    /// `COREWIRE_RMR_TRANSPORT`: how messages are carried.
    pub transport: Transport,
    /// `COREWIRE_RMR_MAX_MESSAGE`: octets of the longest message that is received.
    pub max_message: usize,
    /// `COREWIRE_RMR_MAX_PARTIAL`: octets of messages that have come in part, all connections
    /// together. At least twice the longest message and 4 MiB are allowed.
    pub max_partial: usize,
    /// `COREWIRE_RMR_HOLD_FLOODS`: a peer of this host that sends single messages as fast as it can is
    /// held back for moments, so that its kernel puts them together. SI95 only.
    pub hold_floods: bool,
    /// `COREWIRE_RMR_GATHER`: messages that are sent in a rush wait in the process, not in its kernel:
    /// cheaper, and the last of them are lost when the process is killed. SI95 only; the native protocol
    /// and shared memory always do.
    pub gather: bool,
    /// `COREWIRE_RMR_HOLD_UNREAD`, milliseconds: how long senders are held back when the queue is full and
    /// the program takes nothing from it; then what comes is dropped, until it does. `None`: for ever.
    pub hold_unread: Option<Duration>,
}

/// [`Settings::hold_unread`] where nothing is said.
const HOLD_UNREAD: Duration = Duration::from_secs(1);

/// [`Settings::max_partial`] where nothing is said.
pub const DEFAULT_MAX_PARTIAL: usize = 256 << 20;

/// Who is told of alarms where nothing is said.
const ALARM_MANAGER: &str = "service-ricplt-alarmmanager-rmr";

/// Where tables come from after the seed file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a driver must handle each")]
pub enum TableOrigin {
    /// From nowhere: the seed file is all, and is looked at again.
    FileOnly,
    /// From whoever connects to the port.
    Listen {
        /// The port.
        port: u16,
    },
    /// From a route manager that is asked, over connections to the port.
    Ask {
        /// Who is asked, `host:port`.
        address: String,
        /// Our port.
        port: u16,
    },
}

impl TableOrigin {
    /// The port that tables come to.
    #[must_use]
    pub fn control_port(&self) -> Option<u16> {
        match self {
            Self::FileOnly => None,
            Self::Listen { port } | Self::Ask { port, .. } => Some(*port),
        }
    }
}

/// What is listened on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a driver must handle each")]
pub enum Bind {
    /// Every interface.
    Any,
    /// The one with this address; IPv6 in brackets.
    Address(String),
    /// The one with this name.
    Interface(String),
}

/// How messages are carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a driver must handle each")]
pub enum Transport {
    /// As the C library does: SI95.
    Si95,
    /// By Corewire's own protocol.
    Native,
    /// As the C library's NNG flavour does.
    Nng,
    /// By shared memory.
    Shm,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed_rt: None,
            stash_rt: None,
            origin: TableOrigin::Listen { port: CONTROL_PORT },
            request_period: DEFAULT_REQUEST_PERIOD,
            src_id: None,
            name_only: false,
            bind: Bind::Any,
            vctl_file: None,
            log_level: 1,
            readable_log: true,
            warnings: false,
            async_connect: true,
            alarm_manager: format!("{ALARM_MANAGER}:{DATA_PORT}"),
            transport: Transport::Si95,
            max_message: DEFAULT_MAX_MESSAGE,
            max_partial: DEFAULT_MAX_PARTIAL,
            hold_floods: false,
            gather: false,
            hold_unread: Some(HOLD_UNREAD),
        }
    }
}

impl Settings {
    /// Reads the variables. What cannot be understood is a fault, and its default is taken, as the
    /// C library does without a word.
    pub fn from_env(variable: impl Fn(&str) -> Option<String>) -> (Self, Vec<SettingFault>) {
        let mut reader = Reader {
            variable,
            faults: Vec::new(),
        };
        let default = Self::default();
        let settings = Self {
            seed_rt: reader.text("RMR_SEED_RT"),
            stash_rt: reader.text("RMR_STASH_RT"),
            origin: reader.origin(),
            request_period: reader
                .number("RMR_RTREQ_FREQ", 1, 300)
                .map_or(default.request_period, |seconds| {
                    Duration::from_secs(seconds.unsigned_abs())
                }),
            src_id: reader.text("RMR_SRC_ID"),
            name_only: reader.flag("RMR_SRC_NAMEONLY", default.name_only),
            bind: reader.bind(),
            vctl_file: reader.text("RMR_VCTL_FILE"),
            log_level: reader
                .number("RMR_LOG_VLEVEL", -1, 5)
                .map_or(default.log_level, |level| level as i32),
            readable_log: reader.flag("RMR_HR_LOG", default.readable_log),
            warnings: reader.flag("RMR_WARNINGS", default.warnings),
            async_connect: reader.flag("RMR_ASYNC_CONN", default.async_connect),
            alarm_manager: reader.alarm_manager(),
            transport: reader.transport(),
            max_message: reader
                .number("COREWIRE_RMR_MAX_MESSAGE", 1024, i64::from(i32::MAX))
                .map_or(default.max_message, |octets| octets.unsigned_abs() as usize),
            max_partial: reader
                .number("COREWIRE_RMR_MAX_PARTIAL", 1024, i64::MAX)
                .map_or(default.max_partial, |octets| octets.unsigned_abs() as usize),
            hold_floods: reader.flag("COREWIRE_RMR_HOLD_FLOODS", default.hold_floods),
            gather: reader.flag("COREWIRE_RMR_GATHER", default.gather),
            hold_unread: reader
                .number("COREWIRE_RMR_HOLD_UNREAD", -1, i64::from(u32::MAX))
                .map_or(default.hold_unread, |millis| {
                    u64::try_from(millis).ok().map(Duration::from_millis)
                }),
        };
        (settings, reader.faults)
    }

    /// The file for tables from a route manager: beside the seed file when no other is named, and
    /// none where no route manager is.
    #[must_use]
    pub fn stash(&self) -> Option<String> {
        if self.origin == TableOrigin::FileOnly {
            return None;
        }
        let beside = || self.seed_rt.as_ref().map(|seed| format!("{seed}.stash"));
        self.stash_rt.clone().or_else(beside)
    }
}

/// A variable that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "what there is to say")]
pub struct SettingFault {
    /// Its name.
    pub variable: &'static str,
    /// What it holds.
    pub value: String,
    /// What it could hold.
    pub expected: String,
}

impl fmt::Display for SettingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            variable,
            value,
            expected,
        } = self;
        write!(
            f,
            "{variable}={value:?}: {expected} expected; the default is used"
        )
    }
}

impl std::error::Error for SettingFault {}

struct Reader<F> {
    variable: F,
    faults: Vec<SettingFault>,
}

impl<F: Fn(&str) -> Option<String>> Reader<F> {
    /// An empty variable is as good as none.
    fn text(&mut self, variable: &'static str) -> Option<String> {
        (self.variable)(variable).filter(|value| !value.trim().is_empty())
    }

    fn fault(&mut self, variable: &'static str, value: &str, expected: impl Into<String>) {
        self.faults.push(SettingFault {
            variable,
            value: value.to_owned(),
            expected: expected.into(),
        });
    }

    fn number(&mut self, variable: &'static str, least: i64, most: i64) -> Option<i64> {
        let value = self.text(variable)?;
        match value.trim().parse() {
            Ok(number) if (least..=most).contains(&number) => Some(number),
            _ => {
                self.fault(variable, &value, format!("a number from {least} to {most}"));
                None
            }
        }
    }

    /// 0 is no, any other number is yes.
    fn flag(&mut self, variable: &'static str, default: bool) -> bool {
        let Some(value) = self.text(variable) else {
            return default;
        };
        match value.trim().parse::<i64>() {
            Ok(number) => number > 0,
            Err(_) => {
                self.fault(variable, &value, "0 or 1");
                default
            }
        }
    }

    fn port(&mut self, variable: &'static str) -> Option<u16> {
        self.number(variable, 0, i64::from(u16::MAX))
            .and_then(|port| u16::try_from(port).ok())
    }

    /// With a control port alone a route manager is asked at its well-known address; with neither
    /// the library listens on the usual port.
    fn origin(&mut self) -> TableOrigin {
        let control_port = self.port("RMR_CTL_PORT");
        let port = control_port.unwrap_or(CONTROL_PORT);
        let default = match control_port {
            None => TableOrigin::Listen { port },
            Some(_) => TableOrigin::Ask {
                address: WELL_KNOWN_MANAGER.to_owned(),
                port,
            },
        };
        let Some(service) = self.text("RMR_RTG_SVC") else {
            return default;
        };
        let value = service.trim();
        if value.parse::<i64>().is_ok_and(|number| number < 0) {
            return TableOrigin::FileOnly;
        }
        // The old form of NNG: tcp:port.
        if let Ok(port) = value.strip_prefix("tcp:").unwrap_or(value).parse() {
            return TableOrigin::Listen { port };
        }
        let asks = value.len() <= MAX_NAME_OCTETS
            && value
                .rsplit_once(':')
                .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
        if asks {
            return TableOrigin::Ask {
                address: value.to_owned(),
                port,
            };
        }
        self.fault("RMR_RTG_SVC", value, "-1, a port, or host:port");
        default
    }

    fn bind(&mut self) -> Bind {
        match self.text("RMR_BIND_IF") {
            None => Bind::Any,
            Some(value) => {
                let value = value.trim().to_owned();
                if value.starts_with(|first: char| first.is_ascii_digit() || first == '[') {
                    Bind::Address(value)
                } else {
                    Bind::Interface(value)
                }
            }
        }
    }

    fn alarm_manager(&mut self) -> String {
        let name = self.text("ALARM_MGR_SERVICE_NAME");
        let port = self.port("ALARM_MGR_SERVICE_PORT").unwrap_or(DATA_PORT);
        format!("{}:{port}", name.as_deref().unwrap_or(ALARM_MANAGER))
    }

    fn transport(&mut self) -> Transport {
        const VARIABLE: &str = "COREWIRE_RMR_TRANSPORT";
        match self.text(VARIABLE).as_deref().map(str::trim) {
            None | Some("si95") => Transport::Si95,
            Some("native") => Transport::Native,
            Some("nng") => Transport::Nng,
            Some("shm") => Transport::Shm,
            Some(other) => {
                self.fault(VARIABLE, other, "si95, native, nng or shm");
                Transport::Si95
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> (Settings, Vec<String>) {
        let (settings, faults) = Settings::from_env(|name| {
            variables
                .iter()
                .find(|(variable, _)| *variable == name)
                .map(|(_, value)| (*value).to_owned())
        });
        (settings, faults.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn nothing_set_is_the_default() {
        assert_eq!(read(&[]), (Settings::default(), Vec::new()));
        let empty: Vec<_> = [
            "RMR_SEED_RT",
            "RMR_RTG_SVC",
            "RMR_CTL_PORT",
            "RMR_RTREQ_FREQ",
        ]
        .map(|name| (name, " "))
        .into();
        assert_eq!(read(&empty), (Settings::default(), Vec::new()));
    }

    /// Programs that were built for the C library rely on them.
    #[test]
    fn the_defaults_are_these() {
        let default = Settings::default();
        assert_eq!(default.origin, TableOrigin::Listen { port: 4561 });
        assert_eq!(default.request_period, Duration::from_secs(5));
        assert_eq!(
            default.alarm_manager,
            "service-ricplt-alarmmanager-rmr:4560"
        );
        assert_eq!((default.log_level, default.bind), (1, Bind::Any));
        assert!(default.readable_log && default.async_connect);
        assert!(!default.name_only && !default.warnings && !default.hold_floods);
        assert_eq!(default.max_partial, 268_435_456);
    }

    #[test]
    fn where_tables_come_from_has_many_forms() {
        let origin = |variables: &[_]| {
            let (settings, faults) = read(variables);
            assert!(faults.is_empty(), "{faults:?}");
            settings.origin
        };
        let ask = |address: &str, port| TableOrigin::Ask {
            address: address.to_owned(),
            port,
        };
        let (svc, ctl) = ("RMR_RTG_SVC", "RMR_CTL_PORT");
        assert_eq!(origin(&[]), TableOrigin::Listen { port: 4561 });
        assert_eq!(origin(&[(svc, "-1")]), TableOrigin::FileOnly);
        assert_eq!(origin(&[(svc, "9999")]), TableOrigin::Listen { port: 9999 });
        assert_eq!(
            origin(&[(svc, "tcp:9999"), (ctl, "1")]),
            TableOrigin::Listen { port: 9999 }
        );
        assert_eq!(origin(&[(ctl, "5000")]), ask("routemgr:4561", 5000));
        assert_eq!(origin(&[(svc, "rm:4561")]), ask("rm:4561", 4561));
        assert_eq!(
            origin(&[(svc, "[::1]:4561"), (ctl, "5000")]),
            ask("[::1]:4561", 5000)
        );
        assert_eq!(origin(&[(svc, "-1")]).control_port(), None);
        assert_eq!(origin(&[(ctl, "5000")]).control_port(), Some(5000));
    }

    #[test]
    fn what_cannot_be_understood_is_said_and_the_default_taken() {
        let (settings, faults) = read(&[
            ("RMR_RTG_SVC", "routemgr"),
            ("RMR_RTREQ_FREQ", "301"),
            ("RMR_CTL_PORT", "99999"),
            ("RMR_LOG_VLEVEL", "loud"),
            ("RMR_WARNINGS", "yes"),
            ("COREWIRE_RMR_TRANSPORT", "grpc"),
            ("COREWIRE_RMR_MAX_MESSAGE", "1"),
        ]);
        assert_eq!(settings, Settings::default());
        assert_eq!(
            faults,
            [
                "RMR_CTL_PORT=\"99999\": a number from 0 to 65535 expected; the default is used",
                "RMR_RTG_SVC=\"routemgr\": -1, a port, or host:port expected; the default is used",
                "RMR_RTREQ_FREQ=\"301\": a number from 1 to 300 expected; the default is used",
                "RMR_LOG_VLEVEL=\"loud\": a number from -1 to 5 expected; the default is used",
                "RMR_WARNINGS=\"yes\": 0 or 1 expected; the default is used",
                "COREWIRE_RMR_TRANSPORT=\"grpc\": si95, native, nng or shm expected; the default \
                 is used",
                "COREWIRE_RMR_MAX_MESSAGE=\"1\": a number from 1024 to 2147483647 expected; the \
                 default is used",
            ]
        );
    }

    #[test]
    fn a_route_manager_has_a_host_and_a_port_that_fit_into_a_record() {
        let host = |octets: usize| format!("{}:1", "h".repeat(octets - 2));
        let (longest, too_long) = (host(MAX_NAME_OCTETS), host(MAX_NAME_OCTETS + 1));
        for (service, is_asked) in [
            ("rm:65535", true),
            (&longest, true),
            (&too_long, false),
            ("rm:65536", false),
            ("rm:", false),
            (":4561", false),
            ("0", false),
        ] {
            let (settings, faults) = read(&[("RMR_RTG_SVC", service)]);
            let asks = matches!(settings.origin, TableOrigin::Ask { .. });
            assert_eq!(asks, is_asked, "{service}");
            assert_eq!(faults.is_empty(), is_asked || service == "0", "{service}");
        }
        // 0 is a port that the system chooses, and no number below it is one.
        let origin = |service| read(&[("RMR_RTG_SVC", service)]).0.origin;
        assert_eq!(origin("0"), TableOrigin::Listen { port: 0 });
        assert_eq!(origin("-7"), TableOrigin::FileOnly);
    }

    #[test]
    fn the_rest_is_taken_as_it_is() {
        let (settings, faults) = read(&[
            ("RMR_SEED_RT", "/etc/rt"),
            ("RMR_SRC_ID", "xapp"),
            ("RMR_SRC_NAMEONLY", "1"),
            ("RMR_BIND_IF", "[fd00::1]"),
            ("RMR_LOG_VLEVEL", "4"),
            ("RMR_HR_LOG", "0"),
            ("RMR_RTREQ_FREQ", "30"),
            ("ALARM_MGR_SERVICE_NAME", "alarms"),
            ("ALARM_MGR_SERVICE_PORT", "4560"),
            ("COREWIRE_RMR_TRANSPORT", "native"),
            ("COREWIRE_RMR_HOLD_FLOODS", "1"),
            ("COREWIRE_RMR_GATHER", "1"),
            ("COREWIRE_RMR_HOLD_UNREAD", "-1"),
        ]);
        assert!(faults.is_empty());
        assert!(settings.hold_floods && settings.gather);
        assert_eq!(settings.hold_unread, None);
        let (at_once, _) = read(&[("COREWIRE_RMR_HOLD_UNREAD", "0")]);
        assert_eq!(at_once.hold_unread, Some(Duration::ZERO));
        assert_eq!(settings.stash().as_deref(), Some("/etc/rt.stash"));
        assert!(settings.name_only && !settings.readable_log);
        assert_eq!(settings.bind, Bind::Address("[fd00::1]".to_owned()));
        assert_eq!(settings.request_period, Duration::from_secs(30));
        assert_eq!(settings.alarm_manager, "alarms:4560");
        assert_eq!(settings.transport, Transport::Native);
        let (settings, _) = read(&[
            ("RMR_BIND_IF", "eth0"),
            ("RMR_RTG_SVC", "-1"),
            ("RMR_STASH_RT", "x"),
        ]);
        assert_eq!(settings.bind, Bind::Interface("eth0".to_owned()));
        assert_eq!(settings.stash(), None);
    }
}
