//! Checks the HTML of a body: a part of `kbsync check`.
//!
//! Lines are counted from 1 in the body; the caller adds the lines of the front matter. The caller also checks whether
//! the target of a link exists ([`relative_links`]).

use super::html::{self, Tag, balance, decoded, line_of, references};

/// The severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Readers see a poorer page than necessary.
    Warning,
    /// The page is broken, or the file would not be pushed.
    Error,
}

/// A finding for the author.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The line of the body, from 1.
    pub line: usize,
    /// The severity.
    pub severity: Severity,
    /// The rule's name, for suppression lists and annotations.
    pub rule: &'static str,
    /// The fault.
    pub message: String,
    /// The remedy.
    pub remedy: String,
}

/// Checks a body's HTML. Findings are in the order of their lines.
pub fn lint_html(text: &str) -> Vec<Finding> {
    let mut found = unpaired_tags(text);
    found.extend(images_without_alt(text));
    found.sort_by_key(|&(start, _)| start);
    let mut lines = Lines::of(text);
    found
        .into_iter()
        .map(|(start, finding)| Finding {
            line: lines.at(start),
            ..finding
        })
        .collect()
}

/// Returns the links and sources that are relative to the article: line and target.
///
/// Targets have no `?query` and `#fragment`, and `%20` and `&amp;` are resolved, so that they can be compared with
/// paths. Addresses with a scheme or a host, from the site's root (`/…`) or within the page (`#…`) are left out.
pub fn relative_links(text: &str) -> Vec<(usize, String)> {
    let mut lines = Lines::of(text);
    references(text)
        .filter_map(|reference| {
            let target = relative_target(reference.value)?;
            Some((lines.at(reference.start), target))
        })
        .collect()
}

fn relative_target(address: &str) -> Option<String> {
    let address = decoded(address.trim_ascii());
    let path = address.split(['?', '#']).next().unwrap_or_default();
    (!path.is_empty() && !path.starts_with(['/', '\\']) && !has_scheme(path))
        .then(|| percent_decoded(path))
}

fn has_scheme(address: &str) -> bool {
    address.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    })
}

/// Resolves `%20` and other percent escapes; a path that would not be UTF-8 stays unchanged.
fn percent_decoded(path: &str) -> String {
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8();
    decoded.unwrap_or(path.into()).into_owned()
}

/// A finding with its offset in bytes; the line is filled in at the end.
type At = (usize, Finding);

fn error(start: usize, rule: &'static str, message: String, remedy: String) -> At {
    let finding = Finding {
        line: 0,
        severity: Severity::Error,
        rule,
        message,
        remedy,
    };
    (start, finding)
}

fn unpaired_tags(text: &str) -> Vec<At> {
    let balance = balance(text);
    let unclosed = balance.unclosed.iter().map(|Tag { name, start }| {
        let message = format!("<{name}> is never closed");
        let remedy = format!("add </{name}> where it should end");
        error(*start, "unclosed-tag", message, remedy)
    });
    let stray = balance.stray.iter().map(|Tag { name, start }| {
        let message = format!("</{name}> closes nothing");
        let remedy = format!("remove it, or add <{name}> where it should begin");
        error(*start, "stray-tag", message, remedy)
    });
    let unfinished = balance.unfinished.map(|start| {
        let is_comment = text[start..].starts_with("<!--");
        let (what, end) = if is_comment {
            ("comment", "-->")
        } else {
            ("tag", ">")
        };
        let message = format!("a {what} begins here and never ends: what follows is not shown");
        let remedy = format!("add the missing {end} (or a quote), or write &lt; for <");
        error(start, "unfinished-tag", message, remedy)
    });
    unclosed.chain(stray).chain(unfinished).collect()
}

fn images_without_alt(text: &str) -> impl Iterator<Item = At> {
    html::images_without_alt(text).map(|image| {
        let finding = Finding {
            line: 0,
            severity: Severity::Warning,
            rule: "image-alt",
            message: format!("the image {:?} has no alt text", shortened(image.value)),
            remedy: "say in alt=\"…\" what it shows, or write alt=\"\" when it is mere decoration"
                .to_owned(),
        };
        (image.start, finding)
    })
}

/// Shortens a long address, such as an image within its own address.
fn shortened(address: &str) -> String {
    const LONGEST: usize = 60;
    match address.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &address[..end]),
        None => address.to_owned(),
    }
}

/// Counts lines along a text, so that all findings cost one pass.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
        }
    }

    /// Returns the line of a byte. Bytes must be passed in their order.
    fn at(&mut self, start: usize) -> usize {
        self.line += line_of(&self.text[self.at..], start - self.at) - 1;
        self.at = start;
        self.line
    }
}

#[cfg(test)]
mod tests;
