//! `kbsync doctor`: finds faults, and names the remedy of each.
//!
//! All checks run even after a fault. The command changes nothing, and sends one request for each workspace. `machine`
//! checks the operating system, `git` the repositories; the other checks use kbsync's own modules.

mod daemon;
mod git;
mod machine;

use super::{
    ExitCode, Outcome,
    connect::connect,
    consent,
    context::Context,
    counts::{grouped, several},
    failure::Failure,
    print::{DIM, ERROR, GOOD, WARNING, escape_block},
    via_daemon,
};
use crate::{
    config::{Config, Need, Root, TokenSource, find_mirror},
    daemon::control::DaemonStatus,
    engine::open,
    mirror::lock::Lock,
    model::time::wait_in_words,
    service::{
        Purpose, Service as _, ServiceRead as _,
        budget::{BudgetLimits, Refusal},
        client::Client,
    },
};
use serde::Serialize;
use std::time::Duration;

/// The result of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Good,
    Warning,
    Bad,
    Unknown,
}

/// A check.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct Check {
    name: &'static str,
    result: Verdict,
    message: String,
    help: Option<String>,
    #[serde(skip)]
    code: ExitCode,
}

#[derive(Serialize)]
struct Report<'a> {
    healthy: bool,
    checks: &'a [Check],
}

impl Check {
    fn new(name: &'static str, result: Verdict, message: impl Into<String>) -> Self {
        Self {
            name,
            result,
            message: message.into(),
            help: None,
            code: match result {
                Verdict::Good | Verdict::Warning | Verdict::Unknown => ExitCode::Done,
                Verdict::Bad => ExitCode::Failed,
            },
        }
    }

    fn good(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Verdict::Good, message)
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Makes a check from a failure, with its code and remedy.
    fn failed(name: &'static str, failure: &Failure) -> Self {
        let causes: Vec<String> = failure.error.chain().map(ToString::to_string).collect();
        Self {
            help: failure.help.clone(),
            code: failure.code,
            ..Self::new(name, Verdict::Bad, causes.join(": "))
        }
    }
}

/// Seconds by which two clocks may differ: one for the precision of HTTP's dates, the rest for a slow answer.
const CLOCK_SLACK: u64 = 30;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Only ask the running daemon whether it is well: a health check for containers without a shell
    #[arg(long)]
    health: bool,
}

pub(super) async fn run(args: &Args, context: &Context) -> Outcome {
    if args.health {
        return health(context).await;
    }
    let mut checks = Vec::new();
    match context.config(Need::Workspace) {
        Ok(config) => look_around(&config, context, &mut checks).await,
        Err(failure) => {
            checks.push(Check::failed("settings", &failure));
            if let Ok(mirror) = find_mirror(&context.request()) {
                checks.extend(machine::checks(&mirror));
            }
        }
    }
    print(context, &checks)
}

fn print(context: &Context, checks: &[Check]) -> Outcome {
    if context.out.json {
        context.out.json(&Report {
            healthy: checks.iter().all(|check| check.result != Verdict::Bad),
            checks,
        })?;
    } else {
        for check in checks {
            context.out.line(shown(check))?;
        }
    }
    Ok(ExitCode::worst(checks.iter().map(|check| check.code)))
}

/// Prints one line about the daemon. Exits with 1 unless the daemon is healthy.
async fn health(context: &Context) -> Outcome {
    let config = context.config(Need::Workspace)?;
    let check = match via_daemon::status(&config).await {
        None => Check::new("daemon", Verdict::Bad, "no daemon answers here")
            .help("start it with `kbsync run`"),
        Some(found) => {
            let found = DaemonStatus {
                // A pause is no fault, and a restart of the container would mend neither the service nor the token.
                waiting_for: None,
                ..found
            };
            daemon::says(found, false)
        }
    };
    print(context, &[check])
}

async fn look_around(config: &Config, context: &Context, checks: &mut Vec<Check>) {
    checks.push(Check::good(
        "settings",
        match &config.file {
            Some(file) => file.display().to_string(),
            None => "from the environment".to_owned(),
        },
    ));
    // A diagnosis does not ask for consent.
    match consent::check(context, config).and_then(|()| connect(context, config)) {
        Ok(client) => {
            let source = config.token.as_ref().map(TokenSource::name);
            let message = format!("from {}", source.unwrap_or_default());
            checks.push(Check::good("token", message));
            ask(config, &client, checks).await;
        }
        Err(failure) => checks.push(Check::failed("token", &failure)),
    }
    for root in config.roots() {
        checks.push(state(config, &root));
        checks.push(lock(&root));
    }
    checks.extend(git::checks(config));
    let is_away = checks
        .iter()
        .any(|check| check.name == "service" && check.code == ExitCode::Retry);
    checks.push(daemon::check(config, is_away).await);
    checks.extend(machine::checks(&config.mirror));
}

/// Fetches each workspace, which checks the address, the token and the rights together. Does not wait for the budget,
/// because the user wants an answer now.
async fn ask(config: &Config, client: &Client, checks: &mut Vec<Check>) {
    for entry in &config.workspaces {
        if let Err(refusal) = client.budget().check(1, Purpose::Push).await {
            checks.push(unasked(&refusal));
            break;
        }
        match client.workspace(entry.id).await {
            Ok(workspace) => checks.push(Check::good(
                "service",
                format!("{} answers for {:?}", config.service, workspace.name),
            )),
            Err(error) => {
                let stops_all = error.stops_all();
                checks.push(Check::failed("service", &error.into()));
                if stops_all {
                    break;
                }
            }
        }
    }
    checks.extend(client.clock_ahead().map(clock));
    checks.push(budget(config, client));
}

