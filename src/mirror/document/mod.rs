//! The content of a file: front matter and body of an article, and the texts of a category.
//!
//! Pure. Two laws hold, checked by property tests:
//! - [`Document::parse`] returns the values that [`Document::compose`] wrote, byte for byte for the body;
//! - [`Document::edit`] changes only the lines of changed values; an edit to equal values returns the identical file.
//!
//! Everything in a file beyond kbsync's keys belongs to the writer: it is neither interpreted nor changed. This module
//! decides whether a file can be read, not whether it may be pushed.

mod block;
mod category;
mod frame;
mod quoting;
mod source;
mod splice;
mod values;

pub use category::CategoryDocument;
pub use frame::{MAX_FILE, NotReady, has_conflict_markers};

use crate::model::{ArticleId, CategoryId, Field, Flags, TextDigest, Version};
use block::Block;
use frame::Frame;
use source::Source;
use splice::{Edit, Written};
use uuid::Uuid;
use values::{check_lengths, flag_of, id_of, text_of, title_of};

/// kbsync's keys, in the order in which they are written.
const KEYS: [&str; 7] = [
    "id",
    "title",
    "slug",
    "enabled",
    "draft",
    "introtext",
    "keywords",
];

/// A parsed article's file.
#[derive(Clone, Debug)]
pub struct Document {
    source: Source,
    words: Words,
    /// The body, if it differs from the source because CRLF was read as LF.
    text: Option<String>,
}

#[derive(Clone, Debug)]
struct Words {
    id: Option<ArticleId>,
    title: String,
    slug: Option<String>,
    introtext: String,
    keywords: String,
    flags: Flags,
}

/// The new values for an article's or a category's file. `None` leaves a field as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// The id of the article or the category.
    pub id: Option<Uuid>,
    /// The title of an article.
    pub title: Option<String>,
    /// The name of a category.
    pub name: Option<String>,
    /// `slug:`; `Some(None)` removes the key.
    pub slug: Option<Option<String>>,
    /// `enabled:`; `Some(None)` removes the key.
    pub enabled: Option<Option<bool>>,
    /// `draft:`; `Some(None)` removes the key.
    pub draft: Option<Option<bool>>,
    /// The summary; `""` removes the key.
    pub introtext: Option<String>,
    /// The search words; `""` removes the key.
    pub keywords: Option<String>,
    /// The description of a category; `""` removes the key.
    pub description: Option<String>,
    /// The description of a category for search engines; `""` removes the key.
    pub meta_description: Option<String>,
    /// The body.
    pub text: Option<String>,
}

impl Changes {
    /// Takes a version's texts; the address and the body stay.
    pub fn words(version: &Version) -> Self {
        Self {
            title: Some(version.title.clone()),
            introtext: Some(version.introtext.clone()),
            keywords: Some(version.keywords.clone()),
            ..Self::default()
        }
    }

    /// Returns the changed keys, each with its new value.
    fn edits(&self) -> Vec<Edit> {
        let named = |text: &String| Some(Written::Text(text.clone()));
        let text = |text: &String| Written::unless_empty(text);
        let flag = |on: Option<bool>| on.as_ref().map(Written::word);
        let slug = self.slug.as_ref();
        let edits = [
            self.id.map(|id| ("id", Some(Written::word(&id)))),
            self.title.as_ref().map(|title| ("title", named(title))),
            self.name.as_ref().map(|name| ("name", named(name))),
            slug.map(|slug| ("slug", slug.as_ref().and_then(text))),
            self.enabled.map(|on| ("enabled", flag(on))),
            self.draft.map(|on| ("draft", flag(on))),
            self.introtext.as_ref().map(|new| ("introtext", text(new))),
            self.keywords.as_ref().map(|new| ("keywords", text(new))),
            self.description
                .as_ref()
                .map(|new| ("description", text(new))),
            self.meta_description
                .as_ref()
                .map(|new| ("meta_description", text(new))),
        ];
        edits.into_iter().flatten().collect()
    }
}

impl Document {
    /// Reads a file. Conflict markers of git in the body make it not ready.
    pub fn parse(bytes: &[u8]) -> Result<Self, NotReady> {
        let document = Self::parse_leniently(bytes)?;
        match document.check() {
            Ok(()) => Ok(document),
            Err(problem) => Err(NotReady {
                id: document.id(),
                ..problem
            }),
        }
    }

    /// Reads a file that need not be ready: its body may have conflict markers of git, its fields may be over the limits,
    /// as on the service, and a ` #` may cut its texts.
    pub fn parse_leniently(bytes: &[u8]) -> Result<Self, NotReady> {
        Self::read(bytes).map_err(|problem| NotReady {
            id: frame::find_id(bytes).map(ArticleId::new),
            ..problem
        })
    }

    /// Returns the article that the `id:` line of a file names, even if the file is broken.
    pub fn id_in(bytes: &[u8]) -> Option<ArticleId> {
        Self::parse(bytes).map_or_else(|problem| problem.id, |document| document.id())
    }

    /// Returns all articles that a file names, as after a bad merge of two files.
    pub fn ids_in(bytes: &[u8]) -> Vec<ArticleId> {
        Self::parse(bytes).map_or_else(
            |_| {
                frame::find_ids(bytes)
                    .into_iter()
                    .map(ArticleId::new)
                    .collect()
            },
            |document| document.id().into_iter().collect(),
        )
    }

