//! Cuts a JSON document into the entries of its known arrays, as the bytes come in. Pure.
//!
//! Each entry is passed on as its own bytes, so that memory holds one entry and not the document. The *envelope*, which
//! is everything around the entries, is stored with the known arrays empty. Only the structure is parsed here: strings,
//! escapes, nesting, commas. The parsers of the entries and of the envelope check the rest.
//!
//! [`Splitter::finish`] refuses a document that broke off at any byte.

use super::{
    json_depth::JsonDepth,
    splitter_types::{Caps, Entry, Envelope, Path, Sink, SplitError, Step},
};
use memchr::memchr2;

/// How many bytes of an entry over the limit are stored: enough to find its id.
const KEPT_OF_LONG_ENTRY: usize = 64 * 1024;
/// The deepest nesting of the envelope, and of an entry. The JSON parser's own limit is 128.
const DEEPEST: usize = 64;
/// The longest key or id that is compared.
const LONGEST_TOKEN: usize = 256;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expect {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lex {
    Between,
    Text { key: bool, escaped: bool },
    Scalar,
    Entry,
}

#[derive(Debug)]
struct Frame {
    object: bool,
    key: Vec<u8>,
    id: Option<Vec<u8>>,
    known: Option<usize>,
}

/// The state between two chunks.
#[derive(Debug)]
pub(super) struct Splitter {
    paths: &'static [Path],
    caps: Caps,
    stack: Vec<Frame>,
    expect: Expect,
    lex: Lex,
    token: Vec<u8>,
    envelope: Vec<u8>,
    held: Vec<u8>,
    over_limit: bool,
    depth: JsonDepth,
    arrays: Vec<usize>,
    read: u64,
}

impl Splitter {
    /// Begins a document.
    pub(super) fn new(paths: &'static [Path], caps: Caps) -> Self {
        Self {
            paths,
            caps,
            stack: Vec::new(),
            expect: Expect::Value,
            lex: Lex::Between,
            token: Vec::new(),
            envelope: Vec::new(),
            held: Vec::new(),
            over_limit: false,
            depth: JsonDepth::default(),
            arrays: vec![0; paths.len()],
            read: 0,
        }
    }

    /// Takes the next bytes, and passes on each entry that they complete.
    pub(super) fn feed(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), SplitError> {
        let mut rest = chunk;
        while !rest.is_empty() {
            let used = match self.lex {
                Lex::Between => self.between(rest)?,
                Lex::Text { key, escaped } => self.text(rest, key, escaped),
                Lex::Scalar => self.scalar(rest),
                Lex::Entry => self.entry(rest, sink)?,
            };
            if self.envelope.len() > self.caps.envelope {
                return Err(SplitError::TooLong);
            }
            self.read += used as u64;
            rest = rest.get(used..).unwrap_or_default();
        }
        Ok(())
    }

    /// Ends the document, which must be complete.
    pub(super) fn finish(self) -> Result<Envelope, SplitError> {
        if self.lex == Lex::Scalar && self.stack.is_empty() {
            // A `null` or a number is complete, but no listing.
            return Err(SplitError::Syntax { at: 0 });
        }
        if self.expect != Expect::Nothing || self.lex != Lex::Between {
            return Err(SplitError::BrokenOff { at: self.read });
        }
        Ok(Envelope {
            json: self.envelope,
            arrays: self.arrays,
        })
    }

    /// Parses one byte of structure. Returns the number of bytes used: 0 if an entry begins here.
    fn between(&mut self, rest: &[u8]) -> Result<usize, SplitError> {
        let Some(&byte) = rest.first() else {
            return Ok(0);
        };
        if is_space(byte) {
            return Ok(1);
        }
        let in_known = self.stack.last().is_some_and(|frame| frame.known.is_some());
        match (self.expect, byte) {
            (Expect::ValueOrEnd, b']') => self.close(false)?,
            (Expect::Value | Expect::ValueOrEnd, _) if in_known => {
                self.lex = Lex::Entry;
                self.depth = JsonDepth::default();
                self.over_limit = false;
                return Ok(0);
            }
            (Expect::Value | Expect::ValueOrEnd, b'{' | b'[') => self.open(byte == b'{')?,
            (Expect::Value | Expect::ValueOrEnd, b'"') => self.start_text(false),
            (Expect::Value | Expect::ValueOrEnd, b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                self.lex = Lex::Scalar;
                return Ok(0);
            }
            (Expect::Key | Expect::KeyOrEnd, b'"') => self.start_text(true),
            (Expect::KeyOrEnd, b'}') => self.close(true)?,
            (Expect::Colon, b':') => {
                self.envelope.push(byte);
                self.expect = Expect::Value;
            }
            (Expect::CommaOrEnd, b',') => {
                if !in_known {
                    self.envelope.push(byte);
                }
                let object = self.stack.last().is_some_and(|frame| frame.object);
                self.expect = if object { Expect::Key } else { Expect::Value };
            }
            (Expect::CommaOrEnd, b'}' | b']') => self.close(byte == b'}')?,
            _ => return Err(SplitError::Syntax { at: self.read }),
        }
        Ok(1)
    }

    fn start_text(&mut self, key: bool) {
        self.envelope.push(b'"');
        self.token.clear();
        self.lex = Lex::Text {
            key,
            escaped: false,
        };
    }

    /// Parses a key or a string of the envelope, up to its end or to the end of the chunk.
    fn text(&mut self, rest: &[u8], key: bool, escaped: bool) -> usize {
        let (used, ended, escaped) =
            match memchr2(b'"', b'\\', if escaped { &rest[1..] } else { rest }) {
                None => (rest.len(), false, false),
                Some(at) => {
                    let at = at + usize::from(escaped);
                    (at + 1, rest[at] == b'"', rest[at] == b'\\')
                }
            };
        self.envelope.extend_from_slice(&rest[..used]);
        let words = &rest[..used - usize::from(ended)];
        let room = LONGEST_TOKEN.saturating_sub(self.token.len());
        self.token
            .extend_from_slice(&words[..words.len().min(room)]);
        if !ended {
            self.lex = Lex::Text { key, escaped };
            return used;
        }
        self.lex = Lex::Between;
        self.expect = if key {
            Expect::Colon
        } else {
            Expect::CommaOrEnd
        };
        if let Some(frame) = self.stack.last_mut().filter(|frame| frame.object) {
            if key {
                std::mem::swap(&mut frame.key, &mut self.token);
            } else if frame.key == b"id" {
                frame.id = Some(self.token.clone());
            }
        }
        used
    }

    /// Parses a number or a literal of the envelope.
    fn scalar(&mut self, rest: &[u8]) -> usize {
        let used = rest
            .iter()
            .position(|&byte| ends_scalar(byte))
            .unwrap_or(rest.len());
        self.envelope.extend_from_slice(&rest[..used]);
        if used < rest.len() {
            self.lex = Lex::Between;
            self.expect = Expect::CommaOrEnd;
        }
        used
    }

    fn open(&mut self, object: bool) -> Result<(), SplitError> {
        if self.stack.is_empty() && !object {
            return Err(SplitError::Syntax { at: self.read });
        }
        if self.stack.len() >= DEEPEST {
            return Err(SplitError::TooDeep { at: self.read });
        }
        let known = if object { None } else { self.known_path() };
        if let Some(count) = known.and_then(|path| self.arrays.get_mut(path)) {
            *count += 1;
        }
        self.envelope.push(if object { b'{' } else { b'[' });
        self.stack.push(Frame {
            object,
            key: Vec::new(),
            id: None,
            known,
        });
        self.expect = if object {
            Expect::KeyOrEnd
        } else {
            Expect::ValueOrEnd
        };
        Ok(())
    }

    fn close(&mut self, object: bool) -> Result<(), SplitError> {
        if self.stack.pop().is_none_or(|frame| frame.object != object) {
            return Err(SplitError::Syntax { at: self.read });
        }
        self.envelope.push(if object { b'}' } else { b']' });
        self.expect = if self.stack.is_empty() {
            Expect::Nothing
        } else {
            Expect::CommaOrEnd
        };
        Ok(())
    }

    /// Returns the known path that leads to the value that begins here.
    fn known_path(&self) -> Option<usize> {
        self.paths.iter().position(|path| {
            path.steps.len() == self.stack.len()
                && path
                    .steps
                    .iter()
                    .zip(&self.stack)
                    .all(|(step, frame)| match step {
                        Step::Key(key) => frame.object && frame.key == key.as_bytes(),
                        Step::Any => !frame.object,
                    })
        })
    }

    /// Parses an entry, up to its end or to the end of the chunk.
    fn entry(&mut self, rest: &[u8], sink: &mut dyn Sink) -> Result<usize, SplitError> {
        // Without stored bytes, an entry begins here.
        if self.held.is_empty()
            && let Some(used) = sink.take_known(rest, self.owner())
        {
            self.lex = Lex::Between;
            self.expect = Expect::CommaOrEnd;
            return Ok(used);
        }
        let end = self.depth.end_in(rest);
        let Some(used) = end else {
            self.hold(rest);
            return Ok(rest.len());
        };
        if used == 0 && self.held.is_empty() {
            return Err(SplitError::Syntax { at: self.read });
        }
        let in_one_piece = self.held.is_empty() && used <= self.caps.entry;
        if !in_one_piece {
            self.hold(&rest[..used]);
        }
        sink.take(&Entry {
            bytes: if in_one_piece {
                &rest[..used]
            } else {
                &self.held
            },
            owner: self.owner(),
            over: if self.over_limit {
                Some("it is larger than the limit for one article; shorten it in the dashboard")
            } else if self.depth.deepest() > DEEPEST {
                Some("it is nested too deeply")
            } else {
                None
            },
        });
        self.held.clear();
        self.lex = Lex::Between;
        self.expect = Expect::CommaOrEnd;
        Ok(used)
    }

    /// Returns the id of the category around the current array.
    fn owner(&self) -> Option<&[u8]> {
        let [.., around, array] = self.stack.as_slice() else {
            return None;
        };
        let path = self.paths.get(array.known?)?;
        around.id.as_deref().filter(|_| path.owned)
    }

    /// Stores a part of an entry; of an entry over the limit, only the beginning.
    fn hold(&mut self, part: &[u8]) {
        if self.over_limit {
            return;
        }
        if self.held.len() + part.len() > self.caps.entry {
            self.over_limit = true;
            let room = KEPT_OF_LONG_ENTRY.saturating_sub(self.held.len());
            self.held.extend_from_slice(&part[..part.len().min(room)]);
            self.held.truncate(KEPT_OF_LONG_ENTRY);
            self.held.shrink_to_fit();
        } else {
            self.held.extend_from_slice(part);
        }
    }
}

/// Returns whether a byte is white space in JSON (RFC 8259, section 2). A form feed is not.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn ends_scalar(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b',' | b']' | b'}' | b':' | b'"' | b'{' | b'[')
}
