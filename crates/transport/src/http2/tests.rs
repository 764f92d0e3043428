//! Client and server in memory, with a settable clock.

mod endings;
mod malformed;
mod memory;
mod pair;
mod strangers;
mod streams;
mod unary;
mod vectors;

use pair::Pair;
