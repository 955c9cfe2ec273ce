//! HTML as kbsync reads it: byte for byte, never rewritten.
//!
//! [`tokens`] cuts a text into tokens that tile it exactly, also where the markup is broken;
//! everything else here stands on that:
//! - [`units()`] cuts a text into the pieces that merges work with: lines and blocks;
//! - [`balance()`] says which tags were left open and which were closed without need;
//! - [`elements`], [`visible_text`] and [`shrank`] measure what the service kept of what was sent;
//! - [`references()`] lists links and images.
//!
//! This is no HTML parser: there is no tree, nothing is repaired, and character references are read
//! only where a reader would see them. Every function takes time proportional to the text, whatever
//! the text is.

mod balance;
mod measure;
mod name;
mod references;
mod scan;
mod units;

pub use balance::{Balance, Tag, balance};
pub use measure::{decoded, elements, shrank, visible_text};
pub use name::Name;
pub use references::{Reference, ReferenceKind, line_of, references};
pub use scan::{Attribute, Kind, Token, Tokens, tokens};
pub use units::{is_blank, units};

#[cfg(test)]
mod tests;
