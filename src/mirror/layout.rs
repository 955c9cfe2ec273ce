//! The meaning of a name in the mirror: an article, a category, a stray to report, or out of scope.
//!
//! An ignored path is out of scope in both directions: its article is neither pushed nor deleted, and nothing is
//! written at the path. The rules for all mirrors are in `model::path`; a mirror's own rules are in `.kbsyncignore`.
//! This file does not read the disk.

use super::disk::Kind;
use crate::model::{
    Place,
    path::{CATEGORY_FILE, CONFLICT_EXTENSION, EXTENSION, is_ignored, lower},
};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization as _;

/// The file in the root that lists ignored paths, in the syntax of `.gitignore`.
pub const IGNORE_FILE: &str = ".kbsyncignore";

/// The largest [`IGNORE_FILE`], in bytes: matching costs time for every rule and every name.
pub const MAX_IGNORE_FILE: usize = 64 * 1024;

/// The meaning of a name in the root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RootVerdict {
    /// A category's folder.
    Category,
    /// Not synced and not reported: a file such as the settings, or a link.
    Aside,
    /// Out of scope.
    Ignored,
    /// Not synced, and reported to the writer.
    Stray(&'static str),
}

/// The meaning of a name in a category's folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// An article's file.
    Article,
    /// `_category.yaml`.
    CategoryFile,
    /// The conflict copy of a file.
    ConflictCopy,
    /// Something where an article could be, that is out of scope.
    Ignored,
    /// Something where an article could be, that is no file, with the remedy: present and unknown.
    NoArticle(&'static str),
    /// Not synced, and reported to the writer.
    Stray(&'static str),
    /// A folder within a category: not synced, and reported ([`INNER`]) if it holds articles' files.
    Inner,
    /// Not synced and not reported.
    Aside,
}

/// The message about a folder within a category that holds articles' files.
pub const INNER: &str = "this folder holds .html files, but folders within a category are not synced; move the files up";

/// Returns whether a file of this name in a category's folder would be an article.
pub(super) fn could_be_article(name: &str) -> bool {
    name.ends_with(EXTENSION) && !is_ignored(name)
}

/// Why the `.kbsyncignore` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadRules {
    /// The file is too large.
    #[error("it is larger than {} KiB", MAX_IGNORE_FILE / 1024)]
    TooLarge,
    /// A line is not UTF-8, or has a NUL.
    #[error("line {0} is not UTF-8 text")]
    NotText(usize),
    /// A line is not a pattern.
    #[error("line {0}: {1}")]
    Pattern(usize, ignore::Error),
    /// The patterns cannot be used together.
    #[error("the patterns cannot be used: {0}")]
    Together(ignore::Error),
}

impl BadRules {
    /// The remedy.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::TooLarge | Self::Together(_) => {
                "shorten .kbsyncignore: name folders or use patterns with `*`; nothing is synced meanwhile"
            }
            Self::NotText(_) => "save .kbsyncignore as UTF-8; nothing is synced meanwhile",
            Self::Pattern(..) => "correct the pattern; nothing is synced meanwhile",
        }
    }
}

/// The rules of one mirror.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    own: Option<Gitignore>,
    /// The text of `.kbsyncignore`.
    text: String,
}

