//! Turns errors into failures for a person: what failed, why, the remedy, and the exit code.
//!
//! Errors of the lower modules are typed where a caller branches; here they become text. All go through
//! [`Failure::of`], so that the same error always has the same code and remedy.

use super::exit::ExitCode;
use crate::{
    config::ConfigError,
    daemon::control::Refusal,
    engine::{Stop, StopCause, restore::Refused},
    mirror::{
        disk::{DiskError, DiskErrorKind},
        lock::LockError,
        scan::ScanError,
    },
    service::{self, ServiceError},
    state::{self, StateError},
};
use rustix::io::Errno;
use std::{error::Error, fmt, io, os::unix::fs::MetadataExt as _};

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
    /// Makes a failure with its remedy.
    pub fn new(code: ExitCode, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            code,
            error: anyhow::Error::msg(message.into()),
            help: Some(help.into()),
        }
    }

    /// Makes a failure for wrong usage or settings: code 2.
    pub fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ExitCode::Usage, message, help)
    }

    /// Makes a failure with code 1.
    pub fn failed(error: impl Into<anyhow::Error>) -> Self {
        Self {
            code: ExitCode::Failed,
            error: error.into(),
            help: None,
        }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Returns the remedy: a higher limit if too many files are open, otherwise the failure's own remedy.
    pub fn remedy(&self) -> Option<&str> {
        if lacks_descriptors(&self.error) {
            return Some(RAISE_LIMIT);
        }
        self.help.as_deref()
    }

    /// Returns whether the reader of our output has closed the pipe (`kbsync … | head`), which is no error.
    pub fn is_broken_pipe(&self) -> bool {
        self.error
            .chain()
            .filter_map(|cause| cause.downcast_ref::<io::Error>())
            .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Makes a failure from an error of a lower module, with or without context.
    pub fn of(error: anyhow::Error) -> Self {
        let error = match error.downcast::<Refused>() {
            Ok(refused) => return refused.into(),
            Err(error) => error,
        };
        let asked = error
            .chain()
            .find_map(|cause| Some(cause.downcast_ref::<ServiceError>()?.kind.clone()));
        let stop = error.downcast_ref::<Stop>();
        let stopped = stop.and_then(|stop| Some(stop.service_failure()?.0.clone()));
        let is_mirror = stop.is_some_and(|stop| stop.cause == StopCause::Mirror);
        let mirror = is_mirror.then_some((ExitCode::Failed, Some(CHECK_SET_UP)));
        let advised = error.chain().find_map(advice).or(mirror);
        let owner = error.chain().find_map(owner_if_denied);
        // Bare errors of the lower modules are fragments; errors with context are sentences already.
        let is_fragment = error.chain().next().is_some_and(|first| {
            first.is::<ServiceError>() || first.is::<ScanError>() || advice(first).is_some()
        });
        let error = if is_fragment {
            anyhow::Error::new(FailedTo(error))
        } else {
            error
        };
        if let Some(kind) = asked.or(stopped) {
            return Self::asked(&kind, error);
        }
        let (code, help) = advised.unwrap_or((ExitCode::Failed, None));
        let help = help.map(|help| match owner {
            Some(owner) => format!("{help}; {owner}"),
            None => help.to_owned(),
        });
        Self { code, error, help }
    }

    /// Returns the error and its remedy in one sentence.
    pub fn with_remedy(&self) -> String {
        match self.remedy() {
            Some(remedy) => format!("{:#}; {remedy}", self.error),
            None => format!("{:#}", self.error),
        }
    }

    /// Makes a failure for the token of a daemon, which the service refused.
    pub fn daemon_token(source: &str) -> Self {
        Self::new(
            ExitCode::Failed,
            format!("the service refused the daemon's token, which is from {source}"),
            "make a new token in your account on the service, and store it in the same place; the daemon reads a file or a command again \
             before the next try, and must be restarted for a variable",
        )
    }

    /// Makes a failure from the service's answer. The message about a refused token begins with the token, because the
    /// failed request says little.
    fn asked(kind: &service::ErrorKind, error: anyhow::Error) -> Self {
        let (code, help) = advice_of_service(kind);
        let error = if *kind == service::ErrorKind::Unauthorized {
            error.context("the service refused the token")
        } else {
            error
        };
        let help = Some(help);
        Self { code, error, help }
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Refusal {
            code: refused.kind.exit_code(),
            message: refused.message,
            help: refused.help,
            ..Refusal::default()
        }
        .into()
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let error = anyhow::Error::msg(refusal.message);
        let path = refusal.path.filter(|path| !path.is_empty());
        Self {
            code: ExitCode::numbered(refusal.code),
            error: match path {
                Some(path) => error.context(path),
                None => error,
            },
            help: Some(refusal.help).filter(|help| !help.is_empty()),
        }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self {
            code: failure.code.number(),
            message: format!("{:#}", failure.error),
            help: failure.remedy().unwrap_or_default().to_owned(),
            path: None,
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self {
            code: ExitCode::Usage,
            help: error.remedy.clone(),
            error: error.into(),
        }
    }
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        Self::of(error.into())
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        Self::of(error.into())
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        Self::of(error.into())
    }
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Self {
        Self::of(error.into())
    }
}

/// Only the printing of results returns bare I/O errors.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::failed(anyhow::Error::new(error).context("the output cannot be written"))
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
        state::ErrorKind::Corrupt
        | state::ErrorKind::NotAFile
        | state::ErrorKind::Gone
        | state::ErrorKind::Newer { .. } => (ExitCode::Failed, None),
    }
}

