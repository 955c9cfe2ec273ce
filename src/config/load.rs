//! Finds the mirror, and merges flags, environment, file and defaults.

use super::{
    Asked, Config, ConfigError, Env, MaxDeletes, Options, SETTINGS_FILE, TokenSource,
    WorkspaceFolder,
    consent::{self, NamedParts},
    file::{self, FileSettings},
    values::{parse_listen, parse_poll, parse_service, parse_workspace},
};
use crate::files::if_there;
use crate::model::path::quoted;
use std::{
    io::{self, Read as _},
    net::SocketAddr,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// The largest settings file, in bytes: a larger file is probably something else (failures row 137).
const MAX_FILE: u64 = 64 * 1024;

/// The sources of the settings on the command line and in the process.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The environment.
    pub env: Env<'a>,
    /// The current folder.
    pub current: &'a Path,
    /// `-C`.
    pub dir: Option<&'a Path>,
    /// `--config`.
    pub file: Option<&'a Path>,
    /// `--insecure-http`.
    pub insecure_http: bool,
}

/// The settings that a command needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// The service's address.
    Service,
    /// The address and a workspace.
    Workspace,
}

impl Config {
    /// Reads and checks the settings.
    pub fn load(request: &Request<'_>, need: Need) -> Result<Self, ConfigError> {
        let mirror = find_mirror(request)?;
        let (file, mut given) = read_file(request, &mirror)?;
        let named = named(request, &given);
        let listen = overlay(request, &mut given)?;
        let missing = |key: &str, remedy: &str| match &file {
            Some(file) => ConfigError::of_file(file, format!("the key `{key}` is missing"), remedy),
            None => no_settings(&mirror, request.env),
        };
        let Some(service) = given.service else {
            return Err(missing("service", "write `service: https://…` into it"));
        };
        if need == Need::Workspace && given.workspaces.is_empty() {
            let remedy = "write `workspace: UUID` into it; `kbsync workspaces` lists the ids";
            return Err(missing("workspace", remedy));
        }
        let user_state_dir = user_state_dir(request.env)?;
        let asked = file.as_deref().map(|file| {
            let folder = consent::without_links(file.parent().unwrap_or(&mirror));
            Asked::new(folder, &service, given.token.as_ref(), named)
        });
        let ignored_limit = limit(&mut given.options, asked.as_ref(), &user_state_dir)?;
        Ok(Self {
            mirror,
            file,
            asked,
            ignored_limit,
            service,
            workspaces: given.workspaces,
            categories: given.categories,
            token: given.token,
            state_dir: variable(request.env, "KBSYNC_STATE_DIR")
                .map(|dir| request.current.join(dir)),
            user_state_dir,
            listen,
            options: given.options,
        })
    }
}

/// Lowers limits above the defaults to the defaults, unless the user has agreed to the folder. Returns the
/// limits as written if any was lowered.
fn limit(
    options: &mut Options,
    asked: Option<&Asked>,
    user_state_dir: &Path,
) -> Result<Option<MaxDeletes>, ConfigError> {
    let (given, standard) = (options.max_deletes, Options::standard().max_deletes);
    let most = MaxDeletes {
        count: given.count.min(standard.count),
        percent: given.percent.min(standard.percent),
    };
    let Some(asked) = asked.filter(|_| most != given) else {
        return Ok(None);
    };
    if asked.is_agreed(user_state_dir)? {
        return Ok(None);
    }
    options.max_deletes = most;
    Ok(Some(given))
}

/// The mirror and the folders of its workspaces, for commands that do not use the service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folders {
    /// The mirror.
    pub mirror: PathBuf,
    /// Each workspace's folder below the mirror: `""`, or a path that ends with `/`.
    pub prefixes: Vec<String>,
    /// Whether a settings file or a variable describes a mirror.
    pub is_mirror: bool,
}

/// Finds the mirror and its workspaces' folders. The service, the workspaces and the token may be missing.
pub fn folders(request: &Request<'_>) -> Result<Folders, ConfigError> {
    let mirror = find_mirror(request)?;
    let (file, mut given) = read_file(request, &mirror)?;
    overlay(request, &mut given)?;
    let is_mirror = file.is_some() || given.service.is_some();
    let workspaces = given.workspaces.iter();
    let mut prefixes: Vec<String> = workspaces.map(WorkspaceFolder::prefix).collect();
    if prefixes.is_empty() {
        prefixes.push(String::new());
    }
    Ok(Folders {
        mirror,
        prefixes,
        is_mirror,
    })
}

