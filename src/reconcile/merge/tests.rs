//! The body merge: tables, laws, and git as an oracle.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The expected outcome of a row.
#[derive(Clone, Copy)]
enum Expected {
    Text(&'static str),
    Overlap,
    Ambiguous,
    Markup,
}
use Expected::{Ambiguous, Markup, Overlap, Text};

/// A row: name, base, local, remote, outcome.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Expected,
);

fn check(rows: &[Row]) {
    for &(name, base, local, remote, expected) in rows {
        let merged = merge_text(base, local, remote);
        assert_eq!(
            merged,
            merge_text(base, remote, local),
            "{name}: sides swapped"
        );
        let right = match (&merged, expected) {
            (TextMerge::Merged(text), Text(expected)) => text == expected,
            (TextMerge::Clash(ClashReason::Overlap), Overlap)
            | (TextMerge::Clash(ClashReason::Ambiguous), Ambiguous)
            | (TextMerge::Clash(ClashReason::Markup { .. }), Markup) => true,
            (
                TextMerge::Merged(_) | TextMerge::Clash(_),
                Text(_) | Overlap | Ambiguous | Markup,
            ) => false,
        };
        assert!(right, "{name}: got {merged:?}");
    }
}

#[test]
fn one_line_bodies_merge_by_block() {
    check(&[
        (
            "two paragraphs apart",
            "<p>a</p><p>b</p><p>c</p>",
            "<p>A</p><p>b</p><p>c</p>",
            "<p>a</p><p>b</p><p>C</p>",
            Text("<p>A</p><p>b</p><p>C</p>"),
        ),
        (
            "neighbouring paragraphs",
            "<p>a</p><p>b</p>",
            "<p>A</p><p>b</p>",
            "<p>a</p><p>B</p>",
            Text("<p>A</p><p>B</p>"),
        ),
        (
            "one paragraph",
            "<p>a</p><p>b</p>",
            "<p>A</p><p>b</p>",
            "<p>Ä</p><p>b</p>",
            Overlap,
        ),
        (
            "items of one list",
            "<ul><li>a</li><li>b</li></ul>",
            "<ul><li>A</li><li>b</li></ul>",
            "<ul><li>a</li><li>b</li><li>c</li></ul>",
            Text("<ul><li>A</li><li>b</li><li>c</li></ul>"),
        ),
        (
            "cells of one row",
            "<table><tr><td>a</td><td>b</td></tr></table>",
            "<table><tr><td>A</td><td>b</td></tr></table>",
            "<table><tr><td>a</td><td>B</td></tr></table>",
            Text("<table><tr><td>A</td><td>B</td></tr></table>"),
        ),
        (
            "lines of one paragraph, by <br>",
            "<p>a<br>b<br>c</p>",
            "<p>A<br>b<br>c</p>",
            "<p>a<br>b<br>C</p>",
            Text("<p>A<br>b<br>C</p>"),
        ),
        (
            "one side breaks the lines, the other edits",
            "<h1>a</h1><p>b</p><p>c</p>",
            "<h1>a</h1>\n<p>b</p>\n<p>c</p>",
            "<h1>a</h1><p>B</p><p>c</p>",
            Text("<h1>a</h1>\n<p>B</p>\n<p>c</p>"),
        ),
        (
            "list becomes ordered while an item is edited",
            "<ul><li>a</li><li>b</li></ul>",
            "<ol><li>a</li><li>b</li></ol>",
            "<ul><li>A</li><li>b</li></ul>",
            Text("<ol><li>A</li><li>b</li></ol>"),
        ),
    ]);
}

