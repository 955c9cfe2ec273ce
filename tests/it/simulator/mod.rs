//! The simulator: thousands of made-up worlds, and the invariants of each.
//!
//! Layer L0 is the [`planner`] alone: every small world, against a model. L1 and L2 are whole engines in made-up
//! worlds, in memory and on a real folder: [`engine`]. [`planted`] has the defects that they must find. The layers
//! share only the names of the invariants (I1 to I16). `cargo test` runs a bounded part of each;
//! `cargo run --release --example simulate` continues without an end.

pub(crate) mod engine;
pub(crate) mod planner;
pub(crate) mod planted;
