//! The keys of `kbsync.yaml`.
//!
//! Only this file reads keys. An unknown key is refused, together with the most similar known key.

use super::{
    ConfigError, OnConflict, Options, PublishedBranch, TokenSource, WorkspaceFolder,
    values::{
        boolean, duration, number, parse_id, parse_poll, parse_service, parse_workspace, text,
    },
};
use crate::model::{
    CategoryId,
    yaml::{self, Entry, Node, Value},
};
use std::path::{Component, Path};

/// The content of a settings file, with defaults for all missing options.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct FileSettings {
    pub(super) service: Option<String>,
    pub(super) workspaces: Vec<WorkspaceFolder>,
    pub(super) categories: Vec<CategoryId>,
    pub(super) token: Option<TokenSource>,
    pub(super) options: Options,
}

impl FileSettings {
    /// Returns the settings without a file.
    pub(super) fn empty() -> Self {
        Self {
            service: None,
            workspaces: Vec::new(),
            categories: Vec::new(),
            token: None,
            options: Options::standard(),
        }
    }
}

/// The deepest nesting of lists and mappings.
const MAX_DEPTH: usize = 8;

const KEYS: &str = "service, workspace, workspaces, categories, token, poll, timezone, quiet_period, push_interval, \
                    delete_grace, rescan, guard_window, max_deletes, on_conflict, probe, new_articles, git, budget, \
                    history";

/// The keys whose value is a map: each with its inner keys and an example.
const MAPS: [(&str, &str, &str); 5] = [
    (
        "max_deletes",
        "count, percent",
        "write `max_deletes: {count: 10, percent: 25}`",
    ),
    (
        "new_articles",
        "enabled, draft",
        "write `new_articles: {enabled: true, draft: false}`",
    ),
    ("git", "branch", "write `git: {branch: main}`"),
    (
        "budget",
        "per_minute, per_day, reserve_for_pushes",
        "write `budget: {per_minute: 60, per_day: 1440, reserve_for_pushes: 20}`",
    ),
    (
        "history",
        "keep_days, keep_versions",
        "write `history: {keep_days: 90, keep_versions: 20}`",
    ),
];

/// Parses a settings file. Relative paths in it start at `folder`.
pub(super) fn read(
    text: &str,
    folder: &Path,
    insecure_http: bool,
) -> Result<FileSettings, ConfigError> {
    // The parser counts more line breaks than editors do. A missing key is reported in the line after the last one.
    let last = text.lines().count() + 1;
    let document = yaml::parse(text, MAX_DEPTH).map_err(|fault| {
        let line = fault.line.clamp(1, last);
        ConfigError::new(fault.message, fault.remedy).at(line)
    })?;
    let mut given = FileSettings::empty();
    let (mut one, mut several) = (None, None);
    let entries = match &document.root {
        Some(root) => map(root, "the settings")?,
        None => &[],
    };
    for entry in entries {
        let Entry {
            line, key, node, ..
        } = entry;
        let mut take = || -> Result<(), ConfigError> {
            match key.as_str() {
                "service" => {
                    let address = self::text(node, key)?;
                    given.service = Some(parse_service(address, insecure_http)?);
                }
                "workspace" => one = Some((*line, parse_workspace(self::text(node, key)?)?)),
                "workspaces" => several = Some(workspaces(node)?),
                "categories" => given.categories = categories(node)?,
                "token" => given.token = Some(token(node, folder)?),
                _ => option(entry, &mut given.options)?,
            }
            Ok(())
        };
        take().map_err(|error| error.at(*line))?;
    }
    given.workspaces = match (one, several) {
        (Some((line, _)), Some(_)) => return Err(both_workspaces(line)),
        (Some((_, id)), None) => vec![WorkspaceFolder { id, folder: None }],
        (None, Some(several)) => several,
        (None, None) => Vec::new(),
    };
    Ok(given)
}

fn option(entry: &Entry, options: &mut Options) -> Result<(), ConfigError> {
    let Some((outer, keys, _)) = MAPS.iter().find(|(key, ..)| *key == entry.key) else {
        return set_in("", KEYS, entry, options);
    };
    let mut entries = map(&entry.node, outer)?.iter();
    entries.try_for_each(|inner| set_in(outer, keys, inner, options))
}

/// Sets an option, at the top level or within a map.
fn set_in(
    outer: &str,
    known: &str,
    entry: &Entry,
    options: &mut Options,
) -> Result<(), ConfigError> {
    let is_known = set(outer, &entry.key, &entry.node, options);
    if is_known.map_err(|error| error.at(entry.line))? {
        return Ok(());
    }
    Err(unknown(entry, outer, known))
}

