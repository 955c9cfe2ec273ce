//! Articles that go on under another id: deleted there and created anew, or brought back from the history.

use crate::model::ArticleId;
use crate::state::Outcome;
use crate::state::store::{Store, Writing};
use std::collections::BTreeSet;

/// Remembers that an article was created anew: its versions are the new one's.
pub(super) fn note(tx: &mut Writing<'_>, old: ArticleId, new: ArticleId) -> Outcome<()> {
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
    let events = store.events_of(id, LOOK_BACK)?;
    let mut told = events.iter().map(|event| event.deed.action.as_str());
    let last = told.find(|action| ["delete", "forget", "restore"].contains(action));
    Ok(last == Some("restore"))
}

fn key(old: ArticleId) -> String {
    format!("anew:{old}")
}

/// How many lines of the log are looked through.
const LOOK_BACK: usize = 100;
