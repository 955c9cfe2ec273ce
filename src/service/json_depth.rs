//! Finds the end of one JSON value in a stream of bytes. Pure.
//!
//! Only strings, escapes and brackets are parsed; the JSON parser checks the rest.

use memchr::memchr2;

/// The position within an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct JsonDepth {
    depth: usize,
    deepest: usize,
    in_text: bool,
    escaped: bool,
}

impl JsonDepth {
    /// Returns the deepest nesting so far.
    pub(super) fn deepest(&self) -> usize {
        self.deepest
    }

    /// Returns the number of these bytes that belong to the entry; `None`: all of them, and the entry continues.
    pub(super) fn end_in(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if self.escaped {
                self.escaped = false;
                at += 1;
                continue;
            }
            if self.in_text {
                at += memchr2(b'"', b'\\', &bytes[at..])? + 1;
                if bytes[at - 1] == b'\\' {
                    self.escaped = true;
                } else {
                    self.in_text = false;
                    if self.depth == 0 {
                        return Some(at);
                    }
                }
                continue;
            }
            match byte {
                b'"' => self.in_text = true,
                b'{' | b'[' => {
                    self.depth += 1;
                    self.deepest = self.deepest.max(self.depth);
                }
                // A number or a word ends before this byte.
                b'}' | b']' | b',' | b' ' | b'\t' | b'\n' | b'\r' if self.depth == 0 => {
                    return Some(at);
                }
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        None
    }
}
