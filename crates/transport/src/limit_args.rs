//! The limits of a server as options of a command: the same for every program.

use crate::ServerOptions;
use crate::overload::OverloadLimits;
use clap::Args;
use corewire_wire::memory::{MAX_CONNECTION_MEMORY, MAX_PROCESS_MEMORY};
use std::str::FromStr;

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
    /// MiB of one message; longer ones are refused: 413, RESOURCE_EXHAUSTED
    #[arg(long, value_name = "MIB", default_value_t = 16,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    max_message: u32,
    /// KiB of the header fields of one message; longer ones are refused: 431
    #[arg(long, value_name = "KIB", default_value_t = 64,
          value_parser = clap::value_parser!(u32).range(1..=256))]
    max_headers: u32,
    /// Messages with longer headers that one HTTP/2 connection may bring: at once, and a second from then
    /// on. More close it (ENHANCE_YOUR_CALM)
    #[arg(long, value_name = "BURST,RATE", default_value = "100,10")]
    max_oversized: BurstRate,
    /// Calls that one HTTP/2 connection may cancel (RST_STREAM): at once, and a second from then on. More
    /// close it
    #[arg(long, value_name = "BURST,RATE", default_value = "4096,500")]
    max_resets: BurstRate,
    /// KiB of work done for one connection before the others have their turn: a quarter KiB for each
    /// frame, and what its headers decode to
    #[arg(long, value_name = "KIB", default_value_t = 128,
          value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    turn_work: u32,
}

/// How many events are taken at once, and how many a second from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BurstRate(u64, u64);

impl FromStr for BurstRate {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "two numbers, for example 100,10: at once, and a second from then on";
        let (burst, rate) = text.split_once(',').ok_or(FORM)?;
        let number = |text: &str| text.trim().parse().map_err(|_| FORM);
        match (number(burst)?, number(rate)?) {
            (0, _) => Err("the first number is at least 1: how many are taken at once"),
            (burst, rate) => Ok(Self(burst, rate)),
        }
    }
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
        options.http2.max_message = octets(self.max_message);
        options.native.max_message = self.max_message << 20;
        options.http2.max_header_list = self.max_headers << 10;
        options.native.max_header_block = self.max_headers << 10;
        options.http2.oversized_headers = (self.max_oversized.0, self.max_oversized.1);
        options.http2.stream_resets = (self.max_resets.0, self.max_resets.1);
        options.http2.turn_work = (self.turn_work as usize) << 10;
        options.native.turn_work = (self.turn_work as usize) << 10;
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
        let native = |options: &ServerOptions| {
            let native = &options.native;
            (
                (native.max_connection_memory, native.max_concurrent_calls),
                (
                    native.max_message,
                    native.max_header_block,
                    native.turn_work,
                ),
            )
        };
        assert_eq!(native(&applied), native(&default));
        let http2 = |options: &ServerOptions| {
            let http2 = &options.http2;
            (
                (http2.max_connection_memory, http2.max_concurrent_calls),
                (http2.max_message, http2.max_header_list, http2.turn_work),
                (http2.oversized_headers, http2.stream_resets),
            )
        };
        assert_eq!(http2(&applied), http2(&default));
        assert_eq!(applied.http2.process_memory.limit(), MAX_PROCESS_MEMORY);
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
            "--max-message=11",
            "--max-headers=13",
            "--max-oversized=15,1",
            "--max-resets=17,2",
            "--turn-work=19",
        ]);
        assert_eq!(options.http2.max_connection_memory, 3 << 20);
        assert_eq!(options.native.max_connection_memory, 3 << 20);
        assert_eq!(options.native.process_memory.limit(), 5 << 20);
        assert_eq!(options.max_connections, 7);
        assert_eq!(options.http2.max_concurrent_calls, 9);
        assert_eq!(options.native.max_concurrent_calls, 9);
        assert_eq!(options.http2.max_message, 11 << 20);
        assert_eq!(options.native.max_message, 11 << 20);
        assert_eq!(options.http2.max_header_list, 13 << 10);
        assert_eq!(options.native.max_header_block, 13 << 10);
        assert_eq!(options.http2.oversized_headers, (15, 1));
        assert_eq!(options.http2.stream_resets, (17, 2));
        assert_eq!(options.http2.turn_work, 19 << 10);
        assert_eq!(options.native.turn_work, 19 << 10);
        for refused in [
            "--max-connection-memory=0",
            "--max-process-memory=0",
            "--max-connections=0",
            "--max-calls=0",
            "--max-message=0",
            "--max-message=1025",
            "--max-headers=0",
            "--max-headers=257",
            "--max-oversized=0,1",
            "--max-oversized=1",
            "--max-resets=1,-1",
            "--turn-work=0",
        ] {
            assert!(
                Command::try_parse_from(["command", refused]).is_err(),
                "{refused}"
            );
        }
    }
}
