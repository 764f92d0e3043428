//! gNBs and UEs that attach to an AMF and check what they receive.
