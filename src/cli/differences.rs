//! Presents the differences of texts line by line, in the form of `diff -u`.
//!
//! For a person, the changed words of a line are highlighted, and control characters are escaped. A pipe gets the
//! bytes of the text unchanged, so that `patch` can read them, and names quoted as in git.

use super::{
    context::Context,
    failure::Failure,
    layout::{Column, wrap_line},
    pager,
    print::{DIM, ERROR, GOOD, HELP, Output, escape_block, escape_line},
};
use crate::{
    engine::compare::{Comparison, Pair},
    model::path::quoted_as_git,
};
use anstyle::Style;
use dialoguer::console::measure_text_width;
use serde::Serialize;
use similar::{ChangeTag, DiffTag, InlineChange, TextDiff};
use std::{fmt::Write as _, io};

/// The number of equal lines around a change in the output for `patch`.
pub(super) const CONTEXT: usize = 3;

/// The characters of an equal part that are kept beside a change.
const AROUND: usize = 40;

/// The width of a view with both sides beside each other where there is no terminal.
const SIDE_BY_SIDE: usize = 160;

#[derive(Serialize)]
struct Report<'a> {
    files: Vec<FileDiff<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct FileDiff<'a> {
    path: Option<&'a str>,
    old_path: Option<&'a str>,
    diff: String,
}

/// Prints a comparison; without a view, only the numbers of added and removed lines.
pub(super) fn print(
    context: &Context,
    found: &Comparison,
    view: Option<View>,
) -> Result<(), Failure> {
    let out = context.out;
    if out.json {
        let files = found.pairs.iter().map(|pair| FileDiff {
            path: pair.new_path.as_deref(),
            old_path: pair.old_path.as_deref(),
            diff: as_patch(pair, CONTEXT),
        });
        return Ok(out.json(&Report {
            files: files.collect(),
            notes: &found.notes,
        })?);
    }
    if found.pairs.is_empty() {
        // There is nothing to show, not even the head of a table.
    } else if let Some(view) = view {
        let texts = found.pairs.iter().map(|pair| formatted(out, pair, view));
        show(context, &texts.collect::<String>())?;
    } else {
        let columns = [Column::shortened("file"), Column::details("lines")];
        pager::table(context, &columns, found.pairs.iter().map(counted))?;
    }
    for note in &found.notes {
        out.note(escape_line(note));
    }
    Ok(())
}

/// Returns a file's path, and the numbers of its added and removed lines.
fn counted(pair: &Pair) -> Vec<String> {
    let diff = TextDiff::from_lines(&pair.old, &pair.new);
    let count = |tag| {
        diff.iter_all_changes()
            .filter(|one| one.tag() == tag)
            .count()
    };
    let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
    let path = pair.new_path.as_ref().or(pair.old_path.as_ref());
    vec![
        path.cloned().unwrap_or_default(),
        format!("+{added} -{removed}"),
    ]
}

/// The presentation of differences to a person.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// The names of the two sides.
    pub(super) labels: [&'static str; 2],
    /// The number of equal lines around a change.
    pub(super) context: Option<usize>,
    /// Whether the sides are beside each other.
    pub(super) is_side_by_side: bool,
}

impl View {
    /// Returns the usual view of two sides.
    pub(super) const fn between(old: &'static str, new: &'static str) -> Self {
        Self {
            labels: [old, new],
            context: None,
            is_side_by_side: false,
        }
    }
}

/// Formats one difference for a person or a pipe.
pub(super) fn formatted(out: Output, pair: &Pair, view: View) -> String {
    if view.is_side_by_side {
        out.styled(&side_by_side(pair, view, out.width()))
    } else if out.is_for_person() {
        for_person(pair, view, out.width())
    } else {
        as_patch(pair, view.context.unwrap_or(CONTEXT))
    }
}

/// Shows formatted differences in the pager, or prints them into a pipe.
pub(super) fn show(context: &Context, text: &str) -> io::Result<()> {
    if context.out.is_for_person() {
        return pager::show(context, text);
    }
    // The colour filter is bypassed: the text itself may have the bytes of colours.
    context.out.bytes(text.as_bytes())
}

