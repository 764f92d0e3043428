//! Transcripts of procedures, for the tests of network functions: text files of what happens to one, and what
//! it does then, in virtual time (`tests/transcripts`).
//!
//! `#` begins a comment. A line that begins with one of the words of [`Player::OUTPUTS`] is what the network
//! function did after the line above; all that it did must be there, in its order. The others happen to it:
//!
//! | line | meaning |
//! |---|---|
//! | `network key=value ...` | settings, as the first line |
//! | `play NAME` | another transcript first, which is not repeated here |
//! | any other | what the player of this network function makes of it |
//!
//! `TRANSCRIPTS=write cargo test -p corewire-core5g-amf transcripts` writes what is done into the files: what
//! changed is then to be read. `TRANSCRIPT=NAME` plays one.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests begin at the time of the clock"
    )
)]

pub mod args;
pub mod words;
pub mod world;

use std::path::Path;

/// Plays transcripts of one network function.
pub trait Player {
    /// What the lines begin with that the network function does.
    const OUTPUTS: &'static [&'static str];

    /// A network function as the settings want it.
    fn new(settings: &str) -> Self;

    /// Does what a line says.
    fn step(&mut self, line: &str);

    /// What the network function has done since it was last asked, a line each.
    fn outputs(&mut self) -> Vec<String>;
}

fn read(folder: &Path, name: &str) -> String {
    let path = folder.join(format!("{name}.txt"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What happens in a transcript, apart from what is done then; those that it plays first included.
fn happenings<P: Player>(folder: &Path, text: &str) -> Vec<(bool, String)> {
    let is_output = |line: &&str| P::OUTPUTS.iter().any(|word| line.starts_with(word));
    let mut all = Vec::new();
    for line in text
        .lines()
        .map(str::trim_end)
        .filter(|line| !is_output(line))
    {
        if let Some(name) = line.strip_prefix("play ") {
            let first = happenings::<P>(folder, &read(folder, name)).into_iter();
            all.extend(first.map(|(_, line)| (false, line)));
        }
        all.push((true, line.to_owned()));
    }
    all
}

/// The whole transcript as it is now.
fn played<P: Player>(folder: &Path, text: &str) -> String {
    let mut player = None;
    let mut whole = String::new();
    for (is_shown, line) in happenings::<P>(folder, text) {
        if is_shown {
            whole += &line;
            whole.push('\n');
        }
        let is_setting = line.starts_with("network ");
        if line.is_empty() || line.starts_with('#') || line.starts_with("play ") {
            continue;
        }
        let settings = line.strip_prefix("network ").unwrap_or_default();
        let player = player.get_or_insert_with(|| P::new(settings));
        if !is_setting {
            player.step(&line);
        }
        for output in player.outputs() {
            if is_shown {
                whole += &output;
                whole.push('\n');
            }
        }
    }
    whole
}

/// Plays all transcripts of the crate whose tests run, and compares.
///
/// # Panics
/// When one is played differently, or when Cargo does not run the tests.
pub fn all_are_played_to_the_letter<P: Player>() {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").expect("Cargo runs the tests");
    let folder = &Path::new(&manifest).join("tests/transcripts");
    let writes = std::env::var("TRANSCRIPTS").is_ok_and(|mode| mode == "write");
    let only = std::env::var("TRANSCRIPT").ok();
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "txt"))
        .collect();
    files.sort();
    assert!(files.len() > 1, "{}", folder.display());
    let mut wrong = Vec::new();
    for path in files {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let text = read(folder, &name);
        let Ok(played) = std::panic::catch_unwind(|| played::<P>(folder, &text)) else {
            wrong.push(format!("{name}: cannot be played"));
            continue;
        };
        if writes {
            std::fs::write(&path, &played).unwrap();
        }
        let lines = text.lines().zip(played.lines()).enumerate();
        let differs = lines.filter(|(_, (wanted, found))| wanted.trim_end() != *found);
        if let Some((at, (wanted, found))) = differs.into_iter().next() {
            wrong.push(format!(
                "{name}.txt:{}: wanted {wanted}\n  found {found}",
                at + 1
            ));
        } else if text.lines().count() != played.lines().count() {
            let (wanted, found) = (text.lines().count(), played.lines().count());
            wrong.push(format!(
                "{name}.txt has {wanted} lines, and {found} are played"
            ));
        }
    }
    assert!(wrong.is_empty() || writes, "\n{}", wrong.join("\n"));
}
