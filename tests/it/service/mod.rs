//! The reading of the service, and the limits of a bad answer's effect.

mod api;
mod hostile;
mod listing;
mod memory;
mod probes;
mod sandbox_faults;
mod sandbox_habits;
