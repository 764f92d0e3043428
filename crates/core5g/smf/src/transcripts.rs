//! Transcripts of an SMF's procedures: what UEs, gNBs, AMFs and other network functions do, and what a replica
//! or the gateway does then, in the words of the specifications and in virtual time (`tests/transcripts`;
//! [`corewire_core5g_transcripts`] says what all transcripts have).
//!
//! `smf>` is what the SMF answers, `sbi>` what it asks.
//!
//! | line | meaning |
//! |---|---|
//! | `network key=value ...` | settings: `pool` (of the DNN `internet`), `part`, `flow`; `half=gateway`: it is the gateway |
//! | `ue: PDU SESSION ESTABLISHMENT REQUEST ...`, `ue2: ...` | the AMF hands this on in CreateSMContext |
//! | `ue: MESSAGE context-2 ...` | in UpdateSMContext of this context, `context-1` where none is named |
//! | `gnb: PDU_RES_SETUP_RSP ...` | N2 SM information in UpdateSMContext |
//! | `amf: UpdateSMContext ...`, `ReleaseSMContext ...` | an AMF asks for this |
//! | `amf: N1N2TransferFailureNotification ...` | the UE that the AMF has called does not come |
//! | `udm: DeregistrationNotification ...` | the UDM calls back |
//! | `sbi< STATUS ...` | the answer to the request that waits longest; `none`: no answer comes; `unsent`: no instance took it |
//! | `sbi<2 STATUS ...` | the answer to the one that waits behind it |
//! | `smf restarts` | another process takes its place, with what the UDSF has |
//! | `udsf serves`, `full`, `gone` | how the UDSF takes requests from now on; it answers at once |
//! | `udsf has other-1 ...` | it has a context that another replica made |
//! | `tick 16s` | time passes |

mod player;
mod said;
mod smf;
mod words;

use corewire_core5g_transcripts::all_are_played_to_the_letter;
use player::Player;

#[test]
fn transcripts_are_played_to_the_letter() {
    all_are_played_to_the_letter::<Player>();
}
