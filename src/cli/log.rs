//! `kbsync log`: the latest events, or the versions of one article.
//!
//! Only the state is read: no request, no lock. The newest entries come first.

use super::{
    ExitCode, Outcome,
    action_lines::{kind_named, sign},
    context::Context,
    differences::{CONTEXT, View, as_patch, formatted, show},
    failure::Failure,
    layout::{self, Column},
    pager,
    print::{DIM, HELP, escape},
    scope::{self, Part},
    times::{local_time, when},
    version_spec::{VersionSpec, described, lookup, side},
};
use crate::{
    config::{Config, Need},
    engine::{
        compare::Pair,
        history::{History, as_file},
    },
    model::{ArticleId, CategoryId, Field, Side},
    state::{Deed, Event, StoredVersion},
};
use serde::Serialize;
use std::path::PathBuf;

/// The default number of events.
const DEFAULT_EVENTS: usize = 50;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A file, or an article's id: lists its versions, even if it was renamed or deleted. A category's folder: lists
    /// what happened in it [default: what happened everywhere]
    ///
    /// Versions are numbered from @1, the oldest; a version keeps its number. `kbsync show PATH@N` prints
    /// one, `kbsync restore PATH@N` brings one back.
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// Show how each version differs from the previous one on the same side
    #[arg(short, long, requires = "path")]
    patch: bool,
    /// List at most N entries [default: 50 events, or all versions of a file]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

impl Args {
    fn limit(&self) -> Option<usize> {
        self.limit
            .map(|limit| usize::try_from(limit).unwrap_or(usize::MAX))
    }
}

#[derive(Default, Serialize)]
struct Report {
    path: Option<String>,
    id: Option<ArticleId>,
    versions: Vec<VersionLine>,
    events: Vec<EventLine>,
    others: Vec<ArticleId>,
}

#[derive(Serialize)]
struct VersionLine {
    number: u64,
    at: String,
    side: Side,
    cause: String,
    path: String,
    changed: Vec<Field>,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

#[derive(Serialize)]
struct EventLine {
    at: String,
    #[serde(flatten)]
    deed: Deed,
}

pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let config = context.config(Need::Workspace)?;
    let path = args.path.as_deref().unwrap_or(&config.mirror);
    match scope::folders(context, &config, path)? {
        None => versions(args, context, &lookup(context, &config, path)?)?,
        Some(_) if args.patch => {
            return Err(Failure::usage(
                "-p shows one article's versions, and this is a folder",
                "name a file in it",
            ));
        }
        Some(folders) => events(args, context, &config, &folders)?,
    }
    Ok(ExitCode::Done)
}

/// Lists the events in folders, the newest first.
fn events(
    args: &Args,
    context: &Context,
    config: &Config,
    folders: &[(Part, String)],
) -> Result<(), Failure> {
    let limit = args.limit().unwrap_or(DEFAULT_EVENTS);
    let mut events: Vec<Event> = Vec::new();
    for (part, folder) in folders {
        let Some(store) = part.state(config)? else {
            continue;
        };
        let within = Some(folder.as_str()).filter(|folder| !folder.is_empty());
        let found = store.events(limit.saturating_add(1), within)?;
        events.extend(in_mirror(part, found));
    }
    // The sort is stable, so events of one moment keep their order.
    events.sort_by_key(|event| std::cmp::Reverse(event.at));
    let is_cut = events.len() > limit;
    events.truncate(limit);
    if context.out.json {
        let path = match folders {
            [(part, folder)] => Some(part.path(folder)).filter(|path| !path.is_empty()),
            [] | [_, ..] => None,
        };
        return Ok(context.out.json(&Report {
            path: path.map(|path| path.trim_end_matches('/').to_owned()),
            events: events.into_iter().map(event_line).collect(),
            ..Report::default()
        })?);
    }
    if events.is_empty() {
        context.out.note("nothing has happened here yet");
        return Ok(());
    }
    let columns = [
        Column::whole(when()).rank(1),
        Column::whole("what"),
        Column::shortened("path"),
        Column::details("details"),
    ];
    let rows = events.into_iter().map(|Event { at, deed }| {
        vec![
            local_time(at),
            format!(
                "{} {}",
                sign(kind_named(&deed.action), deed.side),
                word_of(&deed.action)
            ),
            deed.path,
            detail_of(&deed.detail).to_owned(),
        ]
    });
    pager::table(context, &columns, rows)?;
    if is_cut {
        context.out.note(format!(
            "only the newest {limit} are listed; `--limit N` lists more"
        ));
    }
    Ok(())
}

