//! Where things lie in the mirror: a folder per category, a file per article.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The ending of an article's file.
pub const EXTENSION: &str = ".html";

/// The file that holds a category's words.
pub const CATEGORY_FILE: &str = "_category.yaml";

/// An article's place: its category's folder and its file's name, ending included.
///
/// Both are single names: no separator, not empty, not `.` or `..`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Place {
    /// The category's folder.
    pub folder: String,
    /// The file's name, with `.html`.
    pub file: String,
}

impl Place {
    /// Puts a folder's and a file's name together.
    pub fn new(folder: impl Into<String>, file: impl Into<String>) -> Self {
        Self {
            folder: folder.into(),
            file: file.into(),
        }
    }

    /// The file's name without `.html`.
    pub fn stem(&self) -> &str {
        self.file.strip_suffix(EXTENSION).unwrap_or(&self.file)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.folder, self.file)
    }
}
