//! The gNBs of a transcript: what the AMF sends them is kept.

use crate::ports::Association;
use corewire_core5g_transcripts::world::{self, Output};

/// What the AMF does to a gNB.
pub(super) enum ToGnb {
    /// It sent this.
    N2 { gnb: usize, octets: Vec<u8> },
    /// It ended the association.
    Abort { gnb: usize },
}

/// The ports of an AMF.
pub(super) type World = world::World<ToGnb>;

/// An association of this gNB.
pub(super) fn association(world: &World, gnb: usize) -> Box<dyn Association> {
    Box::new(Line {
        world: world.clone(),
        gnb,
    })
}

/// The association of a gNB, whose messages are kept.
struct Line {
    world: World,
    gnb: usize,
}

impl Association for Line {
    fn send(&self, _stream: u16, _name: &'static str, octets: &[u8]) {
        self.world.push(Output::Own(ToGnb::N2 {
            gnb: self.gnb,
            octets: octets.to_vec(),
        }));
    }

    fn streams(&self) -> u16 {
        4
    }

    fn abort(&self) {
        let gnb = self.gnb;
        self.world.push(Output::Own(ToGnb::Abort { gnb }));
    }
}
