//! `kbsync status`: shows what changed and what waits, from the mirror and the state alone.
//!
//! Without `--remote` no request is made. No lock is taken, and nothing is written.

use super::{
    ExitCode, Outcome,
    action_lines::{Entry, NAMED, described, listed, problem_line},
    connect::{budget_left, last_budget},
    context::Context,
    counts::{grouped, several},
    daemon_status::{daemon_lines, time_of},
    failure::Failure,
    git_head,
    print::{DIM, ERROR, GOOD, HELP, WARNING, escape},
    scope,
    session::Session,
    via_daemon,
};
use crate::{
    config::{Config, Need},
    daemon::git::{self, Known},
    engine::{
        open,
        report::Report,
        status::{self, Change, ChangeKind, Daemon, Open, Status},
    },
    mirror::RealDisk,
    model::{Side, path::EXTENSION, time::wait_in_words},
};

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
    let mut found = look(&config)?;
    let mut failure = None;
    let daemon = via_daemon::status(&config).await;
    found.daemon = daemon.as_ref().map(|daemon| Daemon {
        pid: daemon.pid,
        since: daemon.since.clone(),
        next_poll: daemon.next_poll.clone(),
    });
    found.budget = budget_left(&config);
    let repositories = git_head::look(&config);
    found.git = git_head::branches(&config, &repositories);
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
        let mut lines = shown(&found);
        lines.extend(unfinished_line(&found, &config));
        lines.extend(branch_line(&repositories, &config));
        // A daemon's own lines say more than the lock.
        lines.extend(match (&daemon, via_daemon::holders(&config).next()) {
            (Some(daemon), _) => daemon_lines(daemon, unsent(&found).count()),
            (None, Some(owner)) => vec![format!("{owner} is running.")],
            (None, None) if found.last_sync.is_none() => Vec::new(),
            (None, None) => vec![format!("{DIM}{NO_DAEMON}{DIM:#}")],
        });
        context.out.line(lines.join("\n"))?;
    }
    // Local changes are shown even if the service fails.
    match failure {
        Some(failure) => Err(failure),
        None if args.exit_code && !found.is_quiet() => Ok(ExitCode::Failed),
        None => Ok(ExitCode::Done),
    }
}

/// The line that is printed if no process works on the mirror.
const NO_DAEMON: &str = "no daemon is running; `kbsync run` starts one";

/// Returns the line about the published branch, or about the pause for git.
fn branch_line(repositories: &[Known], config: &Config) -> Option<String> {
    if let Some(why) = git::pause(&config.options.git_branch, repositories) {
        let why = format!("{why}; {}", why.remedy());
        let why = escape(&why);
        return Some(format!("{WARNING}nothing is synced: {why}{WARNING:#}"));
    }
    let name = escape(repositories.first()?.published.name()?);
    Some(format!("{DIM}branch {name} is the published branch{DIM:#}"))
}

async fn ask(context: &Context, config: &Config) -> Result<Report, Failure> {
    Session::open(context, config)?.look().await
}

/// Returns the status of all workspaces.
pub(super) fn look(config: &Config) -> Result<Status, Failure> {
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
    Ok(all.unwrap_or_default())
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

/// Returns the lines about the articles, the last sync and the budget.
fn shown(status: &Status) -> Vec<String> {
    let mut lines = Vec::new();
    // Before the first sync, nobody knows which files have an article.
    let is_unknown = |change: &&Change| change.side.is_none() && change.path.ends_with(EXTENSION);
    let unknown = status.changes.iter().filter(is_unknown).count();
    if status.last_sync.is_none() && unknown > 0 {
        lines.push(format!(
            "Never synced here: `kbsync sync` compares {} with the service and pairs each with its article; those without \
             one become new articles.",
            several(unknown, "file")
        ));
    } else {
        lines.extend(sections(status));
    }
    let when = match &status.last_sync {
        Some(then) => format!("last sync {}", time_of(then)),
        None => "never synced".to_owned(),
    };
    let left = status.budget.map_or_else(String::new, |budget| {
        let minute = several(budget.minute_left, "request");
        let day = grouped(budget.day_left);
        format!("; {minute} left this minute, {day} today")
    });
    lines.push(format!("{DIM}{when}{left}{DIM:#}"));
    lines
}

/// Returns the line about articles that the last sync did not read, and about the wait on a day whose requests are
/// spent.
fn unfinished_line(status: &Status, config: &Config) -> Option<String> {
    let free_in = last_budget(config).and_then(|budget| budget.day_free_in());
    let what = match status.unread {
        0 if free_in.is_none() => return None,
        0 if status.changes.is_empty() => "today's requests are spent".to_owned(),
        0 => "changes wait".to_owned(),
        unread => format!("not fetched yet: {}", several(unread, "article")),
    };
    let when = free_in.map_or_else(
        || "continues".to_owned(),
        |wait| format!("can continue in {}", wait_in_words(wait)),
    );
    Some(format!("{WARNING}{what}; `kbsync sync` {when}{WARNING:#}"))
}

fn sections(status: &Status) -> Vec<String> {
    let mut lines = Vec::new();
    if status.last_sync.is_some() {
        lines.extend(status.never_synced.iter().map(|folder| {
            let folder = escape(folder);
            format!("{folder} was never synced: `kbsync sync` compares its files with the service.")
        }));
    }
    let there = |change: &&Change| change.side == Some(Side::Remote);
    let there = status.changes.iter().filter(there);
    let problem = |problem| Entry::new(format!("  {}", problem_line(problem)), "", "");
    let sections = [
        (
            "Changed in the mirror:",
            unsent(status).map(change_entry).collect(),
        ),
        ("Changed on the service:", there.map(change_entry).collect()),
        ("In conflict:", open_entries(&status.conflicts)),
        (
            "Held by the last sync, until you decide:",
            open_entries(&status.held),
        ),
        ("Hidden from readers:", open_entries(&status.invisible)),
        ("Left out:", status.problems.iter().map(problem).collect()),
    ];
    let sections: [(&str, Vec<Entry<'_>>); 6] = sections;
    for (title, entries) in sections {
        if !entries.is_empty() {
            lines.push(format!("{HELP}{title}{HELP:#}"));
            lines.extend(listed(&entries, NAMED));
            lines.push(String::new());
        }
    }
    if status.is_quiet() {
        lines.push(if status.last_sync.is_some() {
            "Nothing changed in the mirror since the last sync.".to_owned()
        } else {
            "Nothing has been synced yet; start with `kbsync sync`.".to_owned()
        });
    }
    lines
}

fn change_entry(change: &Change) -> Entry<'_> {
    let style = match change.change {
        ChangeKind::Created => GOOD,
        ChangeKind::Modified | ChangeKind::Moved => WARNING,
        ChangeKind::Deleted => ERROR,
    };
    let word = if change.older {
        "older"
    } else {
        change.change.word()
    };
    let described = described(style, word, &change.path, &change.fields);
    Entry::new(format!("  {described}"), &change.path, "")
}

/// Returns the entries of open articles, each with its reason.
fn open_entries(open: &[Open]) -> Vec<Entry<'_>> {
    let entries = open.iter().map(|one| {
        let line = match one.action {
            Some(action) => described(WARNING, action.verb(), &one.path, &[]),
            None => escape(&one.path).into_owned(),
        };
        Entry::new(format!("  {line}"), &one.path, &one.reason)
    });
    entries.collect()
}
