//! The parts of a file: front matter, body and line ends; and the reasons why a file is not ready.
//!
//! The first line of an article's file is exactly `---`. The next such line ends the front matter: kbsync writes no
//! line that begins with `---` between them, and everything after it is body, whatever it looks like (failures row
//! 126). A file that is not ready is reported as a problem: never pushed, never taken for a removal.

use super::block::{Block, MAX_BLOCK};
use crate::model::{ArticleId, CategoryId};
use std::{collections::BTreeSet, fmt, ops::Range};
use uuid::Uuid;

/// The largest file that is read whole, in bytes: an article of 16 MiB with its front matter.
pub const MAX_FILE: usize = 16 * 1024 * 1024 + MAX_BLOCK;

const MARK: char = '\u{feff}';

/// The parts of a file, as byte ranges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Frame {
    /// The YAML, without the lines of dashes.
    front: Range<usize>,
    /// The start of the body; for a category's file the end of the file.
    pub(super) body: usize,
    /// Whether the first line ends in CRLF.
    pub(super) crlf: bool,
}

/// Decodes bytes as text, or returns why they are not text.
pub(super) fn decode(bytes: &[u8]) -> Result<&str, NotReady> {
    if bytes.len() > MAX_FILE {
        return Err(NotReady::new(
            "the file is larger than 16 MiB",
            "make it smaller",
        ));
    }
    let line = |at: usize| memchr::memchr_iter(b'\n', &bytes[..at]).count() + 1;
    let text = std::str::from_utf8(bytes).map_err(|error| {
        NotReady::at(
            line(error.valid_up_to()),
            "the file is not UTF-8",
            "save it with the encoding UTF-8",
        )
    })?;
    match memchr::memchr(0, bytes) {
        None => Ok(text),
        Some(at) => Err(NotReady::at(
            line(at),
            "the file has a NUL character",
            "remove it, or bring the file back from a backup",
        )),
    }
}

impl Frame {
    /// Finds the parts of an article's file.
    pub(super) fn of_article(source: &str) -> Result<Self, NotReady> {
        let start = mark_len(source);
        let (first, after) = line_at(source, start);
        let crlf = first.ends_with("\r\n");
        if first.trim_end_matches(['\r', '\n']) != "---" || after == start + 3 {
            return Err(no_front_matter(&source[start..]));
        }
        let mut at = after;
        while at < source.len() && at - after <= MAX_BLOCK {
            let (line, next) = line_at(source, at);
            if line == "---" || line == "---\n" || (crlf && line == "---\r\n") {
                return Ok(Self {
                    front: after..at,
                    body: next,
                    crlf,
                });
            }
            at = next;
        }
        Err(if at < source.len() {
            NotReady::new(
                "the front matter is larger than 64 KiB",
                "end it with a line of `---`, or make it smaller",
            )
        } else {
            NotReady::at(
                1,
                "the front matter does not end",
                "end it with a line of `---`",
            )
        })
    }

    /// Finds the parts of a category's file: all of the file is YAML, except a first line of `---`.
    pub(super) fn of_category(source: &str) -> Self {
        let start = mark_len(source);
        let (first, after) = line_at(source, start);
        let begins_with_dashes = first.trim_end() == "---";
        Self {
            front: if begins_with_dashes { after } else { start }..source.len(),
            body: source.len(),
            crlf: first.ends_with("\r\n"),
        }
    }

    /// The YAML, unchanged.
    pub(super) fn block<'s>(&self, source: &'s str) -> &'s str {
        &source[self.front.clone()]
    }

    /// Parses the YAML; line numbers in errors are those of the file.
    pub(super) fn read_block(&self, source: &str) -> Result<Block, NotReady> {
        let raw = self.block(source);
        Block::parse(raw).map_err(|problem| {
            let problem = NotReady {
                line: problem
                    .line
                    .map(|line| line.min(raw.matches('\n').count().max(1))),
                ..problem
            };
            if has_conflict_markers(source) {
                return NotReady {
                    message: "there are conflict markers of git".to_owned(),
                    remedy: "choose what to keep and remove the lines of `<`, `=` and `>`"
                        .to_owned(),
                    ..self.in_file(problem)
                };
            }
            self.in_file(problem)
        })
    }

    /// Converts a problem's line from a line of the YAML to a line of the file.
    pub(super) fn in_file(&self, problem: NotReady) -> NotReady {
        let before = self.lines_before();
        NotReady {
            line: problem.line.map(|line| line + before),
            ..problem
        }
    }

    /// Returns the number of lines before the YAML: only the line of dashes can precede it.
    pub(super) fn lines_before(&self) -> usize {
        usize::from(self.front.start > MARK.len_utf8())
    }

    /// The byte order mark, or nothing.
    pub(super) fn mark<'s>(&self, source: &'s str) -> &'s str {
        &source[..mark_len(source).min(self.front.start)]
    }

    /// The file with another YAML block; everything else unchanged.
    pub(super) fn with_block(&self, source: &str, block: &str) -> String {
        [
            &source[..self.front.start],
            block,
            &source[self.front.end..],
        ]
        .concat()
    }

    /// The body, unchanged, without the newline that ends the file.
    pub(super) fn text<'s>(&self, source: &'s str) -> &'s str {
        let body = &source[self.body..];
        body.strip_suffix('\n').unwrap_or(body)
    }

    /// The body with CRLF read as LF; `None`: the body is used unchanged.
    pub(super) fn text_with_lf(&self, source: &str) -> Option<String> {
        let body = &source[self.body..];
        if !self.crlf || !body.contains("\r\n") {
            return None;
        }
        let mut text = body.replace("\r\n", "\n");
        if text.ends_with('\n') {
            text.pop();
        }
        Some(text)
    }
}