/// The markup of web editors: tags that repeat around every piece of text.
#[test]
fn repeated_tags_do_not_keep_lists_and_tables_from_merging() {
    check(&[
        (
            "an item goes, its neighbour is edited",
            "<ul><li><p>a</p></li><li><p>b</p></li><li><p>c</p></li></ul>",
            "<ul><li><p>b</p></li><li><p>c</p></li></ul>",
            "<ul><li><p>a</p></li><li><p>B</p></li><li><p>c</p></li></ul>",
            Text("<ul><li><p>B</p></li><li><p>c</p></li></ul>"),
        ),
        (
            "an item is added by each, at different ends",
            "<ul><li><p>a</p></li><li><p>b</p></li></ul>",
            "<ul><li><p>x</p></li><li><p>a</p></li><li><p>b</p></li></ul>",
            "<ul><li><p>a</p></li><li><p>b</p></li><li><p>y</p></li></ul>",
            Text("<ul><li><p>x</p></li><li><p>a</p></li><li><p>b</p></li><li><p>y</p></li></ul>"),
        ),
        (
            "a row is added, another row's cell edited",
            "<table><tr><td>a</td><td>no</td></tr><tr><td>b</td><td>no</td></tr></table>",
            "<table><tr><td>a</td><td>no</td></tr><tr><td>b</td><td>no</td></tr><tr><td>c</td><td>no</td></tr></table>",
            "<table><tr><td>a</td><td>yes</td></tr><tr><td>b</td><td>no</td></tr></table>",
            Text(
                "<table><tr><td>a</td><td>yes</td></tr><tr><td>b</td><td>no</td></tr><tr><td>c</td><td>no</td></tr></table>",
            ),
        ),
        (
            "empty paragraphs between real ones",
            "<p>a</p><p><br></p><p>b</p><p><br></p><p>c</p>",
            "<p>a</p><p>b</p><p><br></p><p>c</p>",
            "<p>a</p><p><br></p><p>b</p><p><br></p><p>C</p>",
            Text("<p>a</p><p>b</p><p><br></p><p>C</p>"),
        ),
        (
            "a paragraph moves, another is edited",
            "<p>a</p><p>b</p><p>c</p><p>d</p>",
            "<p>b</p><p>c</p><p>d</p><p>a</p>",
            "<p>a</p><p>b</p><p>C</p><p>d</p>",
            Text("<p>b</p><p>C</p><p>d</p><p>a</p>"),
        ),
        (
            "a paragraph moves and is edited",
            "<p>a</p><p>b</p><p>c</p><p>d</p>",
            "<p>b</p><p>c</p><p>d</p><p>a</p>",
            "<p>A</p><p>b</p><p>c</p><p>d</p>",
            Overlap,
        ),
    ]);
}

#[test]
fn lines_merge_like_blocks() {
    check(&[
        (
            "both ends",
            "a\nb\nc\n",
            "A\nb\nc\n",
            "a\nb\nC\n",
            Text("A\nb\nC\n"),
        ),
        ("neighbours", "a\nb\n", "A\nb\n", "a\nB\n", Text("A\nB\n")),
        (
            "neighbours, no newline at the end",
            "a\nb",
            "A\nb",
            "a\nB",
            Text("A\nB"),
        ),
        (
            "one appends while the last line is edited",
            "a\nb",
            "a\nb\nc",
            "a\nB",
            Text("a\nB\nc"),
        ),
        (
            "one appends while the last line goes",
            "a\nb",
            "a\nb\nc",
            "a",
            Text("a\nc"),
        ),
        (
            "one puts a line first while the first goes",
            "a\nb",
            "c\na\nb",
            "b",
            Text("c\nb"),
        ),
        (
            "CRLF",
            "a\r\nb\r\nc",
            "A\r\nb\r\nc",
            "a\r\nb\r\nC",
            Text("A\r\nb\r\nC"),
        ),
        (
            "neighbouring lines removed",
            "a\nb\nc\nd",
            "a\nc\nd",
            "a\nb\nd",
            Text("a\nd"),
        ),
        (
            "removed and edited",
            "a\nb\nc",
            "a\nc",
            "a\nb\nC",
            Text("a\nC"),
        ),
        (
            "a line inserted between lines that are edited",
            "a\nb",
            "a\nx\nb",
            "a\nB",
            Text("a\nx\nB"),
        ),
        (
            "indented blocks",
            " <p>a</p>\n <p>b</p>\n",
            " <p>A</p>\n <p>b</p>\n",
            " <p>a</p>\n  <p>b</p>\n",
            Text(" <p>A</p>\n  <p>b</p>\n"),
        ),
    ]);
}

#[test]
fn lines_are_never_glued_together() {
    check(&[
        // The last line loses its newline while another line is added below it.
        (
            "newline dropped, line appended",
            "a\nb\n",
            "a\nB",
            "a\nb\nx\n",
            Ambiguous,
        ),
        (
            "newline dropped, line inserted above",
            "a\nb\n",
            "a\nB",
            "a\nx\nb\n",
            Text("a\nx\nB"),
        ),
        (
            "everything removed, one line put first",
            "a",
            "",
            "x\na",
            Text("x\n"),
        ),
        (
            "newline added, first line edited",
            "a\nb",
            "a\nb\n",
            "A\nb",
            Text("A\nb\n"),
        ),
    ]);
}

