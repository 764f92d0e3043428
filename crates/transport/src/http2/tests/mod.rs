//! Client and server in memory, with a settable clock.

mod endings;
mod malformed;
mod pair;
mod strangers;
mod streams;
mod unary;

use pair::Pair;
