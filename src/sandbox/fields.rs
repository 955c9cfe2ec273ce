//! The input rules: the fields of a write, with their types and lengths.
//!
//! All faults of a request are reported at once. Unknown fields are ignored.

use super::{options::Options, reply::Refusal};
use serde_json::{Map, Value};
use uuid::Uuid;

/// The longest title, slug, introtext, keywords and name, in characters (A8.2).
const MAX: usize = 255;

/// A field that may be null.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Nullable {
    /// The field is absent.
    #[default]
    Absent,
    /// The field is null.
    Null,
    /// The field has a value.
    Value(String),
}

impl Nullable {
    /// Replaces `old` by the field's value.
    pub(super) fn put(self, old: &mut Option<String>) {
        match self {
            Self::Absent => {}
            Self::Null => *old = None,
            Self::Value(text) => *old = Some(text),
        }
    }
}

/// The body of POST or PUT /api/article. `draft` counts only in a POST.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ArticleFields {
    pub(super) category_id: Option<Uuid>,
    pub(super) title: Option<String>,
    pub(super) slug: Option<String>,
    pub(super) text: Option<String>,
    pub(super) enabled: Option<bool>,
    pub(super) draft: Option<bool>,
    pub(super) introtext: Nullable,
    pub(super) keywords: Nullable,
}

/// The body of POST or PUT /api/category. `base_id` counts only in a POST.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct CategoryFields {
    pub(super) base_id: Option<Uuid>,
    pub(super) name: Option<String>,
    pub(super) slug: Option<String>,
    pub(super) description: Nullable,
    pub(super) meta_description: Nullable,
}

/// Parses the body of a write as a JSON object.
pub(super) fn object(
    content_type: Option<&str>,
    body: &[u8],
) -> Result<Map<String, Value>, Refusal> {
    let kind = content_type.and_then(|kind| kind.split(';').next());
    if !kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        return Err(Refusal::Malformed(
            "The Content-Type must be application/json.".to_owned(),
        ));
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Refusal::Malformed(
            "The body must be a JSON object.".to_owned(),
        )),
        Err(error) => Err(Refusal::Malformed(format!(
            "The body is not valid JSON: {error}."
        ))),
    }
}

/// Parses the fields of an article; a new article needs a category and a title.
pub(super) fn article(
    options: &Options,
    fields: Map<String, Value>,
    new: bool,
) -> Result<ArticleFields, Refusal> {
    let mut reader = Reader::new(options, fields);
    let read = ArticleFields {
        category_id: reader.uuid("category_id"),
        title: reader.text("title", Some(MAX)),
        slug: reader.slug(new),
        text: reader.body("text"),
        enabled: reader.boolean("enabled"),
        draft: if new { reader.boolean("draft") } else { None },
        introtext: reader.nullable("introtext", Some(MAX)),
        keywords: reader.nullable("keywords", Some(MAX)),
    };
    if new {
        reader.required("category_id", read.category_id.is_some());
        reader.required("title", read.title.is_some());
    }
    reader.end(read)
}

/// Parses the fields of a category; a new category needs a workspace and a name.
pub(super) fn category(
    options: &Options,
    fields: Map<String, Value>,
    new: bool,
) -> Result<CategoryFields, Refusal> {
    let mut reader = Reader::new(options, fields);
    let read = CategoryFields {
        base_id: if new { reader.uuid("base_id") } else { None },
        name: reader.text("name", Some(MAX)),
        slug: reader.slug(new),
        description: reader.nullable("description", None),
        meta_description: reader.nullable("meta_description", None),
    };
    if new {
        reader.required("base_id", read.base_id.is_some());
        reader.required("name", read.name.is_some());
    }
    reader.end(read)
}

/// Reads the fields of a request, and records their faults.
struct Reader<'a> {
    options: &'a Options,
    fields: Map<String, Value>,
    wrong: Vec<(&'static str, String)>,
}

impl<'a> Reader<'a> {
    fn new(options: &'a Options, fields: Map<String, Value>) -> Self {
        Self {
            options,
            fields,
            wrong: Vec::new(),
        }
    }

    fn end<T>(self, read: T) -> Result<T, Refusal> {
        if self.wrong.is_empty() {
            Ok(read)
        } else {
            Err(Refusal::Invalid(self.wrong))
        }
    }

    fn fault(&mut self, name: &'static str, what: &str) {
        self.wrong
            .push((name, format!("The {} {what}.", name.replace('_', " "))));
    }

    /// Reports a missing field, unless the field has another fault already.
    fn required(&mut self, name: &'static str, there: bool) {
        if !there && self.wrong.iter().all(|(field, _)| *field != name) {
            self.fault(name, "field is required");
        }
    }

    fn nullable(&mut self, name: &'static str, max: Option<usize>) -> Nullable {
        match self.fields.remove(name) {
            None => Nullable::Absent,
            Some(Value::Null) => Nullable::Null,
            Some(Value::String(text)) => {
                if max.is_some_and(|max| text.chars().count() > max) {
                    self.fault(name, "must not be greater than 255 characters");
                }
                Nullable::Value(text)
            }
            Some(_) => {
                self.fault(name, "must be a string");
                Nullable::Absent
            }
        }
    }

    /// Reads a string that may be neither null nor empty.
    fn text(&mut self, name: &'static str, max: Option<usize>) -> Option<String> {
        match self.nullable(name, max) {
            Nullable::Absent => None,
            Nullable::Value(text) if !text.is_empty() => Some(text),
            Nullable::Null | Nullable::Value(_) => {
                self.fault(name, "field is required");
                None
            }
        }
    }

    /// Reads a string that may be empty.
    fn body(&mut self, name: &'static str) -> Option<String> {
        if let Value::String(text) = self.fields.remove(name)? {
            return Some(text);
        }
        self.fault(name, "must be a string");
        None
    }

    /// Reads a slug; for a new object, an empty or null slug asks for a generated slug.
    fn slug(&mut self, new: bool) -> Option<String> {
        let is_empty = |slug: &Value| slug.is_null() || slug.as_str() == Some("");
        if new && self.fields.get("slug").is_some_and(is_empty) {
            self.fields.remove("slug");
        }
        let slug = self.text("slug", Some(MAX))?;
        let friendly = |c: char| c.is_alphanumeric() || "-_.~".contains(c);
        if self.options.strict_slugs && !slug.chars().all(friendly) {
            self.fault("slug", "must be URL-friendly");
        }
        Some(slug)
    }

    fn boolean(&mut self, name: &'static str) -> Option<bool> {
        let value = self.fields.remove(name)?.as_bool();
        if value.is_none() {
            self.fault(name, "field must be true or false");
        }
        value
    }

    fn uuid(&mut self, name: &'static str) -> Option<Uuid> {
        let value = self.fields.remove(name)?;
        let id = value.as_str().and_then(parse_uuid);
        if id.is_none() {
            self.fault(name, "must be a valid UUID");
        }
        id
    }
}

/// Parses a UUID in the hyphenated form only, which the service writes.
pub(super) fn parse_uuid(text: &str) -> Option<Uuid> {
    if text.len() != 36 {
        return None;
    }
    Uuid::try_parse(text).ok()
}

/// Makes a slug of a title: lower case, ASCII, hyphens.
pub(super) fn slug_from(title: &str) -> String {
    let plain = deunicode::deunicode(title).to_lowercase();
    let words: Vec<&str> = plain
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() {
        return "untitled".to_owned();
    }
    words.join("-").chars().take(MAX).collect()
}