#[test]
fn insertions_at_one_spot_clash() {
    check(&[
        (
            "at the end",
            "<p>a</p>",
            "<p>a</p><p>x</p>",
            "<p>a</p><p>y</p>",
            Overlap,
        ),
        ("at the end, by lines", "a", "a\nx", "a\ny", Overlap),
        (
            "at the start",
            "<p>a</p>",
            "<p>x</p><p>a</p>",
            "<p>y</p><p>a</p>",
            Overlap,
        ),
        (
            "in between, by lines",
            "a\nb\n",
            "a\nx\nb\n",
            "a\ny\nb\n",
            Overlap,
        ),
        ("into nothing", "", "<p>x</p>", "<p>y</p>", Overlap),
        (
            "one of them longer",
            "a\nb\n",
            "a\nx\nb\n",
            "a\nx\ny\nb\n",
            Overlap,
        ),
        (
            "both before and behind a blank line",
            "a\n\nb",
            "a\nx\n\nb",
            "a\n\ny\nb",
            Overlap,
        ),
        (
            "a replacement that grows inserts at its end",
            "<p>a</p><p>b</p>",
            "<p>A</p><p>AA</p><p>b</p>",
            "<p>a</p><p>x</p><p>b</p>",
            Overlap,
        ),
        (
            "and at its start",
            "<p>a</p><p>b</p>",
            "<p>a</p><p>B</p><p>BB</p>",
            "<p>a</p><p>x</p><p>b</p>",
            Overlap,
        ),
        (
            "two neighbours that both grow",
            "<p>a</p><p>b</p>",
            "<p>A</p><p>AA</p><p>b</p>",
            "<p>a</p><p>B</p><p>BB</p>",
            Overlap,
        ),
        (
            "the same by lines",
            "a\nb\n",
            "A\nAA\nb\n",
            "a\nB\nBB\n",
            Overlap,
        ),
        (
            "a neighbour that does not grow is no clash",
            "<p>a</p><p>b</p>",
            "<p>A</p><p>AA</p><p>b</p>",
            "<p>a</p><p>B</p>",
            Text("<p>A</p><p>AA</p><p>B</p>"),
        ),
        (
            "the same insertion is made once",
            "<p>a</p>",
            "<p>a</p><p>x</p>",
            "<p>a</p><p>x</p>",
            Text("<p>a</p><p>x</p>"),
        ),
        (
            "the same insertion and more elsewhere",
            "<p>a</p><p>b</p><p>c</p>",
            "<p>a</p><p>x</p><p>b</p><p>c</p>",
            "<p>a</p><p>x</p><p>b</p><p>C</p>",
            Text("<p>a</p><p>x</p><p>b</p><p>C</p>"),
        ),
    ]);
}

#[test]
fn insertions_inside_a_change_clash() {
    check(&[
        (
            "between two paragraphs that were rewritten",
            "<p>a</p><p>b</p>",
            "<p>A</p><p>B</p>",
            "<p>a</p><p>x</p><p>b</p>",
            Overlap,
        ),
        (
            "the same by lines",
            "a\nb\nc\n",
            "A\nB\nC\n",
            "a\nx\nb\nc\n",
            Overlap,
        ),
        (
            "into a list that was removed",
            "<p>a</p><ul><li>b</li><li>c</li></ul>",
            "<p>a</p>",
            "<p>a</p><ul><li>b</li><li>x</li><li>c</li></ul>",
            Overlap,
        ),
        (
            "at the edge of a removed paragraph",
            "<p>a</p><p>b</p><p>c</p>",
            "<p>a</p><p>c</p>",
            "<p>a</p><p>x</p><p>b</p><p>c</p>",
            Text("<p>a</p><p>x</p><p>c</p>"),
        ),
    ]);
}

#[test]
fn overlapping_changes_of_which_only_a_part_is_equal_clash() {
    check(&[
        (
            "the same typo, and another edit next to it",
            "<p>a</p><p>b</p><p>c</p>",
            "<p>A</p><p>b</p><p>c</p>",
            "<p>A</p><p>B</p><p>c</p>",
            Overlap,
        ),
        (
            "overlapping, equal where they overlap",
            "<p>a</p><p>b</p><p>c</p>",
            "<p>A</p><p>B</p><p>c</p>",
            "<p>a</p><p>B</p><p>C</p>",
            Overlap,
        ),
        (
            "overlapping, different in one",
            "<p>a</p><p>b</p><p>c</p>",
            "<p>A</p><p>B</p><p>c</p>",
            "<p>a</p><p>Ö</p><p>C</p>",
            Overlap,
        ),
        ("by lines", "a\nb\nc", "A\nb\nc", "A\nB\nc", Overlap),
    ]);
}

/// Both sides remove one of several equal units: one unit is removed, or a person decides.
#[test]
fn one_of_several_equal_units_is_not_removed_twice() {
    check(&[
        (
            "two",
            "<hr><hr><p>x</p>",
            "<hr><p>x</p>",
            "<hr><p>x</p>",
            Text("<hr><p>x</p>"),
        ),
        (
            "three, and edits elsewhere",
            "<p>a</p><hr><hr><hr><p>b</p><p>c</p><p>d</p>",
            "<p>A</p><hr><hr><hr><p>b</p><p>c</p><p>d</p>",
            "<p>a</p><hr><hr><p>b</p><p>c</p><p>d</p>",
            Text("<p>A</p><hr><hr><p>b</p><p>c</p><p>d</p>"),
        ),
        (
            "both remove one, each edits at its own end",
            "<p>a</p><p>b</p><hr><hr><p>c</p><p>d</p>",
            "<p>A</p><p>b</p><hr><p>c</p><p>d</p>",
            "<p>a</p><p>b</p><hr><p>c</p><p>D</p>",
            Text("<p>A</p><p>b</p><hr><p>c</p><p>D</p>"),
        ),
        (
            "one removes the neighbour as well",
            "<p>a</p><hr><hr><p>b</p>",
            "<p>A</p><hr><p>b</p>",
            "<p>a</p><hr><p>b</p>",
            Ambiguous,
        ),
        (
            "the one in the middle is edited, one is removed",
            "<hr><hr><hr><p>x</p>",
            "<hr><p>y</p><hr><p>x</p>",
            "<hr><hr><p>x</p>",
            Ambiguous,
        ),
        (
            "different ones, told apart by what is between",
            "<p>a</p><hr><p>b</p><hr><p>c</p>",
            "<p>a</p><p>b</p><hr><p>c</p>",
            "<p>a</p><hr><p>b</p><p>c</p>",
            Text("<p>a</p><p>b</p><p>c</p>"),
        ),
    ]);
}

