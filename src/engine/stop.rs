//! What ends a cycle before its end, and how the cycle ends by it.

use super::report::Ending;
use crate::service::{ErrorKind, ServiceError};

/// What ended a cycle before its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    /// Who is the reason.
    pub cause: StopCause,
    /// What happened.
    pub message: String,
}

/// Who ended a cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
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

/// How a cycle ends that meets such an error.
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
        | ErrorKind::NoEndpoint
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
