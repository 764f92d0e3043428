//! UDM (TS 29.503): authentication data, registrations, subscriptions; its subscriber store.
