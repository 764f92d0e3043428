//! The C face of the message router: `librmr_si.so` and `include/rmr/rmr.h`, a drop-in for the
//! library that xApps link with `-lrmr_si`.
//!
//! What a route is and which endpoint a message goes to stands in `corewire-rmr`, what octets look
//! like in `corewire-wire`. Here is the rest of a running router:
//!
//! - `abi`: the exported functions, one module a group; pointers are checked and panics end there;
//! - [`message`], [`pool`]: the buffer that C sees, and where buffers rest between uses;
//! - [`open`], [`context`]: what `rmr_init` does, and what it makes;
//! - [`link`](mod@link), [`flush`], [`flusher`]: sending. The calling thread writes; when messages
//!   come faster than they can be written one by one they gather, and a helper thread writes what
//!   is left when they stop;
//! - [`inbox`], [`driver`]: receiving. The thread that wants a message drives the sockets itself,
//!   one thread at a time; the others wait to be handed a message or the lead;
//! - [`carrier`]: SI95, the native protocol, shared memory, NNG: a file for each;
//! - [`control`]: the thread that collects routes and prints statistics.
//!
//! Imports go one way: `abi`, `open`, `control`, `send`, `context`, `inbox`, `driver`, `link`, and
//! below these `carrier` and what knows of none of them.
//!
//! A context that was closed keeps its (emptied) memory: programs may still hold its address in
//! another thread, and get an error instead of a crash.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![allow(
    unsafe_code,
    reason = "pointers from C are dereferenced, and buffers are C's, here"
)]
#![allow(
    clippy::missing_safety_doc,
    reason = "the contract of each exported function stands in the header"
)]
#![allow(
    unreachable_pub,
    missing_docs,
    reason = "what is exported is reached by the linker, not by Rust paths, and its documentation \
              is the header"
)]

mod abi;
mod arrival;
mod boundary;
mod carrier;
mod context;
mod control;
mod deadline;
mod dial;
mod driver;
mod errno;
mod flush;
mod flusher;
mod inbox;
mod interfaces;
mod link;
mod log;
mod message;
mod names;
mod open;
mod outgoing;
mod pool;
mod readable;
mod ready;
mod send;
mod send_timeout;
mod shared;
mod state;
