//! Turns errors into failures for a person: what failed, why, the remedy, and the exit code.
//!
//! Errors of the lower modules are typed where a caller branches; here they become text. Each has one `From`, so that
//! the same error always has the same code and remedy.

use super::exit::ExitCode;
use crate::{
    config::ConfigError,
    engine::{Stop, report::Ending},
    mirror::{
        disk::{DiskError, DiskErrorKind},
        lock::LockError,
        scan::ScanError,
    },
    service::{self, ServiceError},
    state::{self, StateError},
};
use rustix::{
    io::Errno,
    process::{Resource, getrlimit},
};
use std::{error::Error, fmt, io, os::unix::fs::MetadataExt as _, path::Path};

/// Why a command failed.
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
    /// Makes a failure for wrong usage or settings: code 2.
    pub fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            code: ExitCode::Usage,
            error: anyhow::Error::msg(message.into()),
            help: Some(help.into()),
        }
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

    /// Returns the remedy. If too many files are open, that is the remedy.
    pub fn remedy(&self) -> Option<&str> {
        if lacks_descriptors(&self.error) {
            return Some(RAISE_LIMIT);
        }
        self.help.as_deref()
    }

    /// Returns the ending of a report that this failure cut off.
    pub fn ending(&self) -> Ending {
        match self.code {
            ExitCode::Attention => Ending::Attention,
            ExitCode::Partial => Ending::Partial,
            // The next run continues the work.
            ExitCode::Retry | ExitCode::Interrupted | ExitCode::Terminated => Ending::Retry,
            ExitCode::Done | ExitCode::Failed | ExitCode::Usage => Ending::Failed,
        }
    }

    /// Returns whether the reader of our output has closed the pipe (`kbsync … | head`), which is no error.
    pub fn is_broken_pipe(&self) -> bool {
        self.error
            .chain()
            .filter_map(|cause| cause.downcast_ref::<io::Error>())
            .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl Failure {
    /// Makes a failure from an error of the engine.
    pub fn of(error: anyhow::Error) -> Self {
        let service = error
            .chain()
            .find_map(|cause| cause.downcast_ref::<ServiceError>());
        if let Some(service) = service {
            return Self::stopped(&service.kind, &format!("{error:#}"));
        }
        let stop = error.downcast_ref::<Stop>();
        if let Some((kind, message)) = stop.and_then(Stop::service_failure) {
            return Self::stopped(kind, message);
        }
        let advised = error.chain().find_map(|cause| {
            if let Some(state) = cause.downcast_ref::<StateError>() {
                return Some((code_of(&state.kind), advice_of_state(&state.kind)));
            }
            let disk = match cause.downcast_ref::<ScanError>() {
                Some(ScanError::Root(error)) => Some(error),
                Some(ScanError::Rules) => return Some((ExitCode::Usage, Some(SHORTEN_RULES))),
                Some(ScanError::Threads(_)) => None,
                None => cause.downcast_ref::<DiskError>(),
            };
            disk.map(|disk| advice_of_disk(disk.kind))
        });
        let (code, help) = advised.unwrap_or((ExitCode::Failed, None));
        // Bare errors of the lower modules are fragments; errors with context are sentences already.
        let bare = error.chain().next().is_some_and(|first| {
            first.is::<StateError>() || first.is::<DiskError>() || first.is::<ScanError>()
        });
        let error = if bare {
            anyhow::Error::new(FailedTo(Boxed(error.into_boxed_dyn_error())))
        } else {
            error
        };
        Self {
            code,
            help: help.map(str::to_owned),
            ..Self::failed(error)
        }
    }

    /// Makes a failure for a cycle that ended early.
    pub fn stopped(kind: &service::ErrorKind, message: &str) -> Self {
        Self::asked(kind, anyhow::Error::msg(message.to_owned()))
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
        let message = format!("the service refused the daemon's token, which is from {source}");
        Self::failed(anyhow::Error::msg(message)).help(
            "make a new token in your account on the service, and store it in the same place; the daemon reads a file or a command again \
             before the next try, and must be restarted for a variable",
        )
    }

    /// Makes a failure from what the service answered. The request that failed says little to a person whose token is
    /// wrong.
    fn asked(kind: &service::ErrorKind, error: anyhow::Error) -> Self {
        let (code, help) = advice(kind);
        let error = if *kind == service::ErrorKind::Unauthorized {
            error.context("the service refused the token")
        } else {
            error
        };
        Self {
            code,
            ..Self::failed(error).help(help)
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
        Self::asked(&error.kind.clone(), anyhow::Error::new(FailedTo(error)))
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        Self {
            code: code_of(&error.kind),
            help: advice_of_state(&error.kind).map(str::to_owned),
            error: anyhow::Error::new(FailedTo(error)),
        }
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        let (code, help) = match &error {
            LockError::Taken(_) => (
                ExitCode::Retry,
                "wait for that process to end, or stop it; `kbsync doctor` names it",
            ),
            LockError::NotAFolder(_) => (
                ExitCode::Failed,
                "put the folder itself there, or move away what is there: the private folder `.kbsync` must be a \
                 folder that may be written to",
            ),
            LockError::NotAFile(_) => (
                ExitCode::Failed,
                "move it away; kbsync creates the file anew",
            ),
            LockError::Io { source, .. } => (ExitCode::Failed, advice_of_lock(source.kind())),
        };
        let owner = match &error {
            LockError::Io { source, path } if source.kind() == io::ErrorKind::PermissionDenied => {
                owner_of(path)
            }
            LockError::Io { .. }
            | LockError::Taken(_)
            | LockError::NotAFolder(_)
            | LockError::NotAFile(_) => String::new(),
        };
        Self {
            code,
            ..Self::failed(FailedTo(error)).help(format!("{help}{owner}"))
        }
    }
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Self {
        let (code, help) = advice_of_disk(error.kind);
        Self {
            code,
            help: help.map(str::to_owned),
            ..Self::failed(FailedTo(error))
        }
    }
}

/// An error whose type no caller needs any more.
#[derive(Debug)]
struct Boxed(Box<dyn Error + Send + Sync>);

impl fmt::Display for Boxed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Boxed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Errors of the lower modules are fragments that follow "failed to".
#[derive(Debug)]
struct FailedTo<E>(E);

impl<E: fmt::Display> fmt::Display for FailedTo<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {}", self.0)
    }
}

