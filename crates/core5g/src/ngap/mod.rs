//! NGAP (TS 38.413): the messages of N2 as this crate's types; the codec is wrapped here and nowhere else.