/// Returns, if the lock may not be written, the user that kbsync runs as and the owner of the nearest existing folder:
/// in a container the two differ.
fn owner_if_denied(cause: &(dyn Error + 'static)) -> Option<String> {
    let LockError::Io { source, path } = cause.downcast_ref::<LockError>()? else {
        return None;
    };
    let mut folders = path.ancestors();
    let found = folders.find_map(|folder| Some((folder, folder.metadata().ok()?)));
    let (folder, metadata) = found.filter(|_| source.kind() == io::ErrorKind::PermissionDenied)?;
    let user = rustix::process::geteuid().as_raw();
    let (folder, owner) = (folder.display(), metadata.uid());
    Some(format!(
        "kbsync runs as user {user}, and {folder} belongs to user {owner}"
    ))
}

fn advice_of_lock(error: &LockError) -> Advice {
    let help = match error {
        LockError::Taken(_) => {
            let help = "wait for that process to end, or stop it; `kbsync doctor` names it";
            return (ExitCode::Retry, Some(help));
        }
        LockError::NotAFolder(_) => {
            "replace it with a folder, or move it away: `.kbsync` must be a writable folder"
        }
        LockError::NotAFile(_) => "move it away; kbsync creates the file anew",
        LockError::Io { source, .. } => {
            let kind = source.kind();
            let shared =
                if kind == io::ErrorKind::StorageFull || kind == io::ErrorKind::QuotaExceeded {
                    DiskErrorKind::Full.remedy()
                } else if kind == io::ErrorKind::ReadOnlyFilesystem {
                    DiskErrorKind::ReadOnly.remedy()
                } else {
                    None
                };
            shared.unwrap_or("let this user read and write the mirror's folder and `.kbsync` in it")
        }
    };
    (ExitCode::Failed, Some(help))
}

const RAISE_LIMIT: &str =
    "too many files are open: raise the limit with `ulimit -n 1024`, and run the command again";

/// Returns whether the limit of open files caused the error.
fn lacks_descriptors(error: &anyhow::Error) -> bool {
    let numbers = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>()?.raw_os_error());
    numbers
        .map(Errno::from_raw_os_error)
        .any(|errno| matches!(errno, Errno::MFILE | Errno::NFILE))
}

fn advice_of_service(kind: &service::ErrorKind) -> (ExitCode, String) {
    match kind {
        service::ErrorKind::Unauthorized => (
            ExitCode::Failed,
            "make a new token in your account on the service, and put it where the old one was, as in\n  \
             export KBSYNC_TOKEN=THE-NEW-TOKEN"
                .into(),
        ),
        service::ErrorKind::Forbidden => (
            ExitCode::Failed,
            "ask the workspace's owner for the right to do this, or use another token".into(),
        ),
        service::ErrorKind::NotFound => (
            ExitCode::Failed,
            "check the service's address and the workspace's id; `kbsync workspaces` lists what the token may use".into(),
        ),
        service::ErrorKind::Refused => (
            ExitCode::Partial,
            "correct the fault that the service names".into(),
        ),
        service::ErrorKind::RateLimited { .. } => (
            ExitCode::Retry,
            "the service allows 60 requests a minute and 1,440 a day; try again later".into(),
        ),
        service::ErrorKind::BudgetSpent { free_in } => {
            let seconds = std::time::Duration::from_secs(free_in.as_secs());
            let wait = crate::model::time::in_words(seconds);
            (
                ExitCode::Retry,
                format!("the requests of this day are spent; try again in {wait}"),
            )
        }
        service::ErrorKind::Unavailable => (
            ExitCode::Retry,
            "check the network and the service's address, then try again".into(),
        ),
        service::ErrorKind::Closed => (ExitCode::Retry, "run the command again".into()),
        service::ErrorKind::Unreadable => (
            ExitCode::Failed,
            "check that the address is that of the service itself, not of a proxy or a login page".into(),
        ),
        service::ErrorKind::TooLarge => (
            ExitCode::Failed,
            "shorten the article in the dashboard".into(),
        ),
    }
}
