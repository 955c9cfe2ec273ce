//! The state that the steps of a cycle share: created articles, versions that were read again, the result of a step,
//! and the obstacles to later steps (a stop, a doubt, a category or an address that another step was to settle).

use super::is_of_category;
use crate::engine::observation::{Observation, SeenAt};
use crate::engine::report::{Line, Report, Status};
use crate::engine::{Stop, StopCause};
use crate::mirror::disk::{DiskError, DiskErrorKind};
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, CategoryId, Revision, Version};
use crate::reconcile::order::{self, Address};
use crate::reconcile::plan::{Action, Settle, SettleCategory};
use crate::state::StateError;
use std::collections::{BTreeMap, BTreeSet};

/// The state of applying a plan.
pub(super) struct ApplyState<'a> {
    pub(super) observed: &'a mut Observation,
    pub(super) report: &'a mut Report,
    /// Real ids of categories that were created.
    pub(super) created: BTreeMap<CategoryId, CategoryId>,
    /// Ids of articles that were created, by their paths.
    pub(super) new_ids: BTreeMap<String, ArticleId>,
    /// The obstacles to later steps.
    pub(super) obstacles: Obstacles,
    /// Versions that were read again.
    pub(super) latest: BTreeMap<ArticleId, (Version, Revision)>,
    /// The times at which versions were read again.
    pub(super) reseen: BTreeMap<ArticleId, SeenAt>,
    /// The number of articles that used the last listing of this run as their guard read; `None`: no listing was made.
    /// After a listing with few uses, or in a look at a few articles, no other one follows.
    pub(super) listing_uses: Option<usize>,
    /// The number of articles still to be sent, to choose between GETs and a listing.
    pub(super) to_send: usize,
    /// The number of sent steps, for progress.
    pub(super) done: usize,
    /// The prefix of the workspace's paths, for the log.
    pub(super) prefix: String,
}

/// The outcome of one step. A step that is done may have a note for people.
pub(super) type StepResult = Result<Option<String>, NotDone>;

/// The reason that a step, or a part of one, was not done.
pub(super) enum NotDone {
    /// Something changed since the look, or an earlier request or step has to settle first. The next cycle decides
    /// again.
    Retry(String),
    /// The service's side changed after it was read. Another look at once decides again.
    Overtaken(String),
    /// It failed, for this article only.
    Failed(String),
    /// It failed in a way that casts doubt on the rest: nothing is deleted in this cycle.
    Unsafe(String),
    /// It failed, and so would all other requests.
    Stopped(Stop),
    /// It failed, and so would all other changes of the mirror: neither side is changed any more.
    MirrorUnwritable(Stop),
    /// It waits for a person.
    Held(String),
    /// The state cannot be used: the cycle fails.
    Broken(anyhow::Error),
}

impl From<anyhow::Error> for NotDone {
    fn from(error: anyhow::Error) -> Self {
        Self::Broken(error)
    }
}

impl From<StateError> for NotDone {
    fn from(error: StateError) -> Self {
        Self::Broken(error.into())
    }
}

impl From<DiskError> for NotDone {
    fn from(error: DiskError) -> Self {
        Self::from(&error)
    }
}

impl From<&DiskError> for NotDone {
    fn from(error: &DiskError) -> Self {
        match error.kind {
            DiskErrorKind::Changed | DiskErrorKind::NotFound | DiskErrorKind::Exists => {
                Self::file_changed()
            }
            DiskErrorKind::WrongKind | DiskErrorKind::NotEmpty | DiskErrorKind::BadName => {
                Self::Failed(error.in_words())
            }
            DiskErrorKind::Denied | DiskErrorKind::EmptyMount | DiskErrorKind::Other => {
                Self::Unsafe(error.in_words())
            }
            DiskErrorKind::Full | DiskErrorKind::ReadOnly | DiskErrorKind::Replaced => {
                Self::MirrorUnwritable(Stop::new(StopCause::Mirror, error.in_words()))
            }
        }
    }
}

impl NotDone {
    /// Makes the reason to leave a file alone that changed since the scan.
    pub(super) fn file_changed() -> Self {
        Self::Retry("the file changed during the cycle".to_owned())
    }
}

impl ApplyState<'_> {
    /// Adds a line to the report, and returns it.
    pub(super) fn say(&mut self, action: &Action, status: Status, reason: Option<String>) -> &Line {
        if status != Status::Done {
            self.obstacles.note_kept_address(action);
        }
        let mut line = Line::of(action, status, reason);
        line.id = line.id.or_else(|| self.new_ids.get(&action.path).copied());
        self.report.actions.push_mut(line)
    }

    /// Replaces the provisional id of a new category.
    pub(super) fn resolved(&self, version: &Version) -> Result<Version, NotDone> {
        let mut version = version.clone();
        if version.category.is_provisional() {
            let made = self.created.get(&version.category);
            let why = || NotDone::Retry("its category could not be created".to_owned());
            version.category = *made.ok_or_else(why)?;
        }
        Ok(version)
    }

    pub(super) fn row(&self, id: ArticleId) -> Option<&ArticleRow> {
        self.observed.row(id)
    }
}

