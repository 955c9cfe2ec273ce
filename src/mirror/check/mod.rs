//! The rules of `kbsync check` for the files of one workspace.
//!
//! Pure: takes parsed files and returns findings, sorted by path and line. Each finding has a rule, a remedy
//! and at most a few other paths.

mod findings;
mod html;
mod links;

pub(crate) use findings::{Finding, Level};

use crate::{
    mirror::{
        document::{CategoryDocument, Document, NotReady},
        layout::INNER,
    },
    model::{
        ArticleId, Place,
        path::{
            CATEGORY_FILE, EXTENSION, NameProblem,
            near::{likely_meant, maybe_mistyped},
            slug_of_stem,
        },
    },
};
use findings::{Findings, NOT_SENT};
use std::collections::{BTreeMap, BTreeSet};

/// The most paths that a finding names.
const NAMED: usize = 10;

/// The end of the remedy of an error with which the article is still sent.
const SENT: &str = "the article is sent as it is";

/// The content of one workspace's folder.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// The articles' files that are checked.
    pub(crate) articles: BTreeMap<Place, Result<Document, NotReady>>,
    /// The names of the other articles' files.
    pub(crate) others: Vec<Named>,
    /// The `_category.yaml` files, by folder.
    pub(crate) categories: BTreeMap<String, Result<CategoryDocument, NotReady>>,
    /// All possible targets of links: files and folders, with `/`.
    pub(crate) targets: BTreeSet<String>,
    /// Conflict copies, with their ids.
    pub(crate) copies: Vec<(Place, Option<ArticleId>)>,
    /// The open conflicts; `None`: there is no state.
    pub(crate) open: Option<Open>,
    /// Files and folders that no sync takes where they are or as they are named, with the reason and the remedy.
    pub(crate) strays: Vec<(String, String)>,
    /// Folders within categories that hold articles' files.
    pub(crate) inner: Vec<Place>,
    /// Unreadable files, with the reason.
    pub(crate) unreadable: Vec<(String, String)>,
}

/// The names of an article's file that are checked for duplicates.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    place: Place,
    id: Option<ArticleId>,
    /// The line `slug:`.
    slug: Option<String>,
}

impl Named {
    pub(crate) fn of(place: Place, document: &Document) -> Self {
        Self {
            place,
            id: document.id(),
            slug: document.slug().map(str::to_owned),
        }
    }

    /// Returns the slug of the file.
    fn address(&self) -> Result<String, NameProblem> {
        match &self.slug {
            Some(slug) => Ok(slug.clone()),
            None => slug_of_stem(self.place.stem()),
        }
    }
}

/// The open conflicts.
#[derive(Debug, Default)]
pub(crate) struct Open {
    /// The ids of their articles.
    pub(crate) ids: BTreeSet<ArticleId>,
    /// The names of their copies, whose `id:` lines may be missing.
    pub(crate) copies: BTreeSet<String>,
}

/// Checks all files together.
pub(crate) fn check(files: &Files) -> Vec<Finding> {
    let mut findings = Findings::default();
    let mut articles = Vec::new();
    for (place, read) in &files.articles {
        match read {
            Ok(document) => articles.push((place, document)),
            Err(problem) => findings.not_ready(place, "front-matter", problem),
        }
    }
    let mut named = files.others.clone();
    for (place, document) in &articles {
        let name = Named::of((*place).clone(), document);
        file_name(&name, &mut findings);
        named.push(name);
        keys(&place.to_string(), document.near_keys(), &mut findings);
        html::html(place, document, &mut findings);
    }
    named.sort_by(|one, other| one.place.cmp(&other.place));
    categories(files, &mut findings);
    let slugs = named.iter().filter_map(|file| {
        let address = file.address().ok()?;
        Some((
            format!("{}/{address}", file.place.folder),
            file.place.to_string(),
        ))
    });
    let titled = |name: &str| format!("choose another name for one of them, or set `{name}`");
    doubles(slugs, "double-slug", &titled("slug:"), &mut findings);
    let ids = named.iter();
    let ids = ids.filter_map(|file| Some((file.id?.to_string(), file.place.to_string())));
    let remedy = "one is a copy of the other: delete the `id:` line of the copy, and the copy becomes a new article; \
                  `kbsync sync` does this itself where it knows which file was there first";
    doubles(ids, "double-id", remedy, &mut findings);
    let known = links::link_targets(files, &named);
    for (place, document) in &articles {
        links::dead_links(place, document, &known, &mut findings);
    }
    for (place, id) in &files.copies {
        copy(place, *id, files.open.as_ref(), &mut findings);
    }
    for (path, why) in &files.unreadable {
        let help = format!(
            "check the file's permissions, or try again when nothing is writing to it; {NOT_SENT}"
        );
        findings.error(path, "unreadable", format!("failed to {why}"), help);
    }
    for (path, why) in &files.strays {
        findings.error(path, "stray", format!("not synced: {why}"), NOT_SENT);
    }
    for place in &files.inner {
        let help = "if that is meant, name it in .kbsyncignore";
        findings.warning(place, "stray", format!("not synced: {INNER}"), help);
    }
    findings.0.sort();
    findings.0
}

