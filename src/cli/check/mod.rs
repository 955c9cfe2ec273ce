//! `kbsync check`: checks the files without the service, for editors and CI.
//!
//! The command needs no token, network or state, and changes nothing. If there is a state, it says which conflicts are
//! open, and which files are not ready. `mirror::check` finds problems, `read` reads the files; this file prints.

mod read;

use super::{
    ExitCode, Outcome,
    context::Context,
    counts::several,
    failure::Failure,
    paths,
    print::{DIM, ERROR, HELP, WARNING, escape},
    scope, status,
};
use crate::{
    config::{self, Folders, Need},
    mirror::check::{self, Files, Finding, Level, Open},
    model::Place,
};
use serde::Serialize;
use std::{cmp::Reverse, path::PathBuf};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Files or folders to report on [default: all]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// How findings are written
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    format: Format,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    /// For people and editors
    Text,
    /// One JSON object
    Json,
    /// Annotations of GitHub
    Github,
}

#[derive(Serialize)]
struct Report<'a> {
    files: usize,
    errors: usize,
    warnings: usize,
    findings: &'a [Finding],
}

pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let folders = config::folders(&context.request())?;
    let wanted = wanted(args, context, &folders)?;
    let is_wanted = |path: &str| wanted.is_empty() || wanted.iter().any(|want| lies_in(path, want));
    let (mut files, mut findings) = (0, Vec::new());
    for prefix in &folders.prefixes {
        let is_wanted = |place: &Place| is_wanted(&format!("{prefix}{place}"));
        let read = Files {
            open: open_conflicts(context, prefix),
            ..read::read(&folders.mirror.join(prefix), &is_wanted)?
        };
        files += read.articles.len();
        findings.extend(check::check(&read).into_iter().map(|found| Finding {
            path: format!("{prefix}{}", found.path),
            ..found
        }));
    }
    if files == 0 && findings.is_empty() && !folders.is_mirror {
        return Err(Failure::usage(
            format!(
                "{} is not a mirror: it has no kbsync.yaml and no articles",
                folders.mirror.display()
            ),
            "name the mirror with -C, or run `kbsync init` there",
        ));
    }
    findings.retain(|found| is_wanted(&found.path));
    if findings.iter().any(is_not_ready)
        && let Ok(config) = context.config(Need::Workspace)
        && let Ok(status) = status::look(&config)
    {
        // A sync takes a file whose fault the service has as well, such as a long title.
        let is_left_out = |path: &str| status.problems.iter().any(|left| left.path == path);
        findings.retain(|found| !is_not_ready(found) || is_left_out(&found.path));
    }
    let count = |level| findings.iter().filter(|one| one.level == level).count();
    let (errors, warnings) = (count(Level::Error), count(Level::Warning));
    let findings = limit(&findings);
    let report = Report {
        files,
        errors,
        warnings,
        findings: &findings,
    };
    print(&report, args, context, &folders)?;
    Ok(if report.errors > 0 {
        ExitCode::Partial
    } else {
        ExitCode::Done
    })
}

/// Returns whether a finding says that a file is not ready.
fn is_not_ready(found: &Finding) -> bool {
    ["front-matter", "category-file"].contains(&found.rule)
}

/// Returns the open conflicts of a workspace, if there are settings and a state.
fn open_conflicts(context: &Context, prefix: &str) -> Option<Open> {
    let config = context.config(Need::Workspace).ok()?;
    let mut parts = scope::all(&config).into_iter();
    let part = parts.find(|part| part.root.prefix == prefix)?;
    let conflicts = part.state(&config).ok()??.conflicts().ok()?;
    Some(Open {
        ids: conflicts.iter().map(|row| row.id).collect(),
        copies: conflicts.into_iter().filter_map(|row| row.copy).collect(),
    })
}

/// Returns the paths to report on. Each must exist.
fn wanted(args: &Args, context: &Context, folders: &Folders) -> Result<Vec<String>, Failure> {
    let mut wanted = Vec::new();
    for path in &args.paths {
        let below = paths::in_mirror(&folders.mirror, &context.current, path)?;
        if !folders.mirror.join(&below).exists() {
            return Err(Failure::usage(
                format!("{} does not exist", path.display()),
                "name files or folders of the mirror, or none for all",
            ));
        }
        wanted.push(below);
    }
    Ok(wanted)
}