/// Unless the diffs are compacted, the two removals land in different places. Blank lines between
/// blocks make equal units common.
#[test]
fn diffs_are_compacted_before_they_are_compared() {
    let base = "x\n\n\n\ny\n\n\n\nz";
    let less = "x\n\n\ny\n\n\n\nz";
    let more = "x\n\n\ny\n\n\n\nz!";
    assert_eq!(
        merge_text(base, less, more),
        TextMerge::Merged(more.to_owned())
    );
}

#[test]
fn f065_a_merge_never_breaks_the_markup() {
    check(&[
        (
            "one side opens a box, the other removes where it ends",
            "<p>a</p><div><p>b</p></div><p>c</p>",
            "<p>a</p><p>b</p></div><p>c</p>",
            "<p>a</p><div><p>b</p><p>c</p>",
            Text("<p>a</p><p>b</p><p>c</p>"),
        ),
        (
            "a tag that both closed stays open",
            "<div><p>a</p>\n<p>b</p>\n<p>c</p></div>",
            "<section><div><p>a</p>\n<p>b</p>\n<p>c</p></div></section>",
            "<div><p>a</p>\n<p>b</p>\n<p>c</p>\n<p>d</p></div>",
            Text("<section><div><p>a</p>\n<p>b</p>\n<p>c</p>\n<p>d</p></div></section>"),
        ),
        (
            "the end of a list goes with one side, its start is made anew by the other",
            "<ul><li>a</li></ul><p>x</p><ul><li>b</li></ul>",
            "<ul><li>a</li><li>b</li></ul>",
            "<ul><li>a</li></ul><p>x</p><ol><li>b</li></ol>",
            Ambiguous,
        ),
        (
            "an inline tag across two lines",
            "a\nb\nc\nd",
            "a\n<b>b\nc</b>\nd",
            "a\nb\nx\nc\nd",
            Overlap,
        ),
        (
            "what was broken before does not matter",
            "<p>a</p><div><p>b</p><p>c</p>",
            "<p>A</p><div><p>b</p><p>c</p>",
            "<p>a</p><div><p>b</p><p>C</p>",
            Text("<p>A</p><div><p>b</p><p>C</p>"),
        ),
        (
            "both wrap what follows, each in its own way",
            "<p>a</p>\n<p>b</p>\n<p>c</p>\n<p>d</p>\n",
            "<b>\n<p>a</p>\n<p>b</p>\n</b>\n<p>c</p>\n<p>d</p>\n",
            "<p>a</p>\n<i>\n<p>b</p>\n<p>c</p>\n</i>\n<p>d</p>\n",
            Markup,
        ),
        (
            "a block is put behind what the other side comments out",
            "<p>a</p>\n<p>b</p>\n<p>c</p>\n",
            "<p>a</p>\n<!--\n<p>b</p>\n-->\n<p>c</p>\n",
            "<p>a</p>\n<p>b</p>\n<p>x</p>\n<p>c</p>\n",
            Text("<p>a</p>\n<!--\n<p>b</p>\n-->\n<p>x</p>\n<p>c</p>\n"),
        ),
    ]);
}

