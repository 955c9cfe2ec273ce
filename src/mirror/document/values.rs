//! Reads the values of kbsync's keys, and recognises misspelt keys.

use super::{
    KEYS,
    block::{Block, Entry, Style, Value},
    frame::NotReady,
};
use crate::model::{
    Field,
    article::{MAX_CHARS, over_limit},
};

/// Returns the key of kbsync, among `keys`, that another key was probably meant to be.
pub(super) fn near_key(key: &str, keys: &[&'static str]) -> Option<&'static str> {
    let typed = key.to_lowercase();
    // Short words are similar by chance.
    let slips = if typed.len() < 6 { 1 } else { 2 };
    let near = keys.iter().filter(|known| known.len() > 3);
    let near = near.map(|&known| (strsim::damerau_levenshtein(&typed, known), known));
    let nearest = near.min().filter(|(distance, _)| *distance <= slips);
    nearest.map(|(_, known)| known)
}

/// Returns the fault of a key that was probably meant to be this one.
pub(super) fn misspelt(
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

pub(super) fn title_of(block: &Block) -> Result<String, NotReady> {
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
pub(super) fn text_of<'b>(block: &'b Block, key: &str) -> Result<Option<&'b str>, NotReady> {
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

pub(super) fn id_of(block: &Block) -> Result<Option<uuid::Uuid>, NotReady> {
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

pub(super) fn flag_of(block: &Block, field: Field) -> Result<Option<bool>, NotReady> {
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

pub(super) fn check_lengths<'t>(
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
pub(super) fn at(entry: &Entry, message: &str, remedy: &str) -> NotReady {
    NotReady::at(entry.lines.start + 1, message, remedy)
}
