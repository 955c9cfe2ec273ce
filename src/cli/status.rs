//! `kbsync status`: shows what changed and what waits, from the mirror and the state alone.
//!
//! Without `--remote` no request is made. No lock is taken, and nothing is written.

use super::{
    Outcome,
    conflict::{self, Conflict},
    connect::{budget_left, last_budget},
    context::Context,
    counts::{grouped, several},
    daemon_status::daemon_lines,
    exit::ExitCode,
    failure::Failure,
    git_head::GitHeads,
    print::{DIM, ERROR, GOOD, HELP, WARNING, escape},
    progress::{Pace, estimate},
    report::{self, problem_line},
    scope, session, via_daemon,
};
use crate::{
    config::{Config, Need},
    daemon::job::CycleCommand,
    engine::{
        Clock as _, SystemClock, open,
        reasons::{common_reason, in_groups, reason_of_group},
        report::Report,
        status::{self, Change, ChangeKind, Daemon, Open, Status},
    },
    mirror::RealDisk,
    model::{
        Side, Timestamp,
        path::{CATEGORY_FILE, EXTENSION, quoted},
        time::wait_in_words,
    },
    reconcile::snapshot::Direction,
};
use std::time::Duration;

/// Shows where things stand.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Ask the service, and show both sides' changes
    #[arg(long)]
    remote: bool,
    /// Exit with 1 when there is something to do
    #[arg(long)]
    exit_code: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> Outcome {
    let config = context.config(Need::Workspace)?;
    let now = SystemClock.now();
    let mut found = look(&config)?;
    let mut failure = None;
    let daemon = via_daemon::status(&config).await;
    found.daemon = daemon.as_ref().map(|daemon| Daemon {
        pid: daemon.pid,
        since: daemon.since.clone(),
        next_poll: daemon.next_poll.clone(),
    });
    found.budget = budget_left(&config);
    let git_heads = GitHeads::look(&config);
    found.git = git_heads.branches(&config);
    if args.remote {
        match ask(context, &config).await {
            Ok(report) => found.take_plan(&report),
            Err(error) => failure = Some(error),
        }
    }
    if context.out.json {
        let code = failure.as_ref().map_or(ExitCode::Done, |why| why.code);
        if !found.never_synced.is_empty() {
            // A script sees by the missing time that a workspace was never synced.
            found.last_sync = None;
        }
        context.out.json_report(&found, failure.as_ref(), code)?;
    } else {
        // A daemon's own lines say the same, and more.
        let busy = via_daemon::holder(&config).filter(|_| daemon.is_none());
        let busy = busy.map(|owner| owner.to_string());
        let conflicts = conflict::open(&config)?;
        let occupied = |path: &str| config.mirror.join(path).symlink_metadata().is_ok();
        let may_write = git_heads.busy().is_none() && git_heads.not_published(&config).is_none();
        for line in shown(&found, busy.as_deref(), &conflicts, may_write, &occupied) {
            context.out.line(line)?;
        }
        let free_in = last_budget(&config).and_then(|budget| budget.minute_free_in());
        context.out.line(ending(&found, now, free_in))?;
        for line in branch_lines(&git_heads, &config) {
            context.out.line(line)?;
        }
        let times = [
            unfinished_line(&found, &config),
            time_to_send(&found, &config, free_in),
        ];
        for line in times.into_iter().flatten() {
            context.out.line(line)?;
        }
        let unsent = to_send(&found).count();
        for line in daemon
            .iter()
            .flat_map(|daemon| daemon_lines(daemon, unsent, now))
        {
            context.out.line(line)?;
        }
        if daemon.is_none() && found.last_sync.is_some() {
            context.out.line(format!("{DIM}{NO_DAEMON}{DIM:#}"))?;
        }
    }
    // Local changes are shown even if the service fails.
    if let Some(failure) = failure {
        return Err(failure);
    }
    let something = args.exit_code && !found.is_quiet();
    Ok(if something {
        ExitCode::Failed
    } else {
        ExitCode::Done
    })
}

/// The line that is printed if no daemon answers.
const NO_DAEMON: &str = "no daemon is running; `kbsync run` starts one";

/// Returns the lines about the published branch and the pause for git.
fn branch_lines(git_heads: &GitHeads, config: &Config) -> Vec<String> {
    let why = git_heads
        .not_published(config)
        .map(|why| format!("nothing is synced: {why}; {}", why.remedy()));
    let busy = git_heads
        .busy()
        .map(|busy| format!("nothing is synced: {busy}; {}", busy.remedy()));
    if let Some(why) = busy.or(why) {
        return vec![format!("{WARNING}{}{WARNING:#}", escape(&why))];
    }
    let published = git_heads
        .repository()
        .and_then(|known| known.published.name());
    published
        .map(|name| {
            format!(
                "{DIM}branch {} is the published branch{DIM:#}",
                escape(name)
            )
        })
        .into_iter()
        .collect()
}

