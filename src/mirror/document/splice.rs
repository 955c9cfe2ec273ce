//! Edits a block of keys by line: only the lines of the edited keys change.
//!
//! The result is always parsed again. In corner cases of YAML's grammar that line edits do not cover, the result does
//! not hold exactly the wanted values; then the block is rewritten: kbsync's keys first, then the writer's own lines
//! unchanged.

use super::block::{Block, Entry, Style, Value, is_between};
use super::quoting::write_text;

/// A value to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Written {
    /// A text, quoted where needed.
    Text(String),
    /// `true`, `false` or an id: never quoted.
    Word(String),
}

impl Written {
    /// Makes a text; `None` for an empty text, whose key is left out.
    pub(super) fn unless_empty(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self::Text(text.to_owned()))
    }

    /// A value that is never quoted.
    pub(super) fn word(value: &impl ToString) -> Self {
        Self::Word(value.to_string())
    }

    fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Word(text) => text,
        }
    }

    fn render(&self, style: Option<Style>) -> String {
        match self {
            Self::Text(text) => write_text(text, style),
            Self::Word(word) => word.clone(),
        }
    }
}

/// A key and its new value; `None`: the key is removed.
pub(super) type Edit = (&'static str, Option<Written>);

/// Writes a block of new keys. A key without a value, or with an empty value, is left out.
pub(super) fn write_new(edits: &[Edit]) -> String {
    edits
        .iter()
        .filter_map(|(key, value)| {
            let value = value.as_ref().filter(|value| !value.text().is_empty())?;
            Some(format!("{key}: {}\n", value.render(None)))
        })
        .collect()
}

/// Applies edits to a block. `order` lists kbsync's keys in their written order; `end` ends new lines.
pub(super) fn apply(
    raw: &str,
    block: &Block,
    order: &[&'static str],
    edits: &[Edit],
    end: &str,
) -> String {
    let edits: Vec<Edit> = edits
        .iter()
        .filter(|edit| is_new(block, edit))
        .cloned()
        .collect();
    if edits.is_empty() {
        return raw.to_owned();
    }
    let edited = Splice {
        raw,
        block,
        order,
        edits: &edits,
        end,
    };
    let spliced = edited.by_line();
    if edited.holds(&spliced) {
        spliced
    } else {
        edited.anew()
    }
}

/// Returns whether an edit changes a block. An id or a flag may be written in another form.
fn is_new(block: &Block, (key, wanted): &Edit) -> bool {
    let held = block.get(key).and_then(Entry::text).unwrap_or_default();
    match wanted {
        Some(Written::Word(word)) => plain(held) != plain(word),
        Some(Written::Text(text)) => held != text,
        None => !held.is_empty(),
    }
}

/// Returns the end of the lines of a value, without the comments behind it: without these lines, the value is the same.
fn value_end(lines: &[String], entry: &Entry) -> usize {
    let is_comment = |line: &&String| is_between(line, usize::MAX);
    let below = &lines[entry.lines.start + 1..entry.lines.end];
    let run = below.iter().rev().take_while(is_comment).count();
    let ends: Vec<usize> = (1..=run).map(|line| entry.lines.end - line).collect();
    let is_whole = |&end: &usize| {
        Block::parse(&lines[entry.lines.start..end].concat()).is_ok_and(|block| {
            block
                .get(&entry.key)
                .is_some_and(|found| found.value == entry.value)
        })
    };
    let is_text = matches!(entry.value, Value::Scalar(..));
    let comments = if is_text {
        ends.partition_point(is_whole)
    } else {
        0
    };
    entry.lines.end - comments
}

/// Returns a word in lower case, without hyphens and braces: an id may be written with or without them.
fn plain(word: &str) -> String {
    word.replace(['-', '{', '}'], "").to_ascii_lowercase()
}

struct Splice<'a> {
    raw: &'a str,
    block: &'a Block,
    order: &'a [&'static str],
    edits: &'a [Edit],
    end: &'a str,
}

