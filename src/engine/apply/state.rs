//! The state that the steps of a cycle share: articles created, versions seen, the end of a step, and what stands in
//! the way of the steps that are still to come (a stop, a doubt, a category or an address that another step was to
//! settle).

use super::is_of_category;
use crate::engine::Stop;
use crate::engine::observation::Observation;
use crate::engine::report::{Line, Report, Status};
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, CategoryId, Place, Revision, Version};
use crate::reconcile::order::{self, Address};
use crate::reconcile::plan::{Action, SettleCategory, Step};
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::Instant;

/// The state of applying a plan.
pub(in crate::engine) struct ApplyState<'a> {
    pub(in crate::engine) observed: &'a mut Observation,
    pub(in crate::engine) report: &'a mut Report,
    /// Real ids of categories that were created.
    pub(in crate::engine) created: BTreeMap<CategoryId, CategoryId>,
    /// Ids of articles that were created, by their paths.
    pub(in crate::engine) new_ids: BTreeMap<String, ArticleId>,
    /// The obstacles to later steps.
    pub(super) obstacles: Obstacles,
    /// Versions that were seen again.
    pub(in crate::engine) latest: BTreeMap<ArticleId, (Version, Revision)>,
    /// When versions were seen again.
    pub(in crate::engine) reseen: BTreeMap<ArticleId, Instant>,
    /// The copies of settled conflicts that somebody edited.
    pub(in crate::engine) edited_copies: Vec<(ArticleId, Place)>,
    /// How many articles the last listing of this run vouched for.
    pub(in crate::engine) listing_uses: Option<usize>,
    /// Articles that still wait to be sent, for deciding how to look again.
    pub(in crate::engine) to_send: usize,
    /// Requests made and steps done, for progress.
    pub(in crate::engine) done: u64,
}

/// The outcome of one step.
pub(in crate::engine) enum StepResult {
    /// It is done; a note for people, if there is one.
    Done(Option<String>),
    /// It was not done: something changed meanwhile. The next cycle decides anew.
    Retry(String),
    /// It was not done: the service's side changed after it was read. A cycle that comes at once decides anew.
    Overtaken(String),
    /// It failed, and only this article is concerned.
    Failed(String),
    /// It failed in a way that casts doubt on the rest: nothing is deleted in this cycle.
    Unsafe(String),
    /// It failed, and so would all other requests.
    Stopped(Stop),
    /// It failed, and so would all other changes of the mirror: nothing at all is changed any more.
    MirrorUnwritable(Stop),
    /// It waits for a person.
    Held(String),
}

impl ApplyState<'_> {
    pub(super) fn say(&mut self, action: &Action, status: Status, reason: Option<String>) {
        if status != Status::Done {
            self.obstacles.note_taken(action);
        }
        let mut line = Line::of(action, status, reason);
        line.id = line.id.or_else(|| self.new_ids.get(&action.path).copied());
        self.report.actions.push(line);
    }

    /// Puts real ids in the place of those that stood for new categories; `None`: not created.
    pub(super) fn resolved(&self, version: &Version) -> Option<Version> {
        if !version.category.is_provisional() {
            return Some(version.clone());
        }
        let category = *self.created.get(&version.category)?;
        Some(Version {
            category,
            ..version.clone()
        })
    }

    pub(super) fn row(&self, id: ArticleId) -> Option<&ArticleRow> {
        self.observed.base.articles.get(&id)
    }
}

/// The obstacles of a cycle.
#[derive(Default)]
pub(super) struct Obstacles {
    /// The reason that nothing is sent any more.
    pub(super) stop: Option<Stop>,
    /// The reason that the mirror is not changed any more.
    pub(super) unwritable: Option<Stop>,
    /// The reason that nothing is deleted any more in this cycle.
    pub(super) doubt: Option<String>,
    /// Folders whose category step failed: what depends on them waits.
    categories: BTreeSet<String>,
    /// Addresses that were to be free by now and are not: who wants one of them waits.
    addresses: BTreeSet<Address>,
}

