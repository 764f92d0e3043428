//! The core as a whole: up, status, down.
