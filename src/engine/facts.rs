//! What the guards have to know besides the plan: counted here, judged in `reconcile::guard`.

use super::Engine;
use super::observe::Sight;
use super::restore::unfinished;
use super::settings::Request;
use super::waiting::{self, Held};
use crate::drill::defect::{self, Defect};
use crate::mirror::disk::Disk;
use crate::model::{ArticleId, Digest, Side, Timestamp};
use crate::reconcile::guard::{Elsewhere, FOR_A_PERSON, Facts, is_unasked};
use crate::reconcile::plan::{Action, HoldRule, Plan, Step};
use crate::reconcile::snapshot::Direction;
use crate::service::Service;
use crate::state::Parked;
use std::collections::{BTreeMap, BTreeSet};

/// How long a refusal or a count of deletions holds, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// Deletions within so many milliseconds are one deed.
const CLOSELY: i64 = 60 * 1000;

/// The reason of a hold: a commit removed files whose newest text is in no commit.
const REMOVED_UNSEEN: &str = "git removed these files, and their newest text is in no commit: the person who removed them \
     may not have seen that text. `kbsync restore FOLDER` brings the files back, `kbsync approve` deletes the articles";

impl<S: Service, D: Disk> Engine<S, D> {
    /// Gathers the facts for a plan.
    pub(super) fn facts(
        &self,
        plan: &Plan,
        sight: &Sight,
        request: &Request,
    ) -> anyhow::Result<Facts> {
        let now = self.clock.now();
        let since = now.before(DAY);
        // Of a plan that does nothing there is nothing to hold, and of one that deletes nothing no deletion.
        let held = if plan.actions.is_empty() {
            Vec::new()
        } else {
            waiting::held(&self.store)?
        };
        let deletes = |side| {
            let mut actions = plan.actions.iter();
            actions.any(|action| action.deletes() == Some(side))
        };
        let lately = |side| -> anyhow::Result<usize> {
            if !deletes(side) {
                return Ok(0);
            }
            Ok(usize::try_from(self.store.deletions_since(since, side)?).unwrap_or(usize::MAX))
        };
        let closely = |side| -> anyhow::Result<usize> {
            if !deletes(side) {
                return Ok(0);
            }
            let Some(begin) = self.closely_since(side, &held, request) else {
                return Ok(0);
            };
            let count = self.store.deletions_since(begin, side)?;
            Ok(usize::try_from(count).unwrap_or(usize::MAX))
        };
        let (mut older_local, mut older_remote, mut duels) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for action in &plan.actions {
            let Step::Settle(settle) = &action.step else {
                continue;
            };
            let Some(row) = sight.base.articles.get(&settle.id) else {
                continue;
            };
            if let Some(had) = settle.had.as_ref().filter(|had| **had != row.local)
                && self
                    .store
                    .knew(settle.id, had.digest(), Side::Local)?
                    .is_some()
            {
                older_local.insert(settle.id);
            }
            if settle.seen.version != row.remote
                && self
                    .store
                    .knew(settle.id, settle.seen.version.digest(), Side::Remote)?
                    .is_some()
            {
                older_remote.insert(settle.id);
            }
            if settle.sends() && self.is_duel(settle.id)? {
                duels.insert(settle.id);
            }
        }
        let approved = self.approved(plan, now)?;
        let mut behind = self.behind(plan, sight, &held, request)?;
        behind.append(&mut self.duplicates_by_git(plan, sight));
        Ok(Facts {
            behind,
            articles: sight.base.articles.len(),
            max_deletes: self.settings.max_deletes,
            allow_deletes: request.allow_deletes || self.forgets_what_is_held(&held),
            deleted_remote: lately(Side::Remote)?,
            deleted_local: lately(Side::Local)?,
            closely_remote: closely(Side::Remote)?,
            closely_local: closely(Side::Local)?,
            doubt: sight
                .doubt
                .clone()
                .filter(|_| !defect::is(Defect::DoubtIgnored)),
            lately_older: self.lately_older(&older_local)?,
            older_local,
            older_remote,
            duels,
            refused: self
                .store
                .parked()?
                .into_iter()
                .filter(|(_, parked)| still_parked(parked, now))
                .map(|(key, parked)| (key, (parked.fingerprint, parked.reason)))
                .collect(),
            git: self.held_by_git(plan, sight, request),
            restoring: if deletes(Side::Remote) {
                unfinished::unfinished(&self.store)?
            } else {
                BTreeSet::new()
            },
            unconfirmed: sight.paired.unconfirmed(&sight.base),
            elsewhere: self.elsewhere(plan, request, &approved),
            standing: standing(&held),
            stock: self.stock(plan, sight, |side| self.closely_since(side, &held, request))?,
            new_categories: self.new_categories(plan, sight, request, &held)?,
            approved,
        })
    }

