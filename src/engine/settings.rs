//! The settings and the request of a cycle in one workspace; among them the paths in motion.
//!
//! A path is in motion if it changed a moment ago, or was removed so recently that it may come back. A cycle over
//! everything treats such a place as present and unknown, whatever the scan found: it is not sent, written or missed
//! until it has settled.

use crate::mirror::layout::Layout;
use crate::model::path::fold;
use crate::model::{ArticleId, CategoryId, Digest, Flags, Place, WorkspaceId};
use crate::reconcile::guard::MaxDeletes;
use crate::reconcile::snapshot::{Decision, Direction, OnConflict, Policy};
use crate::service::Purpose;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The settings of one workspace.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The prefix of the workspace's paths in reports: `""`, or its folder below the mirror and a `/`.
    pub prefix: String,
    /// The categories that the settings name: without published articles, no listing shows them.
    pub categories: BTreeSet<CategoryId>,
    /// The time for which a version counts as seen.
    pub guard_window: Duration,
    /// The limit on deletions.
    pub max_deletes: MaxDeletes,
    /// The rule for conflicts.
    pub on_conflict: OnConflict,
    /// Whether absent articles are probed.
    pub probe: bool,
    /// The flags of new articles whose files have none.
    pub new_articles: Flags,
    /// Days that versions are kept.
    pub keep_days: u32,
    /// Versions that are kept of every article, however old.
    pub keep_versions: u32,
}

impl Settings {
    pub(super) fn policy(&self, request: &CycleRequest) -> Policy {
        Policy {
            direction: request.direction,
            on_conflict: request.prefer.unwrap_or(self.on_conflict),
            scope: request.scope.iter().collect(),
            new_articles: self.new_articles,
            resolve: request.resolve.clone(),
            wanted_categories: self.categories.clone(),
        }
    }

    /// Returns a digest of the settings and the mirror's rules. If it changes, the next look loads all rows.
    pub(super) fn rest_mark(&self, layout: &Layout) -> String {
        let settings = format!("{self:?}");
        let parts = [env!("CARGO_PKG_VERSION"), &settings, layout.text()];
        Digest::of_parts(&parts.map(str::as_bytes)).to_string()
    }

    /// The defaults, for a mirror of one workspace.
    pub fn new(workspace: WorkspaceId) -> Self {
        Self {
            workspace,
            prefix: String::new(),
            categories: BTreeSet::new(),
            guard_window: Duration::from_secs(15),
            max_deletes: MaxDeletes::default(),
            on_conflict: OnConflict::Hold,
            probe: true,
            new_articles: Flags::SHOWN,
            keep_days: 90,
            keep_versions: 20,
        }
    }
}

/// The extent of the look that a cycle is asked for. The scope limits the plan either way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Look {
    /// The whole mirror and the whole workspace, with one listing.
    #[default]
    Whole,
    /// The files in scope and their articles only, if that is enough to decide on them; otherwise everything.
    Files,
}

/// Files and folders that changed a moment ago.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PathsInMotion {
    /// Their paths: a cycle over everything leaves them alone.
    pub paths: BTreeSet<String>,
    /// Whether other missing files are waited for: each has a grace time.
    pub has_grace: bool,
    /// Removed paths whose grace time is over.
    pub removed: BTreeSet<String>,
}

/// The cause of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A person's command.
    Command,
    /// A restore has just written the files in scope: they are older on purpose.
    Restore,
    /// A poll or a saved file: no person waits for the result, and recent questions are not asked again.
    Background,
}

/// The request of one command or trigger.
#[derive(Clone, PartialEq, Debug)]
pub struct CycleRequest {
    /// The direction in which changes may go.
    pub direction: Direction,
    /// Paths to look at; empty: all.
    pub scope: Vec<String>,
    /// The extent of the look.
    pub look: Look,
    /// The paths that a cycle leaves alone.
    pub in_motion: PathsInMotion,
    /// Only plan.
    pub dry_run: bool,
    /// Let deletions pass the guards.
    pub allow_deletes: bool,
    /// Whether a person approves each new category of a first sync.
    pub asks_for_categories: bool,
    /// Overrides `on_conflict`.
    pub prefer: Option<OnConflict>,
    /// A person's choices for conflicts.
    pub resolve: BTreeMap<ArticleId, Decision>,
    /// The cause of the cycle.
    pub cause: Cause,
    /// The share of the request budget to use.
    pub purpose: Purpose,
}

impl CycleRequest {
    /// Returns the only files to look at; `None`: the look is at everything, because it has to be or because the scope
    /// is more than files.
    pub(super) fn files(&self) -> Option<BTreeSet<Place>> {
        let place = |path: &String| {
            let (folder, file) = path.split_once('/')?;
            Some(Place::new(folder, file))
        };
        let files: Option<_> = self.scope.iter().map(place).collect();
        files.filter(|_| self.look == Look::Files)
    }

    /// Returns whether the request only asks that both sides be equal.
    pub(super) fn is_plain(&self) -> bool {
        !self.dry_run
            && !self.allow_deletes
            && self.direction == Direction::Both
            && self.prefer.is_none()
            && self.resolve.is_empty()
    }

    /// Returns whether the request covers both directions and all paths.
    pub(super) fn is_whole(&self) -> bool {
        self.direction == Direction::Both && self.scope.is_empty()
    }

    /// One cycle in a direction, over everything.
    pub fn new(direction: Direction) -> Self {
        Self {
            direction,
            scope: Vec::new(),
            look: Look::Whole,
            in_motion: PathsInMotion::default(),
            dry_run: false,
            allow_deletes: false,
            asks_for_categories: true,
            prefer: None,
            resolve: BTreeMap::new(),
            cause: Cause::Command,
            purpose: Purpose::Push,
        }
    }
}

/// The paths in motion, for look-ups of many places.
#[derive(Clone, Debug, Default)]
pub(super) struct InMotion {
    pub(super) listed: PathsInMotion,
    /// The paths, case-folded.
    folded: BTreeSet<String>,
}

impl InMotion {
    pub(super) fn new(listed: &PathsInMotion) -> Self {
        let paths = listed.paths.iter();
        Self {
            listed: listed.clone(),
            folded: paths.map(|path| fold(path.trim_end_matches('/'))).collect(),
        }
    }

    /// Returns whether the grace time of a removed place is over, by itself or with its folder.
    pub(super) fn grace_is_over(&self, place: &Place) -> bool {
        let over = &self.listed.removed;
        over.contains(&place.folder) || over.contains(&place.to_string())
    }

    /// Returns whether a place is in motion, by itself or with its folder.
    pub(super) fn covers(&self, place: &Place) -> bool {
        self.covers_file(&place.folder, &place.file)
    }

    /// Returns whether a file in a folder is in motion.
    pub(super) fn covers_file(&self, folder: &str, file: &str) -> bool {
        !self.folded.is_empty()
            && (self.folded.contains(&fold(folder))
                || self.folded.contains(&fold(&format!("{folder}/{file}"))))
    }

    /// Returns whether a folder or anything in it is in motion: a writer there relies on its name.
    pub(super) fn is_about(&self, folder: &str) -> bool {
        let folder = fold(folder);
        let mut paths = self.folded.iter();
        paths.any(|path| {
            let rest = path.strip_prefix(folder.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}
