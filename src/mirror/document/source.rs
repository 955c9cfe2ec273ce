//! A file as read: its text, its parts and its keys. Articles and categories are edited in the same way.

use super::{
    NotReady,
    block::Block,
    frame::Frame,
    splice::{self, Edit},
    values::near_key,
};

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

    /// Returns the unknown keys that are similar to kbsync's: each with its line in the file and the key that was meant.
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
