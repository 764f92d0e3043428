//! NRF (TS 29.510): registration and discovery, the 3GPP face of the control plane's registry.
