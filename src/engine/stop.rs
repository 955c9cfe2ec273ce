//! The end of a cycle: its rank, and the reason for an early one.

use crate::service::{ErrorKind, ServiceError};
use serde::{Deserialize, Serialize};

/// The end of a cycle, worst first.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It could not be carried out.
    Failed,
    /// The service or the budget says: later.
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
    /// The side that is the reason.
    pub cause: StopCause,
    /// The failure in words.
    pub message: String,
}

/// The side that ended a cycle.
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
    pub(super) fn of(error: ServiceError) -> Self {
        Self {
            cause: StopCause::Service(error.kind.clone()),
            message: format!("{:#}", anyhow::Error::new(error)),
        }
    }

    /// Returns how the cycle ends.
    pub fn ending(&self) -> Ending {
        match &self.cause {
            StopCause::Service(kind) => ending_of(kind),
            StopCause::Mirror => Ending::Failed,
            StopCause::Git => Ending::Retry,
        }
    }

    /// Returns the kind and the words of the service's failure, if the service is the reason.
    pub fn service_failure(&self) -> Option<(&ErrorKind, &str)> {
        match &self.cause {
            StopCause::Service(kind) => Some((kind, &self.message)),
            StopCause::Mirror | StopCause::Git => None,
        }
    }

    /// Git is the reason: the same command can go on later.
    pub(super) fn of_git(why: &str) -> Self {
        Self {
            cause: StopCause::Git,
            message: format!("nothing is synced: {why}"),
        }
    }
}

/// Returns the end of a cycle that meets such an error.
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

/// An error of the service ends the cycle and is reported; any other is the caller's.
pub(super) fn service_stop(error: anyhow::Error) -> anyhow::Result<Stop> {
    match error.downcast_ref::<ServiceError>() {
        Some(cause) => Ok(Stop {
            cause: StopCause::Service(cause.kind.clone()),
            message: format!("{error:#}"),
        }),
        None => Err(error),
    }
}
