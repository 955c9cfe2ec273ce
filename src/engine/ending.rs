//! Endings: the reason for an early stop of a cycle, and a refused request of a person.
//!
//! Of several requests, a refused one stops only itself.

use crate::model::{ArticleId, ExitCode};
use crate::reconcile::plan::Problem;
use crate::service::{ErrorKind, ServiceError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The reason for an early end of a cycle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stop {
    /// The side that caused it.
    pub cause: StopCause,
    /// The failure in words.
    pub message: String,
    /// The folder below the mirror of the workspace; empty if the workspace is the whole mirror.
    #[serde(default)]
    pub workspace: String,
}

/// The cause of a stop.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// The service, by a failure of this kind.
    Service(ErrorKind),
    /// The mirror: files cannot be written.
    Mirror,
    /// Git: it replaced the files, or still replaces them.
    Git,
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Stop {}

impl Stop {
    /// Makes a stop; the report adds the workspace.
    pub fn new(cause: StopCause, message: String) -> Self {
        Self {
            cause,
            message,
            workspace: String::new(),
        }
    }

    pub(super) fn of(error: ServiceError) -> Self {
        Self::new(
            StopCause::Service(error.kind.clone()),
            format!("{:#}", anyhow::Error::new(error)),
        )
    }

    /// Returns the outcome of the cycle.
    pub fn outcome(&self) -> ExitCode {
        match &self.cause {
            StopCause::Service(kind) => outcome_of(kind),
            StopCause::Mirror => ExitCode::Failed,
            StopCause::Git => ExitCode::Retry,
        }
    }

    /// Returns the kind and the message of the service's failure, if the service is the cause.
    pub fn service_failure(&self) -> Option<(&ErrorKind, &str)> {
        match &self.cause {
            StopCause::Service(kind) => Some((kind, &self.message)),
            StopCause::Mirror | StopCause::Git => None,
        }
    }

    /// Git is the cause: the same command can go on later.
    pub(super) fn of_git(why: &str) -> Self {
        Self::new(StopCause::Git, format!("nothing is synced: {why}"))
    }
}

/// Returns the outcome of a cycle that fails with such an error.
pub fn outcome_of(kind: &ErrorKind) -> ExitCode {
    match kind {
        ErrorKind::RateLimited { .. }
        | ErrorKind::BudgetSpent { .. }
        | ErrorKind::Unavailable { .. }
        | ErrorKind::Closed => ExitCode::Retry,
        ErrorKind::Unauthorized
        | ErrorKind::Forbidden
        | ErrorKind::NotFound
        | ErrorKind::Refused
        | ErrorKind::Unreadable
        | ErrorKind::TooLarge => ExitCode::Failed,
    }
}

/// Makes a stop of a service error, for the report. Returns any other error to the caller.
pub(super) fn service_stop(error: anyhow::Error) -> anyhow::Result<Stop> {
    match error.downcast_ref::<ServiceError>() {
        Some(cause) => Ok(Stop::new(
            StopCause::Service(cause.kind.clone()),
            format!("{error:#}"),
        )),
        None => Err(error),
    }
}

/// A refused request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The exit code of a command whose requests were all refused.
    pub code: ExitCode,
    /// The obstacle.
    pub message: String,
    /// The remedy.
    pub help: String,
    /// The place of the file now or before; empty for several requests.
    pub path: String,
    /// The article.
    pub id: Option<ArticleId>,
}

impl Refused {
    /// Refuses a request that cannot be carried out.
    pub fn impossible(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ExitCode::Usage, message, help)
    }

    /// Refuses a request.
    pub fn new(code: ExitCode, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            help: help.into(),
            path: String::new(),
            id: None,
        }
    }

    /// Names the file and the article of a refused request.
    #[must_use]
    pub fn at(self, path: String, id: Option<ArticleId>) -> Self {
        Self { path, id, ..self }
    }

    /// Makes a problem, for a report with other requests that were carried out.
    pub fn problem(self) -> Problem {
        // A problem is one line.
        let message = self.to_string().replace("\n ", "");
        Problem::at(self.path, self.id, message)
    }

    /// Combines refusals, where every request was refused; `None`: there are no refusals.
    pub fn all(mut refused: Vec<Self>) -> Option<Self> {
        if refused.len() < 2 {
            return refused.pop();
        }
        let each = refused.iter().map(|one| format!("\n  {}: {one}", one.path));
        let message = format!("none of the {} files can be brought back", refused.len());
        let help = format!("the reason for each:{}", each.collect::<String>());
        Some(Self {
            code: refused.iter().map(|one| one.code).max()?,
            ..Self::impossible(message, help)
        })
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for Refused {}
