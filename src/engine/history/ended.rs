//! The end of an article by the log: what readers saw of it then, and the id under which it goes on. An article goes on
//! where it was deleted there and created anew, or was brought back from the history.

use crate::model::{ArticleId, Flags};
use crate::state::store::{Store, Writing};
use crate::state::{Event, Outcome};
use std::collections::BTreeSet;

const DISABLED: &str = "enabled: false";
const DRAFT: &str = "draft: true";

/// The number of lines of the log that are looked through.
const LOOK_BACK: usize = 100;

/// The actions that end an article.
pub(super) const ENDS: [&str; 2] = ["delete", "forget"];

/// Returns the newest event of an article with one of these actions.
pub(super) fn last(store: &Store, id: ArticleId, actions: &[&str]) -> Outcome<Option<Event>> {
    let mut events = store.events_of(id, LOOK_BACK)?.into_iter();
    Ok(events.find(|event| actions.contains(&event.deed.action.as_str())))
}

/// Returns the note in the log that readers did not see a deleted article; empty when they did.
pub(in crate::engine) fn noted(flags: Flags) -> String {
    let disabled = (flags.enabled == Some(false)).then_some(DISABLED);
    let draft = (flags.draft == Some(true)).then_some(DRAFT);
    let words: Vec<&str> = disabled.into_iter().chain(draft).collect();
    words.join(", ")
}

/// Returns the flags of an article's file by the base, or those of its end by the log.
pub(in crate::engine) fn flags(store: &Store, id: ArticleId) -> Outcome<Flags> {
    if let Some(row) = store.article(id)? {
        return Ok(row.file_flags);
    }
    let last = last(store, id, &ENDS)?;
    let detail = last.map_or_else(String::new, |event| event.deed.detail);
    Ok(Flags {
        enabled: detail.contains(DISABLED).then_some(false),
        draft: detail.contains(DRAFT).then_some(true),
    })
}

/// Remembers that an article was created anew: its versions are the new one's.
pub(in crate::engine) fn note_recreated(
    tx: &mut Writing<'_>,
    old: ArticleId,
    new: ArticleId,
) -> Outcome<()> {
    tx.set_meta(&key(old), &new.to_string())
}

/// The id under which an article has its versions by now, if that is another one.
///
/// # Errors
///
/// When the state cannot be read.
pub fn goes_on_as(store: &Store, id: ArticleId) -> Outcome<Option<ArticleId>> {
    let mut met = BTreeSet::from([id]);
    let mut last = id;
    while let Some(next) = store.meta(&key(last))?.and_then(|next| next.parse().ok())
        && met.insert(next)
    {
        last = next;
    }
    Ok((last != id).then_some(last))
}

/// Returns whether a deleted article was brought back as a new one since.
///
/// # Errors
///
/// When the state cannot be read.
pub fn came_back(store: &Store, id: ArticleId) -> Outcome<bool> {
    let last = last(store, id, &["delete", "forget", "restore"])?;
    Ok(last.is_some_and(|event| event.deed.action == "restore"))
}

fn key(old: ArticleId) -> String {
    format!("anew:{old}")
}
