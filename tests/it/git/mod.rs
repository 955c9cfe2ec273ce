//! Mirrors in repositories, with the real git.

mod behind;
mod categories;
mod edited;
mod moves;
mod objects;
mod team;
