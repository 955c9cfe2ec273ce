//! A category's words, as both sides hold them.

use super::{Digest, article::Field};
use serde::{Deserialize, Serialize};

/// What a category says on one side (`docs/api.md`, A2.2). Unset optional texts are empty.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CategoryVersion {
    /// The name readers see, at most 255 characters.
    pub name: String,
    /// Unique within the workspace.
    pub slug: String,
    /// May be empty.
    pub description: String,
    /// For search engines; may be empty.
    pub meta_description: String,
}

impl CategoryVersion {
    /// The fields of a category, in the order in which they are written.
    pub const FIELDS: [Field; 4] = [
        Field::Name,
        Field::Slug,
        Field::Description,
        Field::MetaDescription,
    ];

    /// Gives one field's value; `""` for a field that categories do not have.
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

    /// Takes one field's value from another version.
    pub fn take(&mut self, field: Field, from: &Self) {
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

    /// Lists the fields in which two versions differ.
    pub fn differing(&self, other: &Self) -> Vec<Field> {
        Self::FIELDS
            .into_iter()
            .filter(|&field| self.get(field) != other.get(field))
            .collect()
    }

    /// Digests the canonical form.
    pub fn digest(&self) -> Digest {
        let parts = Self::FIELDS.map(|field| self.get(field).as_bytes());
        Digest::of_parts(&[b"category", parts[0], parts[1], parts[2], parts[3]])
    }
}
