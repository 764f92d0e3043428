//! AMF (TS 23.501, 6.2.1): N1 and N2, registration, mobility; one file a procedure.