/// Returns the dry run of a sync, on both sides.
async fn ask(context: &Context, config: &Config) -> Result<Report, Failure> {
    let command = CycleCommand {
        dry_run: true,
        ..CycleCommand::new(Direction::Both)
    };
    let session_report = session::run(context, config, "status", command, None).await?;
    match session_report.failures.into_iter().next() {
        None => Ok(session_report.report),
        Some(failure) => Err(failure.into()),
    }
}

/// Returns the status of all workspaces.
fn look(config: &Config) -> Result<Status, Failure> {
    let mut all: Option<Status> = None;
    for root in config.roots() {
        scope::must_be_there(config, &root)?;
        let mut store = open::read_state(config, &root)?;
        let disk = RealDisk::open(&root.path)?;
        let one = status::status(&disk, &mut store, &open::settings(config, &root))?;
        match &mut all {
            Some(all) => all.add(one),
            None => all = Some(one),
        }
    }
    Ok(all.unwrap_or_else(Status::empty))
}

/// Returns the line about articles that the last sync did not read, and about the wait on a day whose requests are
/// spent.
fn unfinished_line(status: &Status, config: &Config) -> Option<String> {
    let free_in = last_budget(config).and_then(|budget| budget.day_free_in());
    let what = match status.unread {
        0 if free_in.is_none() => return None,
        0 => "changes wait".to_owned(),
        unread => format!("{} not fetched yet", several_are(unread, "article")),
    };
    let Some(wait) = free_in else {
        return Some(format!(
            "{WARNING}{what}; `kbsync sync` continues{WARNING:#}"
        ));
    };
    let wait = wait_in_words(wait);
    Some(format!(
        "{WARNING}{what}, because the requests of this day are spent; `kbsync sync` can continue in {wait}{WARNING:#}"
    ))
}

/// Requests for a change: one to read the article, one to write it.
const PER_CHANGE: u32 = 2;

/// Returns the time that the budget makes the local changes take; `None`: no time. `free_in`: the wait before the next
/// request may be sent.
fn time_to_send(status: &Status, config: &Config, free_in: Option<Duration>) -> Option<String> {
    let budget = status.budget?;
    if is_never_synced(status) {
        // No file is known to be a change yet, and most files have their article.
        return None;
    }
    let changes = to_send(status).count();
    let limits = config.options.budget;
    let pace = Pace {
        per_minute: limits.per_minute,
        minute_left: budget.minute_left,
        per_day: limits.per_day,
        day_left: budget.day_left,
        per_unit: PER_CHANGE,
        wait: free_in.unwrap_or_default(),
    };
    let time = estimate(changes as u64, pace);
    (!time.is_zero()).then(|| {
        let time = crate::model::time::in_words(time);
        format!(
            "{DIM}sending {} takes about {time} at this rate limit{DIM:#}",
            several(changes, "change")
        )
    })
}

/// Returns the changes of the mirror that a sync sends.
fn to_send(status: &Status) -> impl Iterator<Item = &Change> {
    unsent(status).filter(|change| !is_removed_yaml(change))
}

/// Returns whether a category's file was removed, which is no change of the category.
fn is_removed_yaml(change: &Change) -> bool {
    change.change == ChangeKind::Deleted && change.path.ends_with(CATEGORY_FILE)
}

/// Returns the changes of the mirror that the next sync settles. Conflicts and held files are left out: they wait for a
/// person.
fn unsent(status: &Status) -> impl Iterator<Item = &Change> {
    let waits = |change: &&Change| {
        let mut open = status.conflicts.iter().chain(&status.held);
        open.any(|open| open.path == change.path)
    };
    let here = status.changes.iter();
    here.filter(move |change| change.side != Some(Side::Remote) && !waits(change))
}

/// Returns the number of files that may have an article: before the first sync nobody knows.
fn never_compared(status: &Status) -> usize {
    let unknown_article_id = status.changes.iter().filter(|change| {
        change.side.is_none()
            && change.change == ChangeKind::Created
            && change.path.ends_with(EXTENSION)
    });
    unknown_article_id.count()
}

fn is_never_synced(status: &Status) -> bool {
    status.last_sync.is_none() && never_compared(status) > 0
}

