//! Decisions as data: small worlds, their plans, and the laws of all plans.

mod apply;
mod categories;
mod conflicts;
mod emptied;
mod flags;
mod guards;
mod identity;
mod laws;
mod order;
mod people;
mod small;
mod table;
mod worlds;
