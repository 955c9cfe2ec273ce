//! What nobody can know: a PUT of ours got no answer, no probe is answered, and the listing as well as the article's own
//! answer are from before it. It is made again, over what a colleague wrote since (`docs/guide/limits.md`).

use super::step::Probing;
use super::token::Tokens;
use super::world::World;
use kbsync::model::ArticleId;
use std::collections::{BTreeMap, BTreeSet};

/// What old answers hide.
#[derive(Clone, Default, Debug)]
pub(crate) struct Hidden {
    /// Articles that nothing true was told of since a PUT to them got no answer.
    unanswered: BTreeSet<ArticleId>,
    /// Whether the listing of this cycle was an old one.
    listed_late: bool,
    /// Of articles whose own answer in this cycle was an old one, too, the words that it did not show.
    words: BTreeMap<ArticleId, Tokens>,
}

impl Hidden {
    /// A new cycle begins.
    pub(crate) fn begin(&mut self) {
        self.listed_late = false;
        self.words.clear();
    }

    /// A PUT got its answer, or none.
    pub(crate) fn put(&mut self, id: ArticleId, answered: bool) {
        if answered {
            self.unanswered.remove(&id);
            self.words.remove(&id);
        } else {
            self.unanswered.insert(id);
        }
    }

    /// A listing showed articles, as they are or as they were.
    pub(crate) fn listed(&mut self, ids: &[ArticleId], late: bool) {
        self.listed_late = late;
        if !late {
            for id in ids {
                self.put(*id, true);
            }
        }
    }

    /// What may be written over in an article, since nobody can know of it.
    pub(crate) fn of(&self, id: ArticleId) -> Tokens {
        self.words.get(&id).copied().unwrap_or_default()
    }
}

impl World {
    /// An article was read by itself, as it is or as it was.
    pub(crate) fn read_by_itself(&mut self, id: ArticleId, late: bool) {
        if !late {
            self.ledger.hidden.put(id, true);
            return;
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
