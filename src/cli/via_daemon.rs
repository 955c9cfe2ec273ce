//! Handing a command to the daemon that has the mirror, and taking its report.

use super::{
    context::Context,
    exit::ExitCode,
    failure::Failure,
    interrupt::{Work, unless_interrupted},
    progress::{Pace, Progress, Step},
    scope::Part,
    session::SessionReport,
};
use crate::{
    config::Config,
    daemon::{
        control::{self, Command, DaemonStatus, Refusal, RequestError, Response},
        job::{CycleCommand, Release, WireDirection},
    },
    drill::failpoint,
    engine::{report::Report, settings::Request},
    mirror::lock::{Lock, PRIVATE_FOLDER},
    reconcile::{new_categories::NewCategories, snapshot::OnConflict},
};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a daemon may take to say how it is.
const PATIENCE: Duration = Duration::from_secs(2);

/// So long after a command the daemon is asked for the first time how it is.
const FIRST_CHECK: Duration = Duration::from_secs(1);

/// Afterwards it is asked again and again.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// So many times in a row it may not say how it is.
const MAX_SILENCES: u32 = 3;

/// Returns whether a daemon has the mirror.
pub(super) fn is_daemon_there(config: &Config) -> bool {
    config.roots().iter().any(|root| {
        let holder = Lock::holder(&root.path).ok().flatten();
        holder.is_some_and(|owner| owner.doing == control::LOCK_LABEL)
    })
}

/// A request as the daemon is told it.
pub(super) fn cycle_command(
    parts: &[Part],
    request: &Request,
    approve: Vec<Release>,
) -> CycleCommand {
    CycleCommand {
        direction: request.direction.into(),
        scope: scope(parts),
        dry_run: request.dry_run,
        allow_deletes: request.allow_deletes,
        new_categories: request.new_categories == NewCategories::Create,
        prefer: request.prefer.and_then(|side| match side {
            OnConflict::Hold => None,
            OnConflict::Local => Some(crate::daemon::job::WireSide::Local),
            OnConflict::Remote => Some(crate::daemon::job::WireSide::Remote),
        }),
        resolve: request
            .resolve
            .iter()
            .map(|(id, keep)| (*id, (*keep).into()))
            .collect(),
        approve,
        restore: Vec::new(),
    }
}

/// The paths of all parts, from the mirror; none when it is about everything.
fn scope(parts: &[Part]) -> Vec<String> {
    let whole = |part: &Part| part.scope.is_empty();
    if parts.iter().all(whole) && (parts.len() != 1 || parts[0].prefix.is_empty()) {
        return Vec::new();
    }
    parts
        .iter()
        .flat_map(|part| {
            let below = |path: &String| match (part.prefix.as_str(), path.as_str()) {
                ("", path) => path.to_owned(),
                (prefix, ".") => prefix.to_owned(),
                (prefix, path) => format!("{prefix}/{path}"),
            };
            if whole(part) {
                vec![part.prefix.clone()]
            } else {
                part.scope.iter().map(below).collect()
            }
        })
        .collect()
}

/// Has the daemon carry it out; `None`: there is none that listens.
pub(super) async fn to_daemon(
    context: &Context,
    config: &Config,
    wish: CycleCommand,
) -> Result<Option<SessionReport>, Failure> {
    if !is_daemon_there(config) {
        return Ok(None);
    }
    let mut progress = Progress::new(context.out.shows_progress());
    let mut per_unit = 0;
    let partial = wish.direction != WireDirection::Both || !wish.scope.is_empty();
    let private = config.mirror.join(PRIVATE_FOLDER);
    let asked = control::request(&private, Command::Cycle(wish), |step| {
        let step = match step {
            control::Step::Phase {
                name,
                total,
                requests,
            } => {
                per_unit = requests;
                Step::Phase { name, total }
            }
            control::Step::Done(units) => Step::Done(units),
        };
        let pace = Pace {
            per_minute: config.options.budget.per_minute,
            minute_left: 0,
            per_day: config.options.budget.per_day,
            // It knows what is left of the day, and tells when that is not enough.
            day_left: config.options.budget.per_day,
            per_unit,
        };
        progress.step(step, pace);
    });
    let waiting = async {
        Ok(while_it_lives(&private, asked, |silence| {
            note_silence(context, config, silence);
        })
        .await)
    };
    let word = Box::pin(unless_interrupted(Work::ByDaemon, waiting, String::new)).await;
    progress.finish();
    let Some(word) = word? else {
        return Err(unresponsive());
    };
    match word {
        Ok(Response::Report(report)) => Ok(Some(SessionReport {
            report: Report { partial, ..*report },
            failures: Vec::new(),
        })),
        Ok(Response::Failed(refusal)) => Err(refused(refusal)),
        // It starts just now, or has no socket: the lock says who has the mirror.
        Err(RequestError::NotListening(_)) => Ok(None),
        Ok(Response::Status(_) | Response::Progress(_)) | Err(_) => Err(no_answer(word.err())),
    }
}