#[test]
fn what_both_sides_move_or_add_is_never_repeated() {
    let base = "<p>a</p>\n<p>b</p>\n<p>c</p>\n<p>d</p>\n<p>e</p>\n<p>f</p>\n";
    let last = "<p>b</p>\n<p>c</p>\n<p>d</p>\n<p>e</p>\n<p>f</p>\n<p>a</p>\n";
    let fourth = "<p>b</p>\n<p>c</p>\n<p>a</p>\n<p>d</p>\n<p>e</p>\n<p>f</p>\n";
    check(&[
        (
            "both move one block, to two places",
            base,
            last,
            fourth,
            Ambiguous,
        ),
        (
            "one moves a block, the other removes it",
            base,
            last,
            "<p>b</p>\n<p>c</p>\n<p>d</p>\n<p>e</p>\n<p>f</p>\n",
            Ambiguous,
        ),
        (
            "one moves a section, the other adds to it",
            "<h2>A</h2><p>a</p><h2>B</h2><p>b</p><p>c</p><p>d</p><h2>C</h2>",
            "<h2>B</h2><p>b</p><p>c</p><p>d</p><h2>A</h2><p>a</p><h2>C</h2>",
            "<h2>A</h2><p>a</p><p>of A only</p><h2>B</h2><p>b</p><p>c</p><p>d</p><h2>C</h2>",
            Ambiguous,
        ),
        (
            "each adds a list, at two places",
            "<p>a</p>\n<p>b</p>\n<p>c</p>\n",
            "<p>a</p>\n<ul>\n<li>x</li>\n</ul>\n<p>b</p>\n<p>c</p>\n",
            "<p>a</p>\n<p>b</p>\n<p>c</p>\n<ul>\n<li>y</li>\n</ul>\n",
            Text(
                "<p>a</p>\n<ul>\n<li>x</li>\n</ul>\n<p>b</p>\n<p>c</p>\n<ul>\n<li>y</li>\n</ul>\n",
            ),
        ),
        (
            "both move one block to one place",
            base,
            last,
            last,
            Text(last),
        ),
        (
            "one moves a block, the other edits another",
            base,
            last,
            "<p>a</p>\n<p>b</p>\n<p>c!</p>\n<p>d</p>\n<p>e</p>\n<p>f</p>\n",
            Text("<p>b</p>\n<p>c!</p>\n<p>d</p>\n<p>e</p>\n<p>f</p>\n<p>a</p>\n"),
        ),
        (
            "each adds another block",
            "<p>a</p>\n<p>b</p>\n",
            "<p>0</p>\n<p>a</p>\n<p>b</p>\n",
            "<p>a</p>\n<p>b</p>\n<p>1</p>\n",
            Text("<p>0</p>\n<p>a</p>\n<p>b</p>\n<p>1</p>\n"),
        ),
    ]);
}

#[test]
fn the_second_ancestor_helps_where_the_first_does_not() {
    // The service rewrote <b> as <strong>; then one side edited that paragraph, and the other side another paragraph.
    let file = "<p><b>a</b></p><p>b</p>";
    let service = "<p><strong>a</strong></p><p>b</p>";
    let local = "<p><b>A</b></p><p>b</p>";
    let remote = "<p><strong>a</strong></p><p>B</p>";
    assert!(matches!(
        merge_text(file, local, remote),
        TextMerge::Clash(_)
    ));
    assert_eq!(
        merge_with_fallback(&[file, service], local, remote),
        TextMerge::Merged("<p><b>A</b></p><p>B</p>".to_owned())
    );
    assert_eq!(
        merge_with_fallback(&[], local, remote),
        TextMerge::Clash(ClashReason::NoAncestor)
    );
    assert_eq!(
        merge_with_fallback(&[], local, local),
        TextMerge::Merged(local.to_owned())
    );
}

/// Cutting texts of this size into units must not take long, whatever they contain.
#[test]
fn hostile_texts_are_merged_in_bounded_time() {
    let numbered = |count: usize, step: usize| -> String {
        let blocks = (0..count).map(|n| format!("<p>{}</p>", n * step % count));
        blocks.collect::<Vec<_>>().concat()
    };
    let started = std::time::Instant::now();
    let base = numbered(12_000, 1);
    // Shuffled: every paragraph occurs once, somewhere else.
    let one = numbered(12_000, 7);
    let other = numbered(12_000, 11);
    assert!(matches!(
        merge_text(&base, &one, &other),
        TextMerge::Clash(_)
    ));
    // Every second paragraph changed.
    let every_second: String = (0..12_000)
        .map(|n| {
            if n % 2 == 0 {
                format!("<p>{n}</p>")
            } else {
                format!("<p>x{n}</p>")
            }
        })
        .collect();
    let first = base.replacen("<p>0</p>", "<p>zero</p>", 1);
    assert!(matches!(
        merge_text(&base, &every_second, &first),
        TextMerge::Merged(_)
    ));
    let deep = "<div>".repeat(30_000);
    let deeper = format!("{deep}</p>");
    let shallow = format!("x{deep}");
    drop(merge_text(&deep, &deeper, &shallow));
    assert!(
        started.elapsed().as_secs() < 30,
        "took {:?}",
        started.elapsed()
    );
}

/// An edit of one place in a list of blocks.
#[derive(Clone, Debug)]
enum Edit {
    Replace,
    Remove,
    Insert,
    Grow,
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        Just(Edit::Replace),
        Just(Edit::Remove),
        Just(Edit::Insert),
        Just(Edit::Grow)
    ]
}

/// Makes the edits, and marks new text so that it can be found again.
fn edited(blocks: &[String], edits: &BTreeMap<usize, Edit>, mark: &str) -> Vec<String> {
    let mut result = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let new = |n| format!("<p>{mark}{at}.{n}</p>");
        match edits.get(&at) {
            None => result.push(block.clone()),
            Some(Edit::Replace) => result.push(new(0)),
            Some(Edit::Remove) => {}
            Some(Edit::Insert) => result.extend([new(0), block.clone()]),
            Some(Edit::Grow) => result.extend([new(0), new(1)]),
        }
    }
    result
}

