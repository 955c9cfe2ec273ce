//! Output for people and scripts: results to stdout, everything else to stderr.
//!
//! Text from the service or from files is escaped, so that a title cannot control the terminal or forge a line
//! (failures row 140). Colours follow `--color`, `NO_COLOR` and the kind of stream.

use super::failure::Failure;
use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use serde::Serialize;
use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, IsTerminal as _, Write as _},
    sync::atomic::{AtomicBool, Ordering},
};

/// Whether the JSON value has been written: there is only one, whatever fails afterwards.
static JSON_IS_WRITTEN: AtomicBool = AtomicBool::new(false);

/// The style of errors.
pub const ERROR: Style = AnsiColor::Red.on_default().bold();
/// The style of warnings.
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// The style of success.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// The style of remedies.
pub const HELP: Style = AnsiColor::Cyan.on_default().bold();
/// The style of secondary text.
pub const DIM: Style = Style::new().dimmed();

/// How a command prints.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Whether to print one JSON value instead of text.
    pub json: bool,
    /// Whether to print only errors, and the JSON value.
    pub quiet: bool,
    /// When to colour.
    pub color: anstream::ColorChoice,
}

/// A failure as JSON.
#[derive(Serialize)]
struct Told<'f> {
    version: u32,
    error: String,
    help: Option<&'f str>,
    exit_code: u8,
}

/// Prints an error about the arguments as JSON, in clap's words.
pub(super) fn json_of_usage(words: &str) {
    let said = words.strip_prefix("error: ").unwrap_or(words);
    let (error, help) = said.split_once("\n\n").unwrap_or((said, ""));
    let out = Output {
        json: true,
        quiet: true,
        color: anstream::ColorChoice::Never,
    };
    let told = out.json(&Told {
        version: 1,
        error: error.trim().to_owned(),
        help: Some(help.trim()).filter(|help| !help.is_empty()),
        exit_code: 2,
    });
    // If stdout is closed, stderr and the exit code have the same message.
    drop(told);
}

impl Output {
    /// Prints a line of results to stdout, unless `-q` was given.
    pub fn line(self, text: impl AsRef<str>) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        let mut stream = AutoStream::new(io::stdout(), self.choice(&io::stdout()));
        writeln!(stream, "{}", text.as_ref())
    }

    /// Prints the command's JSON value to stdout.
    pub fn json(self, value: &impl Serialize) -> io::Result<()> {
        JSON_IS_WRITTEN.store(true, Ordering::Relaxed);
        let mut text = serde_json::to_vec(value)?;
        text.push(b'\n');
        let mut stdout = io::stdout().lock();
        stdout.write_all(&text)?;
        stdout.flush()
    }

    /// Prints bytes to stdout unchanged, unless `-q` was given.
    pub fn bytes(self, bytes: &[u8]) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }

    /// Prints a line to stderr, unless `-q` was given.
    pub fn note(self, text: impl AsRef<str>) {
        if !self.quiet {
            self.stderr(text.as_ref());
        }
    }

    /// Prints a line about an error to stderr.
    pub fn wrong(self, text: impl AsRef<str>) {
        self.stderr(text.as_ref());
    }

    /// Prints a failure with its causes and its remedy to stderr. With `--json`, prints it to stdout as well if no
    /// JSON was printed yet.
    pub fn failure(self, failure: &Failure) {
        if self.json && !JSON_IS_WRITTEN.load(Ordering::Relaxed) {
            let told = self.json(&Told {
                version: 1,
                error: format!("{:#}", failure.error),
                help: failure.remedy(),
                exit_code: failure.code.number(),
            });
            // If stdout is closed, stderr and the exit code have the same message.
            drop(told);
        }
        let mut text = format!(
            "{ERROR}error:{ERROR:#} {}",
            escape_block(&failure.error.to_string())
        );
        for cause in failure.error.chain().skip(1) {
            // Writing into a string cannot fail.
            write!(text, "\n  caused by: {}", escape_block(&cause.to_string())).ok();
        }
        if let Some(help) = failure.remedy() {
            write!(text, "\n{HELP}help:{HELP:#} {}", escape_block(help)).ok();
        }
        self.stderr(&text);
    }

    /// Returns whether to draw progress: on a terminal.
    pub fn shows_progress(self) -> bool {
        !self.quiet && !self.json && io::stderr().is_terminal()
    }

    /// Returns whether a person reads stdout: a terminal, or colours were asked for.
    pub fn is_for_person(self) -> bool {
        io::stdout().is_terminal() || self.choice(&io::stdout()) != anstream::ColorChoice::Never
    }

    /// Returns whether stderr is coloured.
    pub fn colors_stderr(self) -> bool {
        self.choice(&io::stderr()) != anstream::ColorChoice::Never
    }

    fn stderr(self, text: &str) {
        let mut stream = AutoStream::new(io::stderr(), self.choice(&io::stderr()));
        // If stderr is closed, there is nobody to tell.
        writeln!(stream, "{text}").ok();
    }

    fn choice(self, stream: &impl anstream::stream::RawStream) -> anstream::ColorChoice {
        match self.color {
            anstream::ColorChoice::Auto => AutoStream::choice(stream),
            anstream::ColorChoice::Always
            | anstream::ColorChoice::AlwaysAnsi
            | anstream::ColorChoice::Never => self.color,
        }
    }
}

