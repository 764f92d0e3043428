//! Ease of development: what a user of each framework has to write for the same service, counted.
//!
//! Counted are the files of the plainest adapter, both ends, as `peers/` has them: each line that
//! holds something else than white space, comments and brackets, and each distinct name of the
//! framework (of the system, where there is no framework) that stands in them. What a generator
//! makes and what all adapters share is not counted.

use std::collections::BTreeSet;
use std::path::Path;

use super::Verdict;
use super::framework::Framework;
use crate::guti::Trial;
use crate::record::Failure;

/// What the user of each writes, below `peers/`.
const fn files(framework: Framework) -> &'static [&'static str] {
    match framework {
        Framework::Grpc => &[
            "idl/guti.proto",
            "grpc/common.cpp",
            "grpc/common.hpp",
            "grpc/s_client.cpp",
            "grpc/sync_server.cpp",
            "grpc/sync_server.hpp",
        ],
        Framework::Thrift => &[
            "idl/guti.thrift",
            "thrift/common.cpp",
            "thrift/common.hpp",
            "thrift/framed_client.cpp",
            "thrift/framed_client.hpp",
            "thrift/framed_server.cpp",
            "thrift/framed_server.hpp",
        ],
        Framework::TcpAs => &[
            "tcp/socket.cpp",
            "tcp/socket.hpp",
            "tcp/tcp_as_message.hpp",
            "tcp/tcp_as_client.cpp",
            "tcp/tcp_as_client.hpp",
            "tcp/tcp_as_server.cpp",
            "tcp/tcp_as_server.hpp",
        ],
        Framework::Corewire => &[
            "corewire/common.hpp",
            "corewire/messages.hpp",
            "corewire/blocking_client.cpp",
            "corewire/server.cpp",
            "corewire/server.hpp",
        ],
    }
}

/// How names of the framework begin; for plain TCP, of what of the system it takes.
const fn prefixes(framework: Framework) -> &'static [&'static str] {
    match framework {
        Framework::Grpc => &["grpc::", "GRPC_"],
        Framework::Thrift => &["apache::thrift::"],
        Framework::TcpAs => &[
            "::",
            "std::thread",
            "std::mutex",
            "std::condition_variable",
            "std::promise",
            "std::future",
        ],
        Framework::Corewire => &["corewire::", "corewire_", "cw_guti_"],
    }
}

/// What was found in the sources of one framework.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Count {
    lines: usize,
    concepts: usize,
}

pub(super) fn check(framework: Framework, trial: &Trial) -> Result<Verdict, Failure> {
    let ours = count(framework, trial)?;
    let by_hand = count(Framework::TcpAs, trial)?;
    Ok(Verdict::of(
        ours.lines < by_hand.lines,
        format!(
            "{} lines with {} names of {}; {} lines by hand",
            ours.lines,
            ours.concepts,
            match framework {
                Framework::TcpAs => "the system",
                _ => framework.name(),
            },
            by_hand.lines
        ),
    ))
}

fn count(framework: Framework, trial: &Trial) -> Result<Count, Failure> {
    // The programs lie in peers/build.
    let sources = trial.peers_dir().and_then(Path::parent);
    let mut lines = 0;
    let mut concepts = BTreeSet::new();
    for file in files(framework) {
        let path = sources.unwrap_or_else(|| Path::new(".")).join(file);
        let text = std::fs::read_to_string(&path).map_err(|error| Failure {
            what: format!("the sources cannot be counted: {error}"),
            place: path.display().to_string(),
            next: "run this where the programs under test were built (peers/build)".to_owned(),
        })?;
        for line in text.lines().filter_map(code_of) {
            lines += 1;
            concepts.extend(names(line, prefixes(framework)));
        }
    }
    Ok(Count {
        lines,
        concepts: concepts.len(),
    })
}

/// A line without its comment; `None` if nothing is left that somebody had to think of.
fn code_of(line: &str) -> Option<&str> {
    let code = line.split_once("//").map_or(line, |(code, _)| code).trim();
    code.contains(|letter: char| letter.is_alphanumeric())
        .then_some(code)
}

/// The names in a line that begin so.
fn names<'a>(line: &'a str, prefixes: &'a [&'a str]) -> impl Iterator<Item = String> + 'a {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    line.split(move |letter| !is_name(letter))
        .filter(|word| prefixes.iter().any(|prefix| word.starts_with(prefix)))
        .map(|word| word.trim_end_matches(':').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_brackets_and_blank_lines_are_nobodys_work() {
        let source = "// all of it\n\n}\n    });\n  int a = 1;  // one\n#endif\n";
        let code: Vec<&str> = source.lines().filter_map(code_of).collect();
        assert_eq!(code, ["int a = 1;", "#endif"]);
    }

    #[test]
    fn names_are_those_of_the_framework() {
        let line = "std::unique_ptr<grpc::Server> server = grpc::ServerBuilder().Build(GRPC_X);";
        let found: Vec<String> = names(line, prefixes(Framework::Grpc)).collect();
        assert_eq!(found, ["grpc::Server", "grpc::ServerBuilder", "GRPC_X"]);
        let socket = "const int made = ::socket(AF_INET, SOCK_STREAM, 0);";
        let found: Vec<String> = names(socket, prefixes(Framework::TcpAs)).collect();
        assert_eq!(found, ["::socket"]);
    }
}
