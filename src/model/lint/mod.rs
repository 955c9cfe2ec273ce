//! Checks the HTML of a body: a part of `kbsync check`.
//!
//! Lines are counted from 1 in the body; the caller adds the lines of the front matter. The caller also finds out
//! whether the target of a link exists ([`relative_links`]).

use super::html::{
    Kind, ReferenceKind, Tag, Token, balance, decoded, line_of, references, tokens, visible_text,
};

/// The severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Readers see a poorer page than they could.
    Warning,
    /// The page is broken.
    Error,
}

/// Something that an author should look at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The line of the body, from 1.
    pub line: usize,
    /// The severity.
    pub severity: Severity,
    /// The rule's name, for suppression lists and annotations.
    pub rule: &'static str,
    /// What is wrong.
    pub message: String,
    /// The remedy.
    pub remedy: String,
}

/// Checks a body's HTML. Findings are in the order of their lines.
pub fn lint_html(text: &str) -> Vec<Finding> {
    let mut found = unpaired_tags(text);
    found.extend(images_without_alt(text));
    found.extend(links(text));
    found.extend(overlooked_slashes(text));
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
        .filter(|reference| reference.kind != ReferenceKind::ImageWithoutAlt)
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

/// Resolves `%20` and the like; a path that would not be UTF-8 stays unchanged.
fn percent_decoded(path: &str) -> String {
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8();
    decoded.unwrap_or(path.into()).into_owned()
}

/// A finding with the offset of its place; the line is added at the end.
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

fn warning(
    start: usize,
    rule: &'static str,
    message: impl Into<String>,
    remedy: impl Into<String>,
) -> At {
    let (start, finding) = error(start, rule, message.into(), remedy.into());
    let severity = Severity::Warning;
    (
        start,
        Finding {
            severity,
            ..finding
        },
    )
}

fn unpaired_tags(text: &str) -> Vec<At> {
    let balance = balance(text);
    let unclosed = balance.unclosed.iter().map(|Tag { name, start }| {
        error(
            *start,
            "unclosed-tag",
            format!("<{name}> is never closed"),
            format!("add </{name}> where it should end"),
        )
    });
    let stray = balance.stray.iter().map(|Tag { name, start }| {
        error(
            *start,
            "stray-tag",
            format!("</{name}> closes nothing"),
            format!("remove it, or add <{name}> where it should begin"),
        )
    });
    let unfinished = balance.unfinished.map(|start| {
        let what = if text[start..].starts_with("<!--") {
            ("comment", "-->")
        } else {
            ("tag", ">")
        };
        error(
            start,
            "unfinished-tag",
            format!(
                "a {} begins here and never ends: what follows is not shown",
                what.0
            ),
            format!(
                "add the missing {} (or a quote), or write &lt; for <",
                what.1
            ),
        )
    });
    unclosed.chain(stray).chain(unfinished).collect()
}

fn images_without_alt(text: &str) -> impl Iterator<Item = At> {
    references(text)
        .filter(|reference| reference.kind == ReferenceKind::ImageWithoutAlt)
        .map(|reference| {
            warning(
                reference.start,
                "image-alt",
                format!("the image {:?} has no alt text", shortened(reference.value)),
                "say in alt=\"…\" what it shows, or write alt=\"\" when it is mere decoration",
            )
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

/// Finds links that lead nowhere or cannot be clicked.
fn links(text: &str) -> Vec<At> {
    let mut found = Vec::new();
    // The open link: its tag, and whether there is something to click in it.
    let mut link: Option<(Token<'_>, bool)> = None;
    for token in tokens(text) {
        match token.kind {
            Kind::Open(name) if name.is("a") => {
                let Some(target) = token.attribute("href") else {
                    link = None; // a mere anchor
                    continue;
                };
                if target.trim_ascii().is_empty() {
                    found.push(warning(
                        token.start,
                        "empty-link",
                        "this link has no address",
                        "fill in href, or remove the link and keep its text",
                    ));
                }
                let named = ["aria-label", "title"]
                    .iter()
                    .any(|name| token.attribute(name).is_some_and(|text| !text.is_empty()));
                link = Some((token, named));
            }
            Kind::Close(name) if name.is("a") => {
                if let Some((token, false)) = link.take() {
                    found.push(warning(
                        token.start,
                        "empty-link",
                        "this link has no text, so readers cannot click it",
                        "put a text between <a …> and </a>, or remove the link",
                    ));
                }
            }
            Kind::Open(name) | Kind::SelfClosing(name) => {
                let seen = ["img", "svg", "video", "picture", "object", "iframe"];
                if let Some((_, shows)) = &mut link {
                    *shows |= seen.iter().any(|&seen| name.is(seen));
                }
            }
            Kind::Text => {
                if let Some((_, shows)) = &mut link {
                    *shows = *shows || !visible_text(token.source).is_empty();
                }
            }
            Kind::Close(_) | Kind::RawText | Kind::Comment | Kind::Unfinished => {}
        }
    }
    found
}

/// Finds `<div/>` and the like, which browsers read as `<div>`.
fn overlooked_slashes(text: &str) -> Vec<At> {
    let mut drawings = 0_usize;
    let mut found = Vec::new();
    for token in tokens(text) {
        if let Kind::Open(name) = token.kind {
            drawings += usize::from(name.is_foreign());
        } else if let Kind::Close(name) = token.kind {
            drawings = drawings.saturating_sub(usize::from(name.is_foreign()));
        } else if let Kind::SelfClosing(name) = token.kind
            && drawings == 0
            && !name.is_void()
            && !name.is_foreign()
        {
            let name = name.lower();
            found.push(warning(
                token.start,
                "self-closed-tag",
                format!("browsers overlook the slash of <{name}/> and leave the element open"),
                format!("write <{name}></{name}>"),
            ));
        }
    }
    found
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
