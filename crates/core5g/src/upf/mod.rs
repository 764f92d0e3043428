//! UPF: tunnel ids and addresses; no user plane yet.
