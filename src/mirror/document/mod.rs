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
mod splice;

pub use category::{CategoryChanges, CategoryDocument};
pub use frame::{MAX_FILE, NotReady, has_conflict_markers};

use crate::model::{
    ArticleId, CategoryId, Field, Flags, TextDigest, Version,
    article::{MAX_CHARS, over_limit},
};
use block::{Block, Entry, Style, Value};
use frame::Frame;
use splice::{Edit, Written};

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

/// Returns the key of kbsync, among `keys`, that another key was probably meant to be.
fn near_key(key: &str, keys: &[&'static str]) -> Option<&'static str> {
    let typed = key.to_lowercase();
    // Short words are similar by chance.
    let slips = if typed.len() < 6 { 1 } else { 2 };
    let near = keys.iter().filter(|known| known.len() > 3);
    let near = near.map(|&known| (strsim::damerau_levenshtein(&typed, known), known));
    let nearest = near.min().filter(|(distance, _)| *distance <= slips);
    nearest.map(|(_, known)| known)
}

/// Returns the unknown keys that are similar to kbsync's: each with its line in the file and the key that was meant.
fn near_keys<'b>(
    frame: &Frame,
    block: &'b Block,
    keys: &'static [&'static str],
) -> impl Iterator<Item = (&'b str, usize, &'static str)> {
    let before = frame.lines_before();
    let own = block.entries.iter();
    let own = own.filter(|entry| !keys.contains(&entry.key.as_str()));
    own.filter_map(move |entry| {
        let meant = near_key(&entry.key, keys)?;
        Some((entry.key.as_str(), before + entry.lines.start + 1, meant))
    })
}

/// Returns the fault of a key that was probably meant to be this one.
fn misspelt(
    block: &Block,
    field: Field,
    keys: &[&'static str],
    may_be: impl Fn(&Entry) -> bool,
) -> Option<NotReady> {
    let key = field.key();
    let mut entries = block.entries.iter();
    // A category has a name, and an article has a title.
    let is_meant = |entry: &&Entry| {
        let is_own = !keys.contains(&entry.key.as_str());
        is_own && near_key(&entry.key, keys) == Some(key)
            || (field == Field::Name && entry.key == "title")
    };
    let entry = entries.find(|entry| is_meant(entry) && may_be(entry))?;
    Some(at(
        entry,
        &format!("`{}` is not a key of kbsync in this file", entry.key),
        &format!("did you mean `{key}`? If not, rename that key"),
    ))
}

/// A parsed article's file.
#[derive(Clone, Debug)]
pub struct Document {
    source: String,
    frame: Frame,
    block: Block,
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

/// The new values for a file. `None` leaves a field as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// The article's id.
    pub id: Option<ArticleId>,
    /// The title.
    pub title: Option<String>,
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
        let text = |text: &String| Written::unless_empty(text);
        let slug = self.slug.as_ref();
        let edits = [
            self.id.map(|id| ("id", Some(Written::word(&id)))),
            self.title
                .as_ref()
                .map(|title| ("title", Some(Written::Text(title.clone())))),
            slug.map(|slug| ("slug", slug.as_ref().and_then(text))),
            self.enabled
                .map(|on| ("enabled", on.as_ref().map(Written::word))),
            self.draft
                .map(|on| ("draft", on.as_ref().map(Written::word))),
            self.introtext.as_ref().map(|new| ("introtext", text(new))),
            self.keywords.as_ref().map(|new| ("keywords", text(new))),
        ];
        edits.into_iter().flatten().collect()
    }
}

impl Document {
    /// Reads a file. Conflict markers of git in the body make it not ready.
    pub fn parse(bytes: &[u8]) -> Result<Self, NotReady> {
        let document = Self::parse_with_markers(bytes)?;
        document.check_lengths()?;
        if !has_conflict_markers(document.text()) {
            return Ok(document);
        }
        let before = document.lines_before_text();
        let within = document
            .text()
            .lines()
            .position(|line| line.starts_with("<<<<<<<"))
            .unwrap_or(0);
        Err(NotReady {
            id: document.id(),
            ..NotReady::at(
                before + within + 1,
                "the body has conflict markers of git",
                "choose what to keep and remove the lines of `<`, `=` and `>`",
            )
        })
    }

    /// Reads a file whose body may have conflict markers of git and whose fields may be over the limits: an article on
    /// the service may have either.
    pub fn parse_with_markers(bytes: &[u8]) -> Result<Self, NotReady> {
        Self::read(bytes).map_err(|problem| NotReady {
            id: frame::find_id(bytes).map(ArticleId::new),
            ..problem
        })
    }

    fn check_lengths(&self) -> Result<(), NotReady> {
        let words = &self.words;
        let texts = [
            (Field::Title, words.title.as_str()),
            (Field::Slug, words.slug.as_deref().unwrap_or_default()),
            (Field::Introtext, &words.introtext),
            (Field::Keywords, &words.keywords),
        ];
        check_lengths(&self.block, texts).map_err(|problem| NotReady {
            id: self.id(),
            ..self.frame.in_file(problem)
        })
    }