    /// Asks git about the articles that are to be deleted because their files are gone.
    fn held_by_git(
        &self,
        plan: &Plan,
        sight: &Sight,
        request: &Request,
    ) -> BTreeMap<ArticleId, String> {
        let removals: Vec<(&str, ArticleId)> = plan
            .actions
            .iter()
            .filter(|action| action.deletes() == Some(Side::Remote))
            .filter_map(|action| Some((action.path.as_str(), action.id?)))
            .collect();
        if removals.is_empty() {
            return BTreeMap::new();
        }
        // A reason for all removals leaves nothing to ask.
        if let Some(why) = &request.git_hold {
            return removals
                .into_iter()
                .map(|(_, id)| (id, why.clone()))
                .collect();
        }
        let gone = removals.iter().map(|(path, _)| (*path).to_owned());
        let mut held = self.git.held_removals(&gone.collect());
        for path in self.removed_unseen(&removals, sight) {
            let reason = || REMOVED_UNSEEN.to_owned();
            held.entry(path.to_owned()).or_insert_with(reason);
        }
        let removals = removals.into_iter();
        removals
            .filter_map(|(path, id)| Some((id, held.get(path)?.clone())))
            .collect()
    }

    /// Looks for the files of the articles that are to be deleted in other workspaces' folders; for none that a person
    /// has released.
    fn elsewhere(&self, plan: &Plan, request: &Request, approved: &BTreeSet<Digest>) -> Elsewhere {
        let unasked =
            |action: &&Action| is_unasked(action, Side::Remote, request.allow_deletes, approved);
        let actions = plan.actions.iter().filter(unasked);
        (self.neighbours)(&actions.filter_map(|action| action.id).collect())
    }

    /// Returns the approvals of the last day; none for an empty plan.
    fn approved(&self, plan: &Plan, now: Timestamp) -> anyhow::Result<BTreeSet<Digest>> {
        if plan.actions.is_empty() {
            return Ok(BTreeSet::new());
        }
        let approvals = self.store.approvals()?.into_iter();
        let is_fresh = |at| i64::try_from(now.millis_since(at)).is_ok_and(|age| age < DAY);
        Ok(approvals
            .filter(|approval| is_fresh(approval.at))
            .map(|approval| approval.set)
            .collect())
    }

    /// A planted defect: a new process forgets the held deletions. Always false in a release (failures row 43).
    fn forgets_what_is_held(&self, held: &[Held]) -> bool {
        defect::is(Defect::GuardForgotten)
            && self.memory.is_new()
            && held
                .iter()
                .any(|held| held.rule.is_some_and(HoldRule::holds_deletions))
    }

    /// Returns the start of the current series of deletions; `None`: the series has only this cycle. A daemon may see one
    /// removal in several cycles. A held deletion keeps the series open, for commands as well.
    fn closely_since(&self, side: Side, held: &[Held], request: &Request) -> Option<Timestamp> {
        let since = held
            .iter()
            .filter(|held| held.rule.is_some_and(HoldRule::holds_deletions) && held.side == side)
            .map(|held| held.since)
            .min();
        let now = self.clock.now();
        let begin = match since {
            Some(since) => since.min(now),
            None if request.patient => now,
            None => return None,
        };
        Some(begin.before(CLOSELY))
    }

    /// Removes a refusal when its action changed. After a complete cycle, removes the refusals without an action as well.
    pub(super) fn forget_refusals(
        &mut self,
        plan: &Plan,
        facts: &Facts,
        sight: &Sight,
        request: &Request,
    ) -> anyhow::Result<()> {
        let whole = request.direction == Direction::Both
            && request.scope.is_empty()
            && request.unsettled.is_empty()
            && sight.stop.is_none()
            && sight.doubt.is_none()
            && sight.remote.complete
            && sight.local.complete;
        let changed: Vec<String> = plan
            .actions
            .iter()
            .filter_map(|action| {
                let (refused, _) = facts.refused.get(&action.key())?;
                (*refused != action.fingerprint()).then(|| action.key())
            })
            .chain(facts.refused.keys().filter_map(|key| {
                let moot = whole && plan.actions.iter().all(|action| action.key() != *key);
                moot.then(|| key.clone())
            }))
            .collect();
        if changed.is_empty() {
            return Ok(());
        }
        let now = self.clock.now();
        self.store
            .write(now, |tx| changed.iter().try_for_each(|key| tx.unpark(key)))?;
        Ok(())
    }

    /// Two versions that alternate between the sides: A from here, B from there, A again, B again.
    fn is_duel(&self, id: ArticleId) -> anyhow::Result<bool> {
        let recent = self.store.recent_exchange(id)?;
        let [(s1, d1), (s2, d2), (s3, d3), (s4, d4)] = recent.as_slice() else {
            return Ok(false);
        };
        Ok(s1 != s2 && s1 == s3 && s2 == s4 && d1 == d3 && d2 == d4 && d1 != d2)
    }
}

/// Returns the held actions whose hold does not end when the number falls.
fn standing(held: &[Held]) -> BTreeSet<(HoldRule, Side, ArticleId)> {
    let counted = |rule| {
        matches!(
            rule,
            HoldRule::MassDeletion
                | HoldRule::MassRollback
                | HoldRule::Elsewhere
                | HoldRule::ForeignState
        )
    };
    held.iter()
        .filter_map(|held| Some((held.rule?, held.side, held.id?)))
        .filter(|(rule, ..)| counted(*rule))
        .collect()
}

/// A refusal expires after a day. An article that exists and cannot be read waits for a person: its address may have
/// changed, and a second POST would make a duplicate.
fn still_parked(parked: &Parked, now: Timestamp) -> bool {
    parked.reason.starts_with(FOR_A_PERSON)
        || i64::try_from(now.millis_since(parked.at)).is_ok_and(|age| age < DAY)
}
