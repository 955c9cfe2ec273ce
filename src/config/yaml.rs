//! YAML as a small tree that knows its lines.
//!
//! Plain scalars stay as written. Anchors, aliases, tags, duplicate keys and deep nesting are refused: settings need
//! none of them, and they make YAML dangerous (failures row 137).

use super::error::{SettingError, ValueError};
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use std::collections::HashSet;

const MAX_DEPTH: usize = 8;

/// A value and the line it starts on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: Value,
}

/// The content of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    /// Nothing, `~` or `null`.
    Null,
    /// Text, as written.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order of the file.
    Map(Vec<Entry>),
}

/// One key of a mapping.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) line: usize,
    pub(super) key: String,
    pub(super) node: Node,
}

/// Parses one document. An empty document is a mapping without keys.
pub(super) fn read(text: &str) -> Result<Node, SettingError> {
    let mut reader = Reader {
        parser: Parser::new_from_str(text),
    };
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::StreamEnd | Event::DocumentEnd => {
                return Ok(Node {
                    line: 1,
                    value: Value::Map(Vec::new()),
                });
            }
            Event::Alias(_)
            | Event::Scalar(..)
            | Event::SequenceStart(..)
            | Event::SequenceEnd
            | Event::MappingStart(..)
            | Event::MappingEnd => {
                let node = reader.node(event, span, 0)?;
                reader.end()?;
                return Ok(node);
            }
        }
    }
}

struct Reader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), SettingError> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(ValueError::new(
                format!("this is not YAML: {}", error.info()),
                "mind the indentation, put a space after each `:`, and quote texts with special characters",
            )
            .at(error.marker().line())),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, SettingError> {
        let line = span.start.line();
        if depth > MAX_DEPTH {
            return Err(refused("nesting this deep", line));
        }
        let value = match event {
            Event::Scalar(text, style, anchor, tag) => {
                plain_only(anchor, tag.is_some(), line)?;
                scalar(&text, style)
            }
            Event::SequenceStart(anchor, tag) => {
                plain_only(anchor, tag.is_some(), line)?;
                Value::List(self.list(depth)?)
            }
            Event::MappingStart(anchor, tag) => {
                plain_only(anchor, tag.is_some(), line)?;
                Value::Map(self.map(depth)?)
            }
            Event::Alias(_) => return Err(refused("an alias (`*name`)", line)),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => Value::Null,
        };
        Ok(Node { line, value })
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, SettingError> {
        let mut nodes = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd | Event::StreamEnd) {
                return Ok(nodes);
            }
            nodes.push(self.node(event, span, depth + 1)?);
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<Entry>, SettingError> {
        let mut entries = Vec::new();
        let mut seen = HashSet::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                return Ok(entries);
            }
            let line = span.start.line();
            let Value::Text(key) = self.node(event, span, depth + 1)?.value else {
                return Err(refused("a key that is no text", line));
            };
            if !seen.insert(key.clone()) {
                let message = format!("the key `{key}` stands here a second time");
                return Err(ValueError::new(message, "keep one of the two").at(line));
            }
            let (event, span) = self.next()?;
            let node = self.node(event, span, depth + 1)?;
            entries.push(Entry { line, key, node });
        }
    }

    fn end(&mut self) -> Result<(), SettingError> {
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(()),
                Event::DocumentEnd | Event::Nothing => {}
                Event::StreamStart
                | Event::DocumentStart(_)
                | Event::Alias(_)
                | Event::Scalar(..)
                | Event::SequenceStart(..)
                | Event::SequenceEnd
                | Event::MappingStart(..)
                | Event::MappingEnd => {
                    return Err(refused("a second document", span.start.line()));
                }
            }
        }
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style == ScalarStyle::Plain && matches!(text, "" | "~" | "null") {
        Value::Null
    } else {
        Value::Text(text.to_owned())
    }
}

fn plain_only(anchor: usize, tagged: bool, line: usize) -> Result<(), SettingError> {
    if anchor != 0 {
        return Err(refused("an anchor (`&name`)", line));
    }
    if tagged {
        return Err(refused("a tag (`!name`)", line));
    }
    Ok(())
}

fn refused(what: &str, line: usize) -> SettingError {
    ValueError::new(
        format!("settings may not hold {what}"),
        "write the value out, or put it in quotes",
    )
    .at(line)
}
