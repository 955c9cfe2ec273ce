//! The integration tests: one binary, a folder per part, a file per theme.

mod cli;
mod daemon;
mod deployment;
mod engine;
mod git;
mod kill_sweep;
mod service;
mod simulator;
mod support;
mod tidy;
