//! What was asked for lately and need not be asked for again while nobody waits: articles whose action is
//! held, conflicts that stand, and ids in files of which nothing could be learned.
//!
//! Of such an article the cycle goes on with what is known. That decides nothing that was not decided before:
//! whoever acts on it all the same reads it first ([`Sight::recalled`](super::Sight)). After a day, and
//! whenever a person runs a command, it is asked for anew.

use super::Sight;
use super::questions::ASK_AGAIN;
use super::remote::as_recorded;
use crate::engine::settings::Request;
use crate::engine::{Engine, waiting};
use crate::mirror::disk::Disk;
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{ArticleId, Flags, Revision, Timestamp};
use crate::reconcile::snapshot::{Base, LocalFile, Remote, Seen};
use crate::service::Service;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The key in the state.
const STRANGERS: &str = "strangers";

/// What is known without asking.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Lately {
    /// Whether somebody waits for the answer: then nothing is too late to be asked.
    patient: bool,
    held: BTreeSet<ArticleId>,
    strangers: Strangers,
    probed: Probed,
    hidden: Hidden,
}

/// What probes said of articles that are listed although we knew them for disabled. It lives as long as its engine, and
/// is never stored.
#[derive(Clone, PartialEq, Debug, Default)]
pub(in crate::engine) struct Probed(BTreeMap<ArticleId, Answered>);

/// What a probe said of who sees an article, and the revision that it was listed under.
#[derive(Clone, PartialEq, Debug)]
struct Answered {
    listed: Revision,
    flags: Flags,
    visibility: Visibility,
}

impl Probed {
    /// Remembers what became known of an article that is listed under a revision.
    pub(super) fn note(&mut self, id: ArticleId, listed: &Revision, answer: &Seen) {
        let answered = Answered {
            listed: listed.clone(),
            flags: answer.flags,
            visibility: answer.visibility,
        };
        self.0.insert(id, answered);
    }
}

/// What hidden articles were found to say, each with its file as it was then. It lives as long as its engine, and is
/// never stored.
#[derive(Clone, PartialEq, Debug, Default)]
pub(in crate::engine) struct Hidden(BTreeMap<ArticleId, Found>);

/// What a hidden article said, and its file.
#[derive(Clone, PartialEq, Debug)]
struct Found {
    at: Timestamp,
    file: Option<LocalFile>,
    seen: Seen,
}

impl Hidden {
    /// Remembers an answer, if it is that of a hidden article. Answers of more than a day ago are forgotten.
    pub(super) fn note(
        &mut self,
        id: ArticleId,
        file: Option<&LocalFile>,
        answer: &Remote,
        at: Timestamp,
    ) {
        self.0.retain(|_, found| rests(found.at, at));
        self.0.remove(&id);
        if let Remote::Present(seen) = answer
            && seen.flags.hides()
        {
            let (file, seen) = (file.cloned(), seen.clone());
            self.0.insert(id, Found { at, file, seen });
        }
    }
}

/// Ids of which only files tell, and of which nothing could be learned.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Strangers(BTreeMap<ArticleId, Attempt>);

/// Times are milliseconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Attempt {
    at: i64,
    why: String,
    /// Whether it was asked for and not shown, and not somebody else's.
    hidden: bool,
}

/// Returns whether a moment is less than a day ago. A clock that went back counts as no rest.
fn rests(at: Timestamp, now: Timestamp) -> bool {
    at <= now && now.millis_since(at) < ASK_AGAIN
}

impl Lately {
    /// What is known of an absent article that would have to be asked for; `None`: ask.
    pub(super) fn of(&self, row: &ArticleRow, base: &Base, now: Timestamp) -> Option<Remote> {
        let rested = row.asked.is_some_and(|asked| rests(asked, now));
        if !self.patient || !rested {
            return None;
        }
        if base.conflicts.contains_key(&row.id) {
            return as_shown(row, base).map(Remote::Present);
        }
        if !self.held.contains(&row.id) {
            return None;
        }
        match row.visibility {
            Visibility::Unpublished => Some(Remote::Present(as_recorded(row))),
            Visibility::NotVisible => Some(Remote::NotVisible(NOT_LISTED.to_owned())),
            Visibility::Published | Visibility::Gone => None,
        }
    }

    /// What a hidden article was found to say since its file is as it is, if a conflict stands or its action is held;
    /// `None`: ask. The base does not have the answer where the article is new to it, or was published when the base
    /// was written.
    pub(super) fn of_hidden(
        &self,
        id: ArticleId,
        file: Option<&LocalFile>,
        base: &Base,
        now: Timestamp,
    ) -> Option<Remote> {
        let waits = base.conflicts.contains_key(&id) || self.held.contains(&id);
        let found = self.hidden.0.get(&id).filter(|_| self.patient && waits)?;
        let same = rests(found.at, now) && found.file.as_ref() == file;
        same.then(|| Remote::Present(found.seen.clone()))
    }

