//! HTML as kbsync reads it: byte for byte, never rewritten.
//!
//! [`tokens`] cuts a text into tokens that tile it exactly, even if the markup is broken. Everything else uses the
//! tokens:
//! - [`units()`] cuts a text into the units of a merge: lines and blocks;
//! - [`balance()`] finds tags that are left open, and end tags without start tags;
//! - [`shrank`] measures how much of a text the service kept;
//! - [`references()`] lists links and sources, [`images_without_alt`] images for which a reader may see nothing.
//!
//! This is not an HTML parser: there is no tree, nothing is repaired, and character references are resolved only where
//! a reader would see them. Every function takes time linear in the length of the text, whatever its content.

mod balance;
mod measure;
mod references;
mod scan;
mod units;

pub use balance::{Balance, Tag, balance};
pub use measure::{decoded, is_same_markup, shrank};
pub use references::{Reference, images_without_alt, line_of, references};
pub use scan::{Attribute, Kind, Name, Token, Tokens, tokens};
pub use units::{is_blank, units};

#[cfg(test)]
mod tests;
