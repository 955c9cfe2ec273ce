//! The rule of `kbsync check` for the links of a body: a link that is relative to the article leads to a file, a folder
//! or an article in the workspace.
//!
//! Other links are not checked: those to another site, from the site's root, or within the page.

use super::{Files, Named, SENT, findings::Findings, html::Lines};
use crate::{
    mirror::document::Document,
    model::{
        Place,
        html::{decoded, references},
    },
};
use std::collections::BTreeSet;

/// Returns the valid targets of links: files, folders, and articles by the address of their slug.
pub(super) fn link_targets(files: &Files, named: &[Named]) -> BTreeSet<String> {
    let slug_of = |folder: &String| files.categories.get(folder)?.as_ref().ok()?.slug();
    let mut known = files.targets.clone();
    for Named { place, slug, .. } in named {
        let slug = slug.as_deref().unwrap_or(place.stem());
        known.insert(format!("{}/{slug}", place.folder));
        if let Some(folder) = slug_of(&place.folder) {
            known.insert(folder.to_owned());
            known.insert(format!("{folder}/{slug}"));
        }
    }
    known
}

/// Reports links that lead to none of the valid targets.
pub(super) fn dead_links(
    place: &Place,
    document: &Document,
    known: &BTreeSet<String>,
    findings: &mut Findings,
) {
    for (line, target) in relative_links(document) {
        let leads = resolve(&place.folder, &target)
            .is_some_and(|path| path.is_empty() || known.contains(&path));
        if !leads {
            let message = format!("the link to {target:?} leads nowhere");
            let help = format!(
                "correct the path, which is relative to this file, or write the whole address; {SENT}"
            );
            findings.error(place, "dead-link", message, help).line = Some(line);
        }
    }
}

/// Resolves a link to a path below the workspace; `None`: the link leads out of the workspace.
fn resolve(folder: &str, target: &str) -> Option<String> {
    let mut parts = vec![folder];
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Returns the links and sources that are relative to the article: line and target.
///
/// Targets have no `?query` and `#fragment`, and `%20` and `&amp;` are resolved, so that they can be compared with
/// paths. Addresses with a scheme or a host, from the site's root (`/…`) or within the page (`#…`) are left out.
fn relative_links(document: &Document) -> impl Iterator<Item = (usize, String)> {
    let mut lines = Lines::of(document);
    references(document.text()).filter_map(move |reference| {
        let target = relative_target(reference.value)?;
        Some((lines.at(reference.start), target))
    })
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

#[cfg(test)]
mod tests {
    use super::super::tests::{article, expect, files};
    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let body = "<a href=\"b.html\">b</a>\n<a href=\"../y/c\">c</a> <img src=\"../../x.png\" alt=\"\">\n\
                    <a href=\"https://example.com/z\">z</a> <a href=\"#top\">t</a> <a href=\"../y/gone\">g</a>";
        expect(
            &files(&[
                ("x", "a.html", &article("", body)),
                ("x", "b.html", &article("", "x")),
                ("y", "d.html", &article("slug: c\n", "x")),
            ]),
            &[
                ("x/a.html", Some(5), "dead-link"),
                ("x/a.html", Some(6), "dead-link"),
            ],
        );
    }

    #[test]
    fn links_within_the_mirror_are_found() {
        let text = "<a href='b.html#top'>b</a> <a href='https://x/y'>x</a>\n\
            <a href='../c/my%20d.html?x=1&amp;y=2'>d</a><a href='#e'>e</a><a href='/f'>f</a>\n\
            <img src='img/g&amp;h.png' alt=''><a href='mailto:a@b'>m</a><a href='//cdn/x'>n</a><a href=' '>o</a>\n\
            <a href='100%.html'>p</a><a href='%ff.html'>q</a>";
        let expected = [
            (1, "b.html"),
            (2, "../c/my d.html"),
            (3, "img/g&h.png"),
            (4, "100%.html"),
            (4, "%ff.html"),
        ];
        let expected: Vec<_> = expected
            .map(|(line, target)| (line + 3, target.to_owned()))
            .into();
        let text = format!("---\ntitle: T\n---\n{text}");
        let document = Document::parse(text.as_bytes()).expect("readable");
        assert_eq!(relative_links(&document).collect::<Vec<_>>(), expected);
    }
}