/// The obstacles of a cycle.
#[derive(Default)]
pub(super) struct Obstacles {
    /// The reason to send nothing more.
    pub(super) stop: Option<Stop>,
    /// The reason to leave the mirror unchanged from now on.
    pub(super) mirror_stop: Option<Stop>,
    /// The reason to delete nothing more in this cycle.
    pub(super) doubt: Option<String>,
    /// Folders whose category step failed: steps that depend on them wait.
    categories: BTreeSet<String>,
    /// Addresses that were not freed as planned: steps that need one of them wait.
    addresses: BTreeSet<Address>,
}

impl Obstacles {
    /// Returns the initial obstacles: the stop that ended the look, if any.
    pub(super) fn after(stop: Option<Stop>) -> Self {
        Self {
            stop,
            ..Self::default()
        }
    }

    /// Blocks the steps that depend on a category's step that is not done: on a new one, or on a folder's new name.
    pub(super) fn block(&mut self, action: &Action) {
        self.categories
            .extend(action.folders_settled().into_iter().cloned());
    }

    /// Notes the effect of a step that is not done on the later steps.
    pub(super) fn note(&mut self, why: &NotDone) {
        if let NotDone::Unsafe(reason) = why {
            self.doubt.get_or_insert_with(|| reason.clone());
        } else if let NotDone::Stopped(stop) = why {
            self.stop = Some(stop.clone());
        } else if let NotDone::MirrorUnwritable(stop) = why {
            self.stop_both_sides(stop.clone());
        }
    }

    /// Returns the reason that a step cannot be tried: a stop, a doubt, or another step that has to come first and has
    /// its own line.
    pub(super) fn of(&self, action: &Action) -> Option<(Status, String)> {
        if let Some(stop) = self
            .stop
            .as_ref()
            .filter(|_| action.sends() || action.deletes().is_some())
            .or(self.mirror_stop.as_ref())
        {
            return Some((Status::Skipped, stop.message.clone()));
        }
        let is_deletion = action.deletes().is_some();
        if let Some(doubt) = self.doubt.as_ref().filter(|_| is_deletion) {
            let reason =
                format!("nothing is deleted in a cycle in which something failed ({doubt})");
            return Some((Status::Skipped, reason));
        }
        if let Some((_, slug)) = order::takes(action).filter(|taken| self.addresses.contains(taken))
        {
            let reason = format!("its slug \"{slug}\" is not free yet");
            return Some((Status::Held, reason));
        }
        if is_of_category(action) {
            return None;
        }
        // Until its folder is renamed, a file is not where the plan has it: another article's file may be there.
        let from = action.as_settle().and_then(Settle::from);
        let from = from.map(|place| (Status::Skipped, place.folder.as_str()));
        let to = (Status::Held, action.folder());
        let mut folders = [Some(to), from].into_iter().flatten();
        let (status, folder) = folders.find(|(_, folder)| self.blocks(folder))?;
        let reason = format!("the category of {folder}/ has to be settled first");
        Some((status, reason))
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

    /// Notes the address that a step was to free and did not.
    pub(super) fn note_kept_address(&mut self, action: &Action) {
        self.addresses.extend(order::freed_address(action));
    }

    /// Stops both sides: the mirror is unwritable and could not follow a change on the service, or git has changed the
    /// checkout.
    pub(super) fn stop_both_sides(&mut self, stop: Stop) {
        self.stop.get_or_insert_with(|| stop.clone());
        self.mirror_stop.get_or_insert(stop);
    }

    /// Returns the result of a step that is done on the service but not in its file: the step is not tried again.
    pub(super) fn outcome_without_file(&mut self, what: &str, why: NotDone) -> StepResult {
        let told = |reason: &str| format!("{what}: {reason}");
        Err(match why {
            NotDone::Held(reason) | NotDone::Retry(reason) | NotDone::Overtaken(reason) => {
                return Ok(Some(told(&reason)));
            }
            NotDone::Failed(reason) => NotDone::Failed(told(&reason)),
            NotDone::Unsafe(reason) => NotDone::Unsafe(told(&reason)),
            NotDone::Stopped(stop) | NotDone::MirrorUnwritable(stop) => {
                let reason = told(&stop.message);
                self.stop_both_sides(stop);
                NotDone::Failed(reason)
            }
            NotDone::Broken(error) => NotDone::Broken(error),
        })
    }
}