/// Sets an option, at the top level or within a map. Returns whether the option exists.
fn set(outer: &str, key: &str, node: &Node, options: &mut Options) -> Result<bool, ConfigError> {
    let most = u32::MAX;
    let Options {
        max_deletes,
        new_articles,
        budget,
        history,
        ..
    } = options;
    match (outer, key) {
        ("", "poll") => options.poll = parse_poll(text(node, key)?)?,
        ("", "timezone") => options.timezone = timezone(node)?,
        ("", "quiet_period") => options.quiet_period = duration(node, key)?,
        ("", "push_interval") => options.push_interval = duration(node, key)?,
        ("", "delete_grace") => options.delete_grace = duration(node, key)?,
        ("", "rescan") => options.rescan = duration(node, key)?,
        ("", "guard_window") => options.guard_window = duration(node, key)?,
        ("", "on_conflict") => options.on_conflict = on_conflict(node)?,
        ("", "probe") => options.probe = boolean(node, key)?,
        ("max_deletes", "count") => max_deletes.count = number(node, key, 0, most)?,
        ("max_deletes", "percent") => max_deletes.percent = number(node, key, 0, 100)?,
        ("new_articles", "enabled") => new_articles.enabled = Some(boolean(node, key)?),
        ("new_articles", "draft") => new_articles.draft = Some(boolean(node, key)?),
        ("git", "branch") => options.git_branch = branch(node)?,
        ("budget", "per_minute") => budget.per_minute = number(node, key, 1, most)?,
        ("budget", "per_day") => budget.per_day = number(node, key, 1, most)?,
        ("budget", "reserve_for_pushes") => {
            budget.reserve_for_pushes = number(node, key, 0, 90)?;
        }
        ("history", "keep_days") => history.keep_days = number(node, key, 1, 36_500)?,
        ("history", "keep_versions") => history.keep_versions = number(node, key, 1, most)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn workspaces(node: &Node) -> Result<Vec<WorkspaceFolder>, ConfigError> {
    let example = "write `- {id: UUID, folder: NAME}` for each workspace";
    let mut found: Vec<WorkspaceFolder> = Vec::new();
    for one in list(node, "workspaces", example)? {
        let (mut id, mut folder) = (None, None);
        for entry in map(one, "an entry of `workspaces`")? {
            let at = |wrong: ConfigError| wrong.at(entry.line);
            match entry.key.as_str() {
                "id" => {
                    let written = text(&entry.node, "id").and_then(parse_workspace);
                    id = Some(written.map_err(at)?);
                }
                "folder" => folder = Some(subfolder(&entry.node).map_err(at)?),
                _ => return Err(unknown(entry, "workspaces", "id, folder")),
            }
        }
        let (Some(id), Some(folder)) = (id, folder) else {
            let message = "an entry of `workspaces` lacks its `id` or its `folder`";
            return Err(ConfigError::new(message, example).at(one.line));
        };
        let clash = |other: &WorkspaceFolder| {
            other.id == id
                || other.folder.as_ref().is_some_and(|taken| {
                    Path::new(taken).starts_with(&folder) || Path::new(&folder).starts_with(taken)
                })
        };
        if found.iter().any(clash) {
            let message = format!("`{folder}` shares its workspace or its folder with another one");
            let remedy = "give every workspace a folder of its own, none inside another";
            return Err(ConfigError::new(message, remedy).at(one.line));
        }
        let folder = Some(folder);
        found.push(WorkspaceFolder { id, folder });
    }
    if found.is_empty() {
        return Err(ConfigError::new("`workspaces` is empty", example).at(node.line));
    }
    Ok(found)
}

fn subfolder(node: &Node) -> Result<String, ConfigError> {
    let written = text(node, "folder")?;
    let names: Option<Vec<&str>> = Path::new(written).components().map(visible_name).collect();
    match names.filter(|_| !written.contains('\\')) {
        Some(names) => Ok(names.join("/")),
        None => Err(ConfigError::new(
            format!("`folder: {written}` is not a folder inside the mirror"),
            "write a name such as `help-en`, without `..`, and not beginning with `/`, `.` or `_`",
        )),
    }
}

/// Returns the name of a part of a path; `None`: it is no name, or a hidden one.
fn visible_name(part: Component<'_>) -> Option<&str> {
    match part {
        Component::Normal(name) => name.to_str().filter(|name| !name.starts_with(['.', '_'])),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            None
        }
    }
}

fn categories(node: &Node) -> Result<Vec<CategoryId>, ConfigError> {
    let example = "write the ids in brackets: `categories: [UUID, UUID]`";
    list(node, "categories", example)?
        .iter()
        .map(|one| {
            text(one, "categories")
                .and_then(|id| parse_id(id, "category", example))
                .map_err(|wrong| wrong.at(one.line))
        })
        .collect()
}

/// Parses the source of the token. The text is never repeated in a message, because it may be the token itself.
fn token(node: &Node, folder: &Path) -> Result<TokenSource, ConfigError> {
    let ways = "put it into a file of your own and write `token: {file: PATH}`, or use \
                `{env: NAME}`, `{command: pass show kb}` or the variable KBSYNC_TOKEN; \
                a token that was committed should be revoked";
    let literal = ConfigError::new("a token does not belong in the settings", ways).at(node.line);
    let Value::Map(entries) = &node.value else {
        return Err(literal);
    };
    let [entry] = entries.as_slice() else {
        let message = "`token` names none or several sources";
        return Err(
            ConfigError::new(message, "keep one of `file`, `env` and `command`").at(node.line),
        );
    };
    let source = || {
        let key = match entry.key.as_str() {
            key @ ("file" | "env" | "command") => key,
            "value" | "literal" | "token" | "text" => return Err(literal),
            _ => return Err(unknown(entry, "token", "file, env, command")),
        };
        let written = text(&entry.node, key)?;
        let is_name = || {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            written.chars().all(is_plain) && !written.starts_with(|c: char| c.is_ascii_digit())
        };
        match key {
            "file" => Ok(TokenSource::File(folder.join(written))),
            "command" => Ok(TokenSource::Command(written.to_owned())),
            _ if is_name() => Ok(TokenSource::Env(written.to_owned())),
            _ => {
                let message = "`env` must be the name of an environment variable";
                Err(ConfigError::new(message, "write `token: {env: NAME}`"))
            }
        }
    };
    source().map_err(|error| error.at(entry.line))
}

fn on_conflict(node: &Node) -> Result<OnConflict, ConfigError> {
    match text(node, "on_conflict")? {
        "hold" => Ok(OnConflict::Hold),
        "local" => Ok(OnConflict::Local),
        "remote" => Ok(OnConflict::Remote),
        other => Err(ConfigError::new(
            format!("`on_conflict: {other}` is unknown"),
            "write `hold`, `local` or `remote`",
        )),
    }
}

fn timezone(node: &Node) -> Result<chrono_tz::Tz, ConfigError> {
    let name = text(node, "timezone")?;
    name.parse().map_err(|_unknown| {
        ConfigError::new(
            format!("`timezone: {name}` is not the name of a time zone"),
            "write it like UTC or Europe/Berlin",
        )
    })
}

fn branch(node: &Node) -> Result<PublishedBranch, ConfigError> {
    if node.is_null() {
        return Ok(PublishedBranch::Auto);
    }
    Ok(match text(node, "branch")? {
        "auto" => PublishedBranch::Auto,
        "any" => PublishedBranch::Any,
        name => PublishedBranch::Named(name.to_owned()),
    })
}

fn map<'a>(node: &'a Node, what: &str) -> Result<&'a [Entry], ConfigError> {
    match &node.value {
        Value::Map(entries) => Ok(entries),
        Value::Text(..) | Value::List(_) => {
            let message = format!("{what} must be written as `key: value`");
            let example = MAPS.iter().find(|(key, ..)| *key == what);
            let example = example.map_or(
                "the comments of a file that `kbsync init` makes show an example",
                |(.., example)| example,
            );
            Err(ConfigError::new(message, example).at(node.line))
        }
    }
}

