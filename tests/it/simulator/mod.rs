//! The simulator: worlds made up by the thousand, and what has to hold in each of them.
//!
//! Layer L0 is the [`planner`] alone: every small world, against a model. L1 and L2 are whole engines in
//! made-up worlds, in memory and on a real folder: [`engine`]. [`planted`] has the defects that they have to find. The layers share nothing but the invariants'
//! names (I1 to I16). `cargo test` runs a bounded part of each; `cargo run --release --example simulate`
//! runs on.

pub(crate) mod engine;
pub(crate) mod planner;
pub(crate) mod planted;
