//! Back-off: when the service may be asked again. One rule for hidden articles, ids that only a file names, unreadable
//! categories, and pending requests.
//!
//! - An answer is valid for a day, also the answer that an article cannot be read. Unreadable categories and pending
//!   requests are asked about again after two minutes, then four, and so on up to a day.
//! - A background cycle uses the last answer. Any other cycle asks at once, except about a hidden article whose file
//!   is unchanged: that is asked about once a day.
//! - A stored answer decides no write: the article is read before it is replaced (`ServiceFacts::read_first`).
//! - An answer about an article or a category is stored at the end of its cycle. After a cycle that broke off, the next
//!   one asks again.

use crate::engine::Engine;
use crate::engine::observation::{Extent, Observation};
use crate::engine::open_actions;
use crate::engine::settings::{Cause, CycleRequest};
use crate::model::base::{ArticleRow, Visibility};
use crate::model::{ArticleId, CategoryId, Digest, Timestamp};
use crate::reconcile::snapshot::{Base, LocalFile, Remote, Seen};
use crate::service::ServiceError;
use crate::state::store::Store;
use crate::state::{Attempt, Target};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The state's key for the time of the service's last refusal of a probe.
const PROBE_REFUSED: &str = "probe_refused";

/// The time for which an answer is valid, in milliseconds.
pub(super) const ASK_AGAIN: i64 = Timestamp::DAY;

/// The wait after the first failure, in milliseconds; it doubles with every further one.
const FIRST_QUESTION_WAIT: i64 = 2 * 60 * 1000;

/// The reason for an article that is known to be missing from the listing.
pub(super) const NOT_LISTED: &str = "it is not listed";

/// The service's answer to a question.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredAnswer {
    /// The version in the base.
    AsRecorded,
    /// An article that was asked for, and the content of its file: a new save of the file is a reason to ask again.
    Article {
        remote: Remote,
        file: Option<Digest>,
    },
    /// The listing showed a superseded version of the article.
    #[serde(rename = "old_copy")]
    StaleRead,
    /// The reason that a category cannot be read; `foreign`: it is another workspace's.
    Category { why: String, foreign: bool },
}

/// The answers of one cycle.
#[derive(Default)]
pub(super) struct Answers {
    /// `None`: the service is asked again in the next cycle.
    by_target: BTreeMap<Target, Option<StoredAnswer>>,
    /// Whether a probe was refused in this cycle.
    probe_refused: bool,
}

impl Answers {
    /// Notes an answer for the end of the cycle; `None`: the next cycle asks again.
    pub(super) fn note(&mut self, target: Target, answer: impl Into<Option<StoredAnswer>>) {
        self.by_target.insert(target, answer.into());
    }

    /// Returns whether an answer about a target was noted in this cycle.
    pub(super) fn has(&self, target: Target) -> bool {
        self.by_target.contains_key(&target)
    }

    /// Notes that the next cycle asks for an article again.
    pub(super) fn ask_again(&mut self, id: ArticleId) {
        self.note(Target::Article(id), None);
    }

    /// Notes that the base has the service's latest answer about an article.
    pub(super) fn note_as_recorded(&mut self, id: ArticleId) {
        self.note(Target::Article(id), StoredAnswer::AsRecorded);
    }

    /// Ends probing in this workspace for a day after a refusal, with a warning in the log.
    pub(super) fn stop_probing(
        &mut self,
        store: &mut Store,
        error: &ServiceError,
    ) -> anyhow::Result<()> {
        self.probe_refused = true;
        tracing::warn!(%error, "the service refuses probes; for a day, articles that leave the listing wait for a person");
        let now = store.now();
        store.write_unless_dry_run(|tx| tx.put_value(PROBE_REFUSED, Some(&now)))?;
        Ok(())
    }
}

/// Returns whether probes are allowed, by the settings and the service.
pub(super) fn may_probe<S, D>(engine: &Engine<S, D>) -> anyhow::Result<bool> {
    let refused: Option<Timestamp> = engine.store.value(PROBE_REFUSED)?;
    let now = engine.store.now();
    let is_recent = refused.is_some_and(|at| at.is_recent(now, ASK_AGAIN));
    Ok(engine.settings.probe && !engine.gathered.answers.probe_refused && !is_recent)
}

/// The stored attempts at the start of a cycle.
pub(super) struct Backoff {
    attempts: BTreeMap<Target, Attempt>,
    now: Timestamp,
    is_background: bool,
    /// Articles whose action is held.
    held: BTreeSet<ArticleId>,
}

