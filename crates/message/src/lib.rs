//! What a network function sees: requests, responses, events, streams, and the call trait.
