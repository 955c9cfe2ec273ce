//! The integration tests: one binary, a file per theme.

mod categories;
mod cli_check;
mod cli_config;
mod cli_init;
mod cli_new;
mod cli_service;
mod cli_stats;
mod cli_words;
mod echo;
mod edits;
mod first;
mod guards;
mod identity;
mod kb;
mod look;
mod merge;
mod names;
mod remote;
mod schema;
mod tidy;
mod wire;
mod world;
