//! AUSF (TS 29.509): authentication of UEs.
