//! Client and server in memory, with a settable clock.

mod pair;
mod unary;

use pair::Pair;