    fn read(bytes: &[u8]) -> Result<Self, NotReady> {
        let source = frame::decode(bytes)?;
        let frame = Frame::of_article(source)?;
        let block = frame.read_block(source)?;
        let words = Words::read(&block).map_err(|problem| frame.in_file(problem))?;
        Ok(Self {
            text: frame.text_with_lf(source),
            source: source.to_owned(),
            frame,
            block,
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
        let text = changes.text.as_deref().filter(|&text| text != self.text());
        // In a CRLF file, a carriage return in the body would be read as part of a line end.
        let to_lf = self.is_crlf() && text.is_some_and(|text| text.contains('\r'));
        let end = if self.is_crlf() && !to_lf {
            "\r\n"
        } else {
            "\n"
        };
        let front = splice::apply(
            self.frame.block(&self.source),
            &self.block,
            &KEYS,
            &changes.edits(),
            end,
        );
        let Some(text) = text else {
            return self.frame.with_block(&self.source, &front);
        };
        let front = if to_lf {
            front.replace("\r\n", "\n")
        } else {
            front
        };
        let body = if end == "\n" {
            text.to_owned()
        } else {
            text.replace('\n', end)
        };
        let mark = self.frame.mark(&self.source);
        format!("{mark}---{end}{front}---{end}{body}{end}")
    }

    /// Returns the file without its `id:` line, as the file of a new article.
    pub fn without_id(&self) -> String {
        let end = if self.is_crlf() { "\r\n" } else { "\n" };
        let block = self.frame.block(&self.source);
        let front = splice::apply(block, &self.block, &KEYS, &[("id", None)], end);
        self.frame.with_block(&self.source, &front)
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
            None => self.frame.text(&self.source),
        }
    }

    /// Returns the number of lines before the body.
    pub fn lines_before_text(&self) -> usize {
        self.source[..self.frame.body].matches('\n').count()
    }

    /// Returns the keys of the front matter that are similar to kbsync's: each with its line and the key that was
    /// meant.
    pub fn near_keys(&self) -> impl Iterator<Item = (&str, usize, &'static str)> {
        near_keys(&self.frame, &self.block, &KEYS)
    }

    /// Returns whether the file has CRLF line ends, according to its first line.
    pub fn is_crlf(&self) -> bool {
        self.frame.crlf
    }

    /// The whole file as read.
    pub fn source(&self) -> &str {
        &self.source
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

fn title_of(block: &Block) -> Result<String, NotReady> {
    let Some(entry) = block.get(Field::Title.key()) else {
        let remedy = "add a line `title: …` to the front matter";
        let none = || NotReady::new("there is no title", remedy);
        return Err(misspelt(block, Field::Title, &KEYS, |_| true).unwrap_or_else(none));
    };
    match text_of(block, Field::Title.key())? {
        Some(title) if !title.trim().is_empty() => Ok(title.to_owned()),
        Some(_) => Err(at(entry, "the title is blank", "write one")),
        None => Err(at(
            entry,
            "the title is empty",
            "write one; a word such as null goes into quotes",
        )),
    }
}

/// Reads a text; `None`: the key is absent or null.
fn text_of<'b>(block: &'b Block, key: &str) -> Result<Option<&'b str>, NotReady> {
    let Some(entry) = block.get(key) else {
        return Ok(None);
    };
    match &entry.value {
        Value::Scalar(..) => Ok(entry.text()),
        Value::Nested => Err(at(
            entry,
            &format!("{key} is a list or a map"),
            &format!("write one text, such as `{key}: first, second`"),
        )),
    }
}

fn id_of(block: &Block) -> Result<Option<uuid::Uuid>, NotReady> {
    let (Some(entry), Some(text)) = (block.get("id"), text_of(block, "id")?) else {
        return Ok(None);
    };
    uuid::Uuid::try_parse(text).map(Some).map_err(|_cause| {
        at(
            entry,
            &format!("{text:?} is not an id"),
            "put the id back that kbsync wrote, or remove the line to make a new one",
        )
    })
}

fn flag_of(block: &Block, field: Field) -> Result<Option<bool>, NotReady> {
    let key = field.key();
    // A misspelt `enabled: false` would publish the article. A key of one's own has other values.
    let has_flag = |entry: &Entry| {
        let text = entry.text().unwrap_or_default();
        text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false")
    };
    if let Some(fault) = misspelt(block, field, &KEYS, has_flag) {
        return Err(fault);
    }
    let Some(entry) = block.get(key) else {
        return Ok(None);
    };
    match &entry.value {
        Value::Scalar(text, Style::Plain) => match text.as_str() {
            "true" | "True" | "TRUE" => return Ok(Some(true)),
            "false" | "False" | "FALSE" => return Ok(Some(false)),
            _ if entry.text().is_none() => return Ok(None),
            _ => {}
        },
        Value::Scalar(..) | Value::Nested => {}
    }
    Err(at(
        entry,
        &format!("{key} is neither true nor false"),
        &format!("write `{key}: true` or `{key}: false`, without quotes"),
    ))
}

fn check_lengths<'t>(
    block: &Block,
    texts: impl IntoIterator<Item = (Field, &'t str)>,
) -> Result<(), NotReady> {
    let Some((field, count)) = over_limit(texts) else {
        return Ok(());
    };
    let message = format!("{field} has {count} characters");
    let remedy = format!("shorten it to {MAX_CHARS}");
    Err(match block.get(field.key()) {
        Some(entry) => at(entry, &message, &remedy),
        None => NotReady::new(message, remedy),
    })
}

/// Returns a fault at the first line of an entry, counted in the block.
fn at(entry: &Entry, message: &str, remedy: &str) -> NotReady {
    NotReady::at(entry.lines.start + 1, message, remedy)
}

#[cfg(test)]
mod tests;
