//! Endings: the rank of a cycle's end, the reason for an early stop, and a refused request of a person.
//!
//! Of several requests, a refused one stops only itself.

use crate::model::ArticleId;
use crate::reconcile::plan::Problem;
use crate::service::{ErrorKind, ServiceError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The end of a cycle, worst first.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The cycle could not be carried out.
    Failed,
    /// The service or the budget requires a retry later.
    Retry,
    /// Some articles were refused or are not ready; the rest is done.
    Partial,
    /// A person is needed.
    Attention,
    /// Both sides are equal.
    #[default]
    Done,
}

impl Ending {
    /// The exit code.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Attention => 3,
            Self::Partial => 4,
            Self::Retry => 5,
        }
    }

    /// Returns the ending of a report after a failure with this exit code.
    pub const fn of_code(code: u8) -> Self {
        match code {
            3 => Self::Attention,
            4 => Self::Partial,
            // After a signal, the next run continues the work.
            5 | 130 | 143 => Self::Retry,
            _ => Self::Failed,
        }
    }

    /// The word in reports and logs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Attention => "attention",
            Self::Partial => "partial",
            Self::Retry => "retry",
        }
    }
}

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

    /// Returns the ending of the cycle.
    pub fn ending(&self) -> Ending {
        match &self.cause {
            StopCause::Service(kind) => ending_of(kind),
            StopCause::Mirror => Ending::Failed,
            StopCause::Git => Ending::Retry,
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

/// Returns the ending of a cycle that fails with such an error.
pub fn ending_of(kind: &ErrorKind) -> Ending {
    match kind {
        ErrorKind::RateLimited { .. }
        | ErrorKind::BudgetSpent { .. }
        | ErrorKind::Unavailable
        | ErrorKind::Closed => Ending::Retry,
        ErrorKind::Unauthorized
        | ErrorKind::Forbidden
        | ErrorKind::NotFound
        | ErrorKind::Refused
        | ErrorKind::Unreadable
        | ErrorKind::TooLarge => Ending::Failed,
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
    /// The kind of its reason.
    pub kind: RefusedKind,
    /// The obstacle.
    pub message: String,
    /// The remedy.
    pub help: String,
    /// The place of the file now or before; empty for several requests.
    pub path: String,
    /// The article.
    pub id: Option<ArticleId>,
}

/// The kind of a refusal's reason, worst last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RefusedKind {
    /// A person has to decide something else first.
    Undecided,
    /// The mirror changed since the command looked at it.
    Changed,
    /// The request cannot be carried out.
    Impossible,
}

impl RefusedKind {
    /// The exit code of a command whose requests were all refused.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Undecided => 3,
            Self::Changed => 5,
            Self::Impossible => 2,
        }
    }
}

impl Refused {
    /// Refuses a request that cannot be carried out.
    pub fn impossible(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(RefusedKind::Impossible, message, help)
    }

    /// Refuses a request.
    pub fn new(kind: RefusedKind, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            kind,
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
        Problem {
            // A problem is one line.
            message: self.to_string().replace("\n ", ""),
            path: self.path,
            id: self.id,
        }
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
            kind: refused.iter().map(|one| one.kind).max()?,
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
