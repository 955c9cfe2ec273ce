//! The names of files that are kept beside another one.

use crate::model::path::{CONFLICT_EXTENSION, EXTENSION};

/// The name under which a file is kept whose own is taken.
pub fn beside_name(name: &str, number: u32) -> String {
    let ending = format!(".{number}{CONFLICT_EXTENSION}");
    let mut stem = name
        .strip_suffix(EXTENSION)
        .unwrap_or(name)
        .trim_start_matches('.')
        .to_owned();
    while stem.len() + ending.len() > 255 {
        stem.pop();
    }
    stem + &ending
}
