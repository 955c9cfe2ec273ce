//! Decisions as data: small worlds, the plans that they make, and what is true of all plans.

mod apply;
mod laws;
mod small;
mod table;
mod worlds;

use small::{Small, check, table, table_for};
