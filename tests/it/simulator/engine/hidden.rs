//! Edits that kbsync cannot know: a PUT has a lost response, no probe is answered, and both the listing and the
//! article's own read are stale. The PUT is repeated, over a colleague's later edit (`docs/guide/limits.md`).

use super::step::Probing;
use super::token::Tokens;
use super::world::World;
use kbsync::model::ArticleId;
use std::collections::{BTreeMap, BTreeSet};

/// The words that stale reads hide.
#[derive(Clone, Default, Debug)]
pub(crate) struct Hidden {
    /// Articles without a fresh read since a PUT with a lost response.
    unanswered: BTreeSet<ArticleId>,
    /// Whether the listing of this cycle was stale.
    listed_late: bool,
    /// For articles whose own read in this cycle was stale, too: the words that it did not show.
    words: BTreeMap<ArticleId, Tokens>,
}

impl Hidden {
    /// Begins a new cycle.
    pub(crate) fn begin(&mut self) {
        self.listed_late = false;
        self.words.clear();
    }

    /// Records a PUT, with or without a response.
    pub(crate) fn put(&mut self, id: ArticleId, answered: bool) {
        if answered {
            self.unanswered.remove(&id);
            self.words.remove(&id);
        } else {
            self.unanswered.insert(id);
        }
    }

    /// Records the articles of a listing, fresh or stale (`late`).
    pub(crate) fn listed(&mut self, ids: &[ArticleId], late: bool) {
        self.listed_late = late;
        if !late {
            for id in ids {
                self.put(*id, true);
            }
        }
    }

    /// Returns the words of an article that may be overwritten, because kbsync cannot know them.
    pub(crate) fn of(&self, id: ArticleId) -> Tokens {
        self.words.get(&id).copied().unwrap_or_default()
    }
}

impl World {
    /// Records a read of a single article, fresh or stale (`late`).
    pub(crate) fn read_by_itself(&mut self, id: ArticleId, late: bool) {
        if !late {
            self.ledger.hidden.put(id, true);
            // In the cycle of the DELETE, a read without a probe settles nothing.
            let unanswered = &mut self.ledger.unanswered_deletes;
            unanswered.retain(|other, is_earlier| *other != id || !*is_earlier);
            return;
        }
        let is_found = self.kb.read(id, late).is_ok();
        let sent = self.ledger.unanswered_deletes.get(&id);
        if self.setup.probing != Probing::Allowed
            && !is_found
            && self.kb.articles.contains_key(&id)
            && sent == Some(&true)
        {
            self.ledger.believed_gone.insert(id);
        }
        let hidden = &self.ledger.hidden;
        if self.setup.probing == Probing::Allowed
            || !hidden.listed_late
            || !hidden.unanswered.contains(&id)
        {
            return;
        }
        let unseen = self.kb.outdated().find(|(other, _)| *other == id);
        if let Some((_, (words, _))) = unseen {
            self.ledger.hidden.words.insert(id, words);
        }
    }
}