/// Reports why the service was not asked.
fn unasked(refusal: &Refusal) -> Check {
    let (why, free_in) = match refusal {
        Refusal::Minute { free_in } => ("the requests of this minute are spent", free_in),
        Refusal::Day { free_in } => ("the requests of this day are spent", free_in),
        Refusal::Blocked { free_in } => ("the service asked for a pause", free_in),
        Refusal::Broken { path, source } => {
            let message = format!("requests cannot be counted in {}: {source}", path.display());
            return Check::new("service", Verdict::Bad, message)
                .help("make that file writable, or name another folder in KBSYNC_USER_STATE_DIR");
        }
    };
    let wait = wait_in_words(*free_in);
    Check {
        code: ExitCode::Retry,
        ..Check::new("service", Verdict::Unknown, format!("not asked: {why}"))
            .help(format!("ask again in {wait}"))
    }
}

/// Compares this machine's clock with the service's. No decision uses the difference, but people read the times in
/// `log` and `status`.
fn clock(ahead: i64) -> Check {
    if ahead.unsigned_abs() <= CLOCK_SLACK {
        return Check::good("clock", "agrees with the service's clock");
    }
    let by = crate::model::time::in_words(Duration::from_secs(ahead.unsigned_abs()));
    let word = if ahead > 0 { "ahead of" } else { "behind" };
    Check::new(
        "clock",
        Verdict::Warning,
        format!("this machine's clock is {by} {word} the service's"),
    )
    .help("set it by the network (NTP); syncing does not depend on it, but the times shown do")
}

fn budget(config: &Config, client: &Client) -> Check {
    let left = client.budget_left();
    let reserve = config.options.budget.per_day * config.options.budget.reserve_for_pushes / 100;
    let next = client
        .budget()
        .minute_free_in()
        .map_or_else(String::new, |wait| {
            format!(" (the next request in {})", wait_in_words(wait))
        });
    let message = format!(
        "{} left in this minute{next}, {} in this day",
        several(left.minute_left, "request"),
        grouped(left.day_left)
    );
    if left.day_left <= reserve {
        return Check::new("budget", Verdict::Warning, message)
            .help("the rest is kept for pushes; polls continue when older requests are a day old");
    }
    let own = config.options.budget;
    let (minute, day) = (
        BudgetLimits::default().per_minute,
        BudgetLimits::default().per_day,
    );
    if own.per_minute > minute || own.per_day > day {
        let allowed = format!("{} a minute and {} a day", grouped(minute), grouped(day));
        return Check::new("budget", Verdict::Warning, message).help(format!(
            "`budget:` is above what the service allows ({allowed}): it will refuse requests"
        ));
    }
    Check::good("budget", message)
}

fn state(config: &Config, root: &Root) -> Check {
    let file = root.state.display();
    match open::known_state(config, root) {
        Ok(None) => Check::good(
            "state",
            format!("no state in {file} yet: nothing has been synced"),
        ),
        Ok(Some(store)) => match (store.articles(), store.conflicts()) {
            (Ok(articles), Ok(conflicts)) => {
                let message = format!("{} articles known in {file}", articles.len());
                if conflicts.is_empty() {
                    Check::good("state", message)
                } else {
                    let message = format!("{message}, {}", several(conflicts.len(), "conflict"));
                    Check::new("state", Verdict::Warning, message)
                        .help("`kbsync status` lists them, `kbsync resolve` settles them")
                }
            }
            (Err(error), _) | (_, Err(error)) => Check::failed("state", &error.into()),
        },
        Err(error) => Check::failed("state", &error.into()),
    }
}

fn lock(root: &Root) -> Check {
    match Lock::holder(&root.path) {
        Ok(None) => Check::good("lock", "free"),
        Ok(Some(owner)) => Check::good("lock", format!("held by {owner}")),
        Err(error) => Check::failed("lock", &error.into()),
    }
}

fn shown(check: &Check) -> String {
    let (style, mark) = match check.result {
        Verdict::Good => (GOOD, "ok"),
        Verdict::Warning => (WARNING, "warn"),
        Verdict::Bad => (ERROR, "bad"),
        Verdict::Unknown => (DIM, "?"),
    };
    let message = escape_block(&check.message);
    let line = format!("{style}{mark:<5}{style:#}{:<12} {message}", check.name);
    match &check.help {
        Some(help) => {
            let help = escape_block(help).replace('\n', &format!("\n{:16}", ""));
            format!("{line}\n{:18}{help}", "")
        }
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f104_a_clock_that_is_off_is_reported_with_the_direction() {
        for (ahead, result, words) in [
            (0, Verdict::Good, "agrees"),
            (30, Verdict::Good, "agrees"),
            (-30, Verdict::Good, "agrees"),
            (31, Verdict::Warning, "31s ahead of the service's"),
            (-7200, Verdict::Warning, "2h behind the service's"),
            (i64::MIN, Verdict::Warning, "behind"),
        ] {
            let check = clock(ahead);
            assert_eq!(check.result, result, "{ahead}");
            assert!(check.message.contains(words), "{ahead}: {}", check.message);
            assert_eq!(check.code, ExitCode::Done, "nothing depends on it");
        }
    }

    #[test]
    fn f112_a_request_that_is_not_made_says_when_it_could_be() {
        let free_in = Duration::from_secs(42);
        for refusal in [
            Refusal::Minute { free_in },
            Refusal::Day { free_in },
            Refusal::Blocked { free_in },
        ] {
            let check = unasked(&refusal);
            assert_eq!(check.result, Verdict::Unknown);
            assert_eq!(check.code, ExitCode::Retry);
            assert_eq!(check.help.as_deref(), Some("ask again in 42s"));
        }
    }
}
