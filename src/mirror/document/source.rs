//! A file as read: its text, its parts and its keys. Articles and categories are edited in the same way.

use super::{
    NotReady,
    block::{Block, Entry, Style, Value},
    frame::Frame,
    splice::{self, Edit},
    values::near_key,
};
use crate::model::Field;

/// A file that was read.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) text: String,
    pub(super) frame: Frame,
    pub(super) block: Block,
}

impl Source {
    /// Parses the keys of a file.
    pub(super) fn read(text: &str, frame: Frame) -> Result<Self, NotReady> {
        Ok(Self {
            block: frame.read_block(text)?,
            text: text.to_owned(),
            frame,
        })
    }

    /// The line end of the file, according to its first line.
    pub(super) fn line_end(&self) -> &'static str {
        if self.frame.crlf { "\r\n" } else { "\n" }
    }

    /// Returns the file with edited keys. `keys` lists kbsync's keys in their written order.
    pub(super) fn edit(&self, keys: &[&'static str], edits: &[Edit]) -> String {
        let block = self.edited_block(keys, edits, self.line_end());
        self.frame.with_block(&self.text, &block)
    }

    /// Returns the block with edited keys. `end` ends new lines.
    pub(super) fn edited_block(&self, keys: &[&'static str], edits: &[Edit], end: &str) -> String {
        splice::apply(self.frame.block(&self.text), &self.block, keys, edits, end)
    }

    /// Checks that no text of these fields is cut at a ` #` that was hardly meant as a comment, as in
    /// `title: Issue #12`.
    pub(super) fn check_cut_texts(&self, fields: &[Field]) -> Result<(), NotReady> {
        let lines: Vec<&str> = self.frame.block(&self.text).lines().collect();
        let is_cut = |entry: &&Entry| {
            let behind = entry.spot.as_ref().zip(lines.get(entry.lines.start));
            let behind = behind.and_then(|(spot, line)| line.get(spot.end..));
            let comment = behind.and_then(|behind| behind.trim_start().strip_prefix('#'));
            matches!(entry.value, Value::Scalar(_, Style::Plain))
                && comment.is_some_and(|text| !text.is_empty() && !text.starts_with([' ', '#']))
                && fields.iter().any(|field| field.key() == entry.key)
        };
        let Some(cut) = self.block.entries.iter().find(is_cut) else {
            return Ok(());
        };
        Err(NotReady::at(
            self.frame.lines_before() + cut.lines.start + 1,
            format!("the text of `{}` ends before the ` #`", cut.key),
            "put the text into quotes; for a comment, write a blank behind the `#`",
        ))
    }

    /// Returns the unknown keys that are similar to kbsync's: each with its line in the file and the key that was
    /// meant.
    pub(super) fn near_keys(
        &self,
        keys: &'static [&'static str],
    ) -> impl Iterator<Item = (&str, usize, &'static str)> {
        let before = self.frame.lines_before();
        let own = self.block.entries.iter();
        let own = own.filter(|entry| !keys.contains(&entry.key.as_str()));
        own.filter_map(move |entry| {
            let meant = near_key(&entry.key, keys)?;
            Some((entry.key.as_str(), before + entry.lines.start + 1, meant))
        })
    }
}