impl<E: Error> Error for FailedTo<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Only the printing of results returns bare I/O errors.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::failed(anyhow::Error::new(error).context("the output cannot be written"))
    }
}

/// With a lower limit of open files, the limit is the likely reason why the state cannot be used.
const FEWEST_FILES: u64 = 32;
const RAISE_LIMIT: &str =
    "too many files are open: raise the limit with `ulimit -n 1024`, and run the command again";
const SHORTEN_RULES: &str =
    "shorten .kbsyncignore: name folders or use patterns with `*`; nothing is synced meanwhile";
const MAKE_ROOM: &str = "make room on this disk, and run the command again";
const LET_WRITE: &str =
    "let this user read and write the mirror's folder, `.kbsync` and what is in both";

fn advice_of_disk(kind: DiskErrorKind) -> (ExitCode, Option<&'static str>) {
    match kind {
        DiskErrorKind::Changed => (ExitCode::Retry, None),
        DiskErrorKind::Denied => (ExitCode::Failed, Some(LET_WRITE)),
        DiskErrorKind::Full => (ExitCode::Failed, Some(MAKE_ROOM)),
        DiskErrorKind::ReadOnly => (
            ExitCode::Failed,
            Some("mount the mirror's file system for writing, and run the command again"),
        ),
        DiskErrorKind::NotFound
        | DiskErrorKind::Exists
        | DiskErrorKind::WrongKind
        | DiskErrorKind::NotEmpty
        | DiskErrorKind::BadName
        | DiskErrorKind::Replaced
        | DiskErrorKind::Other => (ExitCode::Failed, kind.remedy()),
    }
}

/// Returns whether the limit of open files is the reason.
fn lacks_descriptors(error: &anyhow::Error) -> bool {
    let numbers = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>()?.raw_os_error());
    numbers
        .map(Errno::from_raw_os_error)
        .any(|errno| matches!(errno, Errno::MFILE | Errno::NFILE))
}

/// Returns the remedy if the private folder or its content cannot be created.
fn advice_of_lock(kind: io::ErrorKind) -> &'static str {
    if kind == io::ErrorKind::StorageFull || kind == io::ErrorKind::QuotaExceeded {
        MAKE_ROOM
    } else if kind == io::ErrorKind::ReadOnlyFilesystem {
        "mount the file system so that it may be written to, and run the command again"
    } else if kind == io::ErrorKind::PermissionDenied {
        LET_WRITE
    } else {
        "the private folder `.kbsync` must be a folder that may be written to"
    }
}

/// Names the user that kbsync runs as, and the owner of the nearest folder that is there.
fn owner_of(path: &Path) -> String {
    let mut folders = path.ancestors();
    let found = folders.find_map(|folder| Some((folder, folder.metadata().ok()?)));
    found.map_or_else(String::new, |(folder, metadata)| {
        format!(
            "; kbsync runs as user {}, and {} belongs to user {}",
            rustix::process::geteuid().as_raw(),
            folder.display(),
            metadata.uid()
        )
    })
}

/// Returns a remedy that the error's text does not name.
fn advice_of_state(kind: &state::ErrorKind) -> Option<&'static str> {
    let limit = getrlimit(Resource::Nofile).current;
    match kind {
        state::ErrorKind::Full => Some(MAKE_ROOM),
        // SQLite says only that the file cannot be opened.
        state::ErrorKind::Io if limit.is_some_and(|limit| limit < FEWEST_FILES) => {
            Some(RAISE_LIMIT)
        }
        state::ErrorKind::Io => Some(
            "this user must be able to read and write this file and its folder; `kbsync doctor` looks closer",
        ),
        state::ErrorKind::ForeignBinding { .. }
        | state::ErrorKind::Busy
        | state::ErrorKind::Corrupt
        | state::ErrorKind::NotAFile
        | state::ErrorKind::Gone
        | state::ErrorKind::Newer { .. } => None,
    }
}

fn code_of(kind: &state::ErrorKind) -> ExitCode {
    match kind {
        state::ErrorKind::ForeignBinding { .. } => ExitCode::Usage,
        state::ErrorKind::Busy => ExitCode::Retry,
        state::ErrorKind::Corrupt
        | state::ErrorKind::NotAFile
        | state::ErrorKind::Gone
        | state::ErrorKind::Newer { .. }
        | state::ErrorKind::Full
        | state::ErrorKind::Io => ExitCode::Failed,
    }
}

fn advice(kind: &service::ErrorKind) -> (ExitCode, String) {
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
        service::ErrorKind::Refused => (ExitCode::Partial, "correct what the service names".into()),
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