/// Returns the details for a person. A category's id is for scripts: a person knows the category by its folder.
fn detail_of(detail: &str) -> &str {
    if detail.parse::<CategoryId>().is_ok() {
        return "";
    }
    detail
}

/// Returns the verb of an action, or the name of another event.
fn word_of(action: &str) -> &str {
    match kind_named(action) {
        Some(kind) => kind.verb(),
        None => action,
    }
}

/// Returns the cause of a version, in the words of the actions.
fn why<'a>(named: &VersionSpec, kept: &'a StoredVersion) -> &'a str {
    let is_address = |field: &Field| matches!(field, Field::Category | Field::Slug);
    match word_of(&kept.seen.cause) {
        // A version that neither side had alone was made of both, unless a person only moved the file.
        "pushed" if kept.seen.side == Side::Both => {
            let changed = named.history.changed(kept);
            if !changed.is_empty() && changed.iter().all(is_address) {
                return "moved";
            }
            "merged or resolved"
        }
        why => why,
    }
}

/// Returns events of a workspace with their paths below the mirror.
fn in_mirror(part: &Part, events: Vec<Event>) -> impl Iterator<Item = Event> {
    events.into_iter().map(|mut event| {
        event.deed.path = part.path(&event.deed.path);
        event
    })
}

fn event_line(Event { at, deed }: Event) -> EventLine {
    let at = at.to_rfc3339();
    EventLine { at, deed }
}

/// Lists the versions of one subject.
fn versions(args: &Args, context: &Context, named: &VersionSpec) -> Result<(), Failure> {
    if let Some(number) = named.number {
        return Err(Failure::usage(
            "`log` lists all versions of a file",
            format!("`kbsync show {}@{number}` prints this one", named.name),
        ));
    }
    if context.out.json {
        return as_json(args, context, named);
    }
    named.note_others(context);
    let out = context.out;
    let heading = layout::wrap(&format!("{HELP}{}{HELP:#}", heading(named)), out.width());
    let limit = args.limit().unwrap_or(usize::MAX);
    if args.patch {
        let mut text = out.styled(&format!("{heading}\n"));
        for (kept, mut row) in rows(named, limit) {
            let changes = row.pop().filter(|changes| !changes.is_empty());
            let changes = changes.map(|changes| format!(" ({changes})"));
            let headline = row.join("  ") + &changes.unwrap_or_default();
            text += &out.styled(&format!("{HELP}{}{HELP:#}\n", escape(&headline)));
            if let Some(pair) = difference(named, kept)? {
                text += &formatted(out, &pair, View::between("before", "this version"));
            }
        }
        return Ok(show(context, &text)?);
    }
    let columns = [
        Column::whole("version"),
        Column::whole(when()).rank(1),
        Column::whole("side").rank(1),
        Column::whole("why"),
        Column::details("changed"),
    ];
    let rows = rows(named, limit).map(|(_, row)| row);
    let table = layout::table(&columns, rows, out.width());
    pager::show(context, &format!("{heading}\n{table}"))?;
    if named.history.ended.is_some() {
        out.line(format!(
            "{DIM}deleted; `kbsync restore {}` brings it back as a new article{DIM:#}",
            escape(&named.name)
        ))?;
    }
    Ok(())
}

fn heading(named: &VersionSpec) -> String {
    match (named.now_at(), named.history.article()) {
        (Some(path), Some(id)) => format!("{} {id}", escape(&path)),
        (Some(path), None) => escape(&path).into_owned(),
        (None, _) => format!("{} {}", escape(&named.name), described(&named.history)),
    }
}