fn joined(blocks: &[String], lines: bool) -> String {
    blocks.join(if lines { "\n" } else { "" })
}

fn count(text: &str, block: &str) -> usize {
    html::units(text)
        .into_iter()
        .filter(|unit| *unit == block)
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_texts_merge_the_same_whichever_side_is_first(
        base in "[ab<>/p \n]{0,24}", local in "[ab<>/p \n]{0,24}", remote in "[ab<>/p \n]{0,24}"
    ) {
        prop_assert_eq!(merge_text(&base, &local, &remote), merge_text(&base, &remote, &local));
        prop_assert_eq!(merge_text(&base, &local, &local), TextMerge::Merged(local.clone()));
        prop_assert_eq!(merge_text(&base, &base, &remote), TextMerge::Merged(remote.clone()));
    }

    #[test]
    fn what_is_apart_merges_and_holds_both_edits(
        blocks in 1_usize..30,
        edits in prop::collection::btree_map(0_usize..30, (edit(), any::<bool>()), 0..12),
        lines in any::<bool>(),
    ) {
        let base: Vec<_> = (0..blocks).map(|n| format!("<p>{n}</p>")).collect();
        // At least one untouched block lies between edits.
        let (mut mine, mut theirs, mut all) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut free = 0;
        for (at, (edit, local)) in edits {
            if at >= free && at < blocks {
                if local { mine.insert(at, edit.clone()); } else { theirs.insert(at, edit.clone()); }
                all.insert(at, (edit, local));
                free = at + 2;
            }
        }
        let local = joined(&edited(&base, &mine, "l"), lines);
        let remote = joined(&edited(&base, &theirs, "r"), lines);
        let expected = joined(&edited(&edited(&base, &mine, "l"), &BTreeMap::new(), ""), lines);
        let merged = match merge_text(&joined(&base, lines), &local, &remote) {
            TextMerge::Merged(merged) => merged,
            // The removal of the last block includes the line end before it.
            TextMerge::Clash(_) if lines => return Ok(()),
            TextMerge::Clash(reason) => panic!("{reason:?}"),
        };
        if theirs.is_empty() { prop_assert_eq!(&merged, &expected); }
        for (at, (edit, is_local)) in all {
            let mark = if is_local { "l" } else { "r" };
            let old = usize::from(matches!(edit, Edit::Insert));
            let first = usize::from(!matches!(edit, Edit::Remove));
            let second = usize::from(matches!(edit, Edit::Grow));
            prop_assert_eq!(count(&merged, &format!("<p>{at}</p>")), old);
            prop_assert_eq!(count(&merged, &format!("<p>{mark}{at}.0</p>")), first);
            prop_assert_eq!(count(&merged, &format!("<p>{mark}{at}.1</p>")), second);
        }
    }

    #[test]
    fn neighbouring_replacements_merge(blocks in 2_usize..12, mask in any::<u16>(), lines in any::<bool>()) {
        let base: Vec<_> = (0..blocks).map(|n| format!("<p>{n}</p>")).collect();
        let side = |local: bool, mark: &str| {
            let edits = (0..blocks)
                .filter(|at| (mask >> at & 1 == 1) == local)
                .map(|at| (at, Edit::Replace))
                .collect();
            joined(&edited(&base, &edits, mark), lines)
        };
        let expected: Vec<_> = (0..blocks)
            .map(|at| format!("<p>{}{at}.0</p>", if mask >> at & 1 == 1 { "l" } else { "r" }))
            .collect();
        prop_assert_eq!(
            merge_text(&joined(&base, lines), &side(true, "l"), &side(false, "r")),
            TextMerge::Merged(joined(&expected, lines))
        );
    }

    /// Repeated blocks everywhere, and edits with known places: the merge is the intended text, or a person decides.
    #[test]
    fn a_merge_is_what_was_meant(
        blocks in prop::collection::vec(0_u8..3, 1..9),
        mine in prop::collection::btree_map(0_usize..8, edit(), 0..3),
        theirs in prop::collection::btree_map(0_usize..8, edit(), 0..3),
        removed in prop::option::of(0_usize..8),
    ) {
        let base: Vec<_> = blocks.iter().map(|n| format!("<p>{n}</p>")).collect();
        let (mut mine, mut theirs) = (mine, theirs);
        // Removals of two equal blocks, one by each side, cannot be told from one removal by both.
        let removes = mine.values().any(|edit| matches!(edit, Edit::Remove));
        theirs.retain(|at, edit| !(mine.contains_key(at) || removes && matches!(edit, Edit::Remove)));
        for edits in [&mut mine, &mut theirs] {
            if let Some(at) = removed { edits.insert(at, Edit::Remove); }
        }
        let (local, remote) = (edited(&base, &mine, "l"), edited(&base, &theirs, "r"));
        if let TextMerge::Merged(merged) = merge_text(&base.concat(), &local.concat(), &remote.concat()) {
            let mut meant = Vec::new();
            for at in 0..base.len() {
                let (edits, mark) = if mine.contains_key(&at) { (&mine, "l") } else { (&theirs, "r") };
                let one: BTreeMap<_, _> = edits.get(&at).map(|edit| (at, edit.clone())).into_iter().collect();
                let upto = |end| edited(&base[..end], &one, mark);
                meant.extend_from_slice(&upto(at + 1)[at..]);
            }
            let merged = html::units(&merged);
            let sorted = |mut units: Vec<String>| { units.sort_unstable(); units };
            let all = merged.iter().map(|&unit| unit.to_owned()).collect();
            prop_assert_eq!(sorted(all), sorted(meant), "{:?}", merged);
        }
    }

    /// For every merge: no unit is invented, and no unit that neither side touched is lost.
    #[test]
    fn the_units_of_a_merge_come_from_its_inputs(
        texts in prop::array::uniform3(prop::collection::vec(0_u8..4, 0..8)), lines in any::<bool>()
    ) {
        let [base, local, remote] = texts.map(|blocks| {
            joined(&blocks.iter().map(|n| format!("<p>{n}</p>")).collect::<Vec<_>>(), lines)
        });
        if let TextMerge::Merged(merged) = merge_text(&base, &local, &remote) {
            for n in 0..4 {
                let block = format!("<p>{n}</p>");
                let [base, local, remote, merged] =
                    [&base, &local, &remote, &merged].map(|text| count(text, &block));
                prop_assert!(merged <= local + remote);
                prop_assert!(merged + base >= local.min(remote).min(base));
                if local == base && remote == base { prop_assert_eq!(merged, base); }
            }
        }
    }
}

