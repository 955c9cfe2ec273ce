//! How the service is read, and what a bad answer may not do.

mod api;
mod hostile;
mod listing;
mod memory;
mod probes;