impl Splice<'_> {
    fn by_line(&self) -> String {
        let mut lines: Vec<String> = self.raw.split_inclusive('\n').map(str::to_owned).collect();
        let mut inserts: Vec<(usize, usize, String)> = Vec::new();
        for (key, value) in self.edits {
            match (self.block.get(key), value) {
                (Some(entry), Some(value)) => {
                    let first = changed_line(&lines[entry.lines.start], entry, value);
                    let kept_below = entry.spot.is_some() || is_empty(entry);
                    if !kept_below {
                        let end = value_end(&lines, entry);
                        lines[entry.lines.start..end].fill(String::new());
                    }
                    lines[entry.lines.start] = first;
                }
                (Some(entry), None) => lines[entry.lines.clone()].fill(String::new()),
                (None, Some(value)) => {
                    let rank = self.rank(key);
                    inserts.push((self.anchor(rank, &lines), rank, self.new_line(key, value)));
                }
                (None, None) => {}
            }
        }
        inserts.sort();
        for (at, _, line) in inserts.into_iter().rev() {
            if at > 0
                && at == lines.len()
                && lines
                    .last()
                    .is_some_and(|last| !last.is_empty() && !last.ends_with('\n'))
            {
                lines[at - 1].push_str(self.end);
            }
            lines.insert(at, line);
        }
        lines.concat()
    }

    /// Returns the line before which a new key goes: after the nearest of kbsync's keys that precede it, else before
    /// the nearest that follows (and the comment above that key), else before the first key.
    fn anchor(&self, rank: usize, lines: &[String]) -> usize {
        let find = |key: &&'static str| self.block.get(key);
        if let Some(entry) = self.order[..rank].iter().rev().find_map(find) {
            return entry.lines.end;
        }
        let follower = self.order[rank..]
            .iter()
            .find_map(find)
            .or_else(|| self.block.entries.first());
        let Some(entry) = follower else {
            return lines.len();
        };
        let first = self
            .block
            .entries
            .iter()
            .map(|other| other.lines.end)
            .filter(|&end| end <= entry.lines.start)
            .max()
            .unwrap_or(0);
        let comments = lines[first..entry.lines.start]
            .iter()
            .rev()
            .take_while(|line| line.trim_start().starts_with('#'))
            .count();
        entry.lines.start - comments
    }

    fn rank(&self, key: &str) -> usize {
        self.order
            .iter()
            .position(|other| *other == key)
            .unwrap_or(self.order.len())
    }

    fn new_line(&self, key: &str, value: &Written) -> String {
        let indent = " ".repeat(self.block.indent);
        format!("{indent}{key}: {}{}", value.render(None), self.end)
    }

    /// Returns whether a text holds exactly the wanted values, and the writer's own lines unchanged.
    fn holds(&self, raw: &str) -> bool {
        let Ok(block) = Block::parse(raw) else {
            return false;
        };
        let ours = self.order.iter().all(|key| {
            let found = block.get(key);
            match self.edits.iter().find(|(edited, _)| edited == key) {
                Some((_, Some(wanted))) => found.and_then(Entry::text) == Some(wanted.text()),
                Some((_, None)) => found.is_none(),
                None => {
                    found.map(|entry| &entry.value) == self.block.get(key).map(|entry| &entry.value)
                }
            }
        });
        ours && self.own_lines(raw, &block) == self.own_lines(self.raw, self.block)
    }

    /// Lists the lines of the writer's own keys.
    fn own_lines<'r>(&self, raw: &'r str, block: &Block) -> Vec<&'r str> {
        let lines: Vec<&str> = raw.split_inclusive('\n').collect();
        block
            .entries
            .iter()
            .filter(|entry| !self.order.contains(&entry.key.as_str()))
            .flat_map(|entry| lines[entry.lines.clone()].iter())
            .map(|line| line.trim_end_matches(['\r', '\n']))
            .collect()
    }

    /// Rewrites the block: comments, kbsync's keys in order, then the writer's own lines.
    fn anew(&self) -> String {
        let lines: Vec<&str> = self.raw.split_inclusive('\n').collect();
        let mut text = String::new();
        let mut push = |line: &str| {
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str(self.end);
            }
        };
        let in_entry = |number: usize| {
            self.block
                .entries
                .iter()
                .any(|entry| entry.lines.contains(&number))
        };
        for (number, line) in lines.iter().enumerate() {
            if !in_entry(number) && !line.trim().is_empty() && is_between(line, self.block.indent) {
                push(line);
            }
        }
        // A comment behind a changed value gets a line of its own.
        let indent = " ".repeat(self.block.indent);
        for (key, value) in self.edits {
            if let (Some(entry), Some(_)) = (self.block.get(key), value)
                && let Some(comment) = comment_behind(lines[entry.lines.start], entry)
            {
                push(&format!("{indent}{comment}{}", self.end));
            }
        }
        for key in self.order {
            match (
                self.edits.iter().find(|(edited, _)| edited == key),
                self.block.get(key),
            ) {
                (Some((_, Some(value))), _) => push(&self.new_line(key, value)),
                (Some((_, None)), _) | (None, None) => {}
                (None, Some(entry)) => lines[entry.lines.clone()]
                    .iter()
                    .for_each(|line| push(line)),
            }
        }
        for entry in &self.block.entries {
            if !self.order.contains(&entry.key.as_str()) {
                lines[entry.lines.clone()]
                    .iter()
                    .for_each(|line| push(line));
            }
        }
        text
    }
}

fn is_empty(entry: &Entry) -> bool {
    matches!(&entry.value, Value::Scalar(text, Style::Plain) if text.is_empty())
}

/// Returns the comment behind a one-line value.
fn comment_behind<'l>(line: &'l str, entry: &Entry) -> Option<&'l str> {
    let behind = match &entry.spot {
        Some(spot) => spot.end,
        None if is_empty(entry) => entry.after_colon,
        None => return None,
    };
    Some(line[behind..].trim()).filter(|behind| behind.starts_with('#'))
}

/// Replaces the value on a line; a comment behind the value stays.
fn changed_line(line: &str, entry: &Entry, value: &Written) -> String {
    let style = match &entry.value {
        Value::Scalar(_, style) => Some(*style),
        Value::Nested => None,
    };
    let value = value.render(style);
    let body = line.trim_end_matches(['\r', '\n']);
    let end = &line[body.len()..];
    if let Some(spot) = &entry.spot {
        return format!("{}{value}{}{end}", &body[..spot.start], &body[spot.end..]);
    }
    let before = &body[..entry.after_colon];
    let behind = if is_empty(entry) {
        body[entry.after_colon..].trim_end()
    } else {
        ""
    };
    format!("{before} {value}{behind}{end}")
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Block, Edit, Splice};

    /// Applies edits by rewriting the block in any case.
    pub(in super::super) fn apply_anew(
        raw: &str,
        block: &Block,
        order: &[&'static str],
        edits: &[Edit],
    ) -> (String, bool) {
        let edited = Splice {
            raw,
            block,
            order,
            edits,
            end: "\n",
        };
        let anew = edited.anew();
        let holds = edited.holds(&anew);
        (anew, holds)
    }
}
