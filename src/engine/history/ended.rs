//! The end of an article in the log: whether it was hidden then, and the id of the article that replaced it, if it was
//! recreated or restored.

use crate::model::{ArticleId, Flags, Timestamp};
use crate::state::store::{Store, Writing};
use crate::state::{Event, StateResult};
use std::collections::BTreeSet;

const DISABLED: &str = "enabled: false";
const DRAFT: &str = "draft: true";

/// The number of log lines to search.
const LOOK_BACK: usize = 100;

/// Returns whether an action ends an article.
fn is_end(action: &str) -> bool {
    ["delete", "forget"].contains(&action)
}

/// Returns the newest event of an article with an action that is wanted.
fn last_event(
    store: &Store,
    id: ArticleId,
    is_wanted: impl Fn(&str) -> bool,
) -> StateResult<Option<Event>> {
    let mut events = store.events_of(id, LOOK_BACK)?.into_iter();
    Ok(events.find(|event| is_wanted(&event.deed.action)))
}

/// Returns the time of an article's end, by the log.
pub(super) fn ended_at(store: &Store, id: ArticleId) -> StateResult<Option<Timestamp>> {
    Ok(last_event(store, id, is_end)?.map(|event| event.at))
}

/// Returns the log's note about a hidden article; empty for a visible one.
pub(in crate::engine) fn noted(flags: Flags) -> String {
    let disabled = (flags.enabled == Some(false)).then_some(DISABLED);
    let draft = (flags.draft == Some(true)).then_some(DRAFT);
    let words: Vec<&str> = disabled.into_iter().chain(draft).collect();
    words.join(", ")
}

/// Returns the flags of an article's file, by the base or else by the log of its end.
pub(in crate::engine) fn flags(store: &Store, id: ArticleId) -> StateResult<Flags> {
    if let Some(row) = store.article(id)? {
        return Ok(row.file_flags);
    }
    let last = last_event(store, id, is_end)?;
    let detail = last.map_or_else(String::new, |event| event.deed.detail);
    Ok(Flags {
        enabled: detail.contains(DISABLED).then_some(false),
        draft: detail.contains(DRAFT).then_some(true),
    })
}

/// Stores that an article was recreated: the new article takes over its versions.
pub(in crate::engine) fn note_recreated(
    tx: &mut Writing<'_>,
    old: ArticleId,
    new: ArticleId,
) -> StateResult<()> {
    tx.set_meta(&anew_key(old), &new.to_string())
}

/// Returns the id of the article that has an article's versions by now, if that is another one.
///
/// # Errors
///
/// When the state cannot be read.
pub fn goes_on_as(store: &Store, id: ArticleId) -> StateResult<Option<ArticleId>> {
    let mut met = BTreeSet::from([id]);
    let mut last = id;
    while let Some(next) = store
        .meta(&anew_key(last))?
        .and_then(|next| next.parse().ok())
        && met.insert(next)
    {
        last = next;
    }
    Ok((last != id).then_some(last))
}

/// Returns whether a deleted article was restored as a new one since.
///
/// # Errors
///
/// When the state cannot be read.
pub fn came_back(store: &Store, id: ArticleId) -> StateResult<bool> {
    let last = last_event(store, id, |action| is_end(action) || action == "restore")?;
    Ok(last.is_some_and(|event| event.deed.action == "restore"))
}

fn anew_key(old: ArticleId) -> String {
    format!("anew:{old}")
}
