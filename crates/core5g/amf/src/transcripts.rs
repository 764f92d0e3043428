//! Transcripts of an AMF's procedures: what UEs, gNBs and other network functions do, and what the AMF
//! does then, in the words of the specifications and in virtual time (`tests/transcripts`).
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
//! `TRANSCRIPTS=write cargo test -p corewire-core5g-amf transcripts` writes what the AMF does into the files:
//! what changed is then to be read.

mod amf;
mod gnb;
mod player;
mod said;
mod ue;
mod words;

use corewire_core5g_transcripts::all_are_played_to_the_letter;
use player::Player;

#[test]
fn transcripts_are_played_to_the_letter() {
    all_are_played_to_the_letter::<Player>();
}