/// Reports a name that is not valid in an address, or an unusual name.
fn file_name(file: &Named, findings: &mut Findings) {
    let slug = match file.address() {
        Ok(slug) => slug,
        Err(problem) => {
            let message = format!("the name {:?} cannot be part of an address", problem.stem);
            let help = format!(
                "rename the file to `{}{EXTENSION}`, or add a line `slug:`; {NOT_SENT}",
                problem.proposal
            );
            findings.error(&file.place, "file-name", message, help);
            return;
        }
    };
    slug_line(&file.place, file.slug.as_deref(), findings);
    let lower = slug.to_lowercase();
    if slug != lower && file.slug.is_none() {
        let message = format!("the address has capital letters: {slug}");
        let help =
            format!("rename the file to `{lower}{EXTENSION}`, or add `slug: {slug}` to keep it");
        findings.warning(&file.place, "capitals", message, help);
    }
}

/// Reports a `slug:` that the service may refuse. A slug from the service itself may be invalid, too.
fn slug_line(path: &impl ToString, slug: Option<&str>, findings: &mut Findings) {
    if let Some(Err(problem)) = slug.map(slug_of_stem) {
        let message = format!("the slug {:?} is not valid in an address", problem.stem);
        let help = format!(
            "write `slug: {}`: the service may refuse another one",
            problem.proposal
        );
        findings.warning(path, "slug", message, help);
    }
}

/// Reports keys of the writer's own that are similar to keys of kbsync.
fn keys<'k>(
    path: &str,
    near: impl Iterator<Item = (&'k str, usize, &'static str)>,
    findings: &mut Findings,
) {
    for (key, line, meant) in near {
        let message = format!("`{key}` is not sent: it is not a key of kbsync");
        let help = format!("did you mean `{meant}`?");
        findings.warning(path, "near-key", message, help).line = Some(line);
    }
}

fn categories(files: &Files, findings: &mut Findings) {
    let mut slugs = Vec::new();
    let mut ids = Vec::new();
    let folders: BTreeSet<&String> = files
        .categories
        .keys()
        .chain(files.articles.keys().map(|place| &place.folder))
        .collect();
    for folder in folders {
        let path = format!("{folder}/{CATEGORY_FILE}");
        let words = match files.categories.get(folder) {
            Some(Ok(document)) => Some(document),
            Some(Err(problem)) => {
                findings.not_ready(&path, "category-file", problem);
                continue;
            }
            None => None,
        };
        if let Some(document) = words {
            keys(&path, document.near_keys(), findings);
            slug_line(&path, document.slug(), findings);
            ids.extend(document.id().map(|id| (id.to_string(), path.clone())));
        }
        match words.and_then(CategoryDocument::slug) {
            Some(slug) => slugs.push((slug.to_owned(), path)),
            None => match slug_of_stem(folder) {
                Ok(slug) => slugs.push((slug, folder.clone())),
                Err(problem) => {
                    let message =
                        format!("the name {:?} cannot be part of an address", problem.stem);
                    let help = format!(
                        "rename the folder to `{}`, or add a line `slug:` to its {CATEGORY_FILE}; until then no file in it is sent",
                        problem.proposal
                    );
                    findings.error(folder, "folder-name", message, help);
                }
            },
        }
    }
    mistyped(files, findings);
    let remedy = "choose another name for one of the folders, or set `slug:`";
    doubles(slugs, "double-slug", remedy, findings);
    let remedy = "one is a copy of the other: delete the `id:` line of the copy, and the copy becomes a new category";
    doubles(ids, "double-id", remedy, findings);
}

/// Reports all paths that share a key.
fn doubles(
    keyed: impl IntoIterator<Item = (String, String)>,
    rule: &'static str,
    help: &str,
    findings: &mut Findings,
) {
    let mut by_key: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, path) in keyed {
        by_key.entry(key).or_default().push(path);
    }
    for (key, paths) in by_key.into_iter().filter(|(_, paths)| paths.len() > 1) {
        let word = key.rsplit('/').next().unwrap_or(&key);
        let what = match rule {
            "double-id" => "the id".to_owned(),
            _ => format!("the address `{word}`"),
        };
        for path in &paths {
            let others: Vec<&str> = paths
                .iter()
                .filter(|other| *other != path)
                .map(String::as_str)
                .take(NAMED)
                .collect();
            let more = match paths.len() - 1 - others.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let message = format!("{what} is also that of {}{more}", others.join(", "));
            let help = format!("{help}; until then at most one of them is sent");
            findings.error(path, rule, message, help);
        }
    }
}

