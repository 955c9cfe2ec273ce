//! The integration tests: one binary, a file per theme.

mod first;
mod merge;
mod world;
