//! A block of YAML with one key per line, parsed into entries that know their lines.
//!
//! The text stays with the caller, who edits it by line. Positions from the YAML parser are checked against the lines,
//! because later edits rely on them.

use super::frame::NotReady;
pub(super) use crate::model::yaml::Style;
use crate::model::yaml::{self, Fault};
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
    /// Returns the value if it is a single text; YAML's null is not a text.
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
    /// Parses a block. Line numbers in errors are those of the block, from 1.
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
        // The parser accepts a byte order mark at the very end, but no longer once a key is written behind the mark.
        if let Some(at) = lines.iter().position(|line| line.starts_with('\u{feff}')) {
            return Err(NotReady::at(
                at + 1,
                "a byte order mark, which cannot be seen, begins this line",
                "retype the line",
            ));
        }
        let mut block = Self {
            entries: read_entries(&yaml, &lines)
                .map_err(|problem| likely_mistake(&lines).unwrap_or(problem))?,
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

    /// Gives each entry the lines up to the next entry, without the blank lines and comments between them.
    fn close_entries(&mut self, lines: &[&str]) {
        let starts: Vec<usize> = self.entries.iter().map(|entry| entry.lines.start).collect();
        for (number, entry) in self.entries.iter_mut().enumerate() {
            let mut end = starts.get(number + 1).copied().unwrap_or(lines.len());
            while end > entry.lines.start + 1 && is_between(lines[end - 1], self.indent) {
                end -= 1;
            }
            // A block scalar with `+` keeps the blank lines behind it: they are part of the text.
            let keeps = |line: &&str| line.contains('+') && line.contains(['|', '>']);
            let blank = || {
                let rest = lines[end..].iter();
                rest.take_while(|line| line.trim().is_empty())
            };
            if lines[entry.lines.start..end].iter().any(keeps) {
                end += blank().count();
            } else if matches!(entry.value, Value::Scalar(_, Style::Block)) {
                // Spaces beyond the indentation are part of the text, too.
                let has_blanks = |line: &&str| !line.trim_end_matches(['\r', '\n']).is_empty();
                end += blank()
                    .collect::<Vec<_>>()
                    .iter()
                    .rposition(|line| has_blanks(line))
                    .map_or(0, |last| last + 1);
            }
            entry.lines.end = end;
            if end > entry.lines.start + 1 && entry.text() != Some("") {
                // A comment that is indented below a one-line value belongs to the entry, not to the value.
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

/// Reads CRLF as LF. A lone carriage return is refused: only YAML would count it as a line end.
fn normalise(raw: &str) -> Result<Cow<'_, str>, NotReady> {
    if !raw.contains('\r') {
        return Ok(Cow::Borrowed(raw));
    }
    let yaml = raw.replace("\r\n", "\n");
    match yaml.find('\r') {
        None => Ok(Cow::Owned(yaml)),
        Some(at) => Err(NotReady::at(
            yaml[..at].matches('\n').count() + 1,
            "a carriage return without a line feed",
            "save the file with LF or CRLF line ends",
        )),
    }
}

fn ends_document(line: &str) -> bool {
    line.strip_prefix("...")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

/// Finds the two likely mistakes in invalid YAML: a colon in a plain text, and a key without a colon.
fn likely_mistake(lines: &[&str]) -> Option<NotReady> {
    let is_word = |key: &str| key.chars().all(|c| c.is_alphanumeric() || c == '_');
    (1..).zip(lines).find_map(|(number, line)| {
        let line = line.trim_end();
        let Some((key, value)) = line.split_once(':') else {
            let (key, value) = line.split_once(' ')?;
            let message = format!("there is no colon after `{key}`");
            let remedy = format!("write `{key}: {value}`");
            let is_key = super::KEYS.contains(&key);
            return is_key.then(|| NotReady::at(number, message, remedy));
        };
        let value = value.split(" #").next().unwrap_or(value).trim();
        let is_plain = !value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '!', '#']);
        let is_meant = !key.is_empty() && is_word(key) && is_plain && value.contains(": ");
        let message = format!("the text after `{key}:` has a colon in it");
        let quoted = value.replace('"', "\\\"");
        let remedy = format!("put it into quotes: `{key}: \"{quoted}\"`");
        is_meant.then(|| NotReady::at(number, message, remedy))
    })
}

/// The deepest nesting below a key that is not kbsync's.
const MAX_DEPTH: usize = 24;

/// Parses the entries of a block; `lines` are the lines of `yaml`.
fn read_entries(yaml: &str, lines: &[&str]) -> Result<Vec<Entry>, NotReady> {
    let document = yaml::parse(yaml, MAX_DEPTH).map_err(refused)?;
    if let Some(line) = document.dashes {
        return Err(refused(Fault::second_document(line)));
    }
    let Some(root) = document.root else {
        return Ok(Vec::new());
    };
    let entries = match root.value {
        yaml::Value::Map(entries) => entries,
        yaml::Value::Text(text, Style::Plain) if text.is_empty() => return Ok(Vec::new()),
        yaml::Value::Text(..) | yaml::Value::List(_) => {
            return Err(NotReady::at(
                root.line,
                "this is not a list of keys and values",
                "write lines like `title: Install`",
            ));
        }
    };
    let first = line_of(lines, root.line);
    if first[byte_column(first, root.column)..].starts_with('{') {
        return Err(NotReady::at(
            root.line,
            "the keys are in braces",
            "write one key per line",
        ));
    }
    let entries = entries.into_iter();
    entries.map(|entry| read_entry(entry, lines)).collect()
}

fn read_entry(entry: yaml::Entry, lines: &[&str]) -> Result<Entry, NotReady> {
    let text = line_of(lines, entry.line);
    let Some(after_colon) = colon_end(text, &entry) else {
        return Err(NotReady::at(
            entry.line,
            "this key is not on a line of its own",
            "write lines like `title: Install`",
        ));
    };
    let (value, spot) = match entry.node.value {
        yaml::Value::Text(value, style) => {
            let same_line = entry.node.line == entry.line;
            let spot = same_line.then(|| spot(text, entry.node.column, &value, style));
            (Value::Scalar(value, style), spot.flatten())
        }
        yaml::Value::List(_) | yaml::Value::Map(_) => (Value::Nested, None),
    };
    Ok(Entry {
        key: entry.key,
        value,
        lines: entry.line - 1..entry.line,
        after_colon,
        spot,
    })
}

/// A line of a block, counted from 1.
fn line_of<'l>(lines: &[&'l str], line: usize) -> &'l str {
    lines.get(line.saturating_sub(1)).copied().unwrap_or("")
}

