//! Transcripts of an AMF's procedures: what UEs, gNBs and other network functions do, and what the AMF
//! does then, in the words of the specifications and in virtual time (`tests/transcripts/amf`).
//!
//! `#` begins a comment. A line that begins with `amf>` or `sbi>` is what the AMF did after the line
//! above; all that it did must be there, in its order. The others happen to it:
//!
//! | line | meaning |
//! |---|---|
//! | `network key=value ...` | settings, as the first line: `tacs`, `slices`, `gutis`, `t3512`, `grace`, `flow`, `nea=none` |
//! | `play NAME` | another transcript first, which is not repeated here |
//! | `ue: MESSAGE ...`, `ue2: ...` | a UE says this, by INITIAL UE MESSAGE where it has no connection |
//! | `gnb: MESSAGE ...`, `gnb2: ...` | a gNB says this; `ends`: its association does |
//! | `sbi< STATUS ...` | the answer to the request that waits longest; `none`: nobody answers |
//! | `nf: PATH ...` | another network function asks the AMF |
//! | `amf restarts` | another process takes its place, with what the UDSF has |
//! | `udsf serves`, `full`, `gone` | how the UDSF takes requests from now on; it answers at once |
//! | `tick 6s` | time passes |
//!
//! `TRANSCRIPTS=write cargo test -p corewire-core5g transcripts` writes what the AMF does into the files:
//! what changed is then to be read.

mod amf;
mod args;
mod player;
mod said;
mod ue;
mod words;
mod world;

use player::Player;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts/amf")
}

fn read(name: &str) -> String {
    let path = folder().join(format!("{name}.txt"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn is_output(line: &str) -> bool {
    line.starts_with("amf>") || line.starts_with("sbi>")
}

/// What happens in a transcript, apart from what the AMF does; those that it plays first included.
fn happenings(text: &str) -> Vec<(bool, String)> {
    let mut all = Vec::new();
    for line in text
        .lines()
        .map(str::trim_end)
        .filter(|line| !is_output(line))
    {
        if let Some(name) = line.strip_prefix("play ") {
            let first = happenings(&read(name)).into_iter();
            all.extend(first.map(|(_, line)| (false, line)));
        }
        all.push((true, line.to_owned()));
    }
    all
}

/// The whole transcript as it is now.
fn played(text: &str) -> String {
    let mut player = None;
    let mut whole = String::new();
    for (is_shown, line) in happenings(text) {
        if is_shown {
            whole += &line;
            whole.push('\n');
        }
        let is_setting = line.starts_with("network ");
        if line.is_empty() || line.starts_with('#') || line.starts_with("play ") {
            continue;
        }
        let settings = line.strip_prefix("network ").unwrap_or_default();
        let player = player.get_or_insert_with(|| Player::new(settings));
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

#[test]
fn transcripts_are_played_to_the_letter() {
    let writes = std::env::var("TRANSCRIPTS").is_ok_and(|mode| mode == "write");
    let only = std::env::var("TRANSCRIPT").ok();
    let mut files: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "txt"))
        .collect();
    files.sort();
    assert!(files.len() > 1, "{}", folder().display());
    let mut wrong = Vec::new();
    for path in files {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let text = read(&name);
        let Ok(played) = std::panic::catch_unwind(|| played(&text)) else {
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
