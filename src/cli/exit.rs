//! The exit codes that scripts rely on.

/// The result of a command.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ExitCode {
    /// Done; both sides are equal.
    Done,
    /// The command failed.
    Failed,
    /// Wrong usage or settings; nothing was done.
    Usage,
    /// A person is needed: a conflict, or something held.
    Attention,
    /// Some articles were refused or not ready; the rest is done.
    Partial,
    /// Try again later: the service is unreachable, the budget is spent, or the lock is taken.
    Retry,
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

    /// Returns the code of several results together: 130 or 143 if there is one, else the first of 2, 1, 5, 4, 3, else
    /// 0.
    ///
    /// In practice 2 meets no other code: with wrong settings nothing is done.
    pub fn worst(of: impl IntoIterator<Item = Self>) -> Self {
        of.into_iter()
            .max_by_key(|code| code.rank())
            .unwrap_or(Self::Done)
    }

    const fn rank(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Attention => 1,
            Self::Partial => 2,
            Self::Retry => 3,
            Self::Failed => 4,
            Self::Usage => 5,
            Self::Interrupted | Self::Terminated => 6,
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}

#[cfg(test)]
mod tests {
    use super::ExitCode::{self, Attention, Done, Failed, Partial, Retry, Usage};

    #[test]
    fn with_several_the_first_of_1_5_4_3_counts() {
        assert_eq!(ExitCode::worst([]), Done);
        assert_eq!(ExitCode::worst([Done, Attention]), Attention);
        assert_eq!(ExitCode::worst([Attention, Partial, Done]), Partial);
        assert_eq!(ExitCode::worst([Attention, Retry, Partial]), Retry);
        assert_eq!(ExitCode::worst([Retry, Failed, Attention]), Failed);
        assert_eq!(ExitCode::worst([Failed, Usage]), Usage);
    }

    #[test]
    fn the_numbers_are_those_of_the_design() {
        let numbers = ExitCode::ALL.map(ExitCode::number);
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 130, 143]);
    }
}