    /// Checks the lengths of the fields, that no ` #` cuts a text, and that the body has no conflict markers.
    fn check(&self) -> Result<(), NotReady> {
        let words = &self.words;
        let texts = [
            (Field::Title, words.title.as_str()),
            (Field::Slug, words.slug.as_deref().unwrap_or_default()),
            (Field::Introtext, &words.introtext),
            (Field::Keywords, &words.keywords),
        ];
        check_lengths(&self.source.block, texts)
            .map_err(|problem| self.source.frame.in_file(problem))?;
        self.check_cut_texts()?;
        let Some(within) = frame::conflict_line(self.text()) else {
            return Ok(());
        };
        Err(NotReady::at(
            self.lines_before_text() + within + 1,
            "the body has conflict markers of git",
            "choose what to keep and remove the lines of `<`, `=` and `>`",
        ))
    }

    fn read(bytes: &[u8]) -> Result<Self, NotReady> {
        let text = frame::decode(bytes)?;
        let source = Source::read(text, Frame::of_article(text)?)?;
        let words = Words::read(&source.block).map_err(|problem| source.frame.in_file(problem))?;
        Ok(Self {
            text: source.frame.text_with_lf(text),
            source,
            words,
        })
    }

    /// Writes a new file.
    pub fn compose(changes: &Changes) -> String {
        let front = splice::write_new(&changes.edits());
        let text = changes.text.as_deref().unwrap_or_default();
        ["---\n", &front, "---\n", text, "\n"].concat()
    }

    /// Returns the file with the changes; equal values are left untouched.
    pub fn edit(&self, changes: &Changes) -> String {
        let edits = changes.edits();
        let Some(text) = changes.text.as_deref().filter(|&text| text != self.text()) else {
            return self.source.edit(&KEYS, &edits);
        };
        // In a CRLF file, a carriage return in the body would be read as part of a line end.
        let to_lf = self.is_crlf() && text.contains('\r');
        let end = if to_lf { "\n" } else { self.source.line_end() };
        let mut front = self.source.edited_block(&KEYS, &edits, end);
        if to_lf {
            front = front.replace("\r\n", "\n");
        }
        let body = if end == "\n" {
            text.to_owned()
        } else {
            text.replace('\n', end)
        };
        let mark = self.source.frame.mark(&self.source.text);
        format!("{mark}---{end}{front}---{end}{body}{end}")
    }

    /// Returns the file without its `id:` line, as the file of a new article.
    pub fn without_id(&self) -> String {
        self.source.edit(&KEYS, &[("id", None)])
    }

    /// The article's id, when the file has one.
    pub fn id(&self) -> Option<ArticleId> {
        self.words.id
    }

    /// The title; never blank.
    pub fn title(&self) -> &str {
        &self.words.title
    }

    /// The value of `slug:`; `None`: the file's name is the slug.
    pub fn slug(&self) -> Option<&str> {
        self.words.slug.as_deref()
    }

    /// The file's content as a version with this address.
    pub fn version(&self, slug: String, category: CategoryId) -> Version {
        Version {
            title: self.title().to_owned(),
            slug,
            category,
            introtext: self.introtext().to_owned(),
            keywords: self.keywords().to_owned(),
            text: TextDigest::of(self.text()),
        }
    }

    /// The summary; empty when there is none.
    pub fn introtext(&self) -> &str {
        &self.words.introtext
    }

    /// The search words; empty when there are none.
    pub fn keywords(&self) -> &str {
        &self.words.keywords
    }

    /// The values of `enabled:` and `draft:`.
    pub fn flags(&self) -> Flags {
        self.words.flags
    }

    /// The body; in a CRLF file, every CRLF is read as LF.
    pub fn text(&self) -> &str {
        match &self.text {
            Some(text) => text,
            None => self.source.frame.text(&self.source.text),
        }
    }

    /// Returns the number of lines before the body.
    pub fn lines_before_text(&self) -> usize {
        let before = &self.source.text[..self.source.frame.body];
        before.matches('\n').count()
    }

    /// Returns the keys of the front matter that are similar to kbsync's: each with its line and the key that was
    /// meant.
    pub fn near_keys(&self) -> impl Iterator<Item = (&str, usize, &'static str)> {
        self.source.near_keys(&KEYS)
    }

    /// Checks that no ` #` cuts a text.
    pub fn check_cut_texts(&self) -> Result<(), NotReady> {
        let texts = [Field::Title, Field::Introtext, Field::Keywords];
        self.source.check_cut_texts(&texts)
    }

    /// Returns whether the file has CRLF line ends, according to its first line.
    pub fn is_crlf(&self) -> bool {
        self.source.frame.crlf
    }

    /// The whole file as read.
    pub fn source(&self) -> &str {
        &self.source.text
    }
}

impl Words {
    fn read(block: &Block) -> Result<Self, NotReady> {
        let optional = |field: Field| -> Result<String, NotReady> {
            Ok(text_of(block, field.key())?.unwrap_or_default().to_owned())
        };
        Ok(Self {
            id: id_of(block)?.map(ArticleId::new),
            title: title_of(block)?,
            slug: Some(optional(Field::Slug)?).filter(|slug| !slug.is_empty()),
            introtext: optional(Field::Introtext)?,
            keywords: optional(Field::Keywords)?,
            flags: Flags {
                enabled: flag_of(block, Field::Enabled)?,
                draft: flag_of(block, Field::Draft)?,
            },
        })
    }
}

#[cfg(test)]
mod tests;
