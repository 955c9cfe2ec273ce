//! Turns errors into failures for a person: what failed, why, the remedy, and the exit code.
//!
//! Errors of the lower modules are typed where a caller branches; here they become text, by one conversion, so that the
//! same error always has the same code and remedy.

use super::control::{LOCK_LABEL, Refusal};
use crate::{
    config::ConfigError,
    engine::{self, Stop, StopCause, restore::Refused},
    mirror::{
        disk::{DiskError, DiskErrorKind},
        lock::LockError,
        scan::ScanError,
    },
    model::{ExitCode, time::wait_in_words},
    service::{self, ServiceError},
    state::{self, StateError},
};
use std::{error::Error, fmt, io};

/// The reason why a command failed.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub code: ExitCode,
    /// The error, with its causes.
    pub error: anyhow::Error,
    /// The remedy.
    pub help: Option<String>,
}

impl Failure {
    /// Makes a failure with its remedy; an empty remedy is none.
    pub fn new(code: ExitCode, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            code,
            error: anyhow::Error::msg(message.into()),
            help: Some(help.into()).filter(|help| !help.is_empty()),
        }
    }

    /// Makes a failure for wrong usage or settings: code 2.
    pub fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ExitCode::Usage, message, help)
    }

    /// Makes a failure with code 1.
    pub fn failed(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ExitCode::Failed, message, help)
    }

    /// Adds a remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Returns whether the reader of our output has closed the pipe (`kbsync … | head`), which is no error.
    pub fn is_broken_pipe(&self) -> bool {
        self.error
            .chain()
            .filter_map(|cause| cause.downcast_ref::<io::Error>())
            .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns the error and its remedy in one sentence.
    pub fn with_remedy(&self) -> String {
        let help = self.help.iter().map(|help| format!("; {help}"));
        format!("{:#}{}", self.error, help.collect::<String>())
    }

    /// Makes a failure for the token of a daemon, which the service refused.
    pub fn daemon_token(source: &str) -> Self {
        Self::failed(
            format!("the service refused the daemon's token, which is from {source}"),
            "make a new token in your account on the service, and store it in the same place; the daemon reads a file or a command again \
             before the next try, and must be restarted for a variable; if another program answered, correct the address \
             (`service:`)",
        )
    }
}

/// Makes a failure from an error of a lower module, with or without context.
impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error: anyhow::Error = error.into();
        if let Some(refused) = error.downcast_ref::<Refused>() {
            let code = refused.code;
            return Self::new(code, &*refused.message, &*refused.help);
        }
        if let Some(wrong) = error.downcast_ref::<ConfigError>() {
            return Self {
                code: ExitCode::Usage,
                help: Some(wrong.remedy.clone()),
                error,
            };
        }
        let kinds = |cause: &(dyn Error + 'static)| {
            let error = cause.downcast_ref::<ServiceError>();
            error.map(|error| error.kind.clone())
        };
        let stop = error.downcast_ref::<Stop>();
        let stopped = stop.and_then(|stop| Some(stop.service_failure()?.0.clone()));
        let service = error.chain().find_map(kinds).or(stopped);
        let is_mirror = stop.is_some_and(|stop| stop.cause == StopCause::Mirror);
        let mirror = is_mirror.then_some((ExitCode::Failed, Some(CHECK_SET_UP)));
        let advised = error.chain().find_map(advice).or(mirror);
        // Bare errors of the lower modules are fragments; errors with context are sentences already.
        let mut error = match error.chain().next() {
            // Only the printing of results returns bare I/O errors.
            Some(first) if first.is::<io::Error>() => error.context("the output cannot be written"),
            Some(first)
                if first.is::<ServiceError>()
                    || first.is::<ScanError>()
                    || advice(first).is_some() =>
            {
                anyhow::Error::new(FailedTo(error))
            }
            Some(_) | None => error,
        };
        let (code, help) = if let Some(kind) = service {
            let (code, help) = advice_of_service(&kind);
            // The failed request says little about a refused token.
            if kind == service::ErrorKind::Unauthorized {
                error = error.context("the service refused the token");
            }
            (code, Some(help))
        } else {
            let (code, help) = advised.unwrap_or((ExitCode::Failed, None));
            (code, help.map(str::to_owned))
        };
        Self { code, error, help }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let code = ExitCode::numbered(refusal.code);
        let mut failure = Self::new(code, refusal.message, refusal.help);
        if let Some(path) = refusal.path.filter(|path| !path.is_empty()) {
            failure.error = failure.error.context(path);
        }
        failure
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self {
            code: failure.code.number(),
            message: format!("{:#}", failure.error),
            help: failure.help.unwrap_or_default(),
            path: None,
        }
    }
}

/// Errors of the lower modules are fragments that follow "failed to".
#[derive(Debug)]
struct FailedTo(anyhow::Error);

impl fmt::Display for FailedTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {}", self.0)
    }
}

