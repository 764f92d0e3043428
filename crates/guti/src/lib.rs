//! The 5G-GUTI, its allocator and its service messages.