    /// What is known of an article that is listed although we know it for disabled, and that was probed under this very
    /// revision; `None`: ask.
    pub(super) fn of_listed(&self, row: &ArticleRow, seen: &Seen, now: Timestamp) -> Option<Seen> {
        let rested = row.asked.is_some_and(|asked| rests(asked, now));
        let answered = self.probed.0.get(&row.id);
        let answered = answered.filter(|_| self.patient && rested)?;
        (answered.listed == seen.revision).then(|| Seen {
            flags: answered.flags,
            visibility: answered.visibility,
            ..seen.clone()
        })
    }

    /// What was said of an id that only a file tells; `None`: ask.
    pub(super) fn of_stranger(&self, id: ArticleId, now: Timestamp) -> Option<Remote> {
        let attempt = self.strangers.0.get(&id).filter(|_| self.patient)?;
        if !rests(Timestamp(attempt.at), now) {
            return None;
        }
        let why = attempt.why.clone();
        Some(if attempt.hidden {
            Remote::NotVisible(why)
        } else {
            Remote::Unknown(why)
        })
    }
}

/// A hidden article as a standing conflict showed it, which is newer than what the base has.
fn as_shown(row: &ArticleRow, base: &Base) -> Option<Seen> {
    let shown = base.conflicts.get(&row.id)?;
    Some(Seen {
        version: shown.remote.clone()?,
        revision: shown.revision.clone(),
        flags: row.remote_flags,
        visibility: Visibility::Unpublished,
    })
}

/// A hidden article as it was last seen.
pub(super) fn last_seen(row: &ArticleRow, base: &Base) -> Seen {
    as_shown(row, base).unwrap_or_else(|| as_recorded(row))
}

/// What is said of an article that is known not to be in the listing.
pub(super) const NOT_LISTED: &str = "it is not listed";

impl<S: Service, D: Disk> Engine<S, D> {
    /// What is known without asking, in this cycle.
    pub(super) fn lately(&self, request: &Request) -> anyhow::Result<Lately> {
        if !request.patient {
            return Ok(Lately::default());
        }
        let held = waiting::held(&self.store)?;
        Ok(Lately {
            patient: true,
            held: held.iter().filter_map(|held| held.id).collect(),
            strangers: self.strangers()?,
            probed: self.probed.clone(),
            hidden: self.hidden.clone(),
        })
    }

    /// Returns whether no id is known of which only a file tells.
    pub(super) fn knows_no_stranger(&self) -> anyhow::Result<bool> {
        Ok(self.strangers()?.0.is_empty())
    }

    fn strangers(&self) -> anyhow::Result<Strangers> {
        let stored = self.store.meta(STRANGERS)?;
        Ok(stored
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default())
    }

    /// Remembers what came of asking for ids that only files tell. Those that no file tells any more, or that
    /// were met, are forgotten.
    pub(super) fn keep_strangers(
        &mut self,
        base: &Base,
        request: &Request,
        asked: &BTreeSet<ArticleId>,
        sight: &Sight,
    ) -> anyhow::Result<()> {
        if request.dry_run {
            return Ok(());
        }
        let before = self.strangers()?;
        let now = self.clock.now();
        let mut after = Strangers::default();
        let strangers = sight.paired.files.keys();
        for &id in strangers.filter(|id| !base.articles.contains_key(id)) {
            let (why, hidden) = match sight.remote.articles.get(&id) {
                Some(Remote::NotVisible(why)) => (why.clone(), true),
                Some(Remote::Unknown(why)) => (why.clone(), false),
                Some(Remote::Present(_) | Remote::Gone) => continue,
                // Out of scope, or the cycle ended early.
                None => {
                    after
                        .0
                        .extend(before.0.get(&id).map(|old| (id, old.clone())));
                    continue;
                }
            };
            let at = before
                .0
                .get(&id)
                .filter(|_| !asked.contains(&id))
                .map_or(now.0, |old| old.at);
            after.0.insert(id, Attempt { at, why, hidden });
        }
        if after == before {
            return Ok(());
        }
        if after.0.is_empty() {
            self.store.write(now, |tx| tx.remove_meta(STRANGERS))?;
            return Ok(());
        }
        let text = serde_json::to_string(&after)?;
        self.store.write(now, |tx| tx.set_meta(STRANGERS, &text))?;
        Ok(())
    }

    /// An article that was acted on by what was known of it turned out to be another: it is asked for in the
    /// next cycle.
    pub(in crate::engine) fn ask_next_time(&mut self, id: ArticleId) -> anyhow::Result<()> {
        self.hidden.0.remove(&id);
        let Some(row) = self.store.article(id)? else {
            return Ok(());
        };
        let now = self.clock.now();
        let row = ArticleRow { asked: None, ..row };
        self.store.write(now, |tx| tx.put_article(&row))?;
        Ok(())
    }
}