impl Layout {
    /// Parses the bytes of `.kbsyncignore`. Rules that cannot be used as a whole are an error: applying a part of them
    /// would publish files that the other part hides.
    pub fn parse(ignore_file: &[u8]) -> Result<Self, BadRules> {
        let text = match std::str::from_utf8(ignore_file) {
            Ok(text) => text,
            Err(error) => {
                let before = &ignore_file[..error.valid_up_to()];
                return Err(BadRules::NotText(line_after(before)));
            }
        };
        // In UTF-16, every second byte of most rules is NUL.
        if let Some((before, _)) = text.split_once('\0') {
            return Err(BadRules::NotText(line_after(before.as_bytes())));
        }
        let mut builder = GitignoreBuilder::new("");
        for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
            builder
                .add_line(None, &composed(line))
                .map_err(|error| BadRules::Pattern(number, error))?;
        }
        let own = builder.build().map_err(BadRules::Together)?;
        Ok(Self {
            own: Some(own).filter(|own| !own.is_empty()),
            text: text.to_owned(),
        })
    }

    /// Returns the text of `.kbsyncignore`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the meaning of a name in the root.
    pub fn in_root(&self, name: &str, kind: Kind) -> RootVerdict {
        match kind {
            Kind::Folder if self.ignores_folder(name) => RootVerdict::Ignored,
            Kind::Folder => RootVerdict::Category,
            Kind::File if could_be_article(name) && !self.has_rule(|| name.to_owned(), false) => {
                RootVerdict::Stray(
                    "an article must be in a category's folder; move it there, or name it in .kbsyncignore",
                )
            }
            Kind::File | Kind::Link | Kind::Other => RootVerdict::Aside,
        }
    }

    /// Returns the meaning of a name in a category's folder.
    pub fn in_folder(&self, folder: &str, name: &str, kind: Kind) -> Verdict {
        if name == CATEGORY_FILE {
            return Verdict::CategoryFile;
        }
        if lower(name).ends_with(CONFLICT_EXTENSION) && !name.starts_with(['.', '_']) {
            return match kind {
                Kind::File => Verdict::ConflictCopy,
                Kind::Folder | Kind::Link | Kind::Other => Verdict::Aside,
            };
        }
        let is_ignored = self.ignores_file(folder, name, kind);
        if !name.ends_with(EXTENSION) {
            return match kind {
                Kind::Folder if !is_ignored => Verdict::Inner,
                Kind::File if !is_ignored && looks_like_html(name) => {
                    Verdict::Stray("the name must end in `.html`; rename it")
                }
                Kind::File | Kind::Folder | Kind::Link | Kind::Other => Verdict::Aside,
            };
        }
        match kind {
            _ if is_ignored => Verdict::Ignored,
            Kind::File => Verdict::Article,
            Kind::Folder => {
                Verdict::NoArticle("a folder; move it away, or give it a name without `.html`")
            }
            Kind::Link => Verdict::NoArticle(
                "a symbolic link; links are never followed: put the file itself there",
            ),
            Kind::Other => Verdict::NoArticle("not a regular file; move it away"),
        }
    }

    /// Returns whether a place is out of scope, for existing files and for files to be written.
    pub fn ignores(&self, place: &Place) -> bool {
        let Place { folder, file } = place;
        self.ignores_folder(folder) || self.ignores_file(folder, file, Kind::File)
    }

    /// Returns whether a folder of the root is out of scope.
    pub fn ignores_folder(&self, name: &str) -> bool {
        is_ignored(name) || self.has_rule(|| name.to_owned(), true)
    }

    fn ignores_file(&self, folder: &str, name: &str, kind: Kind) -> bool {
        let path = || format!("{folder}/{name}");
        is_ignored(name) || self.has_rule(path, kind == Kind::Folder)
    }

    /// Returns whether the mirror's own rules ignore a path.
    fn has_rule(&self, path: impl FnOnce() -> String, is_folder: bool) -> bool {
        self.own
            .as_ref()
            .is_some_and(|own| own.matched(&*composed(&path()), is_folder).is_ignore())
    }
}

/// Composes the letters of a pattern or a path: a name is the same in each form of Unicode.
fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfc().collect())
    }
}

/// Returns the number of the line that follows a text.
fn line_after(before: &[u8]) -> usize {
    before.split(|byte| *byte == b'\n').count()
}

