//! The guide: pages of Markdown from `docs/guide`, laid out for a terminal.
//!
//! Knows the little Markdown that these pages use: headings, paragraphs, lists, blocks of code, `code`, **bold**,
//! *terms* and links to other pages. It has no tables: a terminal of 60 columns has no room for them.

use super::{layout::wrap_line, print::HELP};
use anstyle::Style;

/// A page of the guide.
#[derive(Clone, Copy, Debug)]
pub(super) struct Topic {
    /// The name that a person types.
    pub(super) name: &'static str,
    /// The page.
    page: &'static str,
}

/// The pages, in reading order.
pub(super) const TOPICS: [Topic; 14] = [
    topic("files", include_str!("../../docs/guide/files.md")),
    topic("conflicts", include_str!("../../docs/guide/conflicts.md")),
    topic("deletions", include_str!("../../docs/guide/deletions.md")),
    topic("history", include_str!("../../docs/guide/history.md")),
    topic("commands", include_str!("../../docs/guide/commands.md")),
    topic("settings", include_str!("../../docs/guide/settings.md")),
    topic("scripts", include_str!("../../docs/guide/scripts.md")),
    topic("git", include_str!("../../docs/guide/git.md")),
    topic("teams", include_str!("../../docs/guide/teams.md")),
    topic("ci", include_str!("../../docs/guide/ci.md")),
    topic("daemon", include_str!("../../docs/guide/daemon.md")),
    topic("container", include_str!("../../docs/guide/container.md")),
    topic(
        "troubleshooting",
        include_str!("../../docs/guide/troubleshooting.md"),
    ),
    topic("limits", include_str!("../../docs/guide/limits.md")),
];

const BOLD: Style = Style::new().bold();

const fn topic(name: &'static str, page: &'static str) -> Topic {
    Topic { name, page }
}

impl Topic {
    /// Returns the text below a heading, laid out like the page.
    pub(super) fn section(self, heading: &str, width: usize) -> String {
        let lines = self.page.lines();
        let lines = lines.skip_while(|line| !line.starts_with(heading)).skip(1);
        let lines: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
        lay_out(&lines.join("\n"), width)
    }

    /// Returns the page in lines of at most `width` columns; only blocks of code are wider.
    pub(super) fn laid_out(self, width: usize) -> String {
        lay_out(self.page, width)
    }
}

/// Lays a page out; blocks of code are indented and never broken.
fn lay_out(page: &str, width: usize) -> String {
    let (mut text, mut block, mut in_code) = (String::new(), Block::default(), false);
    for line in page.lines() {
        // A blank line or an item ends the block before it.
        let shown = if line.starts_with("```") {
            in_code = !in_code;
            String::new()
        } else if in_code {
            format!("    {line}\n")
        } else if line.is_empty() {
            std::mem::take(&mut block).wrapped(width) + "\n"
        } else if let Some(title) = heading(line) {
            format!("{HELP}{title}{HELP:#}\n")
        } else if let Some(item) = line.strip_prefix("- ") {
            std::mem::replace(&mut block, Block::new("- ", item)).wrapped(width)
        } else {
            block.push(line.trim());
            String::new()
        };
        text.push_str(&shown);
    }
    text + &block.wrapped(width)
}

/// Returns the words of a heading of any level.
fn heading(line: &str) -> Option<&str> {
    let words = line.trim_start_matches('#').strip_prefix(' ')?;
    line.starts_with('#').then_some(words)
}

/// A paragraph, or an item of a list.
#[derive(Default)]
struct Block {
    /// The mark before the first line; the other lines are indented by the mark's length.
    mark: &'static str,
    words: String,
}

impl Block {
    fn new(mark: &'static str, words: &str) -> Self {
        Self {
            mark,
            words: words.to_owned(),
        }
    }

    fn push(&mut self, words: &str) {
        if !self.words.is_empty() {
            self.words.push(' ');
        }
        self.words.push_str(words);
    }

    fn wrapped(&self, width: usize) -> String {
        if self.words.is_empty() {
            return String::new();
        }
        let text = format!("{}{}", self.mark, without_targets(&self.words));
        wrap_line(&without_stars(&with_bold(&text)), width, self.mark.len()) + "\n"
    }
}

/// Reduces `[words](target)` to the words, which include the name of the other page.
fn without_targets(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some((words, behind)) = rest.split_once("](") {
        let (before, words) = words.rsplit_once('[').unwrap_or(("", words));
        plain = plain + before + words;
        rest = behind
            .split_once(')')
            .map_or(behind, |(_target, rest)| rest);
    }
    plain + rest
}

/// Leaves of `*words*` the words. Code stays as it is.
fn without_stars(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(at, part)| match at % 2 {
        0 => part.replace('*', ""),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

fn with_bold(text: &str) -> String {
    let mut bold = false;
    let mut parts = text.split("**");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        bold = !bold;
        let switch = if bold {
            BOLD.render().to_string()
        } else {
            BOLD.render_reset().to_string()
        };
        shown += &switch;
        shown += part;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn a_page_is_wrapped_and_its_code_is_not() {
        let page = "# Title\n\nSome **bold words** and [a page](page.md), with `code in one piece`.\n\n\
                    - an item that is\n  longer than a line\n- *another* `*.html [PATH]`\n\n```console\n$ a  command   that is long\n```\n";
        assert_eq!(
            plain(&lay_out(page, 24)),
            "Title\n\nSome bold words and a\npage, with\n`code in one piece`.\n\n- an item that is longer\n  \
             than a line\n- another\n  `*.html [PATH]`\n\n    $ a  command   that is long\n"
        );
    }

    #[test]
    fn every_page_of_the_guide_is_a_topic() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guide");
        let pages: BTreeSet<String> = std::fs::read_dir(folder)
            .expect("the guide")
            .map(|entry| entry.expect("a page").file_name().into_string())
            .map(|name| name.expect("a name").replace(".md", ""))
            .collect();
        let topics: BTreeSet<String> = TOPICS.map(|topic| topic.name.to_owned()).into();
        assert_eq!(pages, topics);
    }

    #[test]
    fn every_page_fits_a_narrow_terminal_and_leaves_no_markup() {
        for topic in TOPICS {
            let page = plain(&topic.laid_out(60));
            assert!(topic.page.starts_with("# "), "{}", topic.name);
            let prose = page.lines().filter(|line| !line.starts_with("    "));
            for line in prose {
                // Code is never broken, so its line may be longer.
                let fits =
                    line.chars().count() <= 60 || line.contains('`') || line.starts_with("# ");
                assert!(fits, "{}: {line}", topic.name);
                for markup in ["**", "](", "```", "| "] {
                    assert!(!line.contains(markup), "{}: {line}", topic.name);
                }
            }
        }
    }
}
