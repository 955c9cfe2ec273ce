//! Git around the mirror, for one-shot commands: the same rules as in the daemon.
//!
//! The state has the HEAD at which both sides last agreed on removals, and the published branch. Both the commands
//! and the daemon store them.

use super::{scope::Part, session::SessionReport};
use crate::{
    config::{Config, Root},
    daemon::git::{self, Busy, Head, Known, NotPublished, Remembered, Trees, View},
    engine::{GitView, settings::CycleRequest, status::Branches},
    state::Store,
};
use std::{path::Path, sync::Arc};

/// The repositories of the workspaces' folders.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct GitHeads(Vec<Known>);

impl GitHeads {
    /// Reads the state of git, before a scan.
    pub(super) fn look(config: &Config) -> Self {
        let roots = config.roots();
        let trees = Trees::of(
            roots
                .iter()
                .map(|root| (key(&root.path), root.path.clone())),
        );
        let remembered = |prefix: &str| {
            let root = roots.iter().find(|root| key(&root.path) == prefix);
            root.map(remembered).unwrap_or_default()
        };
        Self(trees.look(&config.options.git_branch, remembered))
    }

    /// Returns the unfinished git operation.
    pub(super) fn busy(&self) -> Option<Busy> {
        self.0.iter().find_map(|known| known.state.busy)
    }

    /// Returns why the checkout is not synced.
    pub(super) fn not_published(&self, config: &Config) -> Option<NotPublished> {
        git::not_published(&config.options.git_branch, &self.0)
    }

    /// Returns the branches, for `kbsync status`.
    pub(super) fn branches(&self, config: &Config) -> Option<Branches> {
        let known = self.repository()?;
        Some(Branches {
            published: known.published.name().map(str::to_owned),
            checked_out: known.state.branch.clone(),
            synced: self.not_published(config).is_none(),
        })
    }

    /// Returns the repository of the mirror, or of its first workspace that is in one.
    pub(super) fn repository(&self) -> Option<&Known> {
        self.0.first()
    }

    /// Returns git's view of a workspace. A change of HEAD after this look counts as git's.
    pub(super) fn view(&self, root: &Root) -> Arc<dyn GitView> {
        Arc::new(View::new(&root.path, self.0.clone()))
    }

    /// Returns the request, with the removals held that git may have made.
    pub(super) fn guard(&self, request: &CycleRequest) -> CycleRequest {
        CycleRequest {
            git_hold: self.0.iter().find_map(Known::hold).map(str::to_owned),
            ..request.clone()
        }
    }

    /// Returns the branches that the first sync stores as the published branches, each with its folder.
    pub(super) fn first_branches<'p>(
        &self,
        parts: &'p [Part],
    ) -> impl Iterator<Item = (&'p Part, String)> {
        self.0.iter().filter_map(|known| {
            let part = parts
                .iter()
                .find(|part| key(&part.root.path) == known.prefix)?;
            Some((part, known.first.clone()?))
        })
    }

    /// Returns the HEADs to store after cycles over these parts. Only cycles over the whole mirror that could push
    /// every removal agree on removals.
    pub(super) fn agreed<'p>(
        &self,
        config: &Config,
        parts: &'p [Part],
        request: &CycleRequest,
        session_report: &SessionReport,
    ) -> Vec<(&'p Part, Head)> {
        let whole = parts.len() == config.roots().len()
            && parts.iter().all(|part| part.scope.is_empty())
            && request.direction.pushes()
            && !request.dry_run;
        let settled =
            session_report.failures.is_empty() && session_report.report.settled_removals();
        if !whole || !settled {
            return Vec::new();
        }
        let agreed = self.0.iter().filter_map(|known| {
            let part = parts
                .iter()
                .find(|part| key(&part.root.path) == known.prefix)?;
            let head = known.state.head.clone()?;
            (known.agreed.as_ref() != Some(&head)).then_some((part, head))
        });
        agreed.collect()
    }
}

fn remembered(root: &Root) -> Remembered {
    let store = Store::open_read_only(&root.state, None).ok().flatten();
    store
        .map(|store| git::remembered(&store))
        .unwrap_or_default()
}

/// Returns the key of a workspace among the repositories.
fn key(folder: &Path) -> String {
    folder.to_string_lossy().into_owned()
}
