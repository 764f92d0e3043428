//! Service interfaces (TS 29.500): resource router, models, problem documents, headers.