/// Formats one difference for `patch`.
pub(super) fn as_patch(pair: &Pair, context: usize) -> String {
    // Writing into a string cannot fail, here and below.
    let mut text = renamed(pair);
    if pair.old == pair.new {
        return text;
    }
    let name = |side: &str, path: Option<&String>| {
        path.map_or_else(
            || "/dev/null".to_owned(),
            |path| quoted_as_git(&format!("{side}/{path}")).into_owned(),
        )
    };
    writeln!(text, "--- {}", name("a", pair.old_path.as_ref())).ok();
    writeln!(text, "+++ {}", name("b", pair.new_path.as_ref())).ok();
    let diff = TextDiff::from_lines(&pair.old, &pair.new);
    for hunk in diff.unified_diff().context_radius(context).iter_hunks() {
        text += &hunk.to_string();
    }
    text
}

/// Formats one difference for a person: the sides have names, and a long line is cut to its changes.
fn for_person(pair: &Pair, view: View, width: Option<usize>) -> String {
    let mut text = heading(pair, view);
    let diff = TextDiff::from_lines(&pair.old, &pair.new);
    let context = view.context.unwrap_or(1);
    for hunk in diff.unified_diff().context_radius(context).iter_hunks() {
        writeln!(text, "{HELP}{}{HELP:#}", hunk.header()).ok();
        for change in hunk
            .ops()
            .iter()
            .flat_map(|op| diff.iter_inline_changes(op))
        {
            let style = match change.tag() {
                ChangeTag::Equal => Style::new(),
                ChangeTag::Delete => ERROR,
                ChangeTag::Insert => GOOD,
            };
            let plain = Style::new().fg_color(style.get_fg_color());
            write!(text, "{plain}{}{plain:#}", change.tag()).ok();
            for (is_changed, part) in parts(&change, width) {
                let style = if is_changed { plain.invert() } else { plain };
                write!(text, "{style}{}{style:#}", escape_line(&part)).ok();
            }
            text.push('\n');
        }
    }
    text
}

/// Formats one difference with the sides beside each other.
fn side_by_side(pair: &Pair, view: View, width: Option<usize>) -> String {
    let half = width.unwrap_or(SIDE_BY_SIDE).saturating_sub(3) / 2;
    let mut text = heading(pair, view);
    let diff = TextDiff::from_lines(&pair.old, &pair.new);
    for op in diff.grouped_ops(view.context.unwrap_or(1)).concat() {
        let (tag, old, new) = op.as_tag_tuple();
        let is_equal = tag == DiffTag::Equal;
        let styles = if is_equal {
            [Style::new(); 2]
        } else {
            [ERROR, GOOD]
        };
        let wrapped = |lines: &[&str]| -> Vec<String> {
            let lines = lines
                .iter()
                .map(|line| escape_line(line.trim_end()).into_owned());
            let wrapped = lines.map(|line| wrap_line(&line, half, 0));
            wrapped
                .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
                .collect()
        };
        let left = wrapped(&old.filter_map(|at| diff.old_slice(at)).collect::<Vec<_>>());
        let right = wrapped(&new.filter_map(|at| diff.new_slice(at)).collect::<Vec<_>>());
        for row in 0..left.len().max(right.len()) {
            let cell = |side: &[String]| side.get(row).cloned().unwrap_or_default();
            let ([old, new], left, right) = (styles, cell(&left), cell(&right));
            let gap = " ".repeat(half.saturating_sub(measure_text_width(&left)));
            writeln!(text, "{old}{left}{old:#}{gap} │ {new}{right}{new:#}").ok();
        }
    }
    text
}

/// Names the sides and the file.
fn heading(pair: &Pair, view: View) -> String {
    let mut text = format!("{DIM}{}{DIM:#}", escape_block(&renamed(pair)));
    if pair.old == pair.new {
        return text;
    }
    let bold = Style::new().bold();
    let sides = [("---", &pair.old_path), ("+++", &pair.new_path)];
    for ((sign, path), label) in sides.into_iter().zip(view.labels) {
        let path = path.as_deref().map_or("(no file)".into(), quoted_as_git);
        writeln!(text, "{bold}{sign} {label}: {}{bold:#}", escape_line(&path)).ok();
    }
    text
}

fn renamed(pair: &Pair) -> String {
    match (&pair.old_path, &pair.new_path) {
        (Some(from), Some(to)) if from != to => format!(
            "rename from {}\nrename to {}\n",
            quoted_as_git(from),
            quoted_as_git(to)
        ),
        (Some(_) | None, Some(_) | None) => String::new(),
    }
}