/// Finds the mirror: `-C`, else `KBSYNC_DIR`, else the nearest folder upwards with a `kbsync.yaml`, else the current
/// folder. The path is absolute. Settings of another user are refused, unless the folder or the file was named.
pub fn find_mirror(request: &Request<'_>) -> Result<PathBuf, ConfigError> {
    if let Some(dir) = named_mirror(request) {
        if !dir.is_dir() {
            let by = request.dir.map_or("KBSYNC_DIR", |_dir| "-C");
            return Err(ConfigError::new(
                format!("{} is not a folder", dir.display()),
                format!("create it, or name another one with {by}"),
            ));
        }
        return Ok(dir);
    }
    // Any kind of file counts here; `read_file` refuses a pipe.
    let holds_settings = |dir: &&Path| dir.join(SETTINGS_FILE).symlink_metadata().is_ok();
    let nearest = request.current.ancestors().find(holds_settings);
    if let Some(dir) = nearest.filter(|_| request.file.is_none()) {
        refuse_other_owner(dir)?;
    }
    Ok(nearest.unwrap_or(request.current).to_owned())
}

/// Refuses settings of another user: in a shared folder, anybody could have put the file there.
fn refuse_other_owner(dir: &Path) -> Result<(), ConfigError> {
    let path = dir.join(SETTINGS_FILE);
    let own = rustix::process::geteuid().as_raw();
    let is_foreign = |found: std::fs::Metadata| Some(found.uid()).filter(|&uid| !is_ours(uid, own));
    // A link of another user may lead to a file of the present user.
    let owners = [path.symlink_metadata(), path.metadata()];
    let Some(owner) = owners.into_iter().flatten().find_map(is_foreign) else {
        return Ok(());
    };
    Err(ConfigError::of_file(
        path,
        format!("the settings belong to another user (uid {owner}), and are not used"),
        format!(
            "if you trust that user, name the folder: `kbsync -C {} …`",
            quoted(&dir.to_string_lossy())
        ),
    ))
}

/// Returns whether the present user or root owns a file.
fn is_ours(owner: u32, own: u32) -> bool {
    owner == own || owner == 0
}

/// The folder that will become a mirror: `-C`, else `KBSYNC_DIR`, else the current folder.
pub fn new_mirror(request: &Request<'_>) -> PathBuf {
    named_mirror(request).unwrap_or_else(|| request.current.to_owned())
}

/// The folder that `-C` or `KBSYNC_DIR` names.
fn named_mirror(request: &Request<'_>) -> Option<PathBuf> {
    let dir = request.dir.map(Path::to_owned);
    let dir = dir.or_else(|| variable(request.env, "KBSYNC_DIR").map(PathBuf::from))?;
    Some(request.current.join(dir))
}