impl Obstacles {
    /// Returns the obstacles at the beginning, after what ended the look, if anything did.
    pub(super) fn after(stop: Option<Stop>) -> Self {
        Self {
            stop,
            ..Self::default()
        }
    }

    /// Blocks the steps that depend on a held category: on a new one, or on a folder's new name.
    pub(super) fn block(&mut self, action: &Action) {
        match &action.step {
            Step::CreateCategory { folder, .. } => {
                self.block_folder(folder);
            }
            Step::SettleCategory(settle) if settle.from != settle.to => {
                self.block_category(settle);
            }
            Step::SettleCategory(_)
            | Step::CreateArticle { .. }
            | Step::Settle(_)
            | Step::DeleteArticle { .. }
            | Step::RemoveFile { .. }
            | Step::Forget { .. }
            | Step::Conflict(_)
            | Step::Wait => {}
        }
    }

    /// Why a step cannot be tried: everything stopped, or something else has to be done first, which has a
    /// line of its own.
    pub(super) fn of(&self, action: &Action) -> Option<(Status, String)> {
        if let Some(stop) = self
            .stop
            .as_ref()
            .filter(|_| action.sends() || action.deletes().is_some())
            .or(self.unwritable.as_ref())
        {
            return Some((Status::Skipped, stop.message.clone()));
        }
        let sure = action.deletes().is_none();
        if let Some(doubt) = self.doubt.as_ref().filter(|_| !sure) {
            let reason =
                format!("nothing is deleted in a cycle in which something failed ({doubt})");
            return Some((Status::Skipped, reason));
        }
        if let Some((_, slug)) = order::takes(action).filter(|taken| self.addresses.contains(taken))
        {
            let reason = format!("its slug \"{slug}\" is not free yet");
            return Some((Status::Held, reason));
        }
        let folder = action.folder();
        (!is_of_category(action) && self.categories.contains(folder)).then(|| {
            let reason = format!("the category of {folder}/ has to be settled first");
            (Status::Held, reason)
        })
    }

    /// Blocks the steps in a folder.
    pub(super) fn block_folder(&mut self, folder: &str) {
        self.categories.insert(folder.to_owned());
    }

    /// Blocks the steps in a category's folder, under its old name and its new one.
    pub(super) fn block_category(&mut self, settle: &SettleCategory) {
        self.categories.extend(settle.from.clone());
        self.categories.extend(settle.to.clone());
    }

    /// Returns whether the category of a folder is not settled.
    pub(super) fn blocks(&self, folder: &str) -> bool {
        self.categories.contains(folder)
    }

    /// Notes the address that a step was to leave, and did not.
    pub(super) fn note_taken(&mut self, action: &Action) {
        self.addresses.extend(order::leaves(action));
    }

    /// The mirror cannot be written any more: what is changed on the service now could not be followed up.
    pub(super) fn stop_mirror(&mut self, stop: Stop) {
        self.stop.get_or_insert_with(|| stop.clone());
        self.unwritable.get_or_insert(stop);
    }

    /// Returns the outcome of a step that is done on the service, while its file is not: it is not tried again.
    pub(super) fn outcome_without_file(&mut self, what: &str, result: StepResult) -> StepResult {
        let told = |reason: &str| format!("{what}: {reason}");
        match result {
            StepResult::Done(note) => StepResult::Done(note),
            StepResult::Held(reason)
            | StepResult::Retry(reason)
            | StepResult::Overtaken(reason) => StepResult::Done(Some(told(&reason))),
            StepResult::Failed(reason) => StepResult::Failed(told(&reason)),
            StepResult::Unsafe(reason) => StepResult::Unsafe(told(&reason)),
            StepResult::Stopped(stop) | StepResult::MirrorUnwritable(stop) => {
                let reason = told(&stop.message);
                self.stop_mirror(stop);
                StepResult::Failed(reason)
            }
        }
    }
}