/// Returns each distinct version with its row of the table.
fn rows(named: &VersionSpec, limit: usize) -> impl Iterator<Item = (&StoredVersion, Vec<String>)> {
    let distinct = named.history.distinct().into_iter().take(limit);
    let present = named.history.present();
    distinct.map(move |(kept, both)| {
        let row = vec![
            format!("@{}", kept.number),
            local_time(kept.at),
            sides(kept, both, present),
            why(named, kept).to_owned(),
            changes(named, kept),
        ];
        (kept, row)
    })
}

/// Returns the side on which a version appeared, whether both sides got the version, and whether both still have it.
fn sides(kept: &StoredVersion, both: bool, present: Option<u64>) -> String {
    let first = side(kept.seen.side);
    let now = present == Some(kept.number);
    match (both && kept.seen.side != Side::Both, now) {
        (true, true) => format!("{first}, now both"),
        (true, false) => format!("{first}, then both"),
        (false, true) => format!("{first}, now"),
        (false, false) => first.to_owned(),
    }
}

/// Returns the changes of a version in words.
fn changes(named: &VersionSpec, kept: &StoredVersion) -> String {
    let fields = named.history.changed(kept);
    let mut words: Vec<String> = fields.iter().map(ToString::to_string).collect();
    let before = named.history.before(kept.number);
    let own = kept.seen.side == Side::Local && kept.seen.file.is_some();
    if words.is_empty() && before.is_some() && own {
        words.push(named.changes_of_file(kept));
    }
    // A version of the service has no path in the mirror.
    let here = before.filter(|_| kept.seen.side != Side::Remote);
    if let Some(before) = here.filter(|before| before.seen.place != kept.seen.place) {
        words.push(format!("was {}", named.part.path(&before.seen.place)));
    }
    words.join(", ")
}

/// Returns the difference from the version before; `None`: the files are equal.
fn difference(named: &VersionSpec, kept: &StoredVersion) -> Result<Option<Pair>, Failure> {
    let before = named.history.before(kept.number);
    let old = before.map(|before| as_file(&named.store, before));
    let old = old.transpose()?.flatten();
    let new = as_file(&named.store, kept)?.unwrap_or_default();
    if before.is_some() && old.as_ref() == Some(&new) {
        return Ok(None);
    }
    let path = |kept: &StoredVersion| named.part.path(&kept.seen.place);
    Ok(Some(Pair {
        old_path: before.filter(|_| old.is_some()).map(path),
        new_path: Some(path(kept)),
        old: old.unwrap_or_default(),
        new,
    }))
}

fn as_json(args: &Args, context: &Context, named: &VersionSpec) -> Result<(), Failure> {
    let limit = args.limit().unwrap_or(usize::MAX);
    let mut versions = Vec::new();
    for kept in named.history.versions.iter().take(limit) {
        let diff = if args.patch {
            let pair = difference(named, kept)?;
            Some(pair.map_or_else(String::new, |pair| as_patch(&pair, CONTEXT)))
        } else {
            None
        };
        versions.push(VersionLine {
            number: kept.number,
            at: kept.at.to_rfc3339(),
            side: kept.seen.side,
            cause: kept.seen.cause.clone(),
            path: named.part.path(&kept.seen.place),
            changed: named.history.changed(kept),
            title: kept.seen.version.title.clone(),
            diff,
        });
    }
    let id = named.history.article();
    let events = match (id, &named.history.now_at) {
        (Some(id), _) => named.store.events_of(id, limit)?,
        // Of the other subjects, only a category has a present place.
        (None, Some(place)) => named.store.events(limit, Some(&place.folder))?,
        (None, None) => Vec::new(),
    };
    Ok(context.out.json(&Report {
        path: named.now_at(),
        id,
        versions,
        events: in_mirror(&named.part, events).map(event_line).collect(),
        others: named.others.iter().filter_map(History::article).collect(),
    })?)
}
