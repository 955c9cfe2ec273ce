//! Settings: `kbsync.yaml`, the environment and the command line become one checked [`Config`].
//!
//! Flags override the environment, the environment overrides the file, and the file overrides the defaults. Every error
//! has a remedy and, if known, its file and line. An unknown key is an error: a guard with a misspelt key would not be
//! in force.
//!
//! - `file` parses the keys; `values` the values.
//! - `load` finds the mirror, merges the sources, and checks required settings; `variables` lists the environment's.
//! - `token` fetches the token; `create` writes a new `kbsync.yaml`.
//! - `consent` stores the user's agreement to a settings file, because the file may come from somebody else.
//!
//! The environment is passed as a function, so that tests can use their own. Nothing here talks to the service or knows
//! how the settings are used.

pub mod consent;
mod create;
mod error;
mod file;
mod load;
mod token;
mod values;
mod variables;

#[cfg(test)]
mod tests;

pub use consent::Asked;
pub use create::{NewSettings, create, overlapping_mirror};
pub use error::ConfigError;
pub use load::{
    Folders, Need, Request, find_mirror, folders, new_mirror, no_settings, token_from_environment,
    user_state_dir,
};
pub use token::TokenSource;
pub use values::{parse_cron, parse_listen, parse_poll, parse_service, parse_workspace};
pub use variables::mistyped;

pub use crate::model::limits::{BudgetLimits, MaxDeletes, OnConflict};
use crate::model::{CategoryId, Flags, WorkspaceId};
use chrono_tz::Tz;
use croner::Cron;
use std::{path::PathBuf, time::Duration};

pub use crate::model::path::{PRIVATE_FOLDER, SETTINGS_FILE};

/// Looks up an environment variable. An empty variable counts as unset, because compose files write unset variables as
/// empty ones.
pub type Env<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// Checked settings.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// The mirror's folder.
    pub mirror: PathBuf,
    /// The settings file; `None`: all settings come from the environment.
    pub file: Option<PathBuf>,
    /// The service's base address, without a slash at its end.
    pub service: String,
    /// The workspaces: one without a folder, or several with a folder each. Empty only with [`Need::Service`].
    pub workspaces: Vec<WorkspaceFolder>,
    /// Categories without published articles, which a listing may leave out.
    pub categories: Vec<CategoryId>,
    /// The source of the token; `None`: there is none.
    pub token: Option<TokenSource>,
    /// The request of the settings file; `None`: there is no file.
    pub asked: Option<Asked>,
    /// The `max_deletes` of the file, if it is above the default and is ignored, because the user has not agreed to the
    /// folder.
    pub ignored_limit: Option<MaxDeletes>,
    /// `KBSYNC_STATE_DIR`: the state's folder if it is not in the mirror.
    pub state_dir: Option<PathBuf>,
    /// The user's own state directory: the budget file, and the origins of tokens.
    pub user_state_dir: PathBuf,
    /// `KBSYNC_LISTEN`: the address of the daemon's health checks.
    pub listen: Option<std::net::SocketAddr>,
    /// The settings that have a default.
    pub options: Options,
}

/// Parses a settings file and drops the result, for the fuzzer. Returns the line and the message of an error.
#[cfg(feature = "drill")]
pub fn try_text(text: &str) -> Result<(), (usize, String)> {
    let read = file::read(text, std::path::Path::new("/mirror"), false);
    read.map(|_| ())
        .map_err(|error| (error.line.unwrap_or(0), error.message))
}

impl Config {
    /// Returns the folders to sync, one for each workspace: the workspace, its root and its private folder.
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
                    prefix: entry.prefix(),
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

impl WorkspaceFolder {
    /// Returns the prefix of the workspace's paths: `""`, or its folder and a `/`.
    fn prefix(&self) -> String {
        let folder = self.folder.as_ref();
        folder.map_or_else(String::new, |folder| format!("{folder}/"))
    }
}

/// The location of a workspace on this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Root {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The prefix of its paths in the mirror: `""`, or its folder and a `/`.
    pub prefix: String,
    /// The folder of its categories.
    pub path: PathBuf,
    /// The folder of its state.
    pub state: PathBuf,
}

impl Root {
    /// Returns the workspace's folder below the mirror; empty: the mirror itself.
    pub fn folder(&self) -> &str {
        self.prefix.trim_end_matches('/')
    }
}

/// Settings that have a default.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// When the service is polled.
    pub poll: Poll,
    /// The time zone of a cron line.
    pub timezone: Tz,
    /// How long a path must stay unchanged before it is synced (debounce).
    pub quiet_period: Duration,
    /// The shortest time between two pushes of one article.
    pub push_interval: Duration,
    /// How long a file must be absent before its removal counts (in the daemon).
    pub delete_grace: Duration,
    /// How often the mirror is scanned where no events come.
    pub rescan: Duration,
    /// The greatest age of a read version that may still be replaced.
    pub guard_window: Duration,
    /// The limit on deletions.
    pub max_deletes: MaxDeletes,
    /// The handling of conflicts.
    pub on_conflict: OnConflict,
    /// Whether absent articles are probed by an update that changes nothing.
    pub probe: bool,
    /// The flags of a new article whose file has none.
    pub new_articles: Flags,
    /// Which branch of a git repository is published.
    pub git_branch: PublishedBranch,
    /// The limit on requests.
    pub budget: BudgetLimits,
    /// How long versions are stored.
    pub history: HistoryLimits,
}

/// Which branch of a git repository is published. On other branches nothing is sent or written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PublishedBranch {
    /// In a clone the default branch of `origin`, otherwise the branch that was checked out at the first sync.
    Auto,
    /// Every branch.
    Any,
    /// This branch.
    Named(String),
}

/// When the service is polled.
#[derive(Clone, PartialEq, Debug)]
pub enum Poll {
    /// At this interval.
    Every(Duration),
    /// By a cron line of five or six fields.
    Cron(Box<Cron>),
}

/// How long versions are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoryLimits {
    /// The number of days for which versions are stored.
    pub keep_days: u32,
    /// The number of versions that are stored in any case.
    pub keep_versions: u32,
}

impl Options {
    /// Returns the defaults.
    pub fn standard() -> Self {
        Self {
            poll: Poll::Every(Duration::from_mins(5)),
            timezone: Tz::UTC,
            quiet_period: Duration::from_millis(200),
            push_interval: Duration::from_secs(15),
            delete_grace: Duration::from_mins(1),
            rescan: Duration::from_mins(1),
            guard_window: Duration::from_secs(15),
            max_deletes: MaxDeletes::default(),
            on_conflict: OnConflict::Hold,
            probe: true,
            new_articles: Flags::SHOWN,
            git_branch: PublishedBranch::Auto,
            budget: BudgetLimits::default(),
            history: HistoryLimits {
                keep_days: 90,
                keep_versions: 20,
            },
        }
    }
}
