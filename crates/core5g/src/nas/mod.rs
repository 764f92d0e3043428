//! 5G NAS (TS 24.501): the messages of N1 as this crate's types, and their protection (TS 33.501, 6.4).
