//! Settings: `kbsync.yaml`, the environment and the command line become one checked [`Config`].
//!
//! Flags go over the environment, the environment over the file, the file over the defaults. Every error names its file
//! and line where it has one, and the remedy. An unknown key is an error: a misspelt guard must not silently be no
//! guard.
//!
//! - `yaml` reads YAML into a tree that knows its lines; `file` reads the keys; `values` the values.
//! - `load` finds the mirror, lays the sources over each other and checks what is required.
//! - `token` gets the token; `create` writes a new `kbsync.yaml`.
//! - `consent` keeps what the user agreed to: a settings file may come from somebody else.
//!
//! The environment comes in as a function, so that tests can give their own. Nothing here talks to
//! the service or knows what the settings are used for.

pub mod consent;
mod create;
mod error;
mod file;
mod load;
mod token;
mod values;
mod yaml;

#[cfg(test)]
mod tests;

pub use consent::Asked;
pub use create::{NewSettings, create, overlapping_mirror};
pub use error::{ConfigError, Wrong};
pub use load::{
    Folders, Need, Request, find_mirror, folders, new_mirror, no_settings, token_from_environment,
    user_state_dir,
};
pub use token::TokenSource;
pub use values::{parse_cron, parse_poll, parse_service, parse_workspace};

use crate::model::{CategoryId, WorkspaceId};
use std::{path::PathBuf, time::Duration};

/// The name of the settings file; the folder that holds it is the mirror.
pub use crate::model::path::SETTINGS_FILE;

/// The private folder in a mirror.
pub const PRIVATE_FOLDER: &str = ".kbsync";

/// Looks up one environment variable. An empty one counts as unset, as compose files write it so.
pub type Env<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// Checked settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The mirror's folder.
    pub mirror: PathBuf,
    /// The settings file; `None` when all came from the environment.
    pub file: Option<PathBuf>,
    /// The service's base address, without a slash at its end.
    pub service: String,
    /// The workspaces; one without a folder, or several with one each. Empty only with [`Need::Service`].
    pub workspaces: Vec<WorkspaceFolder>,
    /// Categories without published articles, which no listing would name.
    pub categories: Vec<CategoryId>,
    /// Where the token is; `None`: nobody said.
    pub token: Option<TokenSource>,
    /// What the settings file asks for; `None`: there is no file.
    pub asked: Option<Asked>,
    /// Whether limits of the file are above the defaults and do not count, since nobody agreed to the folder.
    pub is_limited: bool,
    /// `KBSYNC_STATE_DIR`: where the state is when it is not in the mirror.
    pub state_dir: Option<PathBuf>,
    /// The user's own state: the budget file and the origins that tokens belong to.
    pub user_state_dir: PathBuf,
    /// `KBSYNC_LISTEN`: where the daemon answers health checks.
    pub listen: Option<std::net::SocketAddr>,
    /// What has a default.
    pub options: Options,
}

/// Reads the text of a settings file and forgets it again, for the fuzzer: the line of what is wrong, and what.
#[cfg(feature = "drill")]
pub fn try_text(text: &str) -> Result<(), (usize, String)> {
    let read = file::read(text, std::path::Path::new("/mirror"), false);
    read.map(|_| ())
        .map_err(|fault| (fault.line, fault.wrong.message))
}

impl Config {
    /// The folders to be kept equal, one per workspace: the workspace, its root and its private folder.
    pub fn roots(&self) -> Vec<Root> {
        self.workspaces
            .iter()
            .map(|entry| {
                let below = |base: &PathBuf| match &entry.folder {
                    Some(folder) => base.join(folder),
                    None => base.clone(),
                };
                let path = below(&self.mirror);
                let state = match &self.state_dir {
                    Some(dir) => below(dir),
                    None => path.join(PRIVATE_FOLDER),
                };
                Root {
                    workspace: entry.id,
                    path,
                    state,
                }
            })
            .collect()
    }
}

/// A workspace and its folder in the mirror.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkspaceFolder {
    /// The workspace.
    pub id: WorkspaceId,
    /// Its subfolder, with several workspaces.
    pub folder: Option<String>,
}

/// Where one workspace lives on this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Root {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The folder that holds its categories.
    pub path: PathBuf,
    /// The folder that holds its state.
    pub state: PathBuf,
}

/// Settings that have a default.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// When the service is asked.
    pub poll: Poll,
    /// The time zone of a cron line.
    pub timezone: String,
    /// How long a path must be quiet before it is taken.
    pub quiet_period: Duration,
    /// The shortest time between two pushes of one article.
    pub push_interval: Duration,
    /// How long a file must be gone before its removal counts (in the daemon).
    pub delete_grace: Duration,
    /// How often the mirror is read whole where no events come.
    pub rescan: Duration,
    /// How old a seen version may be when it is replaced.
    pub guard_window: Duration,
    /// When deletions are too many.
    pub max_deletes: MaxDeletes,
    /// What happens to a conflict.
    pub on_conflict: OnConflict,
    /// Whether vanished articles are asked for by an update that changes nothing.
    pub probe: bool,
    /// What a new article is, when its file does not say.
    pub new_articles: NewArticles,
    /// Which branch of a git repository is published.
    pub git_branch: PublishedBranch,
    /// How many requests may be made.
    pub budget: BudgetLimits,
    /// How long versions are kept.
    pub history: HistoryLimits,
}

/// Which branch of a git repository is published: on others nothing is sent and nothing is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PublishedBranch {
    /// In a clone the default branch of `origin`, elsewhere the branch that was checked out at the first sync.
    Auto,
    /// Every branch.
    Any,
    /// This one.
    Named(String),
}

/// When the service is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Poll {
    /// So often.
    Every(Duration),
    /// By a cron line of five or six fields.
    Cron(String),
}

/// More deletions than this towards one side are held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaxDeletes {
    /// So many articles,
    pub count: u32,
    /// or so many percent of them, when that is less.
    pub percent: u32,
}

/// What happens to an article that changed on both sides and cannot be merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnConflict {
    /// It waits for a person.
    Hold,
    /// The file wins.
    Local,
    /// The service wins.
    Remote,
}

/// What a new article is, when its file does not say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewArticles {
    /// Whether it is shown.
    pub enabled: bool,
    /// Whether it is a draft.
    pub draft: bool,
}

/// How many requests may be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BudgetLimits {
    /// In any 60 seconds.
    pub per_minute: u32,
    /// In any 24 hours.
    pub per_day: u32,
    /// Percent that polls leave to pushes.
    pub reserve_for_pushes: u32,
}

/// How long versions are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoryLimits {
    /// So many days,
    pub keep_days: u32,
    /// and at least so many versions.
    pub keep_versions: u32,
}

impl Options {
    /// The defaults.
    pub fn standard() -> Self {
        Self {
            poll: Poll::Every(Duration::from_mins(5)),
            timezone: "UTC".to_owned(),
            quiet_period: Duration::from_millis(200),
            push_interval: Duration::from_secs(15),
            delete_grace: Duration::from_mins(1),
            rescan: Duration::from_mins(1),
            guard_window: Duration::from_secs(15),
            max_deletes: MaxDeletes {
                count: 10,
                percent: 25,
            },
            on_conflict: OnConflict::Hold,
            probe: true,
            new_articles: NewArticles {
                enabled: true,
                draft: false,
            },
            git_branch: PublishedBranch::Auto,
            budget: BudgetLimits {
                per_minute: 60,
                per_day: 1440,
                reserve_for_pushes: 20,
            },
            history: HistoryLimits {
                keep_days: 90,
                keep_versions: 20,
            },
        }
    }
}