fn list<'a>(node: &'a Node, key: &str, example: &str) -> Result<&'a [Node], ConfigError> {
    match &node.value {
        Value::List(nodes) => Ok(nodes),
        Value::Text(..) if node.is_null() => Ok(&[]),
        Value::Text(..) | Value::Map(_) => {
            Err(ConfigError::new(format!("`{key}` must be a list"), example).at(node.line))
        }
    }
}

fn both_workspaces(line: usize) -> ConfigError {
    ConfigError::new(
        "`workspace` and `workspaces` exclude each other",
        "keep `workspace` for one, `workspaces` for several",
    )
    .at(line)
}

fn unknown(entry: &Entry, outer: &str, known: &str) -> ConfigError {
    let nearest = known
        .split(", ")
        .map(|name| (strsim::jaro_winkler(&entry.key.to_lowercase(), name), name))
        .max_by(|one, other| one.0.total_cmp(&other.0));
    let remedy = match nearest {
        Some((likeness, name)) if likeness > 0.75 => format!("did you mean `{name}`?"),
        Some(_) | None => format!("known keys: {known}"),
    };
    let place = if outer.is_empty() {
        String::new()
    } else {
        format!(" in `{outer}`")
    };
    // A key may be a misplaced token, so only a plain word is repeated.
    let is_word =
        |key: &str| key.len() <= 40 && key.chars().all(|c| c.is_alphabetic() || "_- ".contains(c));
    let key = if is_word(&entry.key) {
        format!("unknown key `{}`{place}", entry.key)
    } else {
        format!("an unknown key{place}")
    };
    ConfigError::new(key, remedy).at(entry.line)
}
