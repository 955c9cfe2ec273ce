//! Creates `kbsync.yaml`: its text, and a write that never overwrites a file.

use super::{ConfigError, SETTINGS_FILE};
use crate::drill::failpoint;
use crate::model::WorkspaceId;
use std::{
    fs::Permissions,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// The prefix of a settings file's name while the file is written. The first sync deletes leftovers.
const UNFINISHED: &str = ".kbsync-tmp-settings-";

/// The content of a new settings file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewSettings {
    /// The service's address, as checked by `parse_service`.
    pub service: String,
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The workspace's name, for a comment beside its id.
    pub name: Option<String>,
    /// The poll interval as the user wrote it.
    pub poll: Option<String>,
    /// The published branch, in a git repository.
    pub branch: Option<String>,
}

impl NewSettings {
    /// Returns the file's text: the chosen settings, and every other setting as a comment with its default.
    pub fn text(&self) -> String {
        let name = match &self.name {
            // A name with a line break must not become a line of settings.
            Some(name) => format!("  # {}", name.replace(|c: char| c.is_control(), " ")),
            None => String::new(),
        };
        let poll = match &self.poll {
            // Quoted, because a cron line may begin with `*`.
            Some(poll) if poll.contains(['*', ' ', '#']) => format!("poll: \"{poll}\""),
            Some(poll) => format!("poll: {poll}"),
            None => "# poll: 5m".to_owned(),
        };
        let branch = match &self.branch {
            Some(branch) => format!("git: {{branch: {}}}", scalar(branch)),
            None => "# git: {branch: auto}".to_owned(),
        };
        format!(
            r#"# Settings of kbsync. This folder mirrors a workspace of the service below.
# This file holds no secrets and may be committed.
# Lines that begin with `#` show the defaults.

service: {service}
workspace: {workspace}{name}

# The token is never written here. kbsync takes it from the variable
# KBSYNC_TOKEN, from the file that KBSYNC_TOKEN_FILE names, or from one of
# these, after you agreed to it with `kbsync trust`:
# token: {{file: /run/secrets/kb}}
# token: {{env: NAME}}
# token: {{command: pass show kb}}

# When the service is asked for changes: a duration, or a cron line such as
# "*/10 8-18 * * 1-5".
{poll}
# timezone: UTC              # of the cron line

# Ids of categories that have no published article: the service does not list
# them by itself.
# categories: []

# How quickly edits are taken (kbsync run).
# quiet_period: 200ms        # a file is sent once it is left alone this long
# push_interval: 15s         # an article is sent at most once in this time
# delete_grace: 60s          # a removed file may come back within this time
# rescan: 60s                # how often files are scanned where no events come

# How carefully the service's articles are replaced and removed.
# guard_window: 15s          # an article is replaced only if it was read within
#                            # this time; 0s: read before each write
# max_deletes: {{count: 10, percent: 25}}  # more deletions wait for `approve`
# on_conflict: hold          # hold | local | remote
# probe: true                # ask for vanished articles by an empty update

# What a new file becomes on the service, when it does not say itself.
# new_articles: {{enabled: true, draft: false}}

# The published branch: on others nothing is synced. auto: a clone's default,
# else the one at the first sync; any: every branch.
{branch}

# Requests: the service allows 60 a minute and 1,440 a day. Percent kept for
# pushes.
# budget: {{per_minute: 60, per_day: 1440, reserve_for_pushes: 20}}

# How long old versions are kept.
# history: {{keep_days: 90, keep_versions: 20}}
"#,
            service = self.service,
            workspace = self.workspace,
        )
    }
}

/// Formats a branch's name as YAML, with quotes where they are necessary.
fn scalar(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/_.-".contains(c);
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', "''"))
    }
}

/// Writes a new settings file into a folder, and returns its path. An existing file is never overwritten.
pub fn create(folder: &Path, settings: &NewSettings) -> Result<PathBuf, ConfigError> {
    let path = folder.join(SETTINGS_FILE);
    let failed = |source: std::io::Error| {
        let exists = source.kind() == std::io::ErrorKind::AlreadyExists;
        let (message, remedy) = if exists {
            (
                "the settings exist already, and are not overwritten",
                "edit the file, or remove it first",
            )
        } else {
            (
                "the settings cannot be written",
                "check that the folder exists and may be written to",
            )
        };
        ConfigError {
            source: (!exists).then_some(source),
            ..ConfigError::of_file(&path, message, remedy)
        }
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    if path.try_exists().map_err(failed)? {
        return Err(failed(std::io::ErrorKind::AlreadyExists.into()));
    }
    write_whole(folder, &path, &settings.text()).map_err(failed)?;
    Ok(path)
}

/// Writes a new file atomically.
fn write_whole(folder: &Path, path: &Path, text: &str) -> std::io::Result<()> {
    failpoint::pass("settings: before the file is made");
    let mut file = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)?;
    failpoint::pass("settings: file made");
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    failpoint::pass("settings: file written");
    file.persist_noclobber(path).map_err(|error| error.error)?;
    failpoint::pass("settings: file in place");
    std::fs::File::open(folder)?.sync_all()
}

/// Returns a settings file above a folder or in one of its subfolders, because mirrors may not overlap (failures row
/// 120).
pub fn overlapping_mirror(folder: &Path) -> Option<PathBuf> {
    // `../other` is beside the present folder, and not in it.
    let folder = &folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let above = folder
        .ancestors()
        .skip(1)
        .map(|dir| dir.join(SETTINGS_FILE))
        .find(|path| path.is_file());
    above.or_else(|| below(folder, 4))
}

/// Searches subfolders. Unreadable folders are skipped; links are not followed.
fn below(folder: &Path, depth: usize) -> Option<PathBuf> {
    if depth == 0 {
        return None;
    }
    std::fs::read_dir(folder)
        .ok()?
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| entry.file_name() != ".git" && entry.file_name() != "node_modules")
        .find_map(|entry| {
            let path = entry.path().join(SETTINGS_FILE);
            if path.is_file() {
                Some(path)
            } else {
                below(&entry.path(), depth - 1)
            }
        })
}