/// Returns the parts of a line, each with whether the part changed. A long line with changed words is reduced to these
/// and the words around them; a long equal line is cut off.
pub(super) fn parts(change: &InlineChange<'_, str>, width: Option<usize>) -> Vec<(bool, String)> {
    let parts = change.iter_strings_lossy();
    let parts =
        parts.map(|(is_changed, part)| (is_changed, part.trim_end_matches('\n').to_owned()));
    let parts: Vec<(bool, String)> = parts.collect();
    let length: usize = parts.iter().map(|(_, part)| measure_text_width(part)).sum();
    let is_equal = change.tag() == ChangeTag::Equal;
    let is_whole = !is_equal && parts.iter().all(|(is_changed, _)| !is_changed);
    if is_whole || width.is_none_or(|width| length < width) {
        return parts;
    }
    let last = parts.len().saturating_sub(1);
    let cut = |(at, (is_changed, part)): (usize, (bool, String))| {
        let short = if is_changed {
            part
        } else {
            excerpt(&part, at > 0, at < last)
        };
        (is_changed, short)
    };
    parts.into_iter().enumerate().map(cut).collect()
}

/// Keeps the first and the last words of an equal part, as the two flags say; with neither flag, the first words.
fn excerpt(text: &str, keeps_start: bool, keeps_end: bool) -> String {
    let start = match text.char_indices().nth(AROUND) {
        Some((at, _)) if keeps_start || !keeps_end => at + text[at..].find(' ').unwrap_or(0),
        Some(_) | None => 0,
    };
    let end = match text.char_indices().rev().nth(AROUND) {
        Some((at, _)) if keeps_end => text[..at].rfind(' ').map_or(at, |blank| blank + 1),
        Some(_) | None => text.len(),
    };
    if end < start + 3 || text.chars().count() <= 2 * AROUND {
        return text.to_owned();
    }
    let end = if keeps_end { &text[end..] } else { "" };
    format!("{} … {end}", text[..start].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIEW: View = View::between("last agreed", "yours");

    fn pair(old: Option<&str>, new: Option<&str>) -> Pair {
        Pair {
            old_path: old.map(|_| "s/a.html".to_owned()),
            new_path: new.map(|_| "s/a.html".to_owned()),
            old: old.unwrap_or_default().to_owned(),
            new: new.unwrap_or_default().to_owned(),
        }
    }

    #[test]
    fn it_is_what_patch_reads() {
        let changed = pair(Some("1\n2\n3\n4\n5\n"), Some("1\n2\n3\nfour\n5"));
        assert_eq!(
            as_patch(&changed, 3),
            "--- a/s/a.html\n+++ b/s/a.html\n@@ -1,5 +1,5 @@\n 1\n 2\n 3\n-4\n-5\n+four\n+5\n\\ No newline at end of file\n"
        );
        assert_eq!(
            as_patch(&pair(None, Some("x\n")), 3),
            "--- /dev/null\n+++ b/s/a.html\n@@ -0,0 +1 @@\n+x\n"
        );
        assert_eq!(
            as_patch(&pair(Some("x\n"), None), 3),
            "--- a/s/a.html\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        );
    }

    #[test]
    fn f140_a_name_cannot_forge_a_line() {
        let named = |path: &str| Some(path.to_owned());
        let moved = Pair {
            old_path: named("s/a\n::error::x.html"),
            new_path: named("s/b.html"),
            old: "x\n".to_owned(),
            new: "y\n".to_owned(),
        };
        let expected = "rename from \"s/a\\n::error::x.html\"\nrename to s/b.html\n\
                        --- \"a/s/a\\n::error::x.html\"\n+++ b/s/b.html\n@@ -1 +1 @@\n-x\n+y\n";
        assert_eq!(as_patch(&moved, 3), expected);
    }

    #[test]
    fn f140_a_person_s_terminal_is_not_steered() {
        let changed = pair(Some("a\n"), Some("\u{1b}[2J\tb\r\n"));
        let shown = for_person(&changed, VIEW, None);
        let plain = anstream::adapter::strip_str(&shown).to_string();
        assert!(plain.contains("\\u{1b}[2J\tb\\r"), "{plain}");
    }
}
