//! Sans-IO protocol cores: bytes in, bytes and events out; no socket, no clock, no lock.