impl Backoff {
    /// Reads the attempts.
    pub(super) fn read(store: &Store, request: &CycleRequest) -> anyhow::Result<Self> {
        Ok(Self {
            attempts: store.backoff()?,
            now: store.now(),
            is_background: request.cause == Cause::Background,
            held: open_actions::held_articles(store)?,
        })
    }

    /// Returns whether the back-off for a target still runs. If the clock went back, it does not. After a stale read
    /// there is none.
    pub(super) fn is_backing_off(&self, target: Target) -> bool {
        let attempt = self.attempts.get(&target);
        let attempt = attempt.filter(|_| !self.had_stale_read(target));
        attempt.is_some_and(|attempt| {
            let wait = match attempt.failures {
                0 => ASK_AGAIN,
                failures => ASK_AGAIN.min(FIRST_QUESTION_WAIT << (failures - 1).min(16)),
            };
            attempt.last_asked.is_recent(self.now, wait)
        })
    }

    /// Returns the number of consecutive failures.
    pub(super) fn failures(&self, target: Target) -> u32 {
        let attempt = self.attempts.get(&target);
        attempt.map_or(0, |attempt| attempt.failures)
    }

    /// Returns whether a cycle has nothing to ask: every attempt is about a known article whose back-off runs.
    pub(super) fn is_calm(&self, is_known: impl Fn(ArticleId) -> bool) -> bool {
        self.attempts.keys().all(|target| match target {
            Target::Article(id) => is_known(*id) && self.is_backing_off(*target),
            Target::Category(_) | Target::Request(_) => false,
        })
    }

    /// The stored answer; `None`: ask.
    pub(super) fn answer(&self, target: Target) -> Option<StoredAnswer> {
        if !self.is_background || !self.is_backing_off(target) {
            return None;
        }
        let attempt = self.attempts.get(&target)?;
        match &attempt.answer {
            None => Some(StoredAnswer::AsRecorded),
            Some(answer) => serde_json::from_str(answer).ok(),
        }
    }

    /// The stored answer about an unlisted article that waits for a person; `None`: ask.
    pub(super) fn of_waiting(
        &self,
        row: &ArticleRow,
        base: &Base,
        file: Option<&LocalFile>,
    ) -> Option<Remote> {
        if !base.conflicts.contains_key(&row.id) && !self.held.contains(&row.id) {
            return None;
        }
        match (self.answer(Target::Article(row.id))?, row.visibility) {
            (StoredAnswer::Article { remote, file: then }, _) => {
                Some(remote).filter(|_| is_same_file(then, file))
            }
            (_, Visibility::Unpublished) => Some(Remote::Present(last_seen(row, base))),
            (_, Visibility::NotVisible) => Some(Remote::NotVisible(NOT_LISTED.to_owned())),
            (_, Visibility::Published | Visibility::Gone) => None,
        }
    }

    /// The stored answer about an id that only a file names; `None`: ask.
    pub(super) fn of_unknown_id(&self, id: ArticleId, file: Option<&LocalFile>) -> Option<Remote> {
        let StoredAnswer::Article { remote, file: then } = self.answer(Target::Article(id))? else {
            return None;
        };
        Some(remote).filter(|_| is_same_file(then, file))
    }

    /// Returns the observation of an article that was disabled and is listed, if a probe answered for this revision;
    /// `None`: ask.
    pub(super) fn of_listed(&self, id: ArticleId, seen: &Seen) -> Option<Seen> {
        let StoredAnswer::Article { remote, .. } = self.answer(Target::Article(id))? else {
            return None;
        };
        let answered = remote.present().cloned();
        answered.filter(|answered| answered.revision == seen.revision)
    }

    /// Returns whether the last listing was a stale read of an article.
    pub(super) fn had_stale_read(&self, article: Target) -> bool {
        let attempt = self.attempts.get(&article);
        let answer = attempt.and_then(|attempt| attempt.answer.as_deref());
        answer.and_then(|answer| serde_json::from_str(answer).ok()) == Some(StoredAnswer::StaleRead)
    }

    /// Returns the reason that a category could not be read, and whether the category is another workspace's; `None`:
    /// read it.
    pub(super) fn of_category(&self, id: CategoryId) -> Option<(String, bool)> {
        let StoredAnswer::Category { why, foreign } = self.answer(Target::Category(id))? else {
            return None;
        };
        Some((why, foreign))
    }
}

