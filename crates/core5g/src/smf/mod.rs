//! SMF as two microservices, gateway and PDU session (TS 29.502).