#[test]
fn both_sides_are_kept_where_they_clash_and_merged_elsewhere() {
    let table = [
        // One block clashes; an edit of another block and a new block are merged.
        (
            Some("<p>1</p><p>2</p><p>3</p>"),
            "<p>1 here</p><p>2</p><p>3 too</p>",
            "<p>1 there</p><p>2</p><p>3</p><p>4</p>",
            "<p>1 here</p><p>1 there</p><p>2</p><p>3 too</p><p>4</p>",
        ),
        // Two insertions at one spot.
        (
            Some("<p>1</p>\n<p>2</p>\n"),
            "<p>1</p>\n<p>here</p>\n<p>2</p>\n",
            "<p>1</p>\n<p>there</p>\n<p>2</p>\n",
            "<p>1</p>\n<p>here</p>\n<p>there</p>\n<p>2</p>\n",
        ),
        // Removed here, edited there: the edit stays.
        (
            Some("<p>1</p><p>2</p>"),
            "<p>1</p>",
            "<p>1</p><p>2!</p>",
            "<p>1</p><p>2!</p>",
        ),
        // Without an ancestor, lines that both sides have are kept once.
        (
            None,
            "<p>1</p><p>here</p><p>3</p>",
            "<p>1</p><p>there</p><p>3</p>",
            "<p>1</p><p>here</p><p>there</p><p>3</p>",
        ),
        // In a text with lines, and in a text without blocks, each side is on its own line.
        (
            Some("<h1>1</h1>\n<p>2</p>\n"),
            "<h1>1 here</h1>\n<p>2</p>\n",
            "<h1>1 there</h1>\n<p>2</p>\n",
            "<h1>1 here</h1>\n<h1>1 there</h1>\n<p>2</p>\n",
        ),
        (
            Some("<p>0</p>\n<h1>1</h1><p>2</p>"),
            "<p>0</p>\n<h1>1 here</h1><p>2</p>",
            "<p>0</p>\n<h1>1 there</h1><p>2</p>",
            "<p>0</p>\n<h1>1 here</h1><h1>1 there</h1><p>2</p>",
        ),
        (
            Some("<p>1</p>\n<p>2</p>"),
            "<p>1</p>\n<p>2 here</p>",
            "<p>1</p>\n<p>2 there</p>",
            "<p>1</p>\n<p>2 here</p>\n<p>2 there</p>",
        ),
        (
            Some("words"),
            "words here",
            "words there",
            "words here\nwords there",
        ),
        // Changes that fit together are merged as usual.
        (
            Some("<p>1</p><p>2</p>"),
            "<p>1!</p><p>2</p>",
            "<p>1</p><p>2!</p>",
            "<p>1!</p><p>2!</p>",
        ),
    ];
    for (base, local, remote, wanted) in table {
        let ancestors: Vec<&str> = base.into_iter().collect();
        assert_eq!(merge_union(&ancestors, local, remote), wanted);
    }
}

