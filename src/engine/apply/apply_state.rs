//! The state that the steps of a cycle share: articles created, versions seen, the reasons to stop, and the end of a step.

use super::is_of_category;
use crate::engine::Stop;
use crate::engine::observation::Observation;
use crate::engine::report::{Line, Report, Status};
use crate::engine::settings::Request;
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, CategoryId, Place, Revision, Version};
use crate::reconcile::order::{self, Address};
use crate::reconcile::plan::{Action, Settle, Step};
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::Instant;

/// The state of applying a plan.
pub(in crate::engine) struct ApplyState<'a> {
    pub(in crate::engine) observed: &'a mut Observation,
    pub(in crate::engine) request: &'a Request,
    pub(in crate::engine) report: &'a mut Report,
    /// Real ids of categories that were created.
    pub(in crate::engine) created: BTreeMap<CategoryId, CategoryId>,
    /// Ids of articles that were created, by their paths.
    pub(in crate::engine) new_ids: BTreeMap<String, ArticleId>,
    /// Folders whose category step failed: what depends on them waits.
    pub(in crate::engine) blocked: BTreeSet<String>,
    /// Addresses that were to be free by now and are not: who wants one of them waits.
    pub(in crate::engine) taken: BTreeSet<Address>,
    /// Versions that were seen again.
    pub(in crate::engine) latest: BTreeMap<ArticleId, (Version, Revision)>,
    /// Versions that this run itself has put on the service, for articles that it changes twice.
    pub(in crate::engine) own: BTreeMap<ArticleId, (Version, Revision)>,
    /// When versions were seen again.
    pub(in crate::engine) reseen: BTreeMap<ArticleId, Instant>,
    /// How many articles the last listing of this run has served.
    pub(in crate::engine) served: Option<usize>,
    /// The reason that nothing is sent any more.
    pub(in crate::engine) stop: Option<Stop>,
    /// The reason that the mirror is not changed any more.
    pub(in crate::engine) unwritable: Option<Stop>,
    /// Why nothing is deleted any more in this cycle.
    pub(in crate::engine) doubt: Option<String>,
    /// Articles that still wait to be sent, for deciding how to look again.
    pub(in crate::engine) to_send: usize,
    /// Requests that a chain of steps needs together, by the article whose address it frees first.
    pub(in crate::engine) circles: BTreeMap<ArticleId, u32>,
    /// The copies of settled conflicts that somebody edited.
    pub(in crate::engine) edited_copies: Vec<(ArticleId, Place)>,
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
            let parked = match &action.step {
                Step::ParkSlug { seen, .. } => Some(&seen.version),
                Step::CreateCategory { .. }
                | Step::SettleCategory(_)
                | Step::CreateArticle { .. }
                | Step::Settle(_)
                | Step::DeleteArticle { .. }
                | Step::RemoveFile { .. }
                | Step::Forget { .. }
                | Step::Conflict(_)
                | Step::Wait => None,
            };
            let parked = parked.map(|remote| (Some(remote.category), remote.slug.clone()));
            self.taken.extend(order::leaves(action).or(parked));
        }
        let mut line = Line::of(action, status, reason);
        line.id = line.id.or_else(|| self.new_ids.get(&action.path).copied());
        self.report.actions.push(line);
    }

    /// Blocks the steps that depend on a held category: on a new one, or on a folder's new name.
    pub(super) fn block(&mut self, action: &Action) {
        match &action.step {
            Step::CreateCategory { folder, .. } => {
                self.blocked.insert(folder.clone());
            }
            Step::SettleCategory(settle) if settle.from != settle.to => {
                self.blocked.extend(settle.from.clone());
                self.blocked.extend(settle.to.clone());
            }
            Step::SettleCategory(_)
            | Step::CreateArticle { .. }
            | Step::Settle(_)
            | Step::ParkSlug { .. }
            | Step::DeleteArticle { .. }
            | Step::RemoveFile { .. }
            | Step::Forget { .. }
            | Step::Conflict(_)
            | Step::Wait => {}
        }
    }

    /// Why a step cannot be tried: everything stopped, or something else has to be done first, which has a
    /// line of its own.
    pub(super) fn obstacle(&self, action: &Action) -> Option<(Status, String)> {
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
        if let Some((_, slug)) = order::takes(action).filter(|taken| self.taken.contains(taken)) {
            let reason = format!("its slug \"{slug}\" is not free yet");
            return Some((Status::Held, reason));
        }
        let folder = action.path.split('/').next().unwrap_or_default();
        (!is_of_category(action) && self.blocked.contains(folder)).then(|| {
            let reason = format!("the category of {folder}/ has to be settled first");
            (Status::Held, reason)
        })
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

    /// The base row of what a step settles, and whether what was seen of it may be an old copy.
    pub(super) fn row_for(&self, settle: &Settle) -> (Option<&ArticleRow>, bool) {
        (
            self.row(settle.id),
            self.observed.service.recalled.contains(&settle.id),
        )
    }

    /// Notes a version that this run has put on the service: it counts, whatever was seen there before.
    pub(super) fn wrote(&mut self, id: ArticleId, version: Version, revision: Revision) {
        self.latest.remove(&id);
        self.own.insert(id, (version, revision));
    }

    /// The mirror cannot be written any more: what is changed on the service now could not be followed up.
    pub(super) fn meet_unwritable(&mut self, stop: Stop) {
        self.stop.get_or_insert_with(|| stop.clone());
        self.unwritable.get_or_insert(stop);
    }
}
