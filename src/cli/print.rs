//! Output for people and scripts: results to stdout, everything else to stderr.
//!
//! Text from the service or from files is escaped, so that a title cannot control the terminal or forge a line
//! (failures row 140). Colours follow `--color`, `NO_COLOR` and the kind of stream.

use super::{ExitCode, failure::Failure, layout};
use crate::{engine::report::Report, reconcile::plan::Problem};
use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use dialoguer::console::Term;
use serde::Serialize;
use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, IsTerminal as _, Write as _},
    sync::atomic::{AtomicBool, Ordering},
};

/// Whether the command's only JSON value has been written: a later failure must not add another.
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

/// The output of a command.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Whether to print one JSON value instead of text.
    pub json: bool,
    /// Whether to print only errors, and the JSON value.
    pub quiet: bool,
    /// The choice of colours.
    pub color: anstream::ColorChoice,
}

/// The JSON value of a command.
#[derive(Serialize)]
struct Versioned<'r, R> {
    /// The version of the form of all reports.
    version: u32,
    #[serde(flatten)]
    report: &'r R,
}

/// A failure as JSON: a report, and the text that a person reads on stderr.
#[derive(Serialize)]
struct FailedReport<'f, R> {
    #[serde(flatten)]
    report: &'f R,
    error: String,
    help: Option<&'f str>,
    exit_code: u8,
}

/// Makes a failure from clap's message about the arguments.
pub(super) fn failure_of_usage(words: &str) -> Failure {
    let said = words.strip_prefix("error: ").unwrap_or(words);
    let (error, help) = said.split_once("\n\n").unwrap_or((said, ""));
    Failure::usage(error.trim(), help.trim())
}

impl Output {
    /// Prints a line of results to stdout, unless `-q` was given. On a terminal the line is wrapped.
    pub fn line(self, text: impl AsRef<str>) -> io::Result<()> {
        self.verbatim(layout::wrap(text.as_ref(), self.width()))
    }

    /// Prints a line that is not wrapped, such as a line of a file, to stdout, unless `-q` was given.
    pub fn verbatim(self, text: impl AsRef<str>) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        let mut stream = AutoStream::new(io::stdout(), self.choice(&io::stdout()));
        writeln!(stream, "{}", text.as_ref())
    }

    /// Prints a report as the command's JSON value to stdout.
    pub fn json(self, report: &impl Serialize) -> io::Result<()> {
        JSON_IS_WRITTEN.store(true, Ordering::Relaxed);
        let mut text = serde_json::to_vec(&Versioned { version: 1, report })?;
        text.push(b'\n');
        let mut stdout = io::stdout().lock();
        stdout.write_all(&text)?;
        stdout.flush()
    }

    /// Prints a report that was cut off, together with the failure, to stdout.
    pub fn json_failure(self, mut report: Report, failure: &Failure) -> io::Result<()> {
        let error = format!("{:#}", failure.error);
        report.outcome = failure.code.of_report();
        report.problems.push(Problem::at("", None, error));
        self.json_report(&report, Some(failure), failure.code)
    }

    /// Prints a report to stdout, with the failure and the exit code if the command failed.
    pub fn json_report(
        self,
        report: &impl Serialize,
        failure: Option<&Failure>,
        code: ExitCode,
    ) -> io::Result<()> {
        match failure {
            None => self.json(report),
            Some(failure) => self.json(&FailedReport {
                report,
                error: format!("{:#}", failure.error),
                help: failure.help.as_deref(),
                exit_code: code.number(),
            }),
        }
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

    /// Prints a failure with its causes and its remedy to stderr. With `--json`, the failure is also printed to stdout,
    /// if no JSON was printed yet.
    pub fn failure(self, failure: &Failure) {
        if self.json && !JSON_IS_WRITTEN.load(Ordering::Relaxed) {
            // If stdout is closed, stderr and the exit code have the same message.
            self.json_failure(Report::new(false), failure).ok();
        }
        let mut text = format!(
            "{ERROR}error:{ERROR:#} {}",
            escape_block(&failure.error.to_string())
        );
        for cause in failure.error.chain().skip(1) {
            // Writing into a string cannot fail.
            write!(text, "\n  caused by: {}", escape_block(&cause.to_string())).ok();
        }
        if let Some(help) = failure.help.as_deref() {
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

    /// Returns the width of the terminal behind stdout, if there is one.
    pub fn width(self) -> Option<usize> {
        let (_, width) = Term::stdout().size_checked().unzip();
        width.map(usize::from)
    }

    /// Returns a text for stdout, without its colours if stdout shows none.
    pub fn styled(self, text: &str) -> String {
        if self.choice(&io::stdout()) == anstream::ColorChoice::Never {
            return anstream::adapter::strip_str(text).to_string();
        }
        text.to_owned()
    }

    /// Returns whether stderr is coloured.
    pub fn colors_stderr(self) -> bool {
        self.choice(&io::stderr()) != anstream::ColorChoice::Never
    }

    fn stderr(self, text: &str) {
        let mut stream = AutoStream::new(io::stderr(), self.choice(&io::stderr()));
        let (_, width) = Term::stderr().size_checked().unzip();
        // If stderr is closed, there is nobody to tell.
        writeln!(stream, "{}", layout::wrap(text, width.map(usize::from))).ok();
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
