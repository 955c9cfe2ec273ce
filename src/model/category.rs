//! A category's texts on one side.

use super::{Digest, article::Field};
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

impl CategoryVersion {
    /// The fields of a category, in the order in which they are written.
    pub const FIELDS: [Field; 4] = [
        Field::Name,
        Field::Slug,
        Field::Description,
        Field::MetaDescription,
    ];

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

    /// Takes over one field from another version.
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

    /// Returns the fields in which two versions differ.
    pub fn differing(&self, other: &Self) -> Vec<Field> {
        Self::FIELDS
            .into_iter()
            .filter(|&field| self.get(field) != other.get(field))
            .collect()
    }

    /// Returns the digest of the canonical form.
    pub fn digest(&self) -> Digest {
        let parts = Self::FIELDS.map(|field| self.get(field).as_bytes());
        Digest::of_parts(&[b"category", parts[0], parts[1], parts[2], parts[3]])
    }
}