fn refused(fault: Fault) -> NotReady {
    NotReady::at(fault.line, fault.message, fault.remedy)
}

/// Finds the end of the colon behind a key. An explicit key (`?`) or a key that ends on another line has none.
fn colon_end(line: &str, entry: &yaml::Entry) -> Option<usize> {
    let end = entry.end.filter(|_| entry.column == indent_of(line))?;
    let after_key = byte_column(line, end);
    let colon = line[after_key..].find(':')?;
    let between = &line[after_key..after_key + colon];
    between.trim().is_empty().then_some(after_key + colon + 1)
}

/// Finds a value that lies entirely on its key's line. The parser's end of a value may include the blanks and the
/// comment behind it, so the end is searched for here.
fn spot(line: &str, column: usize, value: &str, style: Style) -> Option<Range<usize>> {
    let start = byte_column(line, column);
    let written = &line[start..];
    let length = match style {
        Style::Plain => (!value.is_empty() && written.starts_with(value)).then_some(value.len()),
        Style::Single => quoted_len(written, '\''),
        Style::Double => quoted_len(written, '"'),
        Style::Block => None,
    }?;
    Some(start..start + length)
}

/// The length of a quoted text that ends on its line.
fn quoted_len(written: &str, quote: char) -> Option<usize> {
    let mut chars = written.char_indices().peekable();
    chars.next().filter(|&(_, first)| first == quote)?;
    while let Some((at, c)) = chars.next() {
        if c == '\\' && quote == '"' {
            chars.next();
        } else if c == quote {
            let doubled = quote == '\'' && chars.peek().is_some_and(|&(_, next)| next == quote);
            if !doubled {
                return Some(at + 1);
            }
            chars.next();
        }
    }
    None
}

/// Turns a column in characters into one in bytes.
fn byte_column(line: &str, column: usize) -> usize {
    line.char_indices()
        .nth(column)
        .map_or(line.len(), |(byte, _)| byte)
}
