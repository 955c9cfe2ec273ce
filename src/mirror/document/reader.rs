//! Asks the YAML parser what a block holds, and where.
//!
//! Anchors, aliases, tags, duplicate keys, more than one document and deep nesting are refused, so that
//! a small file stays small in memory (failures row 137). What the parser says of places is checked
//! against the lines, because later edits rely on it.

use super::{
    block::{Entry, Style, Value, indent_of},
    problem::NotReady,
};
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use std::{collections::HashSet, ops::Range};

/// The deepest nesting below a key of the writer's own.
const MAX_DEPTH: usize = 24;

/// Reads the entries of a block; `lines` are those of `yaml`.
pub(super) fn read_entries(yaml: &str, lines: &[&str]) -> Result<Vec<Entry>, NotReady> {
    let mut reader = Reader {
        lines,
        entries: Vec::new(),
        seen: HashSet::new(),
    };
    match reader.read(yaml) {
        Ok(()) => Ok(reader.entries),
        Err(problem) => Err(likely_mistake(lines).unwrap_or(problem)),
    }
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

struct Reader<'l> {
    lines: &'l [&'l str],
    entries: Vec<Entry>,
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
        let text = self.lines.get(line).copied().unwrap_or("");
        let Some(after_colon) = colon_end(text, span) else {
            return Err(at(
                span,
                "this key is not on a line of its own",
                "write lines like `title: Install`",
            ));
        };
        if !self.seen.insert(key.clone()) {
            return Err(second_time(span, &key));
        }
        let Some((event, value_span)) = next(events)? else {
            return Ok(());
        };
        let (value, spot) = match event {
            Event::Scalar(value, style, ..) => {
                let style = style_of(style);
                let spot = spot(text, value_span, line, &value, style);
                (Value::Scalar(value.into_owned(), style), spot)
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                skip_nested(events, matches!(event, Event::MappingStart(..)))?;
                (Value::Nested, None)
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::Alias(_)
            | Event::SequenceEnd
            | Event::MappingEnd => (Value::Nested, None),
        };
        self.entries.push(Entry {
            key,
            value,
            lines: line..line + 1,
            after_colon,
            spot,
        });
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
                    return Err(second_time(span, &text));
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

fn style_of(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::Single,
        ScalarStyle::DoubleQuoted => Style::Double,
        ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
    }
}

/// Finds the end of the colon behind a key. One that begins with `?`, or ends on another line, has none.
fn colon_end(line: &str, key: Span) -> Option<usize> {
    if key.end.line() != key.start.line() || key.start.col() != indent_of(line) {
        return None;
    }
    let after_key = byte_column(line, key.end.col());
    let colon = line[after_key..].find(':')?;
    let between = &line[after_key..after_key + colon];
    between.trim().is_empty().then_some(after_key + colon + 1)
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

fn second_time(span: Span, key: &str) -> NotReady {
    at(
        span,
        &format!("the key {key:?} stands here a second time"),
        "keep one of the two",
    )
}
