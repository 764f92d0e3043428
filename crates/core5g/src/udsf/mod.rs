//! UDSF (TS 29.598): contexts that outlive the NF that wrote them.
