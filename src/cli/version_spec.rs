//! Arguments that name versions: `PATH` or `ID`, with an optional `@N`.
//!
//! A number belongs to a version for good: @1 is the oldest version. If numbers counted from the newest version, a save
//! between a look and a `restore` would shift them.

use super::{
    context::Context,
    failure::Failure,
    print::escape,
    scope::{self, Part},
    times::local_time,
};
use crate::{
    config::Config,
    engine::{
        history::{self, History},
        status::last_poll,
    },
    mirror::document::Document,
    model::{ArticleId, Side, path::EXTENSION},
    state::{Store, StoredVersion, Subject},
};
use std::path::Path;

/// A subject of the history that an argument named.
#[derive(Debug)]
pub(super) struct VersionSpec {
    /// The subject's workspace.
    pub(super) part: Part,
    /// The workspace's state.
    pub(super) store: Store,
    /// The subject's versions.
    pub(super) history: History,
    /// Other subjects that had this path.
    pub(super) others: Vec<History>,
    /// The number after `@`.
    pub(super) number: Option<u64>,
    /// The argument without the number.
    pub(super) name: String,
    /// The path in the workspace; `None`: the argument is an id.
    pub(super) below: Option<String>,
}

impl VersionSpec {
    /// Returns the version with the number; without a number, the newest version.
    pub(super) fn version(&self) -> Result<&StoredVersion, Failure> {
        let (name, history) = (&self.name, &self.history);
        let Some(number) = self.number else {
            // A conflict copy is skipped, because its text was never the file's.
            let last = history.last_address().map(|kept| history.listed(kept));
            return Ok(last.unwrap_or(history.newest()));
        };
        history.numbered(number).ok_or_else(|| {
            let distinct = history.distinct();
            let newest = distinct.first().map_or(0, |(kept, _)| kept.number);
            Failure::usage(
                format!("{name} has no version @{number}"),
                format!(
                    "its newest version is @{newest}; `kbsync log {name}` lists those that are kept"
                ),
            )
        })
    }

    /// Returns the present path of the subject's file, below the mirror.
    pub(super) fn now_at(&self) -> Option<String> {
        let now_at = self.history.now_at.as_ref();
        now_at.map(|place| self.part.path(place))
    }

    /// Returns whether the subject is at the named path now, or was named by its id.
    pub(super) fn is_meant(&self) -> bool {
        self.below.as_ref().is_none_or(|below| {
            let now_at = self.history.now_at.as_ref();
            now_at.is_some_and(|now| is_at(now, below))
        })
    }

    /// Returns whether the subject is the last deletion at the named path, and nothing else with this path exists.
    pub(super) fn ended_last(&self) -> bool {
        let ended = |history: &History| {
            let place = &history.last_address()?.seen.place;
            let below = self.below.as_ref()?;
            history.ended.filter(|_| is_at(place, below))
        };
        let last = ended(&self.history);
        last.is_some()
            && self.others.iter().all(|other| {
                other.article().is_none() || (other.now_at.is_none() && ended(other) < last)
            })
    }

    /// Returns what changed in a file since the previous one with an equal version: keys of kbsync that are no part of
    /// a version, or else something of the writer's own.
    pub(super) fn changes_of_file(&self, kept: &StoredVersion) -> String {
        let keys = |kept: &StoredVersion| {
            let file = self.store.body(kept.seen.file?).ok()??;
            let file = Document::parse_leniently(file.as_bytes()).ok()?;
            Some([
                ("slug", file.slug().unwrap_or_default().to_owned()),
                ("enabled", format!("{:?}", file.flags().enabled)),
                ("draft", format!("{:?}", file.flags().draft)),
            ])
        };
        let mut older = self.history.versions.iter();
        let last = older.find(|one| one.number < kept.number && one.seen.side == Side::Local);
        let both = last.and_then(keys).zip(keys(kept)).into_iter();
        let both = both.flat_map(|(was, now)| std::iter::zip(was, now));
        let changed = both.filter(|(was, now)| was != now);
        let changed: Vec<&str> = changed.map(|(_, (key, _))| key).collect();
        if changed.is_empty() {
            return "comments, quotes or keys of your own".to_owned();
        }
        changed.join(", ")
    }

    /// Prints the other subjects that had this path.
    pub(super) fn note_others(&self, context: &Context) {
        for other in &self.others {
            let other = described(other);
            context
                .out
                .note(format!("also known by this path: {other}"));
        }
    }
}

