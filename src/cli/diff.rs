//! `kbsync diff`: what changed, line by line, in the form of `diff -u`.
//!
//! For a person, the changed words of a line are highlighted, and control characters are escaped. A pipe gets the
//! bytes of the text unchanged, so that `patch` can read them, and names quoted as in git.

use super::{
    Outcome,
    context::Context,
    exit::ExitCode,
    failure::Failure,
    print::{DIM, ERROR, GOOD, HELP, Output, escape_line},
    scope::{self, Part},
    session::Session,
};
use crate::{
    config::{Config, Need},
    engine::{
        Clock as _, SystemClock,
        compare::{Comparer, Comparison, Pair},
        open,
    },
    mirror::RealDisk,
    model::path::quoted_as_git,
};
use anstyle::Style;
use serde::Serialize;
use similar::{ChangeTag, TextDiff};
use std::{fmt::Write as _, io, path::PathBuf};

/// Shows changes line by line.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Files and category folders [default: all]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Compare with what the service has now, not with the last sync
    #[arg(long)]
    remote: bool,
    /// Exit with 1 when there are differences
    #[arg(long)]
    exit_code: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    files: Vec<FileDiff<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct FileDiff<'a> {
    path: Option<&'a str>,
    old_path: Option<&'a str>,
    diff: String,
}

pub(super) async fn run(args: &Args, context: &Context) -> Outcome {
    let config = context.config(Need::Workspace)?;
    let parts = scope::parts(context, &config, &args.paths)?;
    let mut all = Comparison::default();
    let session = if args.remote {
        Some(Session::reading(context, &config)?)
    } else {
        None
    };
    for part in &parts {
        let found = compare(&config, part, session.as_ref()).await?;
        all.pairs.extend(found.pairs);
        all.notes.extend(found.notes);
    }
    if let Some(session) = &session {
        session.finish();
    }
    print(context, &all)?;
    Ok(if args.exit_code && !all.pairs.is_empty() {
        ExitCode::Failed
    } else {
        ExitCode::Done
    })
}

async fn compare(
    config: &Config,
    part: &Part,
    session: Option<&Session<'_>>,
) -> Result<Comparison, Failure> {
    let mut store = open::read_state(config, &part.root)?;
    let disk = RealDisk::open(&part.root.path)?;
    let settings = open::settings(config, &part.root);
    let now = SystemClock.now();
    let comparer =
        Comparer::new(&disk, &mut store, part.scope.clone(), now).map_err(Failure::of)?;
    match session.and_then(Session::client) {
        Some(client) => {
            let found = comparer.with_service(client, &settings).await;
            Ok(found.map_err(Failure::of)??)
        }
        None => comparer.with_base(&settings).map_err(Failure::of),
    }
}

fn print(context: &Context, found: &Comparison) -> Result<(), Failure> {
    let out = context.out;
    if out.json {
        let files = found.pairs.iter().map(|pair| FileDiff {
            path: pair.new_path.as_deref(),
            old_path: pair.old_path.as_deref(),
            diff: as_patch(pair),
        });
        return Ok(out.json(&Report {
            version: 1,
            files: files.collect(),
            notes: &found.notes,
        })?);
    }
    for pair in &found.pairs {
        print_pair(out, pair)?;
    }
    for note in &found.notes {
        out.note(escape_line(note));
    }
    Ok(())
}

/// Prints one difference, for a person or a pipe.
pub(super) fn print_pair(out: Output, pair: &Pair) -> io::Result<()> {
    if !out.is_for_person() {
        // Not through the filter for colours: the text may have such bytes itself.
        return out.bytes(as_patch(pair).as_bytes());
    }
    let text = unified(pair, Audience::Person);
    out.verbatim(text.strip_suffix('\n').unwrap_or(&text))
}

/// Formats one difference for `patch`.
pub(super) fn as_patch(pair: &Pair) -> String {
    unified(pair, Audience::Pipe)
}

/// The reader of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Audience {
    /// A person at a terminal.
    Person,
    /// Another program.
    Pipe,
}