/// The folder of the user's own state: `KBSYNC_USER_STATE_DIR`, else `kbsync` below XDG's state folder.
pub fn user_state_dir(env: Env<'_>) -> Result<PathBuf, ConfigError> {
    let absolute = |dir: &PathBuf| dir.is_absolute();
    if let Some(dir) = variable(env, "KBSYNC_USER_STATE_DIR").map(PathBuf::from) {
        // Each current folder would have a budget and consents of its own.
        return Some(dir).filter(absolute).ok_or_else(|| {
            ConfigError::new(
                "KBSYNC_USER_STATE_DIR is a relative path",
                "set it to an absolute path",
            )
        });
    }
    let state = variable(env, "XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(absolute);
    let home = || {
        variable(env, "HOME")
            .map(PathBuf::from)
            .or_else(|| etcetera::home_dir().ok())
            .filter(absolute)
            .map(|home| home.join(".local/state"))
    };
    state.or_else(home).map_or_else(
        || {
            Err(ConfigError::new(
                "no home folder was found for the request budget",
                "set KBSYNC_USER_STATE_DIR to a folder that outlives this process",
            ))
        },
        |dir| Ok(dir.join("kbsync")),
    )
}

fn read_file(
    request: &Request<'_>,
    mirror: &Path,
) -> Result<(Option<PathBuf>, FileSettings), ConfigError> {
    let path = match request.file {
        Some(file) => request.current.join(file),
        None => mirror.join(SETTINGS_FILE),
    };
    let remedy = "check the path and the file's rights";
    let unreadable = |message: String| ConfigError::of_file(&path, message, remedy);
    // Non-blocking, because a pipe may lie there.
    let nonblock = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let mut options = std::fs::File::options();
    let failed = |error: io::Error| unreadable(format!("the settings cannot be read: {error}"));
    let opened = options.read(true).custom_flags(nonblock).open(&path);
    let Some(file) = if_there(opened).map_err(failed)? else {
        return if request.file.is_some() {
            Err(unreadable("the settings file does not exist".to_owned()))
        } else {
            Ok((None, FileSettings::empty()))
        };
    };
    let is_regular = file.metadata().is_ok_and(|found| found.is_file());
    if !is_regular {
        return Err(ConfigError::of_file(
            path,
            "this is not a regular file",
            "put a text file there, or remove it",
        ));
    }
    let mut text = String::new();
    let size = file
        .take(MAX_FILE + 1)
        .read_to_string(&mut text)
        .map_err(failed)?;
    if size as u64 > MAX_FILE {
        return Err(unreadable("the settings are larger than 64 KiB".to_owned()));
    }
    let folder = path.parent().unwrap_or(mirror);
    match file::read(&text, folder, request.insecure_http) {
        Ok(given) => Ok((Some(path), given)),
        Err(error) => Err(ConfigError {
            file: Some(path),
            ..error
        }),
    }
}

/// Returns the parts that the file names and the environment does not override.
fn named(request: &Request<'_>, given: &FileSettings) -> NamedParts {
    NamedParts {
        service: given.service.is_some() && variable(request.env, "KBSYNC_SERVICE").is_none(),
        token: given.token.is_some() && token_from_environment(request).is_none(),
    }
}

/// Replaces settings by those of the environment. Returns the address to listen on, which only the environment names.
fn overlay(
    request: &Request<'_>,
    given: &mut FileSettings,
) -> Result<Option<SocketAddr>, ConfigError> {
    let get = |name: &str| variable(request.env, name);
    if let Some(service) = get("KBSYNC_SERVICE") {
        let parsed = parse_service(&service, request.insecure_http);
        given.service = Some(parsed.map_err(|wrong| wrong.given_by("KBSYNC_SERVICE"))?);
    }
    if let Some(workspace) = get("KBSYNC_WORKSPACE") {
        let id = parse_workspace(&workspace).map_err(|wrong| wrong.given_by("KBSYNC_WORKSPACE"))?;
        let listed = given.workspaces.iter().find(|listed| listed.id == id);
        let has_folder = |listed: &WorkspaceFolder| listed.folder.is_some();
        let listed = match listed {
            Some(listed) => listed.clone(),
            None if given.workspaces.iter().any(has_folder) => {
                return Err(ConfigError::new(
                    format!("KBSYNC_WORKSPACE is {id}, which is not among the `workspaces:`"),
                    "add it there with its folder, or unset KBSYNC_WORKSPACE",
                ));
            }
            None => WorkspaceFolder { id, folder: None },
        };
        given.workspaces = vec![listed];
    }
    if let Some(poll) = get("KBSYNC_POLL") {
        given.options.poll = parse_poll(&poll).map_err(|wrong| wrong.given_by("KBSYNC_POLL"))?;
    }
    if let Some(token) = token_from_environment(request) {
        given.token = Some(token);
    }
    let listen = get("KBSYNC_LISTEN").as_deref().map(parse_listen);
    listen
        .transpose()
        .map_err(|wrong| wrong.given_by("KBSYNC_LISTEN"))
}

/// The token's source in the environment: `KBSYNC_TOKEN`, else `KBSYNC_TOKEN_FILE`.
pub fn token_from_environment(request: &Request<'_>) -> Option<TokenSource> {
    if variable(request.env, "KBSYNC_TOKEN").is_some() {
        return Some(TokenSource::Env("KBSYNC_TOKEN".to_owned()));
    }
    variable(request.env, "KBSYNC_TOKEN_FILE")
        .map(|path| TokenSource::File(request.current.join(path)))
}

fn variable(env: Env<'_>, name: &str) -> Option<String> {
    env(name).filter(|value| !value.trim().is_empty())
}

/// The error for missing settings.
pub fn no_settings(mirror: &Path, env: Env<'_>) -> ConfigError {
    let names = ["KBSYNC_SERVICE", "KBSYNC_WORKSPACE"];
    let (set, unset): (Vec<_>, Vec<_>) = names
        .into_iter()
        .partition(|name| variable(env, name).is_some());
    if let ([set], [unset]) = (set.as_slice(), unset.as_slice()) {
        return ConfigError::new(
            format!(
                "{unset} is not set, but {set} is, and there is no {SETTINGS_FILE} in {}",
                mirror.display()
            ),
            "set both, or make a settings file with `kbsync init`",
        );
    }
    let mut above = mirror.ancestors().skip(1);
    // Only a folder that -C or KBSYNC_DIR names can be in a mirror.
    if let Some(above) = above.find(|dir| dir.join(SETTINGS_FILE).exists()) {
        return ConfigError::new(
            format!(
                "{} is not a mirror: there is no {SETTINGS_FILE} in it",
                mirror.display()
            ),
            format!(
                "with -C or KBSYNC_DIR, the folders above are not searched; did you mean `-C {}`?",
                quoted(&above.to_string_lossy())
            ),
        );
    }
    ConfigError::new(
        format!(
            "{} is not a mirror: there is no {SETTINGS_FILE} in it, or in a folder above it",
            mirror.display()
        ),
        "`kbsync init` makes it a mirror, and -C names another folder; in a container, set KBSYNC_SERVICE and \
         KBSYNC_WORKSPACE instead",
    )
}
