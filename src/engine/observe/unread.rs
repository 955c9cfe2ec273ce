//! Categories that could not be read: polls ask for them ever more rarely, down to once a day.
//!
//! What was said of them is remembered and reported meanwhile. Whoever runs a command asks at once, and
//! what can be read again is forgotten here.

use super::categories::folder_of;
use super::{Sight, questions};
use crate::engine::Engine;
use crate::engine::settings::Request;
use crate::mirror::disk::Disk;
use crate::model::{CategoryId, Timestamp};
use crate::reconcile::plan::Problem;
use crate::reconcile::snapshot::Base;
use crate::service::Service;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The key in the state.
const UNREAD: &str = "unread_categories";

/// The categories that could not be read when they were last asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Unread(BTreeMap<CategoryId, Attempt>);

/// Times are milliseconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Attempt {
    /// When it failed first.
    since: i64,
    /// When it was last tried.
    at: i64,
    why: String,
    foreign: bool,
}

impl Attempt {
    /// It rests for as long as it has been failing, at most a day: a hiccup costs no time.
    fn rests(&self, now: Timestamp) -> bool {
        let failing = Timestamp(self.at).millis_since(Timestamp(self.since));
        self.at <= now.0 && now.millis_since(Timestamp(self.at)) < failing.min(questions::ASK_AGAIN)
    }
}

impl Unread {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn knows(&self, id: CategoryId) -> bool {
        self.0.contains_key(&id)
    }

    pub(super) fn forget(&mut self, id: CategoryId) {
        self.0.remove(&id);
    }

    pub(super) fn note(&mut self, id: CategoryId, why: String, foreign: bool, now: Timestamp) {
        let since = self.0.get(&id).map_or(now.0, |before| before.since);
        let attempt = Attempt {
            since,
            at: now.0,
            why,
            foreign,
        };
        self.0.insert(id, attempt);
    }
}

impl<S: Service, D: Disk> Engine<S, D> {
    /// Takes out what need not be asked for yet, and reports what was said of it.
    pub(super) fn pass_over(
        &self,
        unread: &Unread,
        wanted: &mut BTreeSet<CategoryId>,
        now: Timestamp,
        base: &Base,
        sight: &mut Sight,
    ) {
        for (&id, attempt) in unread.0.iter().filter(|(_, attempt)| attempt.rests(now)) {
            if !wanted.remove(&id) {
                continue;
            }
            let message = attempt.why.clone();
            if attempt.foreign {
                sight.remote.foreign.insert(id);
                self.tell_foreign(id, message, base, sight);
                continue;
            }
            sight.problems.push(Problem {
                path: folder_of(base, &sight.local, id),
                id: None,
                message,
            });
        }
    }

    pub(super) fn unread(&self) -> anyhow::Result<Unread> {
        let stored = self.store.meta(UNREAD)?;
        Ok(stored
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default())
    }

    /// Stores what changed. What nobody has asked for in days is not wanted any more.
    pub(super) fn keep_unread(
        &mut self,
        mut unread: Unread,
        request: &Request,
    ) -> anyhow::Result<()> {
        if request.dry_run || unread == self.unread()? {
            return Ok(());
        }
        let now = self.clock.now();
        let fresh = |at: i64| now.millis_since(Timestamp(at)) < 3 * questions::ASK_AGAIN;
        unread.0.retain(|_, attempt| fresh(attempt.at));
        if unread.0.is_empty() {
            self.store.write(now, |tx| tx.remove_meta(UNREAD))?;
            return Ok(());
        }
        let text = serde_json::to_string(&unread)?;
        self.store.write(now, |tx| tx.set_meta(UNREAD, &text))?;
        Ok(())
    }
}