/// Reports new folders whose names look mistyped. A folder with an id is known to the service and not reported.
fn mistyped(files: &Files, findings: &mut Findings) {
    let has_id =
        |words: &Result<CategoryDocument, _>| matches!(words, Ok(words) if words.id().is_some());
    let known = files.categories.iter().filter(|(_, words)| has_id(words));
    let known: BTreeSet<&str> = known.map(|(folder, _)| folder.as_str()).collect();
    let folders = files.articles.keys().map(|place| place.folder.as_str());
    for folder in &folders.collect::<BTreeSet<_>>() - &known {
        if let Some(meant) = likely_meant(folder, known.iter().copied()) {
            let help = "if you mean a new category, ignore this: the next sync holds it until `kbsync approve`";
            findings.warning(folder, "new-category", maybe_mistyped(meant), help);
        }
    }
}

fn copy(place: &Place, id: Option<ArticleId>, open: Option<&Open>, findings: &mut Findings) {
    let waits = open.map(|open| match id {
        Some(id) => open.ids.contains(&id),
        None => open.copies.contains(&place.file),
    });
    let (rule, message) = match waits {
        Some(true) => (
            "open-conflict",
            "the article has an open conflict, and is not synced in either direction",
        ),
        Some(false) => (
            "leftover-copy",
            "no open conflict uses this conflict copy; the copy is not synced",
        ),
        None => (
            "open-conflict",
            "a conflict copy: until the conflict is settled, the article is not synced in either direction",
        ),
    };
    let help = "take what you need from this copy into the article, then delete the copy";
    findings.warning(place, rule, message, help);
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c";

    pub(super) fn files(articles: &[(&str, &str, &str)]) -> Files {
        let mut files = Files::default();
        for (folder, file, text) in articles {
            files.targets.insert((*folder).to_owned());
            files.targets.insert(format!("{folder}/{file}"));
            files
                .articles
                .insert(Place::new(*folder, *file), Document::parse(text.as_bytes()));
        }
        files
    }

    pub(super) fn article(more: &str, body: &str) -> String {
        format!("---\ntitle: T\n{more}---\n{body}\n")
    }

    /// The rules found, with path and line.
    #[track_caller]
    pub(super) fn expect(files: &Files, expected: &[(&str, Option<usize>, &str)]) {
        let findings = check(files);
        let found: Vec<_> = findings
            .iter()
            .map(|one| (one.path.as_str(), one.line, one.rule))
            .collect();
        assert_eq!(found, expected, "{findings:#?}");
        assert!(findings.iter().all(|one| !one.help.is_empty()));
        let errors = findings.iter().filter(|one| one.level == Level::Error);
        for error in errors {
            let (_, end) = error.help.rsplit_once("; ").expect("whether it is sent");
            assert!(end.contains("sent"), "{error:?}");
        }
    }

    #[test]
    fn good_files_have_no_findings() {
        let text = article(
            "",
            "<p>See <a href=\"b\">b</a>, <a href=\"../x/b.html#top\">b</a>, <a href=\"..\">up</a></p>",
        );
        expect(
            &files(&[
                ("x", "a.html", &text),
                ("x", "b.html", &article("", "<p>b</p>")),
            ]),
            &[],
        );
    }

    #[test]
    fn f122_broken_front_matter_has_a_line() {
        expect(
            &files(&[
                ("x", "a.html", "---\ntitle: [a\n---\n"),
                ("x", "b.html", "no front matter"),
            ]),
            &[
                ("x/a.html", Some(2), "front-matter"),
                ("x/b.html", Some(1), "front-matter"),
            ],
        );
    }

    #[test]
    fn keys_that_are_nearly_known_are_found() {
        let text = article("keyword: k\nintrotxt: i\nowner: docs\ndate: today\n", "x");
        expect(
            &files(&[("x", "a.html", &text)]),
            &[
                ("x/a.html", Some(3), "near-key"),
                ("x/a.html", Some(4), "near-key"),
            ],
        );
    }

    #[test]
    fn a_text_that_is_cut_at_a_number_sign_is_found() {
        let text = "---\ntitle: Issue #12 in C\nintrotext: all of it # a comment\nkeywords: C#, F #, Go\n---\nx\n";
        expect(
            &files(&[("x", "a.html", text)]),
            &[("x/a.html", Some(2), "front-matter")],
        );
    }

    #[test]
    fn s8_a_title_over_255_characters_is_found() {
        let text = format!("---\ntitle: {}\n---\nx\n", "ü".repeat(256));
        expect(
            &files(&[("x", "a.html", &text)]),
            &[("x/a.html", Some(2), "front-matter")],
        );
    }

    #[test]
    fn lines_count_from_the_top_of_the_file() {
        let body = "<p>one</p>\n<div>\n<p>two</p>";
        let text = article("keywords: k\n", body);
        expect(
            &files(&[("x", "a.html", &text)]),
            &[("x/a.html", Some(6), "unclosed-tag")],
        );
        let crlf = text.replace('\n', "\r\n");
        expect(
            &files(&[("x", "a.html", &crlf)]),
            &[("x/a.html", Some(6), "unclosed-tag")],
        );
        let no_end = text.trim_end();
        expect(
            &files(&[("x", "a.html", no_end)]),
            &[("x/a.html", Some(6), "unclosed-tag")],
        );
    }

    #[test]
    fn f054_doubles_name_each_other() {
        let with_id = article(&format!("id: {ID}\n"), "x");
        let slugged = article("slug: c\n", "x");
        expect(
            &files(&[
                ("x", "a.html", &with_id),
                ("y", "b.html", &with_id),
                ("x", "c.html", &article("", "x")),
                ("x", "d.html", &slugged),
                ("y", "c.html", &article("", "x")),
            ]),
            &[
                ("x/a.html", None, "double-id"),
                ("x/c.html", None, "double-slug"),
                ("x/d.html", None, "double-slug"),
                ("y/b.html", None, "double-id"),
            ],
        );
    }

    #[test]
    fn names_that_cannot_be_addresses_are_found() {
        let mut some = files(&[("Über uns", "Was ist.html", &article("", "x"))]);
        expect(
            &some,
            &[
                ("Über uns", None, "folder-name"),
                ("Über uns/Was ist.html", None, "file-name"),
            ],
        );
        let category = |folder: &str, text: &str| {
            let document = CategoryDocument::parse(text.as_bytes());
            (folder.to_owned(), document)
        };
        some.categories
            .extend([category("Über uns", "name: Über uns\nslug: about\n")]);
        expect(&some, &[("Über uns/Was ist.html", None, "file-name")]);
        some.categories
            .extend([category("b", "slug: about\n"), category("c", ": [")]);
        let rules: Vec<_> = check(&some).iter().map(|one| one.rule).collect();
        assert_eq!(
            rules,
            ["double-slug", "category-file", "file-name", "double-slug"]
        );
    }

    #[test]
    fn capitals_in_an_address_are_found_unless_they_are_meant() {
        let some = files(&[
            ("a", "FAQ.html", &article("", "x")),
            ("a", "Meant.html", &article("slug: Meant\n", "x")),
        ]);
        expect(&some, &[("a/FAQ.html", None, "capitals")]);
    }

    #[test]
    fn a_slug_that_the_service_may_refuse_is_found() {
        let some = files(&[
            ("a", "b.html", &article("slug: Groß Name\n", "x")),
            ("a", "c.html", &article("slug: über-uns\n", "x")),
        ]);
        expect(&some, &[("a/b.html", None, "slug")]);
    }

    #[test]
    fn missing_alt_texts_and_open_conflicts_are_warnings() {
        let mut some = files(&[("x", "a.html", &article("", "<img src=\"/i.png\">"))]);
        some.copies.push((Place::new("x", "a.conflict.html"), None));
        expect(
            &some,
            &[
                ("x/a.conflict.html", None, "open-conflict"),
                ("x/a.html", Some(4), "image-alt"),
            ],
        );
        assert!(check(&some).iter().all(|one| one.level == Level::Warning));
    }

    #[test]
    fn a_copy_for_which_nothing_waits_is_distinguished_from_an_open_conflict() {
        let id: ArticleId = "5d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c"
            .parse()
            .expect("an id");
        let other = "6d0c3c1e-8a37-4c8e-9b1c-6a8f0a1f2b3c"
            .parse()
            .expect("an id");
        for (within, name, rule) in [
            (Some(id), "a.conflict.html", "open-conflict"),
            (Some(id), "renamed.conflict.html", "open-conflict"),
            (None, "a.conflict.html", "open-conflict"),
            (Some(other), "a.conflict.html", "leftover-copy"),
            (None, "b.conflict.html", "leftover-copy"),
        ] {
            let mut some = files(&[]);
            some.copies.push((Place::new("x", name), within));
            some.open = Some(Open {
                ids: [id].into(),
                copies: ["a.conflict.html".to_owned()].into(),
            });
            expect(&some, &[(&format!("x/{name}"), None, rule)]);
        }
    }
}
