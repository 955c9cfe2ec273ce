//! What ends a cycle before its end, and how the cycle ends by it.

use super::report::Ending;
use crate::service::{ErrorKind, ServiceError};

/// What ended a cycle before its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    /// How the cycle ends by it.
    pub ending: Ending,
    /// The kind of the service's failure; `None`: the mirror or git is the reason.
    pub kind: Option<ErrorKind>,
    /// What happened.
    pub message: String,
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
            ending: ending_of(&error.kind),
            kind: Some(error.kind.clone()),
            message: format!("{:#}", anyhow::Error::new(error)),
        }
    }

    /// Returns whether git is the reason.
    pub(super) fn is_by_git(&self) -> bool {
        self.kind.is_none() && self.ending == Ending::Retry
    }

    /// Git is the reason: the same command can go on later.
    pub(super) fn of_git(why: &str) -> Self {
        Self {
            ending: Ending::Retry,
            kind: None,
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
            ending: ending_of(&cause.kind),
            kind: Some(cause.kind.clone()),
            message: format!("{error:#}"),
        }),
        None => Err(error),
    }
}
