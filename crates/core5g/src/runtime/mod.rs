//! How an NF process starts, finds its peers, calls them, and ends.
