//! The one program: `corewire`.
fn main() {}
