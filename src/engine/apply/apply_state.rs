//! The state that the steps of a cycle share: articles created, versions seen, and the end of a step.

use super::obstacles::Obstacles;
use crate::engine::Stop;
use crate::engine::observation::Observation;
use crate::engine::report::{Line, Report, Status};
use crate::model::base::ArticleRow;
use crate::model::{ArticleId, CategoryId, Place, Revision, Version};
use crate::reconcile::plan::{Action, Settle};
use std::collections::BTreeMap;
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
    /// How many articles the last listing of this run vouched for.
    pub(in crate::engine) listing_uses: Option<usize>,
    /// Articles that still wait to be sent, for deciding how to look again.
    pub(in crate::engine) to_send: usize,
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

    /// The base row of what a step settles, and whether what was seen of it may be an old copy.
    pub(super) fn row_for(&self, settle: &Settle) -> (Option<&ArticleRow>, bool) {
        (
            self.row(settle.id),
            self.observed.service.read_first.contains(&settle.id),
        )
    }
}
