//! Reads what a block holds, and where.
//!
//! Positions that the YAML parser reports are checked against the lines, because later edits rely on them.

use super::{
    block::{Entry, Style, Value, indent_of},
    problem::NotReady,
};
use crate::model::yaml::{self, Fault, FaultKind};
use std::ops::Range;

/// The deepest nesting below a key of the writer's own.
const MAX_DEPTH: usize = 24;

/// Reads the entries of a block; `lines` are those of `yaml`.
pub(super) fn read_entries(yaml: &str, lines: &[&str]) -> Result<Vec<Entry>, NotReady> {
    entries_of(yaml, lines).map_err(|problem| likely_mistake(lines).unwrap_or(problem))
}

/// Finds the two likely mistakes in YAML that cannot be read: a colon in a plain text, and a key without a colon.
fn likely_mistake(lines: &[&str]) -> Option<NotReady> {
    let words =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_');
    (1..).zip(lines).find_map(|(number, line)| {
        let line = line.trim_end();
        let (key, value) = match line.split_once(':') {
            Some((key, value)) if words(key) && value.contains(": ") => (key, value.trim()),
            Some(_) => return None,
            None => {
                let (key, value) = line.split_once(' ')?;
                let remedy = format!("write `{key}: {value}`");
                let message = format!("there is no colon after `{key}`");
                let is_key = super::KEYS.contains(&key);
                return is_key.then(|| NotReady::at(number, message, remedy));
            }
        };
        let is_plain = !value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '!', '#']);
        let remedy = format!(
            "put it into quotes: `{key}: \"{}\"`",
            value.replace('"', "\\\"")
        );
        let message = format!("the text after `{key}:` has a colon in it");
        is_plain.then(|| NotReady::at(number, message, remedy))
    })
}

fn entries_of(yaml: &str, lines: &[&str]) -> Result<Vec<Entry>, NotReady> {
    let document = yaml::parse(yaml, MAX_DEPTH).map_err(refused)?;
    if let Some(line) = document.dashes {
        return Err(refused(Fault {
            line,
            kind: FaultKind::SecondDocument,
        }));
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
            "the keys stand in braces",
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

/// A line of a block, from 1.
fn line_of<'l>(lines: &[&'l str], line: usize) -> &'l str {
    lines.get(line.saturating_sub(1)).copied().unwrap_or("")
}

fn refused(Fault { line, kind }: Fault) -> NotReady {
    let (message, remedy) = match kind {
        FaultKind::Syntax { column, reason } => (
            format!("column {}: the YAML cannot be read: {reason}", column + 1),
            "check the quotes, the colons and the indentation here and in the lines before",
        ),
        FaultKind::Anchor => (
            "YAML anchors and aliases (`&`, `*`) are not read".to_owned(),
            "put the text into quotes",
        ),
        FaultKind::Tag => (
            "YAML tags (`!`) are not read".to_owned(),
            "put the text into quotes",
        ),
        FaultKind::Key => (
            "this key is not a text".to_owned(),
            "write keys like `title:`",
        ),
        FaultKind::Twice(key) => (
            format!("the key {key:?} stands here a second time"),
            "keep one of the two",
        ),
        FaultKind::Deep => (
            "the YAML is nested too deeply".to_owned(),
            "make it flatter",
        ),
        FaultKind::SecondDocument => ("a second YAML document begins here".to_owned(), "keep one"),
    };
    NotReady::at(line, message, remedy)
}

/// Finds the end of the colon behind a key. One that begins with `?`, or ends on another line, has none.
fn colon_end(line: &str, entry: &yaml::Entry) -> Option<usize> {
    let end = entry.end.filter(|_| entry.column == indent_of(line))?;
    let after_key = byte_column(line, end);
    let colon = line[after_key..].find(':')?;
    let between = &line[after_key..after_key + colon];
    between.trim().is_empty().then_some(after_key + colon + 1)
}

/// Finds a value that stands whole on its key's line. The parser's end of a value may lie behind the
/// blanks and the comment that follow it, so the end is looked for here.
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