/// Returns whether the writer may have meant the file to be an article.
pub(super) fn looks_like_html(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| {
        ending.eq_ignore_ascii_case("html") || ending.eq_ignore_ascii_case("htm")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> Layout {
        Layout::parse(text.as_bytes()).expect("usable rules")
    }

    #[test]
    fn f061_files_at_the_root_and_deeper_folders_get_a_word() {
        let layout = Layout::default();
        let stray = |verdict| matches!(verdict, RootVerdict::Stray(_));
        assert!(stray(layout.in_root("a.html", Kind::File)));
        assert!(!stray(layout.in_root("_a.html", Kind::File)));
        assert_eq!(layout.in_root("README.md", Kind::File), RootVerdict::Aside);
        assert_eq!(layout.in_root("start", Kind::Folder), RootVerdict::Category);
        assert!(matches!(
            layout.in_root(".git", Kind::Folder),
            RootVerdict::Ignored
        ));
        assert!(matches!(
            layout.in_root("_drafts", Kind::Folder),
            RootVerdict::Ignored
        ));
        assert_eq!(
            layout.in_folder("start", "more", Kind::Folder),
            Verdict::Inner
        );
        assert!(matches!(
            layout.in_folder("start", "a.HTML", Kind::File),
            Verdict::Stray(_)
        ));
        assert_eq!(
            layout.in_folder("start", ".cache", Kind::Folder),
            Verdict::Aside
        );
        assert_eq!(
            layout.in_folder("start", "logo.png", Kind::File),
            Verdict::Aside
        );
    }

    #[test]
    fn f074_f121_leftovers_are_no_articles() {
        let layout = Layout::default();
        assert_eq!(
            layout.in_folder("start", "a.html", Kind::File),
            Verdict::Article
        );
        assert_eq!(
            layout.in_folder("start", CATEGORY_FILE, Kind::File),
            Verdict::CategoryFile
        );
        assert_eq!(
            layout.in_folder("start", "a.conflict.html", Kind::File),
            Verdict::ConflictCopy
        );
        for name in [
            "a (Ann's conflicted copy).html",
            "a.sync-conflict-1-2-AB.html",
            "_a.html",
            ".a.html",
        ] {
            assert!(
                matches!(
                    layout.in_folder("start", name, Kind::File),
                    Verdict::Ignored
                ),
                "{name}"
            );
        }
        for name in [
            "a.html~",
            ".a.html.swp",
            "4913",
            "a.html___jb_tmp___",
            ".kbsync-tmp-1-2",
        ] {
            assert_eq!(
                layout.in_folder("start", name, Kind::File),
                Verdict::Aside,
                "{name}"
            );
        }
    }

    #[test]
    fn f130_links_and_folders_at_an_articles_place_are_present() {
        let layout = Layout::default();
        for kind in [Kind::Link, Kind::Folder, Kind::Other] {
            assert!(matches!(
                layout.in_folder("start", "a.html", kind),
                Verdict::NoArticle(_)
            ));
        }
    }

    #[test]
    fn the_mirrors_own_rules_are_those_of_gitignore() {
        let layout =
            layout("# not yet\ninternal/\n*-draft.html\n!keep-draft.html\n/start/old.html\n");
        for (folder, file, ignored) in [
            ("internal", "a.html", true),
            ("start", "a-draft.html", true),
            ("start", "keep-draft.html", false),
            ("start", "old.html", true),
            ("next", "old.html", false),
            ("start", "a.html", false),
        ] {
            assert_eq!(
                layout.ignores(&Place::new(folder, file)),
                ignored,
                "{folder}/{file}"
            );
        }
        assert!(layout.ignores_folder("internal"));
        assert!(matches!(
            layout.in_folder("start", "a-draft.html", Kind::File),
            Verdict::Ignored
        ));
        // A rule for folders ignores no file.
        let folders = self::layout("*.html/\n");
        assert!(matches!(
            folders.in_folder("start", "a.html", Kind::Folder),
            Verdict::Ignored
        ));
        assert_eq!(
            folders.in_folder("start", "a.html", Kind::File),
            Verdict::Article
        );
        assert!(matches!(
            layout.in_root("internal", Kind::Folder),
            RootVerdict::Ignored
        ));
    }

    #[test]
    fn rules_that_cannot_be_used_as_a_whole_are_refused() {
        let cases: [(&[u8], &str); 5] = [
            (b"ok.html\ncaf\xe9.html\n", "line 2 is not UTF-8 text"),
            (b"\xff\xfea\0/\0\n\0", "line 1 is not UTF-8 text"),
            (b"a/\n\nb\0/\0\n\0", "line 3 is not UTF-8 text"),
            (b"ok.html\n{a\n", "line 2: "),
            (b"[z-a].html\n", "line 1: "),
        ];
        for (rules, why) in cases {
            let refused = Layout::parse(rules).expect_err(why).to_string();
            assert!(refused.starts_with(why), "{refused}");
        }
    }

    #[test]
    fn a_rule_and_a_name_meet_in_each_form_of_unicode() {
        for rule in ["\u{e9}t\u{e9}/\n", "\u{feff}e\u{301}te\u{301}/\n"] {
            let layout = layout(rule);
            assert!(layout.ignores_folder("e\u{301}te\u{301}"), "{rule}");
            assert!(
                layout.ignores(&Place::new("\u{e9}t\u{e9}", "a.html")),
                "{rule}"
            );
        }
        let file = layout("\u{e9}.html\n");
        assert!(file.ignores(&Place::new("a", "e\u{301}.html")));
    }
}
