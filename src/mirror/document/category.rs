//! A category's file, `_category.yaml`: kbsync's keys among the writer's own, as in front matter.

use super::{
    Changes, NotReady,
    block::Block,
    frame::{self, Frame},
    source::Source,
    splice,
    values::{at, check_lengths, id_of, misspelt, text_of},
};
use crate::model::{CategoryId, CategoryVersion, Field};

/// kbsync's keys, in the order in which they are written.
const KEYS: [&str; 5] = ["id", "name", "slug", "description", "meta_description"];

/// A parsed category's file.
#[derive(Clone, Debug)]
pub struct CategoryDocument {
    source: Source,
    words: Words,
}

#[derive(Clone, Debug)]
struct Words {
    id: Option<CategoryId>,
    name: Option<String>,
    slug: Option<String>,
    description: String,
    meta_description: String,
}

impl CategoryDocument {
    /// Parses a file. A file without any key is not ready: probably it was truncated.
    pub fn parse(bytes: &[u8]) -> Result<Self, NotReady> {
        Self::read(bytes).map_err(|problem| NotReady {
            category: frame::find_id(bytes).map(CategoryId::new),
            ..problem
        })
    }

    fn read(bytes: &[u8]) -> Result<Self, NotReady> {
        let text = frame::decode(bytes)?;
        let source = Source::read(text, Frame::of_category(text))?;
        let words = Words::read(&source.block).map_err(|problem| source.frame.in_file(problem))?;
        Ok(Self { source, words })
    }

    /// Writes a new file.
    pub fn compose(changes: &Changes) -> String {
        splice::write_new(&changes.edits())
    }

    /// Returns the file with the changes; equal values are left untouched.
    pub fn edit(&self, changes: &Changes) -> String {
        self.source.edit(&KEYS, &changes.edits())
    }

    /// The category's id, when the file has one.
    pub fn id(&self) -> Option<CategoryId> {
        self.words.id
    }

    /// The name; `None`: the category is named after its folder, made readable.
    pub fn name(&self) -> Option<&str> {
        self.words.name.as_deref()
    }

    /// The value of `slug:`; `None`: the folder's name is the slug.
    pub fn slug(&self) -> Option<&str> {
        self.words.slug.as_deref()
    }

    /// The description; empty when there is none.
    pub fn description(&self) -> &str {
        &self.words.description
    }

    /// The description for search engines; empty when there is none.
    pub fn meta_description(&self) -> &str {
        &self.words.meta_description
    }

    /// Checks the lengths of the texts that differ from the base, because the service may hold texts above its own limits;
    /// and that no ` #` cuts a text.
    pub fn check(&self, base: Option<&CategoryVersion>) -> Result<(), NotReady> {
        let texts = [(Field::Name, self.name()), (Field::Slug, self.slug())];
        let texts = texts.map(|(field, text)| (field, text.unwrap_or_default()));
        let is_new =
            |(field, text): &(Field, &str)| base.is_none_or(|base| base.get(*field) != *text);
        check_lengths(&self.source.block, texts.into_iter().filter(is_new))
            .map_err(|problem| self.source.frame.in_file(problem))?;
        let texts = [Field::Name, Field::Description, Field::MetaDescription];
        self.source.check_cut_texts(&texts)
    }

    /// Returns the keys that are similar to kbsync's: each with its line and the key that was meant.
    pub fn near_keys(&self) -> impl Iterator<Item = (&str, usize, &'static str)> {
        self.source.near_keys(&KEYS)
    }

    /// The whole file as read.
    pub fn source(&self) -> &str {
        &self.source.text
    }
}

impl Words {
    fn read(block: &Block) -> Result<Self, NotReady> {
        if block.entries.is_empty() {
            return Err(NotReady::new(
                "the file has no keys",
                "write a line `name: …`, or remove the file",
            ));
        }
        let text = |field: Field| -> Result<Option<String>, NotReady> {
            Ok(text_of(block, field.key())?.map(str::to_owned))
        };
        let name = text(Field::Name)?;
        match block.get(Field::Name.key()) {
            Some(entry) if name.as_deref().unwrap_or_default().trim().is_empty() => {
                return Err(at(
                    entry,
                    "the name is empty",
                    "write one, or remove the line to take the folder's name",
                ));
            }
            Some(_) => {}
            // A category without a name of its own would be named after its folder.
            None => misspelt(block, Field::Name, &KEYS, |_| true).map_or(Ok(()), Err)?,
        }
        Ok(Self {
            id: id_of(block)?.map(CategoryId::new),
            slug: text(Field::Slug)?.filter(|slug| !slug.is_empty()),
            description: text(Field::Description)?.unwrap_or_default(),
            meta_description: text(Field::MetaDescription)?.unwrap_or_default(),
            name,
        })
    }
}