fn unified(pair: &Pair, look: Audience) -> String {
    let mut text = String::new();
    let name = |side: &str, path: Option<&String>| {
        path.map_or_else(
            || "/dev/null".to_owned(),
            |path| quoted_as_git(&format!("{side}/{path}")).into_owned(),
        )
    };
    let old = name("a", pair.old_path.as_ref());
    let new = name("b", pair.new_path.as_ref());
    let bold = Style::new().bold();
    if let (Some(from), Some(to)) = (&pair.old_path, &pair.new_path)
        && from != to
    {
        add(
            &mut text,
            look,
            DIM,
            &format!(
                "rename from {}\nrename to {}\n",
                quoted_as_git(from),
                quoted_as_git(to)
            ),
        );
    }
    let diff = TextDiff::from_lines(&pair.old, &pair.new);
    if pair.old == pair.new {
        return text;
    }
    add(&mut text, look, bold, &format!("--- {old}\n"));
    add(&mut text, look, bold, &format!("+++ {new}\n"));
    for group in diff.grouped_ops(3) {
        if let (Some(first), Some(last)) = (group.first(), group.last()) {
            let header = format!(
                "@@ -{} +{} @@\n",
                range(first.old_range().start, last.old_range().end),
                range(first.new_range().start, last.new_range().end)
            );
            add(&mut text, look, HELP, &header);
        }
        for op in &group {
            match look {
                Audience::Pipe => {
                    for change in diff.iter_changes(op) {
                        text.push(sign(change.tag()));
                        text.push_str(change.value());
                        if change.missing_newline() {
                            text.push_str("\n\\ No newline at end of file\n");
                        }
                    }
                }
                Audience::Person => {
                    for change in diff.iter_inline_changes(op) {
                        inline(&mut text, &change);
                    }
                }
            }
        }
    }
    text
}

/// Formats a line with its changed words highlighted.
fn inline(text: &mut String, change: &similar::InlineChange<'_, str>) {
    let style = match change.tag() {
        ChangeTag::Equal => Style::new(),
        ChangeTag::Delete => ERROR,
        ChangeTag::Insert => GOOD,
    };
    let plain = Style::new().fg_color(style.get_fg_color());
    // Writing into a string cannot fail.
    write!(text, "{plain}{}{plain:#}", sign(change.tag())).ok();
    for (emphasised, part) in change.iter_strings_lossy() {
        let part = part.trim_end_matches('\n');
        let style = if emphasised { plain.invert() } else { plain };
        write!(text, "{style}{}{style:#}", escape_line(part)).ok();
    }
    text.push('\n');
    if change.missing_newline() {
        text.push_str("\\ No newline at end of file\n");
    }
}

fn add(text: &mut String, look: Audience, style: Style, part: &str) {
    match look {
        Audience::Pipe => text.push_str(part),
        Audience::Person => {
            for line in part.lines() {
                writeln!(text, "{style}{}{style:#}", escape_line(line)).ok();
            }
        }
    }
}

fn sign(tag: ChangeTag) -> char {
    match tag {
        ChangeTag::Equal => ' ',
        ChangeTag::Delete => '-',
        ChangeTag::Insert => '+',
    }
}

/// Formats a range. Lines are counted from 1; an empty range names the line before it.
fn range(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => (start + 1).to_string(),
        length => format!("{},{length}", start + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            unified(&changed, Audience::Pipe),
            "--- a/s/a.html\n+++ b/s/a.html\n@@ -1,5 +1,5 @@\n 1\n 2\n 3\n-4\n-5\n+four\n+5\n\\ No newline at end of file\n"
        );
        assert_eq!(
            unified(&pair(None, Some("x\n")), Audience::Pipe),
            "--- /dev/null\n+++ b/s/a.html\n@@ -0,0 +1 @@\n+x\n"
        );
        assert_eq!(
            unified(&pair(Some("x\n"), None), Audience::Pipe),
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
        assert_eq!(unified(&moved, Audience::Pipe), expected);
    }

    #[test]
    fn f140_a_person_s_terminal_is_not_steered() {
        let changed = pair(Some("a\n"), Some("\u{1b}[2J\tb\r\n"));
        let shown = unified(&changed, Audience::Person);
        let plain = anstream::adapter::strip_str(&shown).to_string();
        assert!(plain.contains("\\u{1b}[2J\tb\\r"), "{plain}");
    }
}
