//! The exit codes that scripts rely on.

use serde::{Deserialize, Serialize};

/// The result of a command or of a cycle, best first: [`ExitCode::worst`] takes the last.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ExitCode {
    /// Done; both sides are equal.
    #[default]
    Done,
    /// A person is needed: a conflict, or something held.
    Attention,
    /// Some articles were refused or not ready; the rest is done.
    Partial,
    /// Try again later: the service is unreachable, the budget is spent, or the lock is taken.
    Retry,
    /// The command failed.
    Failed,
    /// Wrong usage or settings; nothing was done.
    Usage,
    /// Interrupted by a person: the code that a shell uses for Ctrl-C.
    Interrupted,
    /// Ended by SIGTERM: the code that a shell uses for SIGTERM.
    Terminated,
}

impl ExitCode {
    /// Every code.
    pub const ALL: [Self; 8] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::Attention,
        Self::Partial,
        Self::Retry,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// Returns the number for the shell.
    pub const fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Attention => 3,
            Self::Partial => 4,
            Self::Retry => 5,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// Returns the code with a number; any other number is a failure.
    pub fn numbered(number: u8) -> Self {
        let mut codes = Self::ALL.into_iter();
        codes
            .find(|code| code.number() == number)
            .unwrap_or(Self::Failed)
    }

    /// Returns the word in reports and logs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Attention => "attention",
            Self::Partial => "partial",
            Self::Retry => "retry",
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Interrupted => "interrupted",
            Self::Terminated => "terminated",
        }
    }

    /// Returns the outcome of a report after a failure with this code. After a signal, the next run continues the work.
    #[must_use]
    pub const fn of_report(self) -> Self {
        match self {
            Self::Attention | Self::Partial | Self::Retry => self,
            Self::Interrupted | Self::Terminated => Self::Retry,
            Self::Done | Self::Failed | Self::Usage => Self::Failed,
        }
    }

    /// Returns the code of several results together: 130 or 143 if there is one, else the first of 2, 1, 5, 4, 3, else
    /// 0.
    ///
    /// In practice 2 meets no other code: with wrong settings nothing is done.
    pub fn worst(of: impl IntoIterator<Item = Self>) -> Self {
        of.into_iter().max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::ExitCode::{self, Attention, Done, Failed, Partial, Retry, Usage};

    #[test]
    fn with_several_a_signal_counts_else_the_first_of_2_1_5_4_3() {
        assert_eq!(ExitCode::worst([]), Done);
        assert_eq!(ExitCode::worst([Done, Attention]), Attention);
        assert_eq!(ExitCode::worst([Attention, Partial, Done]), Partial);
        assert_eq!(ExitCode::worst([Attention, Retry, Partial]), Retry);
        assert_eq!(ExitCode::worst([Retry, Failed, Attention]), Failed);
        assert_eq!(ExitCode::worst([Failed, Usage]), Usage);
        assert_eq!(
            ExitCode::worst([Usage, ExitCode::Interrupted, Failed]),
            ExitCode::Interrupted
        );
    }

    #[test]
    fn the_numbers_are_those_of_the_design() {
        let numbers = ExitCode::ALL.map(ExitCode::number);
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 130, 143]);
    }
}
