//! A block of YAML that holds one key per line of a map: read into entries that know their lines.
//!
//! The parser only says where things are; the text itself stays with the caller, who edits it by line.
//! Anchors, aliases, tags, duplicate keys, more than one document and deep nesting are refused, so that
//! a small file stays small in memory (failures row 137).

use super::problem::NotReady;
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use std::{borrow::Cow, collections::HashSet, ops::Range};

/// The longest block, in bytes.
pub(super) const MAX_BLOCK: usize = 64 * 1024;

/// The deepest nesting below a key of the writer's own.
const MAX_DEPTH: usize = 24;

/// How a scalar was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// Without quotes.
    Plain,
    /// In single quotes.
    Single,
    /// In double quotes.
    Double,
    /// With `|` or `>`.
    Block,
}

/// What stands behind a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    /// One text.
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
    /// Where on the first line the colon ends, in bytes.
    pub(super) after_colon: usize,
    /// Where on the first line the value stands, when it stands there whole, in bytes.
    pub(super) spot: Option<Range<usize>>,
}

impl Entry {
    /// Gives the value when it is one text; what YAML calls null is no text.
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
        let mut reader = Reader {
            lines: &lines,
            block: Self::default(),
            seen: HashSet::new(),
        };
        reader.read(&yaml)?;
        let mut block = reader.block;
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
            if lines[entry.lines.start..end].iter().any(keeps) {
                end += lines[end..]
                    .iter()
                    .take_while(|line| line.trim().is_empty())
                    .count();
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

/// Tells whether a line belongs to no entry: blank, or a comment that is not indented below a key.
pub(super) fn is_between(line: &str, indent: usize) -> bool {
    let text = line.trim_start_matches(' ');
    text.trim().is_empty() || (text.starts_with('#') && line.len() - text.len() <= indent)
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

struct Reader<'l> {
    lines: &'l [&'l str],
    block: Block,
    seen: HashSet<String>,
}

impl Reader<'_> {
    fn read(&mut self, yaml: &str) -> Result<(), NotReady> {
        let mut events = Parser::new_from_str(yaml);
        let mut documents = 0_usize;
        while let Some((event, span)) = next(&mut events)? {
            match event {
                Event::DocumentStart(explicit) => {
                    documents += 1;
                    if documents > 1 || explicit {
                        return Err(at(span, "a second YAML document begins here", "keep one"));
                    }
                }
                Event::MappingStart(..) => self.read_map(&mut events, span)?,
                Event::Scalar(ref text, ScalarStyle::Plain, ..) if text.is_empty() => {}
                Event::Scalar(..) | Event::SequenceStart(..) => {
                    return Err(at(
                        span,
                        "this is not a list of keys and values",
                        "write lines like `title: Install`",
                    ));
                }
                Event::Nothing
                | Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentEnd
                | Event::SequenceEnd
                | Event::MappingEnd
                | Event::Alias(_) => {}
            }
        }
        Ok(())
    }

    fn read_map(&mut self, events: &mut Events<'_>, start: Span) -> Result<(), NotReady> {
        if self.rest_of_line(start).starts_with('{') {
            return Err(at(
                start,
                "the keys stand in braces",
                "write one key per line",
            ));
        }
        while let Some((event, span)) = next(events)? {
            let key = match event {
                Event::MappingEnd => return Ok(()),
                Event::Scalar(key, ..) => key.into_owned(),
                Event::Nothing
                | Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentStart(_)
                | Event::DocumentEnd
                | Event::Alias(_)
                | Event::SequenceStart(..)
                | Event::SequenceEnd
                | Event::MappingStart(..) => {
                    return Err(at(
                        span,
                        "this key is not a text",
                        "write keys like `title:`",
                    ));
                }
            };
            self.read_entry(events, key, span)?;
        }
        Ok(())
    }

    fn read_entry(
        &mut self,
        events: &mut Events<'_>,
        key: String,
        span: Span,
    ) -> Result<(), NotReady> {
        let line = span.start.line().saturating_sub(1);
        if !self.seen.insert(key.clone()) {
            return Err(at(
                span,
                &format!("the key {key:?} stands here a second time"),
                "keep one of the two",
            ));
        }
        let text = self.lines.get(line).copied().unwrap_or("");
        let indent = text.len() - text.trim_start_matches(' ').len();
        if self.block.entries.is_empty() {
            self.block.indent = indent;
        }
        let after_key = byte_column(text, span.end.col());
        let colon = text[after_key..].find(':').filter(|&offset| {
            // A key that begins with `?` or ends on another line has no colon here.
            span.end.line() == span.start.line()
                && span.start.col() == indent
                && text[after_key..after_key + offset].trim().is_empty()
        });
        let Some(colon) = colon else {
            return Err(at(
                span,
                "this key is not on a line of its own",
                "write lines like `title: Install`",
            ));
        };
        let Some((event, value_span)) = next(events)? else {
            return Ok(());
        };
        let mut entry = Entry {
            key,
            value: Value::Nested,
            lines: line..line + 1,
            after_colon: after_key + colon + 1,
            spot: None,
        };
        match event {
            Event::Scalar(value, style, ..) => {
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::SingleQuoted => Style::Single,
                    ScalarStyle::DoubleQuoted => Style::Double,
                    ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
                };
                entry.spot = spot(text, value_span, line, &value, style);
                entry.value = Value::Scalar(value.into_owned(), style);
            }
            Event::SequenceStart(..) => skip_nested(events, false)?,
            Event::MappingStart(..) => skip_nested(events, true)?,
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::Alias(_)
            | Event::SequenceEnd
            | Event::MappingEnd => {}
        }
        self.block.entries.push(entry);
        Ok(())
    }

    fn rest_of_line(&self, span: Span) -> &str {
        let line = self
            .lines
            .get(span.start.line().saturating_sub(1))
            .copied()
            .unwrap_or("");
        &line[byte_column(line, span.start.col())..]
    }
}