impl Error for FailedTo {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// The remedy of a cycle that stopped because files cannot be written.
const CHECK_SET_UP: &str = "`kbsync doctor` checks the set-up";

/// The code and the remedy of an error of this machine.
type Advice = (ExitCode, Option<&'static str>);

fn advice(cause: &(dyn Error + 'static)) -> Option<Advice> {
    if let Some(error) = cause.downcast_ref::<StateError>() {
        return Some(advice_of_state(&error.kind));
    }
    if let Some(error) = cause.downcast_ref::<LockError>() {
        return Some(advice_of_lock(error));
    }
    match cause.downcast_ref::<ScanError>() {
        Some(ScanError::Rules(bad)) => Some((ExitCode::Usage, Some(bad.remedy()))),
        Some(ScanError::Root(error)) => Some(advice_of_disk(error)),
        Some(ScanError::Threads(_)) => None,
        None => cause.downcast_ref::<DiskError>().map(advice_of_disk),
    }
}

fn advice_of_disk(error: &DiskError) -> Advice {
    if error.kind == DiskErrorKind::Changed {
        return (ExitCode::Retry, None);
    }
    (ExitCode::Failed, error.kind.remedy())
}

fn advice_of_state(kind: &state::ErrorKind) -> Advice {
    match kind {
        state::ErrorKind::Full => (ExitCode::Failed, DiskErrorKind::Full.remedy()),
        // SQLite reports only that the file cannot be opened.
        state::ErrorKind::Io => (
            ExitCode::Failed,
            Some(
                "this user must be able to read and write this file and its folder, and to open more files (`ulimit -n 1024`); \
                 `kbsync doctor` checks the set-up",
            ),
        ),
        state::ErrorKind::ForeignBinding { .. } => (ExitCode::Usage, None),
        state::ErrorKind::Busy => (ExitCode::Retry, None),
        // The error's text names the remedy.
        state::ErrorKind::Corrupt | state::ErrorKind::Gone | state::ErrorKind::Newer { .. } => {
            (ExitCode::Failed, None)
        }
    }
}

fn advice_of_lock(error: &LockError) -> Advice {
    let help = match error {
        LockError::Taken(owner) => {
            let help = match owner {
                Some(owner) if owner.doing == LOCK_LABEL => {
                    "wait for that process to end, or stop it; `kbsync status` shows this daemon, and `kbsync sync` asks it to sync now"
                }
                Some(_) => "wait for that process to end, or stop it",
                None => "wait for that process to end, or stop it; `kbsync doctor` names it",
            };
            return (ExitCode::Retry, Some(help));
        }
        LockError::NotAFolder(_) => {
            "replace it with a folder, or move it away: `.kbsync` must be a writable folder"
        }
        LockError::NotAFile(_) => "move it away; kbsync creates the file anew",
        LockError::Io { source, .. } => {
            let is_full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
            let shared = if is_full.contains(&source.kind()) {
                DiskErrorKind::Full
            } else if source.kind() == io::ErrorKind::ReadOnlyFilesystem {
                DiskErrorKind::ReadOnly
            } else {
                DiskErrorKind::Other
            };
            let own = "let this user read and write the mirror's folder and `.kbsync` in it";
            shared.remedy().unwrap_or(own)
        }
    };
    (ExitCode::Failed, Some(help))
}

fn advice_of_service(kind: &service::ErrorKind) -> (ExitCode, String) {
    use service::ErrorKind::{
        BudgetSpent, Closed, Forbidden, NotFound, RateLimited, Refused, TooLarge, Unauthorized,
        Unavailable, Unreadable,
    };
    let code = if *kind == Refused {
        ExitCode::Partial
    } else {
        engine::outcome_of(kind)
    };
    let help = match kind {
        Unauthorized => {
            "make a new token in your account on the service, and put it where the old one was, as in\n  \
             export KBSYNC_TOKEN=THE-NEW-TOKEN\nIf another program answered, correct the address (`service:`, --service or \
             KBSYNC_SERVICE)."
        }
        Forbidden => "ask the workspace's owner for the right to do this, or use another token",
        NotFound => {
            "check the service's address and the workspace's id; `kbsync workspaces` lists what the token may use"
        }
        Refused => {
            "correct the fault that the service names; if none is named, check the address (`service:`)"
        }
        RateLimited { .. } => {
            "the service allows 60 requests a minute and 1,440 a day; try again later"
        }
        BudgetSpent { free_in } => {
            let wait = wait_in_words(*free_in);
            return (
                code,
                format!("the requests of this day are spent; try again in {wait}"),
            );
        }
        Unavailable { .. } => "check the network and the service's address, then try again",
        Closed => "run the command again",
        Unreadable => {
            "check that the address is that of the service itself, not of a proxy or a login page"
        }
        TooLarge => "shorten the article in the dashboard",
    };
    (code, help.to_owned())
}
