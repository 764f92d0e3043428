//! 5G-AKA (TS 33.501, 6.1.3.2): MILENAGE, key hierarchy, sequence numbers, SUCI.
