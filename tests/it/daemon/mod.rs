//! `kbsync run`: the event loop in virtual time, and the real daemon.

mod branch;
mod due_paths;
mod echo;
mod editors;
mod event_loop;
mod git;
mod git_operations;
mod health;
mod limit;
mod log;
mod poll;
mod ports;
mod run;
mod socket;
mod terminal;
mod token;
mod watch;