fn lies_in(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn print(
    report: &Report<'_>,
    args: &Args,
    context: &Context,
    folders: &Folders,
) -> Result<(), Failure> {
    let near = |path: &str| {
        let path = paths::from_current(&folders.mirror, &context.current, path);
        paths::slashed(&path)
    };
    if context.out.json || args.format == Format::Json {
        return Ok(context.out.json(report)?);
    }
    for found in report.findings {
        let path = near(&found.path);
        match args.format {
            // Not wrapped: a runner with a terminal reads annotations line by line, too.
            Format::Github => context.out.verbatim(for_github(found, &path))?,
            Format::Text | Format::Json => context.out.line(for_people(found, &path))?,
        }
    }
    context.out.note(format!(
        "{}, {}, {}",
        several(report.files, "file"),
        several(report.errors, "error"),
        several(report.warnings, "warning")
    ));
    Ok(())
}

fn for_people(found: &Finding, path: &str) -> String {
    let (style, level) = match found.level {
        Level::Error => (ERROR, "error"),
        Level::Warning => (WARNING, "warning"),
    };
    let line = match found.line {
        Some(line) => format!(":{line}"),
        None => String::new(),
    };
    format!(
        "{}{line}: {style}{level}:{style:#} {} {DIM}[{}]{DIM:#}\n  {HELP}help:{HELP:#} {}",
        escape(path),
        escape(&found.message),
        found.rule,
        escape(&found.help)
    )
}

/// Formats an annotation: `::error file=PATH,line=N,title=RULE::MESSAGE`, with the runner's escapes.
fn for_github(found: &Finding, path: &str) -> String {
    let text = |text: &str| {
        text.replace('%', "%25")
            .replace('\r', "%0D")
            .replace('\n', "%0A")
    };
    let property = |value: &str| text(value).replace(':', "%3A").replace(',', "%2C");
    let level = match found.level {
        Level::Error => "error",
        Level::Warning => "warning",
    };
    let line = match found.line {
        Some(line) => format!(",line={line}"),
        None => String::new(),
    };
    let message = text(&format!("{}; {}", found.message, found.help));
    format!(
        "::{level} file={}{line},title={}::{message}",
        property(path),
        found.rule
    )
}

/// The most findings that are listed for one file: the full list may have megabytes.
const LISTED: usize = 100;

/// Limits the findings of each file; the input is ordered by path. Errors are kept before warnings, and a last finding
/// has the number of those left out.
fn limit(findings: &[Finding]) -> Vec<Finding> {
    let mut listed = Vec::new();
    for of_file in findings.chunk_by(|one, other| one.path == other.path) {
        let mut of_file = of_file.to_vec();
        if of_file.len() > LISTED {
            // The sort is stable, so the order of lines stays.
            of_file.sort_by_key(|found| Reverse(found.level));
            let left = of_file.split_off(LISTED);
            of_file.sort();
            of_file.extend(left.first().map(|first| Finding {
                line: None,
                rule: "more-findings",
                message: format!("{} in this file", several(left.len(), "more finding")),
                help: "correct those that are listed, and check again".to_owned(),
                ..first.clone()
            }));
        }
        listed.extend(of_file);
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_cannot_be_forged() {
        let found = Finding {
            path: String::new(),
            line: Some(3),
            level: Level::Error,
            rule: "dead-link",
            message: "a\n::error::b 100%".into(),
            help: "c".into(),
        };
        assert_eq!(
            for_github(&found, "a,b:c/d.html"),
            "::error file=a%2Cb%3Ac/d.html,line=3,title=dead-link::a%0A::error::b 100%25; c"
        );
    }

    #[test]
    fn folders_hold_what_lies_in_them() {
        assert!(lies_in("a/b.html", "a"));
        assert!(lies_in("a/b.html", "a/b.html"));
        assert!(lies_in("a/b.html", ""));
        assert!(!lies_in("ab/b.html", "a"));
    }

    fn finding(path: &str, line: usize, level: Level) -> Finding {
        Finding {
            path: path.to_owned(),
            line: Some(line),
            level,
            rule: "rule",
            message: String::new(),
            help: String::new(),
        }
    }

    #[test]
    fn errors_are_listed_before_warnings_and_the_rest_is_counted() {
        let mut findings: Vec<_> = (1..=100)
            .map(|line| finding("a", line, Level::Warning))
            .collect();
        assert_eq!(limit(&findings), findings);
        findings.push(finding("a", 101, Level::Error));
        findings.push(finding("b", 1, Level::Warning));
        let listed = limit(&findings);
        let (of_a, of_b) = listed.split_at(101);
        assert_eq!(of_a[98], findings[98]);
        assert_eq!(of_a[99].level, Level::Error);
        assert_eq!(of_a[100].message, "1 more finding in this file");
        assert_eq!((of_a[100].level, of_a[100].line), (Level::Warning, None));
        assert_eq!(of_b, &findings[101..]);
    }
}
