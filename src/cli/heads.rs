//! Removals that came with a moved HEAD are held in one-shot commands as in the daemon (design, section 6).
//!
//! Where HEAD was when both sides last agreed on what is removed is in the state, and both write it. The
//! first command of all has nothing to compare with, and holds nothing; the next ones have.

use super::{scope::Part, session::Worked};
use crate::{
    config::{Config, Root},
    daemon::git::{self, Before, Git, HOLD, Head, SPARSE, Trees},
    engine::{
        GitView, NoGit,
        report::{Ending, Status},
        settings::Request,
    },
    reconcile::plan::Kind,
    state::Store,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// The HEADs of the repositories that the workspaces' folders are in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Heads(Vec<Kept>);

/// Where HEAD is, and whether that holds removals.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Kept {
    /// The folder of the first workspace in the repository: its state remembers where HEAD was.
    folder: PathBuf,
    git: Git,
    now: Option<Head>,
    remembered: Option<Head>,
    moved: bool,
    sparse: bool,
}

impl Heads {
    /// Looks, before anything else is looked at. Without git or a state nothing is held.
    pub(super) fn look(config: &Config) -> Self {
        let mut found: Vec<Kept> = Vec::new();
        for root in config.roots() {
            let Some(git) = Git::find(&root.path) else {
                continue;
            };
            if found.iter().all(|kept| kept.git != git) {
                found.push(Kept::look(config, root, git));
            }
        }
        Self(found)
    }

    /// Looks once more when the mirror was scanned: a checkout may have come in between. What was moved since
    /// this look is git's in any case.
    pub(super) fn view(&self, config: &Config, root: &Root) -> Arc<dyn GitView> {
        let roots = config.roots().into_iter();
        let trees = Trees::of(roots.map(|root| (key(&root.path), root.path)));
        let heads = self.0.iter();
        let before = heads.map(|kept| {
            let (head, agreed) = (kept.now.clone(), kept.remembered.clone());
            (key(&kept.folder), Before { head, agreed })
        });
        let branch = config.options.git_branch.clone();
        match trees.view(&key(&root.path), before.collect(), branch) {
            Some(view) => Arc::new(view),
            None => Arc::new(NoGit),
        }
    }

    /// The request, with removals held if a HEAD moved.
    pub(super) fn guard(&self, request: &Request) -> Request {
        let sparse = self.0.iter().any(|kept| kept.sparse);
        let moved = self.0.iter().any(|kept| kept.moved);
        Request {
            git_hold: sparse
                .then_some(SPARSE)
                .or(moved.then_some(HOLD))
                .map(str::to_owned),
            ..request.clone()
        }
    }

    /// What is to be remembered after cycles over these parts, and by whom: the first place that is seen, then only
    /// what looked at all of the mirror and could push every removal agrees to anything.
    pub(super) fn agreed<'p>(
        &self,
        config: &Config,
        parts: &'p [Part],
        request: &Request,
        worked: &Worked,
    ) -> Vec<(&'p Part, Head)> {
        let whole = parts.len() == config.roots().len()
            && parts.iter().all(|part| part.scope.is_empty())
            && request.direction.pushes()
            && !request.dry_run;
        let went_through = match worked.report.outcome {
            Ending::Failed | Ending::Retry => false,
            Ending::Partial | Ending::Attention | Ending::Done => worked.failures.is_empty(),
        };
        let waits = worked
            .report
            .actions
            .iter()
            .any(|line| line.action == Kind::Delete && line.status != Status::Done);
        if !went_through || worked.report.doubt {
            return Vec::new();
        }
        let agreed = self.0.iter().filter_map(|kept| {
            let part = parts.iter().find(|part| part.root.path == kept.folder)?;
            // Without anything to compare with, any place is better than none.
            let first = kept.remembered.is_none() && !request.dry_run;
            let agrees = (first || whole && !waits) && kept.remembered != kept.now;
            Some((part, kept.now.clone().filter(|_| agrees)?))
        });
        agreed.collect()
    }
}

impl Kept {
    fn look(config: &Config, root: Root, git: Git) -> Self {
        let store = Store::open_read_only(&root.state, None).ok().flatten();
        let remembered = store.and_then(|store| git::remembered(&store));
        let sight = git.sight();
        let now = sight.head;
        let moved = match (&remembered, &now) {
            (Some(before), Some(now)) => git.moved(before, now),
            (None, _) | (_, None) => false,
        };
        Self {
            folder: root.path,
            moved: moved && config.options.git_branch.is_none(),
            sparse: sight.sparse,
            git,
            now,
            remembered,
        }
    }
}

/// What stands for a workspace among the repositories.
fn key(folder: &Path) -> String {
    folder.to_string_lossy().into_owned()
}