/// Returns whether a path names this place; `.html` may be left out.
pub(super) fn is_at(place: &impl ToString, path: &str) -> bool {
    let place = place.to_string();
    place == path || place.strip_suffix(EXTENSION) == Some(path)
}

/// Describes a subject in a line: its id, its fate, its title.
pub(super) fn described(history: &History) -> String {
    let id = match &history.subject {
        Subject::Article(id) => id.to_string(),
        Subject::File(_) => "a file without an id".to_owned(),
    };
    format!("{id} ({})", became(history))
}

/// Describes a subject's fate and its title.
pub(super) fn became(history: &History) -> String {
    let newest = history.newest();
    let state = match (&history.now_at, history.ended) {
        (Some(place), _) => format!("now {place}"),
        (None, Some(at)) => format!("deleted {}", local_time(at)),
        (None, None) => format!("last seen {}", local_time(newest.at)),
    };
    format!("{state}, \"{}\"", escape(&newest.seen.version.title))
}

/// Finds the subject that an argument names.
pub(super) fn lookup(
    context: &Context,
    config: &Config,
    argument: &Path,
) -> Result<VersionSpec, Failure> {
    let text = argument.to_string_lossy().into_owned();
    let numbered = text.rsplit_once('@');
    let numbered = numbered.and_then(|(name, digits)| Some((name, digits.parse::<u64>().ok()?)));
    // The whole argument is tried first, because the name of a file may have an `@`.
    let readings = [
        Some((&*text, None)),
        numbered.map(|(name, number)| (name, Some(number))),
    ];
    let mut first_failure = None;
    for (name, number) in readings.into_iter().flatten() {
        match found(context, config, name) {
            Ok(Some(found)) => return Ok(VersionSpec { number, ..found }),
            Ok(None) => {}
            Err(failure) => first_failure = first_failure.or(Some(failure)),
        }
    }
    let name = numbered.map_or(&*text, |(name, _)| name);
    if first_failure.is_none() && scope::folders(context, config, Path::new(name))?.is_some() {
        return Err(Failure::usage(
            format!("{name} is a folder"),
            "name a file in it",
        ));
    }
    Err(first_failure.unwrap_or_else(|| {
        Failure::usage(
            format!("the history has nothing about {name}"),
            "name a file or an article's id, with @N for its version N; `kbsync sync` syncs a new file, and `kbsync log` lists \
             what happened recently",
        )
    }))
}

/// Looks up a name in the states: an id in all workspaces, a path in the workspace that has the path.
fn found(context: &Context, config: &Config, name: &str) -> Result<Option<VersionSpec>, Failure> {
    let spec = |part, store, below, mut found: Vec<History>| VersionSpec {
        part,
        store,
        history: found.remove(0),
        others: found,
        number: None,
        name: name.to_owned(),
        below,
    };
    if let Ok(id) = name.parse::<ArticleId>() {
        for part in scope::all(config) {
            let Some(store) = part.state(config)? else {
                continue;
            };
            let current = history::ended::goes_on_as(&store, id)?;
            if let Some(history) = history::of(&store, Subject::Article(current.unwrap_or(id)))? {
                if let Some(current) = current {
                    let note = format!("article {id} was created anew as {current}");
                    context.out.note(note);
                }
                return Ok(Some(spec(part, store, None, vec![history])));
            }
        }
        return Ok(None);
    }
    let (part, path) = scope::part(context, config, Path::new(name))?;
    scope::must_be_there(config, &part.root)?;
    let Some(store) = part.state(config)? else {
        return Err(Failure::usage(
            "the history is empty: nothing has been synced here yet",
            "run `kbsync sync` first",
        ));
    };
    let found = history::at_path(&store, &path)?;
    if found.is_empty() && part.root.path.join(&path).is_file() {
        return Err(Failure::usage(
            format!("{name} was never synced under this path"),
            "`kbsync sync` syncs an article's file, and `kbsync status` shows what waits; of a file that was moved just now, \
             name the article's id",
        ));
    }
    Ok((!found.is_empty()).then(|| spec(part, store, Some(path), found)))
}

/// Returns whether no workspace was ever synced here, so that there is no base.
pub(super) fn never_synced(config: &Config, parts: &[Part]) -> Result<bool, Failure> {
    for part in parts {
        if let Some(store) = part.state(config)?
            && last_poll(&store)?.is_some()
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the name of a side.
pub(super) const fn side(side: Side) -> &'static str {
    match side {
        Side::Local => "mirror",
        Side::Remote => "service",
        Side::Both => "both",
    }
}