#[test]
fn a_text_in_conflict_is_cut_where_both_sides_changed_it() {
    let base = "<p>1</p>\n<p>2</p>\n<p>3</p>\n<p>4</p>\n<p>5</p>\n";
    let local = "<p>0</p>\n<p>1</p>\n<p>2</p>\n<p>3 here</p>\n<p>4</p>\n<p>5</p>\n";
    let remote = "<p>1</p>\n<p>2</p>\n<p>3 there</p>\n<p>4</p>\n<p>5 there</p>\n";
    let clashes = |blocks: &[Block]| -> Vec<(usize, Option<String>, String, String)> {
        let clash = |block: &Block| match block {
            Block::Clash(clash) => Some(clash.clone()),
            Block::Settled(_) => None,
        };
        let clashes = blocks.iter().filter_map(clash);
        clashes
            .map(|one| (one.line, one.base, one.local, one.remote))
            .collect()
    };
    let text = |text: &str| text.to_owned();
    let cut = blocks(&[base], local, remote);
    let expected = (
        3,
        Some(text("<p>3</p>")),
        text("<p>3 here</p>"),
        text("<p>3 there</p>"),
    );
    assert_eq!(clashes(&cut), [expected]);
    let joined = join(&cut, local, remote, |_| text("<p>3 together</p>"));
    let expected = "<p>0</p>\n<p>1</p>\n<p>2</p>\n<p>3 together</p>\n<p>4</p>\n<p>5 there</p>\n";
    assert_eq!(joined.as_deref(), Ok(expected));
    let broken = join(&cut, local, remote, |_| text("<p>3"));
    assert!(broken.is_err(), "{broken:?}");

    // Without an ancestor, or if it is in doubt what a side changed, every difference clashes.
    let cut = blocks(&[], local, remote);
    let [added, third, fifth] = &clashes(&cut)[..] else {
        panic!("{cut:?}");
    };
    assert_eq!((added.0, &*added.2, &*added.3), (0, "<p>0</p>\n", ""));
    assert_eq!((third.0, &third.1, fifth.0), (3, &None, 5));
    let twice = "<p>1</p><p>2</p><p>2</p><p>3</p>";
    let once = "<p>1</p><p>2</p><p>3</p>";
    let cut = blocks(&[twice], once, "<p>1</p><p>2</p><p>2</p><p>2</p><p>3</p>");
    assert!(
        clashes(&cut).iter().all(|clash| clash.1.is_none()),
        "{cut:?}"
    );
}

#[test]
fn an_edit_shows_which_of_two_versions_it_was_made_of() {
    let check = |older: &str, newer: &str, edits: &[(&str, bool)]| {
        for (edit, is_of_older) in edits {
            let shared = Shared::default().body(older, edit, newer);
            assert_eq!(shared.is_of_older(), *is_of_older, "{edit}");
        }
    };
    check(
        "<p>a</p>\n<p>b</p>\n<p>c</p>",
        "<p>a</p>\n<p>B</p>\n<p>c</p>\n<p>d</p>",
        &[
            // With a change of its own.
            ("<p>A</p>\n<p>b</p>\n<p>c</p>", true),
            ("<p>A</p>\n<p>B</p>\n<p>c</p>\n<p>d</p>", false),
            // With one of the two changes.
            ("<p>A</p>\n<p>b</p>\n<p>c</p>\n<p>d</p>", false),
            // At one of the changed places, beside it, and at both.
            ("<p>a</p>\n<p>x</p>\n<p>c</p>", true),
            ("<p>A</p>\n<p>B</p>\n<p>c</p>", false),
            ("<p>a</p>\n<p>x</p>\n<p>c</p>\n<p>y</p>", false),
            // White space is no change.
            ("<p>A</p>\n<p>b</p>\n\n<p>c</p>\n", true),
        ],
    );
    // Bare tags are no change either.
    check(
        "<p>a</p>\n<p>b</p>\n",
        "<p>a</p>\n<p>b</p>\n<ul>\n<li>B</li>\n</ul>\n",
        &[("<ul>\n<li>A</li>\n</ul>\n<p>a</p>\n<p>b</p>\n", true)],
    );
    // A change of the order alone is none: the edit may be one of a moved paragraph.
    check(
        "<p>a</p>\n<p>b</p>",
        "<p>b</p>\n<p>a</p>",
        &[("<p>B</p>\n<p>a</p>", false)],
    );
    check(
        "<p>a</p>\n<p>b</p>\n<p>c</p>",
        "<p>c</p>\n<p>a</p>\n<p>b</p>",
        &[("<p>c</p>\n<p>a</p>\n<p>B</p>", false)],
    );
    // A removed paragraph is one.
    check(
        "<p>a</p>\n<p>b</p>\n<p>c</p>\n<p>d</p>",
        "<p>a</p>\n<p>c</p>\n<p>d</p>",
        &[
            ("<p>a</p>\n<p>c</p>\n<p>D</p>", false),
            ("<p>a</p>\n<p>b</p>\n<p>c</p>\n<p>D</p>", true),
        ],
    );
}
