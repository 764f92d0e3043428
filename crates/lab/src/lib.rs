//! The measuring lab: scenarios, load, recording, statistics, report.