/// Returns the lines. `may_write`: commands that write are not refused because of git. `occupied` returns whether there
/// is a file at a path.
fn shown(
    status: &Status,
    busy: Option<&str>,
    conflicts: &[Conflict],
    may_write: bool,
    occupied: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let mut lines = Vec::new();
    let there = |change: &&Change| change.side == Some(Side::Remote);
    // Nothing is restored to an occupied path.
    let removed = |change: &Change| {
        change.change == ChangeKind::Deleted
            && change.path.ends_with(EXTENSION)
            && !occupied(&change.path)
    };
    if is_never_synced(status) {
        lines.push(format!(
            "Never synced here: {} not compared with the service yet. `kbsync sync` pairs each with its article; those \
             without one become new articles.",
            several_are(never_compared(status), "file")
        ));
        return lines;
    }
    if status.last_sync.is_some() {
        lines.extend(status.never_synced.iter().map(|folder| {
            let folder = escape(folder);
            format!("{folder} was never synced: `kbsync sync` compares its files with the service.")
        }));
    }
    // On another branch, nothing is restored.
    let back = may_write && unsent(status).any(removed);
    let yaml = unsent(status).any(is_removed_yaml);
    let older = may_write && unsent(status).any(|change| change.older);
    let changed = |changes: Vec<&Change>| {
        let mut changes: Vec<String> = changes.into_iter().map(change_line).collect();
        let (named, more) = report::some_of(changes.len());
        changes.truncate(named);
        changes.extend(more);
        changes
    };
    section(
        &mut lines,
        "Changed in the mirror:",
        // A conflict or a held file is listed below.
        changed(unsent(status).collect())
            .into_iter()
            .chain(older.then(|| format!("    {DIM}{OLDER}{DIM:#}")))
            .chain(back.then(|| format!("    {DIM}{BACK}{DIM:#}")))
            .chain(yaml.then(|| format!("    {DIM}{YAML}{DIM:#}"))),
    );
    section(
        &mut lines,
        "Changed on the service:",
        changed(status.changes.iter().filter(there).collect()).into_iter(),
    );
    section(
        &mut lines,
        "In conflict:",
        conflict_lines(&status.conflicts, conflicts).into_iter(),
    );
    section(
        &mut lines,
        "Held, until you decide:",
        open_lines(&status.held).into_iter(),
    );
    // These two reasons come from a line in the file.
    let by_file = |open: &Open| ["disabled", "a draft"].contains(&open.reason.as_str());
    let hides = status.invisible.iter().any(by_file);
    section(
        &mut lines,
        "Hidden from readers:",
        status
            .invisible
            .iter()
            .map(|open| {
                let (path, reason) = (escape(&open.path), escape(&open.reason));
                format!("  {path} {DIM}({reason}){DIM:#}")
            })
            .chain(hides.then(|| format!("    {DIM}{PUBLISH}{DIM:#}"))),
    );
    section(
        &mut lines,
        "Left out:",
        status
            .problems
            .iter()
            .map(|problem| format!("  {}", problem_line(problem))),
    );
    if status.is_quiet() {
        lines.push(if status.last_sync.is_some() {
            "Nothing changed in the mirror since the last sync.".to_owned()
        } else {
            "Nothing has been synced yet; start with `kbsync sync`.".to_owned()
        });
    }
    if let Some(busy) = busy {
        lines.push(format!("{busy} is running."));
    }
    lines
}

/// Formats a number with its noun and `is` or `are`.
fn several_are(number: usize, noun: &str) -> String {
    let verb = if number == 1 { "is" } else { "are" };
    format!("{} {verb}", several(number, noun))
}

/// The hint after hidden articles.
const PUBLISH: &str = "to show an article, remove the line `enabled: false` from its file; a draft is published in the \
                       dashboard";

/// The hint after files with an older version.
const OLDER: &str = "older: a newer version had replaced this text (git checkout or git stash?); `kbsync log PATH` lists both, and \
                     `kbsync restore PATH` brings the newer version back";

/// The hint after removed files.
const BACK: &str = "`kbsync restore PATH` brings a removed file back; with a folder, or `.`, all that are missing in it";

/// The hint after removed files of categories.
const YAML: &str = "the next sync writes a removed `_category.yaml` again; only the dashboard can delete a category";

fn section(lines: &mut Vec<String>, title: &str, inside: impl Iterator<Item = String>) {
    let mut inside = inside.peekable();
    if inside.peek().is_some() {
        lines.push(format!("{HELP}{title}{HELP:#}"));
        lines.extend(inside);
        lines.push(String::new());
    }
}

