//! The limits of a server as options of a command: the same for every program.

use crate::ServerOptions;
use crate::overload::OverloadLimits;
use clap::Args;
use corewire_wire::memory::{MAX_CONNECTION_MEMORY, MAX_PROCESS_MEMORY};

/// What a server takes from its peers at most.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// MiB that the calls of one connection may hold: headers (an eighth of it at most) and bodies. Calls
    /// beyond are refused: 503, RESOURCE_EXHAUSTED
    #[arg(long, value_name = "MIB", default_value_t = mebi(MAX_CONNECTION_MEMORY),
          value_parser = clap::value_parser!(u32).range(1..))]
    max_connection_memory: u32,
    /// MiB that the calls of all connections may hold together
    #[arg(long, value_name = "MIB", default_value_t = mebi(MAX_PROCESS_MEMORY),
          value_parser = clap::value_parser!(u32).range(1..))]
    max_process_memory: u32,
    /// Connections in each event loop; more are closed at once
    #[arg(long, value_name = "N", default_value_t = 65_536,
          value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: u32,
    /// Calls in progress on one connection; more are refused
    #[arg(long, value_name = "N", default_value_t = 4096,
          value_parser = clap::value_parser!(u32).range(1..))]
    max_calls: u32,
}

/// When a network function has too much to do: the least urgent calls are refused first.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Overload")]
pub struct OverloadArgs {
    /// Calls in progress at a time, of all connections; more wait, the most urgent first
    #[arg(long, value_name = "N", default_value_t = 4096,
          value_parser = clap::value_parser!(u32).range(1..))]
    max_in_progress: u32,
    /// Calls that wait; of more the least urgent is refused (503, UNAVAILABLE), and whatever waits for
    /// more than half a second
    #[arg(long, value_name = "N", default_value_t = 4096)]
    max_waiting: u32,
}

impl OverloadArgs {
    /// The limits that they are.
    #[must_use]
    pub fn limits(&self) -> OverloadLimits {
        OverloadLimits {
            in_progress: self.max_in_progress as usize,
            waiting: self.max_waiting as usize,
            ..OverloadLimits::default()
        }
    }
}

impl LimitArgs {
    /// Sets them. The memory of the process is one for all of its servers.
    pub fn apply(&self, options: &mut ServerOptions) {
        let octets = |mebi: u32| (mebi as usize).saturating_mul(1 << 20);
        let connection = octets(self.max_connection_memory);
        options.http2.max_connection_memory = connection;
        options.native.max_connection_memory = connection;
        for total in [
            &options.http2.process_memory,
            &options.native.process_memory,
        ] {
            total.set_limit(octets(self.max_process_memory));
        }
        options.max_connections = self.max_connections as usize;
        options.http2.max_concurrent_calls = self.max_calls;
        options.native.max_concurrent_calls = self.max_calls;
    }
}

const fn mebi(octets: usize) -> u32 {
    (octets >> 20) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use corewire_wire::memory::ProcessMemory;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        limits: LimitArgs,
        #[command(flatten)]
        overload: OverloadArgs,
    }

    fn apply(arguments: &[&str]) -> ServerOptions {
        let command = Command::try_parse_from([&["command"], arguments].concat()).unwrap();
        let mut options = ServerOptions::default();
        options.http2.process_memory = ProcessMemory::new(0);
        options.native.process_memory = options.http2.process_memory.clone();
        command.limits.apply(&mut options);
        options
    }

    #[test]
    fn defaults_are_those_of_the_options() {
        let (applied, default) = (apply(&[]), ServerOptions::default());
        assert_eq!(applied.max_connections, default.max_connections);
        let (native, http2) = (&applied.native, &applied.http2);
        assert_eq!(
            (native.max_connection_memory, native.max_concurrent_calls),
            (
                default.native.max_connection_memory,
                default.native.max_concurrent_calls
            )
        );
        assert_eq!(
            (http2.max_connection_memory, http2.max_concurrent_calls),
            (
                default.http2.max_connection_memory,
                default.http2.max_concurrent_calls
            )
        );
        assert_eq!(http2.process_memory.limit(), MAX_PROCESS_MEMORY);
    }

    #[test]
    fn overload_can_be_set_and_its_defaults_are_those_of_the_limits() {
        let limits = |arguments: &[&str]| {
            let command = Command::try_parse_from([&["command"], arguments].concat()).unwrap();
            command.overload.limits()
        };
        assert_eq!(limits(&[]), OverloadLimits::default());
        let set = limits(&["--max-in-progress=3", "--max-waiting=0"]);
        assert_eq!((set.in_progress, set.waiting), (3, 0));
    }

    #[test]
    fn every_limit_can_be_set_and_none_to_zero() {
        let options = apply(&[
            "--max-connection-memory=3",
            "--max-process-memory=5",
            "--max-connections=7",
            "--max-calls=9",
        ]);
        assert_eq!(options.http2.max_connection_memory, 3 << 20);
        assert_eq!(options.native.max_connection_memory, 3 << 20);
        assert_eq!(options.native.process_memory.limit(), 5 << 20);
        assert_eq!(options.max_connections, 7);
        assert_eq!(options.http2.max_concurrent_calls, 9);
        assert_eq!(options.native.max_concurrent_calls, 9);
        for name in [
            "connection-memory",
            "process-memory",
            "connections",
            "calls",
        ] {
            let zero = format!("--max-{name}=0");
            assert!(Command::try_parse_from(["command", &zero]).is_err());
        }
    }
}