type Events<'y> = Parser<'y, saphyr_parser::StrInput<'y>>;

/// Takes the next event, and refuses what no block may hold anywhere.
fn next<'y>(events: &mut Events<'y>) -> Result<Option<(Event<'y>, Span)>, NotReady> {
    let (event, span) = match events.next_event() {
        None => return Ok(None),
        Some(Ok(found)) => found,
        Some(Err(error)) => {
            return Err(NotReady::at(
                error.marker().line(),
                format!(
                    "column {}: the YAML cannot be read: {}",
                    error.marker().col() + 1,
                    error.info()
                ),
                "check the quotes, the colons and the indentation here and in the lines before",
            ));
        }
    };
    let (anchor, tagged) = match &event {
        Event::Alias(_) => (1, false),
        Event::Scalar(_, _, anchor, tag) => (*anchor, tag.is_some()),
        Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => {
            (*anchor, tag.is_some())
        }
        Event::Nothing
        | Event::StreamStart
        | Event::StreamEnd
        | Event::DocumentStart(_)
        | Event::DocumentEnd
        | Event::SequenceEnd
        | Event::MappingEnd => (0, false),
    };
    if anchor != 0 {
        return Err(at(
            span,
            "YAML anchors and aliases (`&`, `*`) are not read",
            "put the text into quotes",
        ));
    }
    if tagged {
        return Err(at(
            span,
            "YAML tags (`!`) are not read",
            "put the text into quotes",
        ));
    }
    Ok(Some((event, span)))
}

/// Reads over a value of the writer's own, whatever it is, with a bound on its depth.
fn skip_nested(events: &mut Events<'_>, is_map: bool) -> Result<(), NotReady> {
    // One level per open list or map: for a map, its keys so far and whether a key comes next.
    let mut levels = vec![Level::new(is_map)];
    while let Some((event, span)) = next(events)? {
        match event {
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if levels.len() >= MAX_DEPTH {
                    return Err(at(span, "the YAML is nested too deeply", "make it flatter"));
                }
                if let Some(level) = levels.last_mut() {
                    level.take(None);
                }
                levels.push(Level::new(matches!(event, Event::MappingStart(..))));
            }
            Event::SequenceEnd | Event::MappingEnd => {
                levels.pop();
                if levels.is_empty() {
                    return Ok(());
                }
            }
            Event::Scalar(text, ..) => {
                if let Some(level) = levels.last_mut()
                    && !level.take(Some(&text))
                {
                    return Err(at(
                        span,
                        &format!("the key {text:?} stands here a second time"),
                        "keep one of the two",
                    ));
                }
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::Alias(_) => {}
        }
    }
    Ok(())
}

/// An open list or map within a value of the writer's own.
struct Level {
    keys: Option<HashSet<String>>,
    key_next: bool,
}

impl Level {
    fn new(is_map: bool) -> Self {
        Self {
            keys: is_map.then(HashSet::new),
            key_next: is_map,
        }
    }

    /// Counts a child; false: it is a key that was there before.
    fn take(&mut self, text: Option<&str>) -> bool {
        let Some(keys) = &mut self.keys else {
            return true;
        };
        let is_key = self.key_next;
        self.key_next = !is_key;
        match text {
            Some(text) if is_key => keys.insert(text.to_owned()),
            Some(_) | None => true,
        }
    }
}

/// Finds a value that stands whole on its key's line. The parser's end of a value may lie behind the
/// blanks and the comment that follow it, so the end is looked for here.
fn spot(line: &str, span: Span, number: usize, value: &str, style: Style) -> Option<Range<usize>> {
    if span.start.line() != number + 1 {
        return None;
    }
    let start = byte_column(line, span.start.col());
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

fn at(span: Span, message: &str, remedy: &str) -> NotReady {
    NotReady::at(span.start.line(), message, remedy)
}
