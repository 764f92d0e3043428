//! The UE's side of an authentication (TS 33.102 clause 6.3.3, TS 33.501 clause 6.1.3.2.0).

use std::fmt;

use super::subscriber::foreign_sqn;
use super::{Autn, Auts, Kausf, Rand, ResStar, ServingNetwork, Sqn, SqnWindow, Subscriber};

/// A USIM: its secrets, and the sequence numbers that it took.
#[derive(Clone, Debug)]
pub struct Usim {
    subscriber: Subscriber,
    window: SqnWindow,
}

/// A challenge that was found good.
#[derive(Clone, Debug)]
pub struct UsimAnswer {
    /// The answer for the network.
    pub res_star: ResStar,
    /// The key that the UE shares with its home network from now on.
    pub kausf: Kausf,
}

/// Why a challenge is not answered, and what AUTHENTICATION FAILURE says then (TS 24.501 clause
/// 5.4.1.3.6).
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "TS 24.501 lists three causes")]
pub enum UsimRefusal {
    /// Another network made it: 5GMM cause 20, MAC failure.
    Mac,
    /// It was not made for 5GS: 5GMM cause 26, non-5G authentication unacceptable.
    SeparationBit,
    /// Its sequence number is not fresh: 5GMM cause 21, synch failure, with this AUTS.
    Synch(Auts),
}

impl Usim {
    /// The USIM of this subscriber, which took the sequence numbers of the window.
    #[must_use]
    pub const fn new(subscriber: Subscriber, window: SqnWindow) -> Self {
        Self { subscriber, window }
    }

    /// Answers a challenge, and takes its sequence number.
    ///
    /// # Errors
    /// The challenge is to be refused; nothing was taken.
    pub fn answer(
        &mut self,
        rand: &Rand,
        autn: &Autn,
        network: &ServingNetwork,
    ) -> Result<UsimAnswer, UsimRefusal> {
        let milenage = self.subscriber.milenage();
        let foreign_rand = oxirush_security::Rand::new(rand.as_bytes());
        let response = milenage
            .check_autn(&foreign_rand, &oxirush_security::Autn::new(autn.as_bytes()))
            .map_err(|_| UsimRefusal::Mac)?;
        if !response.amf().separation_bit() {
            return Err(UsimRefusal::SeparationBit);
        }
        let sqn = Sqn::new(response.sqn().get()).ok_or(UsimRefusal::Mac)?;
        self.window.take(sqn).map_err(|latest| {
            let auts = milenage.auts(&foreign_rand, &foreign_sqn(latest));
            UsimRefusal::Synch(Auts::new(*auts.as_octets()))
        })?;
        let res_star = response
            .res_star(network.to_string().as_bytes())
            .expect("a serving network name has 32 octets");
        Ok(UsimAnswer {
            res_star: ResStar::new(*res_star.as_octets()),
            kausf: Kausf::derive(response.ck(), response.ik(), network, autn),
        })
    }
}

impl fmt::Display for UsimRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mac => "the challenge does not come from the home network",
            Self::SeparationBit => "the challenge was not made for 5GS",
            Self::Synch(_) => "the challenge's sequence number is not fresh",
        })
    }
}

impl std::error::Error for UsimRefusal {}

#[cfg(test)]
#[path = "usim/tests.rs"]
mod tests;
