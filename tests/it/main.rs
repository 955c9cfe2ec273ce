//! The integration tests: one binary, a file per theme.

mod adoption;
mod api;
mod categories;
mod cli_check;
mod cli_config;
mod cli_init;
mod cli_new;
mod cli_service;
mod cli_stats;
mod cli_words;
mod conflicts;
mod edits;
mod first;
mod identity;
mod kb;
mod listing;
mod look;
mod merge;
mod names;
mod quiet;
mod remote;
mod schema;
mod tidy;
mod visibility;
mod wire;
mod world;
