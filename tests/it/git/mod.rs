//! Mirrors in repositories, with the real git.

mod behind;
mod categories;
mod objects;
mod team;
