//! A category's texts on one side.

use super::{
    Digest,
    article::{Field, Texts},
};
use serde::{Deserialize, Serialize};

/// The texts of a category on one side (`docs/api.md`, A2.2). Optional texts that are not set are empty.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CategoryVersion {
    /// The name that readers see, at most 255 characters.
    pub name: String,
    /// Unique within the workspace.
    pub slug: String,
    /// May be empty.
    pub description: String,
    /// For search engines; may be empty.
    pub meta_description: String,
}

impl Texts for CategoryVersion {
    const FIELDS: &'static [Field] = &[
        Field::Name,
        Field::Slug,
        Field::Description,
        Field::MetaDescription,
    ];

    fn agrees(&self, other: &Self, field: Field) -> bool {
        self.get(field) == other.get(field)
    }

    fn take(&mut self, field: Field, from: &Self) {
        match field {
            Field::Name => self.name.clone_from(&from.name),
            Field::Slug => self.slug.clone_from(&from.slug),
            Field::Description => self.description.clone_from(&from.description),
            Field::MetaDescription => self.meta_description.clone_from(&from.meta_description),
            Field::Title
            | Field::Category
            | Field::Introtext
            | Field::Keywords
            | Field::Text
            | Field::Enabled
            | Field::Draft => {}
        }
    }
}

impl CategoryVersion {
    /// Returns one field's value; `""` for a field that categories do not have.
    pub fn get(&self, field: Field) -> &str {
        match field {
            Field::Name => &self.name,
            Field::Slug => &self.slug,
            Field::Description => &self.description,
            Field::MetaDescription => &self.meta_description,
            Field::Title
            | Field::Category
            | Field::Introtext
            | Field::Keywords
            | Field::Text
            | Field::Enabled
            | Field::Draft => "",
        }
    }

    /// Returns the digest of the canonical form.
    pub fn digest(&self) -> Digest {
        let fields = Self::FIELDS.iter().map(|field| self.get(*field).as_bytes());
        let parts = std::iter::once(&b"category"[..]).chain(fields);
        Digest::of_parts(&parts.collect::<Vec<_>>())
    }
}