/// Escapes control characters, and those that change the direction of text, as `\u{…}`.
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_where(text, is_steering)
}

/// Like [`escape`], but keeps line breaks: for messages of several lines.
pub fn escape_block(text: &str) -> Cow<'_, str> {
    escape_where(text, |c| c != '\n' && is_steering(c))
}

/// Like [`escape`], but keeps tabs: for lines of files.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    escape_where(text, |c| c != '\t' && is_steering(c))
}

fn escape_where(text: &str, steering: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&steering) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if steering(c) {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    Cow::Owned(plain)
}

fn is_steering(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading.
    pub name: &'static str,
    /// Whether it has numbers, which are aligned right.
    pub numbers: bool,
}

impl Column {
    /// A column of words.
    pub const fn words(name: &'static str) -> Self {
        Self {
            name,
            numbers: false,
        }
    }

    /// A column of numbers.
    pub const fn numbers(name: &'static str) -> Self {
        Self {
            name,
            numbers: true,
        }
    }
}

/// Lays out rows in columns, without lines around them. Cells are escaped; on a terminal, long cells are wrapped.
pub fn table(columns: &[Column], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(columns.iter().map(|column| column.name));
    for row in rows {
        table.add_row(row.iter().map(|cell| escape(cell).into_owned()));
    }
    for (shown, column) in table.column_iter_mut().zip(columns) {
        shown.set_padding((0, 2));
        if column.numbers {
            shown.set_cell_alignment(CellAlignment::Right);
        }
    }
    if io::stdout().is_terminal() {
        let (_, width) = dialoguer::console::Term::stdout().size();
        let whole = whole(&table.column_max_content_widths(), width);
        for (shown, whole) in table.column_iter_mut().zip(whole) {
            if whole {
                shown.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
    }
    table.trim_fmt()
}

/// The least width of a wrapped column.
const MIN_WIDTH: u16 = 14;

/// Returns which columns are not wrapped: the narrow ones first, and the last one, which has the details, at the end.
/// A wrapped path or time could not be copied.
fn whole(widths: &[u16], room: u16) -> Vec<bool> {
    let mut whole = vec![false; widths.len()];
    let last = widths.len().saturating_sub(1);
    let mut order: Vec<usize> = (0..widths.len()).collect();
    order.sort_by_key(|&column| (column == last, widths[column]));
    let mut left = room;
    for (done, &column) in order.iter().enumerate() {
        let wider = u16::try_from(widths.len() - done - 1).unwrap_or(u16::MAX);
        // Two for the gap.
        let taken = widths[column].saturating_add(2);
        if taken.saturating_add(MIN_WIDTH.saturating_mul(wider)) > left {
            break;
        }
        left -= taken;
        whole[column] = true;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_breaks_the_details_before_the_paths() {
        // When, what, where, path, details.
        let widths = [19, 15, 6, 46, 36];
        assert_eq!(whole(&widths, 140), [true; 5]);
        assert_eq!(whole(&widths, 110), [true, true, true, true, false]);
        assert_eq!(whole(&widths, 80), [true, true, true, false, false]);
        assert_eq!(whole(&widths, 20), [false; 5]);
        assert!(whole(&[], 80).is_empty());
    }

    #[test]
    fn f140_titles_cannot_steer_the_terminal() {
        for (title, shown) in [
            ("plain – ü 漢 🦀", "plain – ü 漢 🦀"),
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("a\r\nerror: b", "a\\r\\nerror: b"),
            ("a\u{9b}31mb", "a\\u{9b}31mb"),
            ("\u{202e}gpj.exe", "\\u{202e}gpj.exe"),
            ("a\u{61c}b", "a\\u{61c}b"),
        ] {
            assert_eq!(escape(title), shown);
        }
        assert_eq!(escape_block("a\nb\u{7}"), "a\nb\\u{7}");
    }

    #[test]
    fn tables_are_aligned_and_escaped() {
        let columns = [Column::words("title"), Column::numbers("views")];
        let rows = [
            vec!["One\u{1b}".to_owned(), "7".to_owned()],
            vec!["Two".to_owned(), "1200".to_owned()],
        ];
        assert_eq!(
            table(&columns, rows),
            "title      views\nOne\\u{1b}      7\nTwo         1200"
        );
    }
}
