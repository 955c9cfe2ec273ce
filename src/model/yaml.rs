//! YAML as a small tree that knows its places, for settings and for the keys of articles and categories.
//!
//! Scalars stay as written. Anchors, aliases, tags, duplicate keys, a second document and deep nesting are refused, so
//! that a small file stays small in memory (failures row 137). The meaning of keys is not known here.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use std::collections::HashSet;

/// How a scalar was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// In single quotes.
    Single,
    /// In double quotes.
    Double,
    /// With `|` or `>`.
    Block,
}

/// A value and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters from 0.
    pub column: usize,
    /// The content.
    pub value: Value,
}

/// The content of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// Text, as written.
    Text(String, Style),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order of the file.
    Map(Vec<Entry>),
}

/// One key of a mapping.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The key's line, from 1.
    pub line: usize,
    /// The key's column, in characters from 0.
    pub column: usize,
    /// The column behind the key; `None`: the key ends on another line.
    pub end: Option<usize>,
    /// The key, unquoted.
    pub key: String,
    /// The value.
    pub node: Node,
}

/// One document.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Document {
    /// The line of the dashes that begin the document, if there are any.
    pub dashes: Option<usize>,
    /// The content; `None`: the document is empty.
    pub root: Option<Node>,
}

/// Why a text is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// The reason.
    pub message: String,
    /// The remedy.
    pub remedy: &'static str,
}

impl Fault {
    fn new(line: usize, message: impl Into<String>, remedy: &'static str) -> Self {
        Self {
            line,
            message: message.into(),
            remedy,
        }
    }

    /// Makes the fault of a document that begins behind another one.
    pub fn second_document(line: usize) -> Self {
        Self::new(line, "a second document begins here", "keep one")
    }
}

impl Node {
    /// Returns whether the node is empty, `~` or `null`.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Text(text, Style::Plain) if matches!(text.as_str(), "" | "~" | "null"))
    }
}

/// Parses one document whose lists and mappings are nested at most `deepest` levels deep.
pub fn parse(text: &str, deepest: usize) -> Result<Document, Fault> {
    let mut reader = Reader {
        parser: Parser::new_from_str(text),
        deepest,
    };
    let mut document = Document::default();
    let mut begun = false;
    loop {
        let (event, span) = reader.next()?;
        let line = span.start.line();
        if matches!(event, Event::StreamEnd) {
            return Ok(document);
        }
        if let Event::DocumentStart(explicit) = event {
            if begun {
                return Err(Fault::second_document(line));
            }
            begun = true;
            document.dashes = explicit.then_some(line);
        } else if !matches!(
            event,
            Event::StreamStart | Event::DocumentEnd | Event::Nothing
        ) {
            document.root = Some(reader.node(event, span, 0)?);
        }
    }
}

struct Reader<'y> {
    parser: Parser<'y, saphyr_parser::StrInput<'y>>,
    deepest: usize,
}

impl<'y> Reader<'y> {
    /// Returns the next event, and refuses anchors, aliases and tags everywhere.
    fn next(&mut self) -> Result<(Event<'y>, Span), Fault> {
        let (event, span) = match self.parser.next_event() {
            None => return Ok((Event::StreamEnd, Span::default())),
            Some(Ok(found)) => found,
            Some(Err(error)) => {
                let (column, reason) = (error.marker().col() + 1, error.info());
                return Err(Fault::new(
                    error.marker().line(),
                    format!("this is not YAML, and cannot be read: {reason}, column {column}"),
                    "check the quotes, the colons and the indentation here and in the lines before",
                ));
            }
        };
        let (is_anchor, is_tag) = if let Event::Scalar(_, _, anchor, tag)
        | Event::SequenceStart(anchor, tag)
        | Event::MappingStart(anchor, tag) = &event
        {
            (*anchor != 0, tag.is_some())
        } else {
            (matches!(event, Event::Alias(_)), false)
        };
        let message = match (is_anchor, is_tag) {
            (true, _) => {
                "YAML takes `&` for an anchor and `*` for an alias; anchors and aliases are not read"
            }
            (false, true) => "YAML takes `!` for a tag; tags are not read",
            (false, false) => return Ok((event, span)),
        };
        Err(Fault::new(
            span.start.line(),
            message,
            "put the text into quotes",
        ))
    }

    fn node(&mut self, event: Event<'y>, span: Span, depth: usize) -> Result<Node, Fault> {
        let line = span.start.line();
        let is_list = matches!(event, Event::SequenceStart(..));
        let value = if let Event::Scalar(text, style, ..) = event {
            Value::Text(text.into_owned(), style_of(style))
        } else if depth > self.deepest {
            return Err(Fault::new(
                line,
                "the YAML is nested too deeply",
                "make it flatter",
            ));
        } else if is_list {
            Value::List(self.list(depth)?)
        } else {
            Value::Map(self.map(depth)?)
        };
        Ok(Node {
            line,
            column: span.start.col(),
            value,
        })
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, Fault> {
        let mut nodes = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd | Event::StreamEnd) {
                return Ok(nodes);
            }
            nodes.push(self.node(event, span, depth + 1)?);
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<Entry>, Fault> {
        let mut entries = Vec::new();
        let mut seen = HashSet::new();
        loop {
            let (event, span) = self.next()?;
            let line = span.start.line();
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                return Ok(entries);
            }
            let Event::Scalar(key, ..) = event else {
                return Err(Fault::new(
                    line,
                    "this key is not a text",
                    "write lines like `key: value`",
                ));
            };
            let key = key.into_owned();
            if !seen.insert(key.clone()) {
                let message = format!("the key {key:?} appears here a second time");
                return Err(Fault::new(line, message, "keep one of the two"));
            }
            let (event, value) = self.next()?;
            entries.push(Entry {
                line,
                column: span.start.col(),
                end: (span.end.line() == line).then_some(span.end.col()),
                key,
                node: self.node(event, value, depth + 1)?,
            });
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
