//! The integration tests: one binary, a file per theme.

mod merge;