fn is_same_file(then: Option<Digest>, file: Option<&LocalFile>) -> bool {
    then.is_none_or(|then| file.is_some_and(|file| file.version.digest() == then))
}

/// A hidden article as last seen: in a standing conflict, or else in the base.
pub(super) fn last_seen(row: &ArticleRow, base: &Base) -> Seen {
    let shown = base.conflicts.get(&row.id);
    let shown = shown.and_then(|shown| Some((shown.remote.clone()?, shown.revision.clone())));
    match shown {
        Some((version, revision)) => Seen {
            version,
            revision,
            flags: row.remote_flags,
            visibility: Visibility::Unpublished,
        },
        None => Seen::recorded(row),
    }
}

/// Returns the attempts to store at the end of a cycle: one for each answer, and `None` for targets that are listed, or
/// gone from both sides.
pub(super) fn attempts_after(
    store: &Store,
    answers: &mut Answers,
    observed: &Observation,
) -> anyhow::Result<BTreeMap<Target, Option<Attempt>>> {
    let before = Backoff::read(store, &observed.request)?;
    let mut answers = std::mem::take(&mut answers.by_target);
    for (id, entry) in &observed.remote.articles {
        let target = Target::Article(*id);
        let is_asked = before.attempts.contains_key(&target);
        if let Some(answer) = answers.get_mut(&target) {
            // The entry may say more than the answer, for example that the category cannot be read.
            if let Some(StoredAnswer::Article { remote, .. }) = answer {
                remote.clone_from(entry);
            }
        } else if let Remote::Present(seen) = entry {
            let is_published = seen.visibility == Visibility::Published;
            if is_published == is_asked {
                answers.insert(target, (!is_published).then_some(StoredAnswer::AsRecorded));
            }
        }
    }
    for (target, attempt) in &before.attempts {
        if observed.extent != Extent::Paths && before.had_stale_read(*target) {
            // The listing has the present version by now, or the article left it.
            answers.entry(*target).or_default();
        }
        let is_there = match target {
            Target::Article(id) => {
                observed.extent != Extent::All
                    || observed.row(*id).is_some()
                    || observed.paired.files.contains_key(id)
            }
            // This attempt ends with its request.
            Target::Request(_) => true,
            // Nothing has asked for this category in days.
            Target::Category(_) => attempt.last_asked.is_recent(before.now, 3 * ASK_AGAIN),
        };
        if !is_there {
            answers.insert(*target, None);
        }
    }
    let mut after = BTreeMap::new();
    for (target, answer) in answers {
        let known = before.attempts.get(&target);
        let answer = answer.filter(|answer| is_kept(target, answer, observed));
        let attempt = answer.map(|answer| attempt(target, &answer, observed, &before));
        let attempt = attempt.transpose()?;
        if attempt.is_some() || known.is_some() {
            after.insert(target, attempt);
        }
    }
    Ok(after)
}

/// Returns whether an answer says more than the base and the next listing.
fn is_kept(target: Target, answer: &StoredAnswer, observed: &Observation) -> bool {
    if let StoredAnswer::Article { remote, .. } = answer
        && *remote == Remote::Gone
    {
        return false;
    }
    let Target::Article(id) = target else {
        return true;
    };
    let row = observed.row(id);
    let is_published = row.is_none_or(|row| row.visibility == Visibility::Published);
    *answer != StoredAnswer::AsRecorded || !is_published
}

fn attempt(
    target: Target,
    answer: &StoredAnswer,
    observed: &Observation,
    before: &Backoff,
) -> serde_json::Result<Attempt> {
    let is_recorded = match (target, answer) {
        (Target::Article(id), StoredAnswer::Article { remote, .. }) => {
            let row = observed.row(id);
            row.is_some_and(|row| Remote::Present(Seen::recorded(row)) == *remote)
        }
        _ => *answer == StoredAnswer::AsRecorded,
    };
    let failures = match (target, answer) {
        (Target::Category(_), StoredAnswer::Category { .. }) => {
            let known = before.attempts.get(&target);
            known.map_or(1, |known| known.failures.saturating_add(1))
        }
        _ => 0,
    };
    Ok(Attempt {
        last_asked: before.now,
        failures,
        answer: if is_recorded {
            None
        } else {
            Some(serde_json::to_string(answer)?)
        },
    })
}
