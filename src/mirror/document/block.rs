//! A block of YAML that holds one key per line of a map: read into entries that know their lines.
//!
//! `reader` asks the YAML parser; here is what came of it. The text itself stays with the caller, who
//! edits it by line.

use super::{problem::NotReady, reader::read_entries};
pub(super) use crate::model::yaml::Style;
use std::{borrow::Cow, ops::Range};

/// The longest block, in bytes.
pub(super) const MAX_BLOCK: usize = 64 * 1024;

/// The value behind a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    /// A single text.
    Scalar(String, Style),
    /// A list or a map.
    Nested,
}

/// A key, its value and its lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// The key, unquoted.
    pub(super) key: String,
    /// The value.
    pub(super) value: Value,
    /// The lines from the key to the end of the value, from 0.
    pub(super) lines: Range<usize>,
    /// The end of the colon on the first line, in bytes.
    pub(super) after_colon: usize,
    /// The range of the value on the first line in bytes, when the whole value is on that line.
    pub(super) spot: Option<Range<usize>>,
}

impl Entry {
    /// Returns the value when it is a single text; YAML's null is no text.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text, Style::Plain)
                if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL") =>
            {
                None
            }
            Value::Scalar(text, _) => Some(text),
            Value::Nested => None,
        }
    }
}

/// A block of keys.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Block {
    /// The entries, in their order.
    pub(super) entries: Vec<Entry>,
    /// The column of the keys.
    pub(super) indent: usize,
}

impl Block {
    /// Reads a block. Line numbers in errors are those of the block, from 1.
    pub(super) fn parse(raw: &str) -> Result<Self, NotReady> {
        if raw.len() > MAX_BLOCK {
            return Err(NotReady::new(
                "the front matter is larger than 64 KiB",
                "move what is not front matter below the second `---`",
            ));
        }
        let yaml = normalise(raw)?;
        let lines: Vec<&str> = yaml.split_inclusive('\n').collect();
        if let Some(at) = lines.iter().position(|line| ends_document(line)) {
            return Err(NotReady::at(
                at + 1,
                "a line of `...` ends the YAML",
                "remove the line",
            ));
        }
        // The parser takes one at the very end, and not once a key is written behind it.
        if let Some(at) = lines.iter().position(|line| line.starts_with('\u{feff}')) {
            return Err(NotReady::at(
                at + 1,
                "a byte order mark, which cannot be seen, begins this line",
                "write the line anew",
            ));
        }
        let mut block = Self {
            entries: read_entries(&yaml, &lines)?,
            indent: 0,
        };
        if let Some(first) = block.entries.first() {
            block.indent = indent_of(lines[first.lines.start]);
        }
        block.close_entries(&lines);
        Ok(block)
    }

    /// Finds an entry.
    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Gives each entry the lines up to the next one, but for blank lines and comments between them.
    fn close_entries(&mut self, lines: &[&str]) {
        let starts: Vec<usize> = self.entries.iter().map(|entry| entry.lines.start).collect();
        for (number, entry) in self.entries.iter_mut().enumerate() {
            let mut end = starts.get(number + 1).copied().unwrap_or(lines.len());
            while end > entry.lines.start + 1 && is_between(lines[end - 1], self.indent) {
                end -= 1;
            }
            // A block with `+` keeps the blank lines behind it: they are part of the text.
            let keeps = |line: &&str| line.contains('+') && line.contains(['|', '>']);
            let blank = || {
                let rest = lines[end..].iter();
                rest.take_while(|line| line.trim().is_empty())
            };
            if lines[entry.lines.start..end].iter().any(keeps) {
                end += blank().count();
            } else if matches!(entry.value, Value::Scalar(_, Style::Block)) {
                // Blanks that reach beyond the indentation are text, too.
                let has_blanks = |line: &&str| !line.trim_end_matches(['\r', '\n']).is_empty();
                end += blank()
                    .collect::<Vec<_>>()
                    .iter()
                    .rposition(|line| has_blanks(line))
                    .map_or(0, |last| last + 1);
            }
            entry.lines.end = end;
            if end > entry.lines.start + 1 && entry.text() != Some("") {
                // A comment that is indented below a value on one line is part of the entry, not of the value.
                let rest = &lines[entry.lines.start + 1..end];
                if !rest.iter().all(|line| is_between(line, usize::MAX)) {
                    entry.spot = None;
                }
            }
        }
    }
}

/// Returns whether a line belongs to no entry: blank, or a comment that is not indented below a key.
pub(super) fn is_between(line: &str, indent: usize) -> bool {
    let text = line.trim_start_matches(' ');
    text.trim().is_empty() || (text.starts_with('#') && line.len() - text.len() <= indent)
}

/// Counts the blanks before a line's text.
pub(super) fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Reads CRLF as LF; a carriage return alone would count as a line for YAML and for nobody else.
fn normalise(raw: &str) -> Result<Cow<'_, str>, NotReady> {
    if !raw.contains('\r') {
        return Ok(Cow::Borrowed(raw));
    }
    let yaml = raw.replace("\r\n", "\n");
    match yaml.find('\r') {
        None => Ok(Cow::Owned(yaml)),
        Some(at) => Err(NotReady::at(
            yaml[..at].matches('\n').count() + 1,
            "a carriage return stands alone",
            "save the file with LF or CRLF line ends",
        )),
    }
}

fn ends_document(line: &str) -> bool {
    line.strip_prefix("...")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}