/// Waits for the daemon's last word, however long it takes: the cycle before may be a long one. A daemon that does not even
/// say how it is any more gives `None`.
async fn while_it_lives<T>(
    private: &Path,
    asked: impl Future<Output = T>,
    silent: impl Fn(Duration),
) -> Option<T> {
    let mut asked = std::pin::pin!(asked);
    let (mut silences, mut pause, mut heard) = (0, FIRST_CHECK, Instant::now());
    while silences < MAX_SILENCES {
        let wait = tokio::time::sleep(failpoint::wait(pause));
        pause = CHECK_INTERVAL;
        tokio::select! {
            word = &mut asked => return Some(word),
            () = wait => {}
        }
        tokio::select! {
            word = &mut asked => return Some(word),
            answer = tokio::time::timeout(PATIENCE, control::request(private, Command::Status, |_| ())) => {
                if answer.is_ok() {
                    (silences, heard) = (0, Instant::now());
                } else {
                    silences += 1;
                }
                if silences == 1 {
                    silent(heard.elapsed());
                }
            }
        }
    }
    None
}

/// The person who waits hears that the daemon is silent, and what Ctrl-C would do.
fn note_silence(context: &Context, config: &Config, silence: Duration) {
    let owners = config.roots().into_iter();
    let mut owners = owners.filter_map(|root| Lock::holder(&root.path).ok().flatten());
    let pid = owners
        .next()
        .map_or_else(String::new, |owner| format!(" (pid {})", owner.pid));
    let silence = silence.as_secs();
    context.out.note(format!(
        "The daemon{pid} has not answered for {silence} s; still waiting. Ctrl-C stops waiting; the daemon goes on."
    ));
}

/// Asks the daemon how it is; `None`: there is none, or it does not say.
pub(super) async fn status(config: &Config) -> Option<DaemonStatus> {
    if !is_daemon_there(config) {
        return None;
    }
    let private = config.mirror.join(PRIVATE_FOLDER);
    let asked = control::request(&private, Command::Status, |_| ());
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(Response::Status(status))) => Some(*status),
        Ok(Ok(Response::Report(_) | Response::Failed(_) | Response::Progress(_)) | Err(_))
        | Err(_) => None,
    }
}

fn refused(refusal: Refusal) -> Failure {
    let code = match refusal.code {
        2 => ExitCode::Usage,
        3 => ExitCode::Attention,
        5 => ExitCode::Retry,
        _ => ExitCode::Failed,
    };
    Failure {
        code,
        ..Failure::failed(anyhow::Error::msg(refusal.message)).help(refusal.help)
    }
}

/// It has the command, and goes on with it if it ever goes on.
fn unresponsive() -> Failure {
    let failure = Failure::failed(anyhow::anyhow!("the daemon does not answer any more"));
    Failure {
        code: ExitCode::Retry,
        ..failure.help(
            "it is stopped, or its machine is too busy: `kbsync doctor` names it. What you asked for is done if it goes \
             on; end it and try again",
        )
    }
}

fn no_answer(error: Option<RequestError>) -> Failure {
    let failure = match error {
        Some(error) => {
            let message = format!("failed to {error}");
            Failure::failed(anyhow::Error::new(error).context(message))
        }
        None => Failure::failed(anyhow::anyhow!(
            "the daemon gave an answer to something else"
        )),
    };
    Failure {
        code: ExitCode::Retry,
        ..failure.help("a daemon has the mirror: try again, or stop it; `kbsync doctor` names it")
    }
}
