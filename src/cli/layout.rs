//! Lays out text for a terminal: messages that are wrapped by words, and tables.
//!
//! A word, a path, an id, a piece of `code` and a command are never broken: a table shortens a path in the middle, and
//! leaves out columns. Without a width, as in a pipe, nothing is wrapped, shortened or left out.

use super::print::escape;
use dialoguer::console::{Alignment, measure_text_width, pad_str, strip_ansi_codes, truncate_str};

/// The limit of the hanging indent: a line is never continued below a column that begins here or further right.
const LAST_HANG: usize = 24;

/// The hanging indent of lines without columns.
const HANG: usize = 2;

/// The least width of a shortened cell.
const MIN_WIDTH: usize = 24;

/// The beginnings of commands that a person may copy.
const PROGRAMS: [&str; 4] = ["kbsync ", "export ", "echo ", "cd "];

/// Wraps each line of a text. Words after two blanks begin a column; a line is continued below its last column.
pub(super) fn wrap(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else {
        return text.to_owned();
    };
    let lines = text.split('\n').map(|line| {
        let plain = strip_ansi_codes(line);
        let is_command = PROGRAMS.iter().any(|name| plain.trim().starts_with(name));
        if is_command || measure_text_width(line) <= width {
            line.to_owned()
        } else {
            wrap_line(line, width, hang(&plain))
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the column at which a line is continued.
fn hang(line: &str) -> usize {
    let columns = line.match_indices("  ").map(|(at, _)| {
        let words = line[at..].trim_start_matches(' ');
        measure_text_width(&line[..line.len() - words.len()])
    });
    columns.filter(|at| *at < LAST_HANG).max().unwrap_or(HANG)
}

/// Wraps one line, and begins each continued line with `hang` blanks.
pub(super) fn wrap_line(line: &str, width: usize, hang: usize) -> String {
    let (mut text, mut used) = (String::new(), 0);
    for (number, word) in words(line).enumerate() {
        let length = measure_text_width(word);
        if number > 0 && used > hang && used + 1 + length > width {
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
            text.push_str(&" ".repeat(hang));
            used = hang;
        } else if number > 0 {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += length;
    }
    text
}

/// Returns the words between blanks. A piece of `code` is one word, so that it can be copied from one line.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.split(move |c: char| {
        in_code ^= c == '`';
        c == ' ' && !in_code
    })
}

/// The fit of a column's cells on a narrow terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fit {
    /// Cells are never shortened.
    Whole,
    /// Cells are shortened in the middle.
    Shortened,
    /// Cells are put below their rows if the rest of the line is too short.
    Details,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    name: &'static str,
    fit: Fit,
    alignment: Alignment,
    /// Columns with the highest rank are left out first; rank 0 is never left out.
    rank: u8,
}

impl Column {
    const fn new(name: &'static str, fit: Fit) -> Self {
        Self {
            name,
            fit,
            alignment: Alignment::Left,
            rank: 0,
        }
    }

    /// A column of ids, times and the like, which are useless when shortened.
    pub(super) const fn whole(name: &'static str) -> Self {
        Self::new(name, Fit::Whole)
    }

    /// A column of paths and titles, which are shortened in the middle.
    pub(super) const fn shortened(name: &'static str) -> Self {
        Self::new(name, Fit::Shortened)
    }

    /// The last column, of words: a cell that does not fit is put below its row.
    pub(super) const fn details(name: &'static str) -> Self {
        Self::new(name, Fit::Details)
    }

    /// A column of numbers, which are aligned right.
    pub(super) const fn numbers(name: &'static str) -> Self {
        Self {
            alignment: Alignment::Right,
            ..Self::new(name, Fit::Whole)
        }
    }

    /// The same column with a rank for leaving it out of a narrow table.
    pub(super) const fn rank(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    /// Returns the cell, shortened and padded to its column's width.
    fn aligned(self, cell: &str, width: usize) -> String {
        pad_str(&shorten(cell, width), width, self.alignment, None).into_owned()
    }
}

/// Lays out rows in columns, without lines around them. Cells are escaped.
pub(super) fn table(
    columns: &[Column],
    rows: impl IntoIterator<Item = Vec<String>>,
    width: Option<usize>,
) -> String {
    let head = columns.iter().map(|column| column.name.to_owned());
    let escaped = |row: Vec<String>| row.iter().map(|cell| escape(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(head.collect())
        .chain(rows.into_iter().map(escaped))
        .collect();
    let widths = fitted(columns, &rows, width.unwrap_or(usize::MAX));
    let mut lines = Vec::new();
    for row in &rows {
        let mut line = String::new();
        for ((column, cell), width) in columns.iter().zip(row).zip(&widths) {
            if let Some(width) = width {
                line += &column.aligned(cell, *width);
                line += "  ";
            }
        }
        let details = columns.iter().zip(row);
        let details = details.filter(|(column, _)| column.fit == Fit::Details);
        for (_, cell) in details {
            let length = measure_text_width(&line) + measure_text_width(cell);
            if width.is_some_and(|width| length > width) {
                let cell = wrap(&format!("    {cell}"), width);
                line = format!("{}\n{cell}", line.trim_end());
            } else {
                line += cell;
            }
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

/// Returns the width of each column; `None`: the column is left out, or has details.
fn fitted(columns: &[Column], rows: &[Vec<String>], room: usize) -> Vec<Option<usize>> {
    let widest = |at: usize| rows.iter().map(|row| measure_text_width(&row[at])).max();
    let mut widths: Vec<Option<usize>> = (0..columns.len())
        .map(|at| widest(at).filter(|_| columns[at].fit != Fit::Details))
        .collect();
    let sum = |widths: &[Option<usize>], least: bool| {
        let each = widths.iter().zip(columns).filter_map(|(width, column)| {
            let width = (*width)?;
            let shortens = least && column.fit == Fit::Shortened;
            Some(
                if shortens {
                    width.min(MIN_WIDTH)
                } else {
                    width
                } + 2,
            )
        });
        each.sum::<usize>().saturating_sub(2)
    };
    while sum(&widths, true) > room {
        let shown = (0..columns.len()).filter(|at| widths[*at].is_some() && columns[*at].rank > 0);
        let Some(last) = shown.max_by_key(|at| columns[*at].rank) else {
            break;
        };
        widths[last] = None;
    }
    while sum(&widths, false) > room {
        let shown = (0..columns.len()).filter(|at| columns[*at].fit == Fit::Shortened);
        match shown
            .max_by_key(|at| widths[*at])
            .and_then(|at| widths[at].as_mut())
        {
            Some(width) if *width > 1 => *width -= 1,
            Some(_) | None => break,
        }
    }
    widths
}

/// Shortens a text in the middle.
fn shorten(text: &str, width: usize) -> String {
    if measure_text_width(text) <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let start = truncate_str(text, room / 2, "");
    let backwards: String = text.chars().rev().collect();
    let end = truncate_str(&backwards, room - measure_text_width(&start), "");
    let end: String = end.chars().rev().collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_wrapped_by_words_below_their_columns() {
        for (text, wrapped) in [
            ("one two three", "one two three"),
            (
                "one two three four five six",
                "one two three four\n  five six",
            ),
            (
                "  modified  a/b.html (title, text)",
                "  modified  a/b.html\n            (title,\n            text)",
            ),
            (
                "    a reason of many words",
                "    a reason of many\n    words",
            ),
            (
                "run `kbsync sync now` if you like",
                "run\n  `kbsync sync now`\n  if you like",
            ),
            (
                "  kbsync resolve a/long/path.html",
                "  kbsync resolve a/long/path.html",
            ),
            (
                "an/endless/path/without/blanks.html",
                "an/endless/path/without/blanks.html",
            ),
            (
                "\u{1b}[31mone two\u{1b}[0m three four five",
                "\u{1b}[31mone two\u{1b}[0m three four\n  five",
            ),
        ] {
            assert_eq!(wrap(text, Some(20)), wrapped);
            assert_eq!(wrap(text, None), text);
        }
    }

    #[test]
    fn a_table_fits_and_leaves_paths_and_ids_whole_or_shortened_in_the_middle() {
        let columns = [
            Column::whole("when").rank(1),
            Column::shortened("path"),
            Column::numbers("views"),
            Column::details("details"),
        ];
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let rows = || {
            [
                row(["10:00:00", "billing/connect-the-calendar.html", "7", "text"]),
                row([
                    "10:00:01",
                    "a.html\u{1b}",
                    "1200",
                    "both sides changed line 2",
                ]),
            ]
        };
        let at = |width| table(&columns, rows(), width);
        assert_eq!(
            at(None),
            "when      path                               views  details\n\
             10:00:00  billing/connect-the-calendar.html      7  text\n\
             10:00:01  a.html\\u{1b}                        1200  both sides changed line 2"
        );
        assert_eq!(
            at(Some(60)),
            "when      path                               views  details\n\
             10:00:00  billing/connect-the-calendar.html      7  text\n\
             10:00:01  a.html\\u{1b}                        1200\n    both sides changed line 2"
        );
        assert_eq!(
            at(Some(40)),
            "path                               views\n    details\n\
             billing/connect-the-calendar.html      7\n    text\n\
             a.html\\u{1b}                        1200\n    both sides changed line 2"
        );
        for width in 20..200 {
            let shown = at(Some(width));
            assert!(
                shown
                    .lines()
                    .all(|line| measure_text_width(line) <= width.max(31)),
                "{shown}"
            );
        }
    }

    #[test]
    fn a_long_cell_is_shortened_in_the_middle() {
        for (text, width, shown) in [
            ("billing/refunds.html", 20, "billing/refunds.html"),
            ("billing/refunds.html", 11, "billi….html"),
            ("東京東京東京", 7, "東…東京"),
            ("abc", 1, "…"),
        ] {
            assert_eq!(shorten(text, width), shown);
            assert!(measure_text_width(shown) <= width);
        }
    }
}