fn mark_len(source: &str) -> usize {
    if source.starts_with(MARK) {
        MARK.len_utf8()
    } else {
        0
    }
}

/// Returns the line at a byte, with its line end, and the start of the next line.
fn line_at(source: &str, at: usize) -> (&str, usize) {
    let rest = &source[at..];
    let length = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |end| end + 1);
    (&rest[..length], at + length)
}

fn no_front_matter(text: &str) -> NotReady {
    if text.is_empty() {
        NotReady::new(
            "the file is empty",
            "write the front matter, or remove the file",
        )
    } else if text.starts_with("version https://git-lfs.github.com/spec/") {
        NotReady::new(
            "this is a pointer of git LFS, not the file",
            "run `git lfs pull`, or take `*.html` out of LFS",
        )
    } else if let Some(first) = text.lines().next().filter(|first| first.starts_with("---")) {
        NotReady::at(
            1,
            format!("the first line is {first:?}"),
            "it must be `---` and nothing else, with a line end behind it",
        )
    } else {
        NotReady::at(
            1,
            "there is no front matter",
            "begin the file with a line of `---`, a line `title: …` and a line of `---`",
        )
    }
}

/// The part of a file that is searched for its `id:` line, in bytes.
const ID_SEARCH: usize = 128 * 1024;

/// Why and where a file cannot be an article or a category, and the remedy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct NotReady {
    /// The line in the file, from 1, where there is one.
    pub line: Option<usize>,
    /// The fault.
    pub message: String,
    /// The remedy.
    pub remedy: String,
    /// The article whose `id:` line is in the file, even if the file is broken: the article is not absent.
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
    conflict_line(text).is_some()
}

/// Returns the index of the line with the first marker of a conflict: all three markers are there, in one length. Git's
/// attribute `conflict-marker-size` makes them longer.
pub(super) fn conflict_line(text: &str) -> Option<usize> {
    let lengths = |mark: char| -> BTreeSet<usize> {
        let lines = text.lines();
        lines.filter_map(|line| marker_length(line, mark)).collect()
    };
    let ours = lengths('<');
    if ours.is_empty() {
        return None;
    }
    let (middle, theirs) = (lengths('='), lengths('>'));
    let mut lines = text.lines();
    lines.position(|line| {
        let length = marker_length(line, '<');
        length.is_some_and(|length| middle.contains(&length) && theirs.contains(&length))
    })
}

/// Returns the length of the marker at the begin of a line, if there is one.
fn marker_length(line: &str, mark: char) -> Option<usize> {
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    let is_marker = length >= 7 && (rest.trim_end().is_empty() || rest.starts_with(' '));
    is_marker.then_some(length)
}

/// Finds the id in a file, even in a broken file: the first of [`find_ids`].
pub(super) fn find_id(bytes: &[u8]) -> Option<Uuid> {
    find_ids(bytes).first().copied()
}

/// Finds the ids in a file, even in a broken file: the unindented `id:` lines before the body, then the indented ones.
/// An id must be found even if a line of dashes is missing or doubled, if something was inserted before it, or if an
/// editor saved the file as UTF-16.
pub(super) fn find_ids(bytes: &[u8]) -> Vec<Uuid> {
    // In UTF-16, every second byte of ASCII is zero.
    let head = bytes.iter().take(ID_SEARCH).filter(|byte| **byte != 0);
    let head: Vec<u8> = head.copied().collect();
    let head = String::from_utf8_lossy(&head);
    // The mark of UTF-8; in UTF-16, its two bytes are no UTF-8.
    let text = head.trim_start_matches(['\u{feff}', '\u{fffd}']);
    let lines = text.split(['\n', '\r']);
    let lines = lines.filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines
        .scan((false, 0), |(was_dashes, dashes), line| {
            let is_dashes = line.trim_end() == "---";
            *dashes += usize::from(is_dashes && !*was_dashes);
            *was_dashes = is_dashes;
            // The body begins at the second line of dashes.
            (*dashes < 2).then_some(line)
        })
        .collect();
    let (indented, unindented): (Vec<&str>, Vec<&str>) =
        lines.iter().partition(|line| line.starts_with([' ', '\t']));
    let by_certainty = unindented.into_iter().chain(indented);
    by_certainty.filter_map(id_in_line).collect()
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
