//! Why a file is not ready, and what can be told about it all the same.
//!
//! A file that is not ready is a problem in the report: never pushed, never taken for a removal.

use crate::model::{ArticleId, CategoryId};
use std::fmt;
use uuid::Uuid;

/// The part of a file that is searched for the line with its id, in bytes.
const ID_SEARCH: usize = 128 * 1024;

/// Why a file cannot be an article or a category, where, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct NotReady {
    /// The line in the file, from 1, where there is one.
    pub line: Option<usize>,
    /// The fault.
    pub message: String,
    /// The remedy.
    pub remedy: String,
    /// The article whose `id:` line is in the file, readable or not: the article is not absent.
    pub id: Option<ArticleId>,
    /// Likewise for a category's file.
    pub category: Option<CategoryId>,
}

impl NotReady {
    /// Makes a problem of the whole file.
    pub fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            line: None,
            message: message.into(),
            remedy: remedy.into(),
            id: None,
            category: None,
        }
    }

    /// Makes a problem of one line, counted from 1.
    pub fn at(line: usize, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            ..Self::new(message, remedy)
        }
    }
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}; {}", self.message, self.remedy)
    }
}

/// Returns whether a text has all three of git's conflict markers at line starts.
pub fn has_conflict_markers(text: &str) -> bool {
    let marks = |marker: &str| {
        text.lines().any(|line| {
            line.strip_prefix(marker)
                .is_some_and(|rest| rest.trim_end().is_empty() || rest.starts_with(' '))
        })
    };
    marks("<<<<<<<") && marks("=======") && marks(">>>>>>>")
}

/// Finds the id in a file, even one that is broken: the first `id:` line before the body. Neither a missing
/// line of dashes nor something that got in before it must hide the id.
pub(super) fn find_id(bytes: &[u8]) -> Option<Uuid> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(ID_SEARCH)]);
    head.trim_start_matches('\u{feff}')
        .lines()
        .scan(0, |dashes, line| {
            // The body begins at the second line of dashes.
            *dashes += usize::from(line.trim_end() == "---");
            (*dashes < 2).then_some(line)
        })
        .find_map(id_in_line)
}

fn id_in_line(line: &str) -> Option<Uuid> {
    let key_and_rest = line.trim_start();
    let rest = ["id", "\"id\"", "'id'"]
        .iter()
        .find_map(|key| key_and_rest.strip_prefix(key))?;
    let value = rest.trim_start().strip_prefix(':')?;
    let value = value.split('#').next().unwrap_or(value);
    Uuid::try_parse(value.trim().trim_matches(['"', '\''])).ok()
}
