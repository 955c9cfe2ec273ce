//! Facts for the guards: the remaining articles, the fit of the state, and the treatment of new categories.
//!
//! A complete cycle binds the state to its mirror at its end. Until then each cycle holds the deletions of a state from
//! elsewhere, and held deletions stay held after the binding ([`HoldRule::ForeignState`]).

use super::Engine;
use super::observe::Sight;
use super::settings::Request;
use super::waiting::Held;
use crate::mirror::disk::Disk;
use crate::model::{Side, Timestamp};
use crate::reconcile::emptied::Stock;
use crate::reconcile::new_categories::NewCategories;
use crate::reconcile::plan::{HoldRule, Plan, Step};
use crate::reconcile::snapshot::Direction;
use crate::service::Service;
use crate::state::home::Fit;
use std::collections::BTreeMap;

impl<S: Service, D: Disk> Engine<S, D> {
    /// Returns the facts about the plan's deletions; the default, for a plan without deletions. `since` returns the start of
    /// the period in which earlier deletions of a side belong to the same act.
    pub(super) fn stock(
        &self,
        plan: &Plan,
        sight: &Sight,
        since: impl Fn(Side) -> Option<Timestamp>,
    ) -> anyhow::Result<Stock> {
        let mut lately = BTreeMap::new();
        for action in &plan.actions {
            let Some(side) = action.deletes() else {
                continue;
            };
            let folder = action.path.split('/').next().unwrap_or_default().to_owned();
            let key = (side, folder);
            if let Some(since) = since(side)
                && !lately.contains_key(&key)
            {
                let count = self.store.deletions_in(&key.1, since, side)?;
                lately.insert(key, usize::try_from(count).unwrap_or(usize::MAX));
            }
        }
        if plan.actions.iter().all(|action| action.deletes().is_none()) {
            return Ok(Stock::default());
        }
        let rows = sight.base.articles.values();
        let is_here = |id| {
            let paired = &sight.paired;
            paired.files.contains_key(id) || paired.unknown.contains_key(id)
        };
        Ok(Stock {
            homes: rows.map(|row| (row.id, row.local.category)).collect(),
            no_files: !sight.base.articles.keys().any(is_here),
            lately,
            from_elsewhere: self.fit()? == Fit::Elsewhere,
        })
    }

    /// Returns the treatment of new categories. The first sync asks, and so does every later sync while a new category of
    /// the first sync is held: the user may have renamed the folder meanwhile.
    pub(super) fn new_categories(
        plan: &Plan,
        sight: &Sight,
        request: &Request,
        held: &[Held],
    ) -> NewCategories {
        let creates = |step: &Step| matches!(step, Step::CreateCategory { .. });
        if request.new_categories == NewCategories::Create
            || !plan.actions.iter().any(|action| creates(&action.step))
        {
            return NewCategories::Create;
        }
        let base = &sight.base;
        let first = sight.local.first && base.articles.is_empty() && base.categories.is_empty();
        let waits = held
            .iter()
            .any(|held| held.rule == Some(HoldRule::NewCategory));
        if first || waits {
            NewCategories::Ask
        } else {
            NewCategories::Create
        }
    }

    /// Compares the state with the mirror. Without a folder, the engine has nothing to compare.
    fn fit(&self) -> anyhow::Result<Fit> {
        let fit = self.home.as_ref().map(|home| home.fit(&self.store));
        Ok(fit.transpose()?.unwrap_or(Fit::Bound))
    }

    /// Binds the state to the mirror after a complete cycle: by then the guards have held its deletions.
    pub(super) fn bind_home(&mut self, sight: &Sight, request: &Request) -> anyhow::Result<()> {
        let whole = request.direction == Direction::Both
            && request.scope.is_empty()
            && sight.looked.lists()
            && sight.stop.is_none()
            && sight.doubt.is_none()
            && !sight.hides
            && sight.local.complete
            && sight.remote.complete;
        let Some(home) = self.home.as_ref().filter(|_| whole) else {
            return Ok(());
        };
        home.bind(&mut self.store, self.clock.now())?;
        Ok(())
    }
}