fn change_line(change: &Change) -> String {
    let style = match change.change {
        ChangeKind::Created => GOOD,
        ChangeKind::Modified | ChangeKind::Moved => WARNING,
        ChangeKind::Deleted => ERROR,
    };
    let path = escape(&change.path);
    let fields: Vec<_> = change.fields.iter().map(|field| field.key()).collect();
    let fields = if fields.is_empty() {
        String::new()
    } else {
        format!(" {DIM}({}){DIM:#}", fields.join(", "))
    };
    format!(
        "  {style}{:<9}{style:#} {path}{fields}",
        if change.older {
            "older"
        } else {
            change.change.word()
        }
    )
}

/// The most lines with the same reason that are listed.
const NAMED: usize = 4;

/// Returns the lines of conflicts: the files, the reasons, and the command that shows both sides.
fn conflict_lines(open: &[Open], conflicts: &[Conflict]) -> Vec<String> {
    let sides = |one: &Open| {
        one.id
            .and_then(|id| conflict::with_both_sides(conflicts, id))
    };
    let short = open.iter().map(|one| Open {
        reason: sides(one)
            .map_or(&one.reason, |sides| &sides.reason)
            .clone(),
        ..one.clone()
    });
    let mut lines = open_lines(&short.collect::<Vec<_>>());
    let shown: Vec<&str> = open
        .iter()
        .filter(|one| sides(one).is_some())
        .map(|one| one.path.as_str())
        .collect();
    let command = match shown.as_slice() {
        [] => return lines,
        [path] => format!(
            "`kbsync resolve {}` shows both sides and settles it",
            quoted(path)
        ),
        _ => "`kbsync resolve` shows both sides of each, and how to settle it".to_owned(),
    };
    lines.push(format!("    {DIM}{}{DIM:#}", escape(&command)));
    lines
}

/// Returns the lines of open items. A common reason follows its files once.
fn open_lines(open: &[Open]) -> Vec<String> {
    let mut lines = Vec::new();
    for group in in_groups(open, |one| common_reason(&one.reason, &one.path)) {
        let named = if group.len() > NAMED + 1 {
            NAMED
        } else {
            group.len()
        };
        for one in &group[..named] {
            let word = one.action.map_or_else(String::new, |action| {
                format!("{WARNING}{:<9}{WARNING:#} ", action.verb())
            });
            lines.push(format!("  {word}{}", escape(&one.path)));
        }
        if named < group.len() {
            lines.push(format!("  … and {} more", group.len() - named));
        }
        let reason = reason_of_group(group.len(), &group[0].reason, &group[0].path);
        if !reason.is_empty() {
            lines.push(format!("    {DIM}{}{DIM:#}", escape(&reason)));
        }
    }
    lines
}

/// `free_in`: the wait before the next request may be sent, if there is a wait.
fn ending(status: &Status, now: Timestamp, free_in: Option<Duration>) -> String {
    let when = match status.last_sync.as_deref().and_then(moment) {
        Some(then) => format!("last sync {}", ago(now.millis_since(then))),
        None => "never synced".to_owned(),
    };
    let left = status.budget.map_or_else(String::new, |budget| {
        let minute = usize::try_from(budget.minute_left).unwrap_or(usize::MAX);
        let (minute, day) = (several(minute, "request"), grouped(budget.day_left));
        let next = free_in.map_or_else(String::new, |wait| {
            format!(" (the next in {})", wait_in_words(wait))
        });
        format!("; {minute} left this minute{next}, {day} today")
    });
    format!("{DIM}{when}{left}{DIM:#}")
}

pub(super) fn moment(written: &str) -> Option<Timestamp> {
    let moment = chrono::DateTime::parse_from_rfc3339(written).ok()?;
    Some(Timestamp(moment.timestamp_millis()))
}

/// Returns how long ago, in the largest unit that fits.
fn ago(millis: u64) -> String {
    let seconds = Duration::from_millis(millis).as_secs();
    let (number, unit) = match seconds {
        0..10 => return "just now".to_owned(),
        10..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    format!("{} ago", several(number, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_that_wait_for_one_reason_are_not_all_named() {
        let open = |number: usize, reason: &str| Open {
            path: format!("a/{number}.html"),
            id: None,
            action: None,
            side: None,
            reason: reason.to_owned(),
            since: None,
        };
        let mut all: Vec<Open> = (0..9).map(|number| open(number, "too many")).collect();
        all.push(open(9, "another"));
        let lines = open_lines(&all);
        assert_eq!(lines.len(), 4 + 1 + 1 + 2);
        assert_eq!(lines[4], "  … and 5 more");
    }

    #[test]
    fn times_are_reported_in_the_largest_unit() {
        for (seconds, told) in [
            (3, "just now"),
            (59, "59 seconds ago"),
            (60, "1 minute ago"),
            (7200, "2 hours ago"),
            (3 * 86_400, "3 days ago"),
        ] {
            assert_eq!(ago(seconds * 1000), told);
        }
    }
}
